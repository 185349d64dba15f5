/* Sums in G1 of BLS12-381 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<bls12_381_fp> {
    static constexpr int BLOCKS = 2;
};

MSM_GROUP(msm_bls12_381_g1, bls12_381_fp)
