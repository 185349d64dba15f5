/* The multi-scalar multiplications of bls12_381: kernels and entries of `struct curve`. */

#include "groth16/curve/bls12_381.h"

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/ifma.h"
#include "groth16/msm/kernel_ifma.h"
#include "groth16/msm/msm.h"

#define KERNEL bls12_381_g1
#define FIELD  bls12_381_fp
#define BASE   bls12_381_fp
#include "groth16/msm/kernel.inc.h"

#define KERNEL bls12_381_g2
#define FIELD  bls12_381_fp2
#define BASE   bls12_381_fp
#include "groth16/msm/kernel.inc.h"

static const struct msm_kernel g1_portable = {
    .point_bytes = sizeof(bls12_381_g1_affine),
    .sum_bytes = sizeof(bls12_381_g1_xyzz),
    .scratch_bytes = sizeof(struct bls12_381_g1_scratch),
    .order = bls12_381_fr_modulus,
    .add_ns = 220,
    .fold_ns = 800,
    .add_pairs = bls12_381_g1_add_pairs,
    .fold_bits = bls12_381_g1_fold_bits,
    .fold_windows = bls12_381_g1_fold_windows,
};

static const struct msm_kernel g1_ifma = {
    .point_bytes = sizeof(bls12_381_g1_affine),
    .sum_bytes = sizeof(bls12_381_g1_xyzz),
    .scratch_bytes = MSM_IFMA_SCRATCH_BYTES,
    .order = bls12_381_fr_modulus,
    .add_ns = 52,
    .fold_ns = 800,
    .add_pairs = bls12_381_g1_add_pairs_ifma,
    .fold_bits = bls12_381_g1_fold_bits,
    .fold_windows = bls12_381_g1_fold_windows,
};

static const struct msm_kernel g2_portable = {
    .point_bytes = sizeof(bls12_381_g2_affine),
    .sum_bytes = sizeof(bls12_381_g2_xyzz),
    .scratch_bytes = sizeof(struct bls12_381_g2_scratch),
    .order = bls12_381_fr_modulus,
    .add_ns = 640,
    .fold_ns = 2400,
    .add_pairs = bls12_381_g2_add_pairs,
    .fold_bits = bls12_381_g2_fold_bits,
    .fold_windows = bls12_381_g2_fold_windows,
};

static const struct msm_kernel g2_ifma = {
    .point_bytes = sizeof(bls12_381_g2_affine),
    .sum_bytes = sizeof(bls12_381_g2_xyzz),
    .scratch_bytes = MSM_IFMA_SCRATCH_BYTES,
    .order = bls12_381_fr_modulus,
    .add_ns = 170,
    .fold_ns = 2400,
    .add_pairs = bls12_381_g2_add_pairs_ifma,
    .fold_bits = bls12_381_g2_fold_bits,
    .fold_windows = bls12_381_g2_fold_windows,
};

int ARCH_NAME(bls12_381_msm_g1)(struct pool *pool, const void *points, const uint64_t *scalars,
                                size_t count, void *ret_point)
{
    return msm_run(pool, ifma_is_available() ? &g1_ifma : &g1_portable, points, scalars, count,
                   ret_point);
}

int ARCH_NAME(bls12_381_msm_g2)(struct pool *pool, const void *points, const uint64_t *scalars,
                                size_t count, void *ret_point)
{
    return msm_run(pool, ifma_is_available() ? &g2_ifma : &g2_portable, points, scalars, count,
                   ret_point);
}
