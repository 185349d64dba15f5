/* Sums in G1 of BN254 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<bn254_fp> {
    static constexpr int BLOCKS = 3;
};

MSM_GROUP(msm_bn254_g1, bn254_fp)
