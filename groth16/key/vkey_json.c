/* verification_key.json, and the digest by which a verifying key is known. Below: json_text. */
#include "groth16/key/vkey_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "groth16/key/json_text.h"

/* Where the points lie in vkey_json.memory. */
enum {
    ALPHA_OFF = 0,
    BETA_OFF = CURVE_G1_BYTES_MAX,
    GAMMA_OFF = BETA_OFF + CURVE_G2_BYTES_MAX,
    DELTA_OFF = GAMMA_OFF + CURVE_G2_BYTES_MAX,
    IC_OFF = DELTA_OFF + CURVE_G2_BYTES_MAX,
};

static int read_point(const struct curve *curve, const json_t *value, const char *where, bool is_g2,
                      bool may_be_infinity, uint8_t *ret, struct reason *reason)
{
    enum curve_point_fault fault;
    int error = is_g2 ? json_text_g2(curve, value, where, ret, reason)
                      : json_text_g1(curve, value, where, ret, reason);

    if (error)
        return error;
    fault = is_g2 ? curve->g2_check(ret, true) : curve->g1_check(ret, true);
    if (fault)
        return reason_set(reason, -EBADMSG, "verification key: %s: %s: the file is damaged", where,
                          curve_point_fault_to_string(fault));
    if (!may_be_infinity && curve_point_is_infinity(ret, is_g2 ? curve->g2_bytes : curve->g1_bytes))
        return reason_set(reason, -EBADMSG,
                          "verification key: %s is the point at infinity: anything would verify "
                          "under such a key",
                          where);
    return 0;
}

static int read_ic(const json_t *ic, struct vkey_json *vkey, struct reason *reason)
{
    const struct curve *curve = vkey->curve;
    uint8_t *memory = vkey->memory;

    for (size_t i = 0; i < vkey->key.ic_count; i++) {
        char where[32];
        int error;

        snprintf(where, sizeof where, "IC[%zu]", i);
        error = read_point(curve, json_array_get(ic, i), where, false, true,
                           memory + IC_OFF + i * curve->g1_bytes, reason);
        if (error)
            return error;
    }
    return 0;
}

static int read_head(const json_t *root, struct vkey_json *vkey, struct reason *reason)
{
    const json_t *protocol, *curve, *public_count, *ic;

    if (!json_is_object(root))
        return reason_set(reason, -EBADMSG, "verification key: a JSON object is wanted");
    protocol = json_object_get(root, "protocol");
    if (!json_is_string(protocol) || strcmp(json_string_value(protocol), "groth16") != 0)
        return reason_set(reason, -EBADMSG, "verification key: protocol is not \"groth16\"");
    curve = json_object_get(root, "curve");
    vkey->curve = json_is_string(curve) ? curve_by_json_name(json_string_value(curve)) : NULL;
    if (!vkey->curve)
        return reason_set(reason, -EBADMSG,
                          "verification key: curve is neither \"bn128\" nor \"bls12381\"");
    public_count = json_object_get(root, "nPublic");
    ic = json_object_get(root, "IC");
    if (!json_is_integer(public_count) || !json_is_array(ic))
        return reason_set(reason, -EBADMSG,
                          "verification key: nPublic or IC is missing or of the wrong type");
    vkey->key.ic_count = json_array_size(ic);
    if (vkey->key.ic_count == 0 ||
        json_integer_value(public_count) != (json_int_t)vkey->key.ic_count - 1)
        return reason_set(reason, -EBADMSG,
                          "verification key: nPublic is %" JSON_INTEGER_FORMAT
                          " but IC has %zu points, one more than nPublic is wanted",
                          json_integer_value(public_count), vkey->key.ic_count);
    return 0;
}

static int read_vkey(const json_t *root, struct vkey_json *vkey, struct reason *reason)
{
    uint8_t *memory;
    int error = read_head(root, vkey, reason);

    if (error)
        return error;
    memory = calloc(1, IC_OFF + vkey->key.ic_count * vkey->curve->g1_bytes);
    vkey->memory = memory;
    if (!memory)
        return reason_set(reason, -ENOMEM, "no memory for %zu points of a verification key",
                          vkey->key.ic_count);
    error = read_point(vkey->curve, json_object_get(root, "vk_alpha_1"), "vk_alpha_1", false, false,
                       memory + ALPHA_OFF, reason);
    if (error == 0)
        error = read_point(vkey->curve, json_object_get(root, "vk_beta_2"), "vk_beta_2", true,
                           false, memory + BETA_OFF, reason);
    if (error == 0)
        error = read_point(vkey->curve, json_object_get(root, "vk_gamma_2"), "vk_gamma_2", true,
                           false, memory + GAMMA_OFF, reason);
    if (error == 0)
        error = read_point(vkey->curve, json_object_get(root, "vk_delta_2"), "vk_delta_2", true,
                           false, memory + DELTA_OFF, reason);
    if (error == 0)
        error = read_ic(json_object_get(root, "IC"), vkey, reason);
    vkey->key.alpha_g1 = memory + ALPHA_OFF;
    vkey->key.beta_g2 = memory + BETA_OFF;
    vkey->key.gamma_g2 = memory + GAMMA_OFF;
    vkey->key.delta_g2 = memory + DELTA_OFF;
    vkey->key.ic = memory + IC_OFF;
    return error;
}

int vkey_json_read(const char *text, size_t bytes, struct vkey_json *ret, struct reason *reason)
{
    struct vkey_json vkey = {0};
    json_t *root;
    int error = json_text_parse(text, bytes, "verification key", &root, reason);

    if (error)
        return error;
    error = read_vkey(root, &vkey, reason);
    json_decref(root);
    if (error)
        vkey_json_free(&vkey);
    else
        *ret = vkey;
    return error;
}

void vkey_json_free(struct vkey_json *vkey)
{
    free(vkey->memory);
    memset(vkey, 0, sizeof *vkey);
}

int vkey_json_write(const struct curve *curve, const struct verify_key *key, const char *unsafe,
                    char **ret_text, size_t *ret_bytes)
{
    struct json_text out = {0};

    json_text_open(&out, NULL, '{');
    json_text_string(&out, "protocol", "groth16");
    json_text_string(&out, "curve", curve->json_name);
    json_text_integer(&out, "nPublic", key->ic_count - 1);
    json_text_write_g1(&out, "vk_alpha_1", curve, key->alpha_g1);
    json_text_write_g2(&out, "vk_beta_2", curve, key->beta_g2);
    json_text_write_g2(&out, "vk_gamma_2", curve, key->gamma_g2);
    json_text_write_g2(&out, "vk_delta_2", curve, key->delta_g2);
    json_text_open(&out, "IC", '[');
    for (size_t i = 0; i < key->ic_count; i++)
        json_text_write_g1(&out, NULL, curve, (const uint8_t *)key->ic + i * curve->g1_bytes);
    json_text_close(&out, ']');
    if (unsafe)
        json_text_string(&out, "unsafe", unsafe);
    json_text_close(&out, '}');
    return json_text_finish(&out, ret_text, ret_bytes);
}

int vkey_json_digest(const struct curve *curve, const struct verify_key *key,
                     uint8_t ret[VKEY_DIGEST_BYTES])
{
    struct {
        char tag[16];
        uint64_t curve_id, ic_count;
    } head = {"cuzk verify key", curve->id, key->ic_count};
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) &&
                EVP_DigestUpdate(context, &head, sizeof head) &&
                EVP_DigestUpdate(context, key->alpha_g1, curve->g1_bytes) &&
                EVP_DigestUpdate(context, key->beta_g2, curve->g2_bytes) &&
                EVP_DigestUpdate(context, key->gamma_g2, curve->g2_bytes) &&
                EVP_DigestUpdate(context, key->delta_g2, curve->g2_bytes) &&
                EVP_DigestUpdate(context, key->ic, key->ic_count * curve->g1_bytes) &&
                EVP_DigestFinal_ex(context, ret, NULL);

    EVP_MD_CTX_free(context);
    return done ? 0 : -ENOMEM;
}
