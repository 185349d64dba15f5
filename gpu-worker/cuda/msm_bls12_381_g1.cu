/* Sums in G1 of BLS12-381 (msm_sum.cuh). */

#include "gpu-worker/cuda/msm_sum.cuh"

template <> struct msm_tuning<bls12_381_fp> {
    static constexpr int BLOCKS = 2;
    static constexpr int BATCH_BLOCKS = 2, BATCH_THREADS = 256;
    /* Batches and walk are equally fast, and the walk needs less memory. */
    static constexpr uint32_t BATCH_SHARE = UINT32_MAX;
};

MSM_GROUP(msm_bls12_381_g1, bls12_381_fp)
