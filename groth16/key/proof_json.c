/* proof.json. Below: json_text. */
#include "groth16/key/proof_json.h"

#include <errno.h>
#include <string.h>

#include "groth16/key/json_text.h"

static void write_proof(struct json_text *out, const struct curve *curve, const void *proof)
{
    const uint8_t *a = proof, *b = a + curve->g1_bytes, *c = b + curve->g2_bytes;

    json_text_open(out, NULL, '{');
    json_text_write_g1(out, "pi_a", curve, a);
    json_text_write_g2(out, "pi_b", curve, b);
    json_text_write_g1(out, "pi_c", curve, c);
    json_text_string(out, "protocol", "groth16");
    json_text_string(out, "curve", curve->json_name);
    json_text_close(out, '}');
}

int proof_json_write(const struct curve *curve, const void *proof, char **ret_text,
                     size_t *ret_bytes)
{
    struct json_text out = {0};

    write_proof(&out, curve, proof);
    return json_text_finish(&out, ret_text, ret_bytes);
}

int proof_json_write_array(const struct curve *curve, const void *proofs, size_t count,
                           char **ret_text, size_t *ret_bytes)
{
    struct json_text out = {0};

    json_text_open(&out, NULL, '[');
    for (size_t i = 0; i < count; i++)
        write_proof(&out, curve, (const uint8_t *)proofs + i * curve->proof_bytes);
    json_text_close(&out, ']');
    return json_text_finish(&out, ret_text, ret_bytes);
}

/* Which curve the proof is over, by its own word and the caller's. */
static int choose_curve(const json_t *root, const struct curve *wanted, const struct curve **ret,
                        struct reason *reason)
{
    const json_t *name = json_object_get(root, "curve");
    const struct curve *named;

    if (!name) {
        if (!wanted)
            return reason_set(reason, -EBADMSG,
                              "proof: it does not name its curve, and no key says which it is");
        *ret = wanted;
        return 0;
    }
    named = json_is_string(name) ? curve_by_json_name(json_string_value(name)) : NULL;
    if (!named)
        return reason_set(reason, -EBADMSG,
                          "proof: curve is \"%.40s\", only \"bn128\" and \"bls12381\" are known",
                          json_is_string(name) ? json_string_value(name) : "not a string");
    if (wanted && named->id != wanted->id)
        return reason_set(reason, -EBADMSG, "proof: it is over %s, the verification key over %s",
                          named->json_name, wanted->json_name);
    *ret = named;
    return 0;
}

static int read_proof(const json_t *root, const struct curve *wanted,
                      const struct curve **ret_curve, void *ret_proof, struct reason *reason)
{
    uint64_t proof[CURVE_PROOF_BYTES_MAX / sizeof(uint64_t)];
    uint8_t *p = (uint8_t *)proof;
    const struct curve *curve = NULL;
    const json_t *protocol;
    int error;

    if (!json_is_object(root))
        return reason_set(reason, -EBADMSG, "proof: a JSON object is wanted");
    protocol = json_object_get(root, "protocol");
    if (protocol && (!json_is_string(protocol) || strcmp(json_string_value(protocol), "groth16")))
        return reason_set(reason, -EBADMSG, "proof: protocol is \"%.40s\", not \"groth16\"",
                          json_is_string(protocol) ? json_string_value(protocol) : "not a string");
    error = choose_curve(root, wanted, &curve, reason);
    if (error == 0)
        error = json_text_g1(curve, json_object_get(root, "pi_a"), "pi_a", p, reason);
    if (error == 0)
        error =
            json_text_g2(curve, json_object_get(root, "pi_b"), "pi_b", p + curve->g1_bytes, reason);
    if (error == 0)
        error = json_text_g1(curve, json_object_get(root, "pi_c"), "pi_c",
                             p + curve->g1_bytes + curve->g2_bytes, reason);
    if (error)
        return error;
    memcpy(ret_proof, proof, curve->proof_bytes);
    *ret_curve = curve;
    return 0;
}

int proof_json_read(const char *text, size_t bytes, const struct curve *curve,
                    const struct curve **ret_curve, void *ret_proof, struct reason *reason)
{
    json_t *root;
    int error = json_text_parse(text, bytes, "proof", &root, reason);

    if (error)
        return error;
    error = read_proof(root, curve, ret_curve, ret_proof, reason);
    json_decref(root);
    return error;
}
