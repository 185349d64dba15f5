/* The multi-scalar multiplications of bn254: kernels and entries of `struct curve`. */

#include "groth16/curve/bn254.h"

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/ifma.h"
#include "groth16/msm/kernel_ifma.h"
#include "groth16/msm/msm.h"

#define KERNEL bn254_g1
#define FIELD  bn254_fp
#define BASE   bn254_fp
#include "groth16/msm/kernel.inc.h"

#define KERNEL bn254_g2
#define FIELD  bn254_fp2
#define BASE   bn254_fp
#include "groth16/msm/kernel.inc.h"

static const struct msm_kernel g1_portable = {
    .point_bytes = sizeof(bn254_g1_affine),
    .sum_bytes = sizeof(bn254_g1_xyzz),
    .scratch_bytes = sizeof(struct bn254_g1_scratch),
    .order = bn254_fr_modulus,
    .add_ns = 120,
    .fold_ns = 400,
    .add_pairs = bn254_g1_add_pairs,
    .fold_bits = bn254_g1_fold_bits,
    .fold_windows = bn254_g1_fold_windows,
};

static const struct msm_kernel g1_ifma = {
    .point_bytes = sizeof(bn254_g1_affine),
    .sum_bytes = sizeof(bn254_g1_xyzz),
    .scratch_bytes = MSM_IFMA_SCRATCH_BYTES,
    .order = bn254_fr_modulus,
    .add_ns = 20,
    .fold_ns = 400,
    .add_pairs = bn254_g1_add_pairs_ifma,
    .fold_bits = bn254_g1_fold_bits,
    .fold_windows = bn254_g1_fold_windows,
};

static const struct msm_kernel g2_portable = {
    .point_bytes = sizeof(bn254_g2_affine),
    .sum_bytes = sizeof(bn254_g2_xyzz),
    .scratch_bytes = sizeof(struct bn254_g2_scratch),
    .order = bn254_fr_modulus,
    .add_ns = 320,
    .fold_ns = 1200,
    .add_pairs = bn254_g2_add_pairs,
    .fold_bits = bn254_g2_fold_bits,
    .fold_windows = bn254_g2_fold_windows,
};

static const struct msm_kernel g2_ifma = {
    .point_bytes = sizeof(bn254_g2_affine),
    .sum_bytes = sizeof(bn254_g2_xyzz),
    .scratch_bytes = MSM_IFMA_SCRATCH_BYTES,
    .order = bn254_fr_modulus,
    .add_ns = 52,
    .fold_ns = 1200,
    .add_pairs = bn254_g2_add_pairs_ifma,
    .fold_bits = bn254_g2_fold_bits,
    .fold_windows = bn254_g2_fold_windows,
};

int ARCH_NAME(bn254_msm_g1)(struct pool *pool, const void *points, const uint64_t *scalars,
                            size_t count, void *ret_point)
{
    return msm_run(pool, ifma_is_available() ? &g1_ifma : &g1_portable, points, scalars, count,
                   ret_point);
}

int ARCH_NAME(bn254_msm_g2)(struct pool *pool, const void *points, const uint64_t *scalars,
                            size_t count, void *ret_point)
{
    return msm_run(pool, ifma_is_available() ? &g2_ifma : &g2_portable, points, scalars, count,
                   ret_point);
}
