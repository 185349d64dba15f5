/* From the five sums to a checked proof. Plain memory; no process, no channel. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"

/* Draws the blinding and assembles. The sums (groth16/verify/sums.h) are input from another
 * process: a point that is not on the curve is -EBADMSG with the reason. ret_proof:
 * curve->proof_bytes, 8-byte aligned. */
int finalize_assemble(const struct prepared *key, const uint8_t *sums, uint64_t *ret_proof,
                      struct reason *reason);

/* The pairing check. 0, or -EBADMSG and what is likely to blame. */
int finalize_verify(const struct prepared *key, const uint64_t *public_scalars,
                    const uint64_t *proof, struct reason *reason);
