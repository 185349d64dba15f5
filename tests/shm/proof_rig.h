/* Slabs and sums made in the test itself, by the libraries, for rigs of the GPU worker and the
 * finalizer that must not depend on another worker process. */
#pragma once

#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/verify/sums.h"

/* Fills a slab as synthesis would, from a good witness file. */
void proof_rig_fill(const struct prepared *key, int witness_fd, uint8_t *slab);
/* The five sums of a filled slab. */
void proof_rig_sums(const struct prepared *key, const uint8_t *slab,
                    uint8_t ret_sums[SUMS_BYTES_MAX]);
/* Whether the five sums make a valid proof for the public inputs in the slab (blinding 0). */
int proof_rig_verify_sums(const struct prepared *key, const uint8_t *slab, const uint8_t *sums);
