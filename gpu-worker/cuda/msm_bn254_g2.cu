/* Sums in G2 of BN254 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<pair<bn254_fp>> {
    static constexpr int BLOCKS = 4;
    static constexpr int BATCH_BLOCKS = 1, BATCH_THREADS = 256;
    static constexpr uint32_t BATCH_SHARE = 500;
};

MSM_GROUP(msm_bn254_g2, pair<bn254_fp>)
