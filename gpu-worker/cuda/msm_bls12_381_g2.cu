/* Sums in G2 of BLS12-381 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<pair<bls12_381_fp>> {
    static constexpr int BLOCKS = 2;
    static constexpr int BATCH_BLOCKS = 1, BATCH_THREADS = 256;
    static constexpr uint32_t BATCH_SHARE = 500;
};

MSM_GROUP(msm_bls12_381_g2, pair<bls12_381_fp>)
