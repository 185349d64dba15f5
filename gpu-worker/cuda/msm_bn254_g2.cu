/* Sums in G2 of BN254 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<pair<bn254_fp>> {
    static constexpr int BLOCKS = 4;
};

MSM_GROUP(msm_bn254_g2, pair<bn254_fp>)
