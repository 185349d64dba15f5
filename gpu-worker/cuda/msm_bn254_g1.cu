/* Sums in G1 of BN254 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<bn254_fp> {
    static constexpr int BLOCKS = 3;
    static constexpr int BATCH_BLOCKS = 2, BATCH_THREADS = 256;
    static constexpr uint32_t BATCH_SHARE = 1000;
};

MSM_GROUP(msm_bn254_g1, bn254_fp)
