/* The sum of one group over a plan (msm.h). Included once per group by msm_<curve>_<group>.cu.
 *
 *   walk or batch   every worker adds up its share of the sorted list: buckets and heads
 *   join            heads of one bucket are summed within a block, then across blocks
 *   weigh           sum of d times bucket d in two levels, by running sums and suffix sums
 *   finish          the sets together, by doublings; affine
 */
#pragma once

#include "gpu-worker/cuda/msm_batch.cuh"
#include "gpu-worker/cuda/msm_internal.cuh"
#include "gpu-worker/cuda/msm_tables.cuh"
#include "gpu-worker/cuda/point.cuh"
#include "gpu-worker/cuda/team.cuh"

enum : uint32_t {
    JOIN_WORKERS = 256,
    JOIN_THREADS_MAX = 512,
    WEIGH_THREADS = 128, /* of workers on their own; teams have four times as many */
};

/* ---- join ---- */

/* heads and head_keys: `count` of them; equal keys are neighbours. A run that began in an earlier
 * block goes to out_keys and outs, one a block; other runs are added to their buckets. */
template <class F>
__global__ void __launch_bounds__(JOIN_THREADS_MAX)
    join(uint32_t count, const uint32_t *head_keys, uint32_t *heads, uint32_t *buckets,
         uint32_t *out_keys, uint32_t *outs)
{
    uint32_t in_block = blockDim.x / F::LANES, place = threadIdx.x / F::LANES;
    uint32_t worker = worker_index<F>();
    uint32_t key = worker < count ? head_keys[worker] : MSM_KEY_NONE;
    bool is_first = worker == 0 || worker >= count || head_keys[worker - 1] != key;
    xyzz<F> sum = xyzz<F>::infinity();

    if (key != MSM_KEY_NONE)
        sum = xyzz<F>::load(heads + (size_t)worker * xyzz<F>::POINT_WORDS);
    for (uint32_t step = 1; step < in_block; step *= 2) {
        bool is_joined = key != MSM_KEY_NONE && place + step < in_block && worker + step < count &&
                         head_keys[worker + step] == key;
        xyzz<F> other;

        if (!__syncthreads_or(is_joined))
            break;
        if (is_joined)
            other = xyzz<F>::load(heads + (size_t)(worker + step) * xyzz<F>::POINT_WORDS);
        __syncthreads();
        if (is_joined) {
            sum.add(other);
            sum.store(heads + (size_t)worker * xyzz<F>::POINT_WORDS);
        }
    }
    bool is_passed_on = place == 0 && key != MSM_KEY_NONE && !is_first;
    if (place == 0 && out_keys)
        out_keys[blockIdx.x] = is_passed_on ? key : MSM_KEY_NONE;
    if (is_passed_on) {
        sum.store(outs + (size_t)blockIdx.x * xyzz<F>::POINT_WORDS);
    } else if (key != MSM_KEY_NONE && is_first) {
        uint32_t *bucket = buckets + (size_t)key * xyzz<F>::POINT_WORDS;
        xyzz<F> all = xyzz<F>::load(bucket);

        all.add(sum);
        all.store(bucket);
    }
}

/* ---- weigh ---- */

/* For inputs R_i and T_i, i < count, of each set (blockIdx.y): the block's part of the sum of
 * T_i + 2^unit_log2 i R_i with i counted from the block's first, and the sum of its R_i. With
 * tails NULL, T_i = R_i. Every worker takes 2^share_log2 inputs. A is who adds: solo or team. */
template <class A>
__global__ void __launch_bounds__(WEIGH_THREADS *A::THREADS / A::field_type::LANES)
    weigh(const uint32_t *plains, const uint32_t *tails, uint32_t count, unsigned share_log2,
          unsigned unit_log2, uint32_t *ret_plains, uint32_t *ret_tails)
{
    using point = xyzz<typename A::field_type>;
    constexpr uint32_t WORKERS = WEIGH_THREADS / A::field_type::LANES;
    constexpr uint32_t WORDS = point::POINT_WORDS;
    __shared__ __align__(16) uint32_t exchange[WORKERS * WORDS];
    uint32_t place = threadIdx.x / A::THREADS;
    uint32_t begin = (blockIdx.x * WORKERS + place) << share_log2;
    size_t set = blockIdx.y;
    uint32_t *mine = exchange + place * WORDS;
    point plain = point::infinity(), weighed = plain, tail = plain;

    for (uint32_t i = 1u << share_log2; i-- > 0;) {
        if (begin + i >= count)
            continue;
        A::add(plain, point::load(plains + (set * count + begin + i) * WORDS));
        if (i > 0)
            A::add(weighed, plain);
        if (tails)
            A::add(tail, point::load(tails + (set * count + begin + i) * WORDS));
    }
    if (!tails)
        tail = plain;
    /* Suffix sums: afterwards `plain` is the sum from this worker to the block's last. */
    for (uint32_t step = 1; step < WORKERS; step *= 2) {
        if (A::is_writer())
            plain.store(mine);
        __syncthreads();
        if (place + step < WORKERS)
            A::add(plain, point::load(mine + step * WORDS));
        __syncthreads();
    }
    size_t out = (set * gridDim.x + blockIdx.x) * WORDS;
    if (place == 0) {
        plain.store(ret_plains + out);
        plain = point::infinity();
    }
    for (unsigned i = 0; i < share_log2; i++)
        A::twice(plain);
    A::add(plain, weighed);
    /* Two trees side by side: the lower workers sum what is to be doubled, the upper ones the
     * tails. Then one worker doubles, with nobody in its way. */
    bool is_lower = place < WORKERS / 2;
    if (A::is_writer())
        (is_lower ? tail : plain).store(mine);
    __syncthreads();
    point sum = is_lower ? plain : tail;
    A::add(sum, point::load(exchange + (place ^ WORKERS / 2) * WORDS));
    for (uint32_t half = WORKERS / 4; half > 0; half /= 2) {
        __syncthreads();
        if (A::is_writer())
            sum.store(mine);
        __syncthreads();
        if (place % (WORKERS / 2) < half)
            A::add(sum, point::load(mine + half * WORDS));
    }
    __syncthreads();
    if (place == WORKERS / 2 && A::is_writer())
        sum.store(mine);
    __syncthreads();
    if (place == 0) {
        for (unsigned i = 0; i < unit_log2; i++)
            A::twice(sum);
        A::add(sum, point::load(exchange + WORKERS / 2 * WORDS));
        sum.store(ret_tails + out);
    }
}

/* ---- finish: one team ---- */

template <class F>
__global__ void finish(const uint32_t *set_sums, unsigned sets, unsigned window_bits,
                       uint32_t *ret_point)
{
    xyzz<F> sum = xyzz<F>::infinity();

    for (unsigned set = sets; set-- > 0;) {
        for (unsigned i = 0; i < window_bits && set + 1 < sets; i++)
            team<F>::twice(sum);
        team<F>::add(sum, xyzz<F>::load(set_sums + set * xyzz<F>::POINT_WORDS));
    }
    sum.to_affine().store(ret_point);
}

/* ---- launches ---- */

template <class F> struct msm_launch {
    static constexpr size_t POINT_BYTES = 4 * xyzz<F>::POINT_WORDS;
    static constexpr uint32_t WEIGH_WORKERS = WEIGH_THREADS / F::LANES;

    /* Sizes, and where everything lies in the scratch memory. */
    bool is_batched;
    uint32_t walk_blocks, workers, join_blocks;
    struct batch_memory batches;
    unsigned share_log2; /* of the first weighing */
    uint32_t weigh_blocks;
    uint32_t *buckets, *head_keys, *heads, *out_keys, *outs;
    uint32_t *plains[2], *tails[2];
    size_t bytes;

    msm_launch(const struct msm_shape *shape, char *scratch)
    {
        plan_workers(shape);
        join_blocks = (workers + JOIN_WORKERS - 1) / JOIN_WORKERS;
        uint32_t weighers = shape->multiprocessors * msm_tuning<F>::BLOCKS * WEIGH_WORKERS;
        share_log2 = 0;
        while ((uint64_t)shape->sets * shape->set_buckets >> share_log2 > weighers)
            share_log2++;
        uint32_t per_block = WEIGH_WORKERS << share_log2;
        weigh_blocks = (shape->set_buckets + per_block - 1) / per_block;

        bytes = 0;
        buckets = take(scratch, POINT_BYTES * shape->sets * shape->set_buckets);
        head_keys = take(scratch, 4 * (size_t)workers);
        heads = take(scratch, POINT_BYTES * workers);
        out_keys = take(scratch, 4 * (size_t)join_blocks);
        outs = take(scratch, POINT_BYTES * join_blocks);
        plains[0] = take(scratch, POINT_BYTES * shape->sets * weigh_blocks);
        tails[0] = take(scratch, POINT_BYTES * shape->sets * weigh_blocks);
        plains[1] = take(scratch, POINT_BYTES * shape->sets);
        tails[1] = take(scratch, POINT_BYTES * shape->sets);
        if (is_batched) {
            size_t slots = (size_t)workers * batches.slots;

            batches.points = take(scratch, slots * 4 * affine<F>::POINT_WORDS);
            batches.products = take(scratch, slots * 4 * F::ELEMENT_WORDS);
            batches.slot_keys = take(scratch, slots * 4);
        }
    }

    uint32_t walk_threads() const
    {
        return is_batched ? (uint32_t)msm_tuning<F>::BATCH_THREADS : (uint32_t)WALK_THREADS;
    }

    /* By batches where a worker's share is worth the inversions. */
    void plan_workers(const struct msm_shape *shape)
    {
        uint32_t blocks = shape->multiprocessors * msm_tuning<F>::BATCH_BLOCKS;
        uint32_t share =
            msm_entries_max(shape) / (blocks * (msm_tuning<F>::BATCH_THREADS / F::LANES)) + 1;

        is_batched = shape->batch_slots > 0 && share >= msm_tuning<F>::BATCH_SHARE;
        walk_blocks = is_batched ? blocks : shape->multiprocessors * msm_tuning<F>::BLOCKS;
        workers = walk_blocks * (walk_threads() / F::LANES);
        uint32_t slots = batch_padded(share) / 2 + 1;
        slots = slots < shape->batch_slots ? slots : shape->batch_slots;
        batches = {};
        batches.slots = slots < MSM_BATCH_SLOTS ? slots : MSM_BATCH_SLOTS;
    }

    uint32_t *take(char *scratch, size_t size)
    {
        uint32_t *r = (uint32_t *)(scratch + bytes);

        bytes += msm_align(size);
        return r;
    }

    static uint32_t fill_blocks(const struct msm_shape *shape)
    {
        return shape->multiprocessors * 2;
    }

    static size_t fill_bytes(const struct msm_shape *shape)
    {
        size_t workers = fill_blocks(shape) * (FILL_THREADS / F::LANES);

        return shape->levels > 1 ? workers * FILL_SHARE * (POINT_BYTES + 4 * F::ELEMENT_WORDS) : 0;
    }

    static size_t scratch_bytes(const struct msm_shape *shape)
    {
        size_t sum = msm_launch(shape, nullptr).bytes, fill = fill_bytes(shape);

        return sum > fill ? sum : fill;
    }

    static cudaError_t sum(const struct msm_shape *shape, const struct msm_plan_view *plan,
                           const uint32_t *bases, char *scratch, uint32_t *ret_point,
                           cudaStream_t stream)
    {
        msm_launch l(shape, scratch);
        size_t bucket_count = (size_t)shape->sets * shape->set_buckets;
        cudaError_t error = cudaMemsetAsync(l.buckets, 0, bucket_count * POINT_BYTES, stream);

        if (error == cudaSuccess)
            error = l.add_up(plan, bases, (uint32_t)bucket_count, stream);
        if (error != cudaSuccess)
            return error;
        join<F><<<l.join_blocks, JOIN_WORKERS * F::LANES, 0, stream>>>(
            l.workers, l.head_keys, l.heads, l.buckets, l.out_keys, l.outs);
        /* The rest of it in one block; no run can have begun before it. */
        uint32_t threads = (l.join_blocks * F::LANES + 31) / 32 * 32;
        join<F><<<1, threads, 0, stream>>>(l.join_blocks, l.out_keys, l.outs, l.buckets, nullptr,
                                           nullptr);
        l.weigh_all(shape, stream);
        finish<F><<<1, team<F>::THREADS, 0, stream>>>(l.weigh_blocks > 1 ? l.tails[1] : l.tails[0],
                                                      shape->sets, shape->window_bits, ret_point);
        return cudaGetLastError();
    }

    cudaError_t add_up(const struct msm_plan_view *plan, const uint32_t *bases,
                       uint32_t bucket_count, cudaStream_t stream)
    {
        if (!is_batched) {
            walk<F><<<walk_blocks, WALK_THREADS, 0, stream>>>(plan->count, plan->keys, plan->values,
                                                              bases, buckets, head_keys, heads);
            return cudaGetLastError();
        }
        batches.count = plan->count;
        batches.keys = plan->keys;
        batches.values = plan->values;
        batches.bases = bases;
        constexpr uint32_t SHARED = msm_tuning<F>::BATCH_THREADS * batch_stage<F>::WORDS * 4;
        cudaError_t error =
            cudaFuncSetAttribute(batch<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
        if (error != cudaSuccess)
            return error;
        batch<F><<<walk_blocks, msm_tuning<F>::BATCH_THREADS, SHARED, stream>>>(
            batches, bucket_count, buckets, head_keys, heads);
        return cudaGetLastError();
    }

    void weigh_all(const struct msm_shape *shape, cudaStream_t stream)
    {
        weigh_level(dim3(weigh_blocks, shape->sets), shape, buckets, nullptr, shape->set_buckets,
                    share_log2, 0, plains[0], tails[0], stream);
        if (weigh_blocks == 1)
            return;
        unsigned unit_log2 = share_log2, again_log2 = 0;
        while (1u << (unit_log2 - share_log2) < WEIGH_WORKERS)
            unit_log2++;
        while (WEIGH_WORKERS << again_log2 < weigh_blocks)
            again_log2++;
        weigh_level(dim3(1, shape->sets), shape, plains[0], tails[0], weigh_blocks, again_log2,
                    unit_log2, plains[1], tails[1], stream);
    }

    /* By teams where they fit the device side by side. */
    static void weigh_level(dim3 grid, const struct msm_shape *shape, const uint32_t *from_plains,
                            const uint32_t *from_tails, uint32_t count, unsigned share_log2,
                            unsigned unit_log2, uint32_t *ret_plains, uint32_t *ret_tails,
                            cudaStream_t stream)
    {
        if (grid.x * grid.y <= shape->multiprocessors)
            weigh<team<F>><<<grid, WEIGH_THREADS * team<F>::MEMBERS, 0, stream>>>(
                from_plains, from_tails, count, share_log2, unit_log2, ret_plains, ret_tails);
        else
            weigh<solo<F>><<<grid, WEIGH_THREADS, 0, stream>>>(
                from_plains, from_tails, count, share_log2, unit_log2, ret_plains, ret_tails);
    }

    static cudaError_t fill_table(const struct msm_shape *shape, unsigned level, uint32_t *bases,
                                  char *scratch, cudaStream_t stream)
    {
        uint32_t blocks = fill_blocks(shape);
        uint32_t piece = blocks * (FILL_THREADS / F::LANES) * FILL_SHARE;
        size_t table_words = (size_t)shape->count * affine<F>::POINT_WORDS;
        uint32_t *to = bases + level * table_words;

        for (uint64_t begin = 0; begin < shape->count; begin += piece)
            ::fill_table<F><<<blocks, FILL_THREADS, 0, stream>>>(
                to - table_words, to, (uint32_t)begin, shape->count,
                shape->sets * shape->window_bits, (uint32_t *)scratch);
        return cudaGetLastError();
    }
};

#define MSM_GROUP(name, F)                                                                         \
    const struct msm_group name = {msm_launch<F>::scratch_bytes, msm_launch<F>::sum,               \
                                   msm_launch<F>::fill_table};
