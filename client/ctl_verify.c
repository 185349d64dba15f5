/* cuzkctl verify: proofs checked here, with no daemon. Accepts what snarkjs writes, and the arrays
 * that `cuzkctl prove` writes for jobs of several partitions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/ctl.h"
#include "client/input.h"
#include "groth16/key/json_text.h"
#include "groth16/key/proof_json.h"
#include "groth16/key/public_json.h"
#include "groth16/key/vkey_json.h"

/* The texts of one file: of each element when it is an array of several, else of the whole. */
struct pieces {
    json_t *whole;
    size_t count;
    bool is_array;
};

static int load(struct ctl *ctl, const char *path, const char *what, char **ret_text,
                size_t *ret_bytes)
{
    struct cuzk_error error;
    struct reason reason;
    uint64_t bytes;
    int fd;

    if (input_open(path, what, &fd, &bytes, &error) != CUZK_OK)
        return ctl_fail(ctl, &error);
    int r = json_text_read(fd, ret_text, ret_bytes, &reason);
    close(fd);
    return r < 0 ? ctl_failf(ctl, CUZK_BAD_INPUT, "%s %s: %s", what, path, reason.text) : CTL_OK;
}

/* is_many tells an array of pieces from one piece, which may be an array itself. */
static int load_pieces(struct ctl *ctl, const char *path, const char *what,
                       bool (*is_many)(const json_t *whole), struct pieces *ret)
{
    struct reason reason;
    size_t bytes;
    char *text;
    int r = load(ctl, path, what, &text, &bytes);

    if (r != CTL_OK)
        return r;
    r = json_text_parse(text, bytes, what, &ret->whole, &reason);
    free(text);
    if (r < 0)
        return ctl_failf(ctl, CUZK_BAD_INPUT, "%s: %s", path, reason.text);
    ret->is_array = is_many(ret->whole);
    ret->count = ret->is_array ? json_array_size(ret->whole) : 1;
    return CTL_OK;
}

static bool is_many_proofs(const json_t *whole)
{
    return json_is_array(whole);
}

/* Public inputs are an array of strings; many, an array of arrays. */
static bool is_many_publics(const json_t *whole)
{
    return json_is_array(json_array_get(whole, 0));
}

/* The text of one piece; the caller frees it. */
static char *piece_text(const struct pieces *pieces, size_t index)
{
    return json_dumps(pieces->is_array ? json_array_get(pieces->whole, index) : pieces->whole,
                      JSON_COMPACT | JSON_ENCODE_ANY);
}

/* CTL_OK with a verdict, or an exit code after a message. */
static int verify_one(struct ctl *ctl, const struct vkey_json *vkey, const char *proof_text,
                      const char *public_text, enum verify_result *ret)
{
    uint64_t proof[CURVE_PROOF_BYTES_MAX / sizeof(uint64_t)];
    const struct curve *curve;
    struct reason reason;
    uint64_t *publics;
    size_t count;

    if (proof_json_read(proof_text, strlen(proof_text), vkey->curve, &curve, proof, &reason) < 0)
        return ctl_failf(ctl, CUZK_BAD_INPUT, "the proof %s: %s", ctl_value(ctl, "proof"),
                         reason.text);
    if (public_json_read(public_text, strlen(public_text), vkey->curve, &publics, &count, &reason) <
        0)
        return ctl_failf(ctl, CUZK_BAD_INPUT, "the public inputs %s: %s", ctl_value(ctl, "public"),
                         reason.text);
    *ret = (enum verify_result)vkey->curve->verify(&vkey->key, publics, count, proof);
    free(publics);
    return CTL_OK;
}

static int verify_all(struct ctl *ctl, const struct vkey_json *vkey, const struct pieces *proofs,
                      const struct pieces *publics)
{
    for (size_t i = 0; i < proofs->count; i++) {
        char *proof = piece_text(proofs, i), *public = piece_text(publics, i);
        enum verify_result result = VERIFY_FAILED;
        int r = proof && public ? verify_one(ctl, vkey, proof, public, &result)
                                : ctl_failf(ctl, CUZK_NO_MEMORY, "out of memory");
        free(proof);
        free(public);
        if (r != CTL_OK)
            return r;
        if (result != VERIFY_OK && proofs->is_array)
            return ctl_failf(ctl, CUZK_FAILED, "NOT verified: proof %zu of %zu: %s", i + 1,
                             proofs->count, verify_result_to_string(result));
        if (result != VERIFY_OK)
            return ctl_failf(ctl, CUZK_FAILED, "NOT verified: %s", verify_result_to_string(result));
    }
    if (ctl->is_json)
        return ctl_print_json(ctl,
                              json_pack("{s:b, s:I, s:s}", "verified", 1, "proofs",
                                        (json_int_t)proofs->count, "curve", vkey->curve->name));
    if (proofs->is_array)
        printf("verified: %zu proofs\n", proofs->count);
    else
        printf("verified\n");
    return CTL_OK;
}

int ctl_verify(struct ctl *ctl)
{
    const char *vkey_path = ctl_value(ctl, "vkey");
    struct pieces proofs = {0}, publics = {0};
    struct vkey_json vkey = {0};
    struct reason reason;
    size_t bytes;
    char *text;
    int r = load(ctl, vkey_path, "the verification key", &text, &bytes);

    if (r != CTL_OK)
        return r;
    if (vkey_json_read(text, bytes, &vkey, &reason) < 0)
        r = ctl_failf(ctl, CUZK_BAD_INPUT, "the verification key %s: %s", vkey_path, reason.text);
    free(text);
    if (r == CTL_OK)
        r = load_pieces(ctl, ctl_value(ctl, "proof"), "the proof", is_many_proofs, &proofs);
    if (r == CTL_OK)
        r = load_pieces(ctl, ctl_value(ctl, "public"), "the public inputs", is_many_publics,
                        &publics);
    if (r == CTL_OK && proofs.is_array && proofs.count == 0)
        r = ctl_failf(ctl, CUZK_BAD_INPUT, "the proof %s is an empty array",
                      ctl_value(ctl, "proof"));
    /* For circuits without public inputs [] stands for one proof's, [[], []] for two. */
    if (r == CTL_OK && (proofs.is_array != publics.is_array || proofs.count != publics.count))
        r = ctl_failf(ctl, CUZK_BAD_INPUT,
                      "%zu proof%s but public inputs for %zu: the files do not belong together",
                      proofs.count, proofs.count == 1 ? "" : "s", publics.count);
    if (r == CTL_OK)
        r = verify_all(ctl, &vkey, &proofs, &publics);
    json_decref(proofs.whole);
    json_decref(publics.whole);
    vkey_json_free(&vkey);
    return r;
}
