/* What the files of the MSM share: the plan's layout and the launchers of each group. */
#pragma once

#include <cuda_runtime.h>
#include <errno.h>
#include <stdint.h>

#include "gpu-worker/cuda/msm.h"

enum : uint32_t {
    MSM_KEY_NONE = 0xffffffffu, /* sorts behind every bucket */
    MSM_VALUE_NEGATIVE = 0x80000000u,
};

/* A plan: how many digits are not zero, then their buckets (ascending), then for each the index in
 * the base array, with MSM_VALUE_NEGATIVE for a negative digit. */
struct msm_plan_view {
    uint32_t *count;
    uint32_t *keys, *values;
};

static inline size_t msm_align(size_t bytes)
{
    return (bytes + 255) & ~(size_t)255;
}

static inline uint32_t msm_entries_max(const struct msm_shape *shape)
{
    return shape->count * shape->windows;
}

static inline struct msm_plan_view msm_plan_view(const struct msm_shape *shape, void *plan)
{
    size_t bytes = msm_align(4 * (size_t)msm_entries_max(shape));
    char *at = (char *)plan;
    struct msm_plan_view view = {(uint32_t *)at, (uint32_t *)(at + 256),
                                 (uint32_t *)(at + 256 + bytes)};

    return view;
}

static inline int msm_errno(cudaError_t error)
{
    return error == cudaSuccess ? 0 : error == cudaErrorMemoryAllocation ? -ENOMEM : -EIO;
}

/* One instantiation a file, so that compile time stays bounded. */
struct msm_group {
    size_t (*scratch_bytes)(const struct msm_shape *shape);
    cudaError_t (*sum)(const struct msm_shape *shape, const struct msm_plan_view *plan,
                       const uint32_t *bases, char *scratch, uint32_t *ret_point,
                       cudaStream_t stream);
    cudaError_t (*fill_table)(const struct msm_shape *shape, unsigned level, uint32_t *bases,
                              char *scratch, cudaStream_t stream);
};

extern const struct msm_group msm_bn254_g1, msm_bn254_g2, msm_bls12_381_g1, msm_bls12_381_g2;
