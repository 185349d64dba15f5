/* A proof as Filecoin's chain takes it: A, B, C compressed, 192 bytes; the proofs of a job stand
 * one after the other in the order of its partitions. */
#pragma once

#include <stdint.h>

#include "groth16/key/reason.h"

enum {
    PROOF_BYTES = 192,
};

/* From and to a proof in the encoding of groth16/curve/curve.h (8-byte aligned, proof_bytes of
 * BLS12-381). Writing takes an acceptable proof. Reading refuses everything that is not the one
 * encoding of three points of the subgroup, none at infinity: -EBADMSG, and *ret_proof is not
 * meant. */
void proof_write(const void *proof, uint8_t ret_bytes[PROOF_BYTES]);
int proof_read(const uint8_t bytes[PROOF_BYTES], void *ret_proof, struct reason *reason);
