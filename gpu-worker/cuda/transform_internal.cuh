/* What the files of the transforms share: the launchers of each field. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#include "gpu-worker/cuda/transform.h"

struct transform_field {
    int two_adicity;
    cudaError_t (*fill_table)(unsigned log2_max, uint32_t *table, cudaStream_t stream);
    cudaError_t (*transform)(bool is_up, bool inverse, const uint32_t *table, unsigned log2,
                             void *const *values, unsigned count, cudaStream_t stream);
    cudaError_t (*quotient)(const uint32_t *table, unsigned log2, void *a, void *b, void *c,
                            cudaStream_t stream);
};

extern const struct transform_field transform_bn254, transform_bls12_381;
