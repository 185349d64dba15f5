/* The first step of a sum (msm_sum.cuh): every worker, a thread or a pair for G2, adds up an equal
 * share of the sorted list. What begins in its share goes to the bucket; the continuation of an
 * earlier worker's bucket becomes the worker's head, for `join`. This is the way that needs no
 * memory for batches; msm_batch.cuh has the other. */
#pragma once

#include "gpu-worker/cuda/msm_internal.cuh"
#include "gpu-worker/cuda/point.cuh"

enum : uint32_t {
    WALK_THREADS = 128,
    WALK_SHARE_MIN = 8, /* digits a worker: fewer would mean more joining than walking */
};

/* BLOCKS: of the walk and of weighing that fit a multiprocessor by their registers. BATCH_BLOCKS of
 * BATCH_THREADS: the same of batches. BATCH_SHARE: digits a worker from which batches are faster.
 */
template <class F> struct msm_tuning;

template <class F> static __device__ __forceinline__ uint32_t worker_index()
{
    return (blockIdx.x * blockDim.x + threadIdx.x) / F::LANES;
}

template <class F>
static __device__ __forceinline__ affine<F> load_base(const uint32_t *bases, uint32_t value)
{
    size_t index = value & ~MSM_VALUE_NEGATIVE;

    return affine<F>::load(bases + index * affine<F>::POINT_WORDS);
}

template <class F>
static __device__ __forceinline__ void put_sum(const xyzz<F> &sum, uint32_t key, bool is_head,
                                               uint32_t *buckets, uint32_t *head)
{
    sum.store(is_head ? head : buckets + (size_t)key * xyzz<F>::POINT_WORDS);
}

template <class F>
__global__ void __launch_bounds__(WALK_THREADS, msm_tuning<F>::BLOCKS)
    walk(const uint32_t *count, const uint32_t *keys, const uint32_t *values, const uint32_t *bases,
         uint32_t *buckets, uint32_t *head_keys, uint32_t *heads)
{
    uint32_t worker = worker_index<F>(), workers = gridDim.x * blockDim.x / F::LANES;
    uint32_t total = *count, share = total / workers + 1;
    uint32_t head_key = MSM_KEY_NONE;

    share = share < WALK_SHARE_MIN ? WALK_SHARE_MIN : share;
    uint64_t begin = (uint64_t)worker * share;
    uint32_t *head = heads + (size_t)worker * xyzz<F>::POINT_WORDS;
    uint32_t i = begin < total ? (uint32_t)begin : total;
    uint32_t end = total - i < share ? total : i + share;
    uint32_t key = MSM_KEY_NONE, value = 0;
    bool is_head = false;
    xyzz<F> sum = xyzz<F>::infinity();
    affine<F> next;

    next.x = next.y = F::zero();
    if (i < end) {
        key = keys[i];
        value = values[i];
        next = load_base<F>(bases, value);
        is_head = i > 0 && keys[i - 1] == key;
        head_key = is_head ? key : MSM_KEY_NONE;
    }
    /* All threads of a warp take the same steps and meet at each, or those that start a bucket
     * would run ahead on their own and the warp's time would be spent twice. */
    for (uint32_t step = 0; step < share; step++) {
        affine<F> p = next;
        bool is_negative = value & MSM_VALUE_NEGATIVE, is_active = i < end;
        uint32_t next_key = MSM_KEY_NONE;

        /* The next point is on its way while this one is added. */
        if (++i < end) {
            next_key = keys[i];
            value = values[i];
            next = load_base<F>(bases, value);
        }
        if (is_active && !p.is_infinity()) {
            p.y = p.y.negated_if(is_negative);
            sum.add_affine(p);
        }
        __syncwarp();
        if (is_active && next_key != key) {
            put_sum(sum, key, is_head, buckets, head);
            is_head = false;
            key = next_key;
            sum = xyzz<F>::infinity();
        }
        __syncwarp();
    }
    head_keys[worker] = head_key;
}
