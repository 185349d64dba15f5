/* Sums in G2 of BLS12-381 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<pair<bls12_381_fp>> {
    static constexpr int BLOCKS = 2;
};

MSM_GROUP(msm_bls12_381_g2, pair<bls12_381_fp>)
