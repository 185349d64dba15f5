/* Batched affine additions with AVX-512 IFMA (kernel.h, add_pairs). To be called only where
 * ifma_is_available(). Results are below 1.1 p, not canonical. */
#pragma once

#include "groth16/msm/kernel.h"

enum {
    /* Five coordinates of eight pairs a group, of at most 2 * 8 limbs. */
    MSM_IFMA_SCRATCH_BYTES = MSM_BATCH_PAIRS / 8 * (5 * 16 * 64 + 2),
};

void bn254_g1_add_pairs_ifma(const struct msm_pair *pairs, size_t count, void *ret, void *scratch);
void bn254_g2_add_pairs_ifma(const struct msm_pair *pairs, size_t count, void *ret, void *scratch);
void bls12_381_g1_add_pairs_ifma(const struct msm_pair *pairs, size_t count, void *ret,
                                 void *scratch);
void bls12_381_g2_add_pairs_ifma(const struct msm_pair *pairs, size_t count, void *ret,
                                 void *scratch);
