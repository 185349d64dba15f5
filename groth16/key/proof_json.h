/* proof.json as snarkjs writes it, byte for byte. Read by `cuzkctl verify`; written by tests
 * only, for libcuzk makes its files from the decimal numbers that the daemon sends. A proof in
 * memory is A (G1) | B (G2) | C (G1) in the encoding of groth16/curve/curve.h, curve->proof_bytes
 * long. */
#pragma once

#include <stddef.h>

#include "groth16/curve/curve.h"
#include "groth16/key/reason.h"

/* *ret_text is malloc'd, NUL-terminated (the NUL not counted), the caller's to free. -ENOMEM. */
int proof_json_write(const struct curve *curve, const void *proof, char **ret_text,
                     size_t *ret_bytes);
/* A JSON array of `count` proof objects; proofs lie back to back. */
int proof_json_write_array(const struct curve *curve, const void *proofs, size_t count,
                           char **ret_text, size_t *ret_bytes);

/* `curve` is what the verification key says; a proof that names another one is refused, one that
 * names none (rapidsnark) is taken. With curve NULL the proof must name it. ret_proof has room for
 * CURVE_PROOF_BYTES_MAX, 8-byte aligned. Coordinates are reduced; verification checks the rest.
 * -EBADMSG, -ENOMEM. */
int proof_json_read(const char *text, size_t bytes, const struct curve *curve,
                    const struct curve **ret_curve, void *ret_proof, struct reason *reason);
