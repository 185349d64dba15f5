/* verification_key.json of snarkjs: read by `cuzkctl verify`, written by `cuzk-bench make-key`; and
 * the digest by which prepared key, supervisor and finalizer name a verifying key. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/reason.h"
#include "groth16/verify/verify.h"

/* Owns the memory behind `key`. */
struct vkey_json {
    const struct curve *curve;
    struct verify_key key;
    void *memory;
};

/* All points are checked: reduced, on the curve, in the subgroup; alpha, beta, gamma, delta not at
 * infinity; nPublic agrees with IC. vk_alphabeta_12 is redundant and not read. -EBADMSG, -ENOMEM.
 */
int vkey_json_read(const char *text, size_t bytes, struct vkey_json *ret, struct reason *reason);
/* Accepts a zeroed object. */
void vkey_json_free(struct vkey_json *vkey);

/* Without vk_alphabeta_12, which no verifier needs. `unsafe`, if not NULL, becomes an extra key of
 * that name whose value says why the key must not be used. Caller frees *ret_text. */
int vkey_json_write(const struct curve *curve, const struct verify_key *key, const char *unsafe,
                    char **ret_text, size_t *ret_bytes);

enum {
    VKEY_DIGEST_BYTES = 32,
};

/* SHA-256 over curve, counts and all points: the same for a key read from JSON and from a prepared
 * key. -ENOMEM. */
int vkey_json_digest(const struct curve *curve, const struct verify_key *key,
                     uint8_t ret[VKEY_DIGEST_BYTES]);
