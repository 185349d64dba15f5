/* The first step of a sum by batches of affine additions: 5M + 1S an addition where the walk's cost
 * 8M + 2S, plus one inversion that a block shares for each batch (Montgomery's trick).
 *
 * A worker takes its share of the sorted list piece by piece. In each piece it adds neighbours of
 * one bucket in pairs, then neighbours among the results, `levels` times; what is left, one in
 * 2^levels and the odd ones, it adds up as the walk does. Pairs never cross a bucket's border, so a
 * bucket may be of any size; nor a worker's, so that all have equal work.
 *
 * A level goes over its input twice. On the way up the differences of x are multiplied together,
 * each product so far kept in a slot; on the way back the inverse of the whole is taken apart and
 * the sums are made. They are packed against the upper end of the worker's slots, whose entries the
 * way back has just used: input and output of a level share the memory. */
#pragma once

#include "gpu-worker/cuda/msm_walk.cuh"

enum : uint32_t {
    BATCH_INVERT_THREADS = 128, /* share an inversion; a block has a multiple of it */
    BATCH_SHARE_MIN = 16,
    BATCH_LEVELS_MAX = 6,
    BATCH_PAIRS_MIN = 12, /* a worker and level: fewer are not worth the inversion */
};

/* Sorted digits, and memory of `slots` points, products and keys for each worker. */
struct batch_memory {
    const uint32_t *count, *keys, *values, *bases;
    uint32_t *points, *products, *slot_keys;
    uint32_t slots;
};

/* A worker's view of it. A block's memory lies together, slot by slot: few pages at a time. */
template <class F> struct batch_slots {
    static constexpr uint32_t STRIDE = msm_tuning<F>::BATCH_THREADS / F::LANES;

    uint32_t *points, *products, *keys;

    __device__ __forceinline__ batch_slots(const struct batch_memory &memory)
    {
        size_t first = (size_t)blockIdx.x * STRIDE * memory.slots + threadIdx.x / F::LANES;

        points = memory.points + first * affine<F>::POINT_WORDS;
        products = memory.products + first * F::ELEMENT_WORDS;
        keys = memory.slot_keys + first;
    }

    __device__ __forceinline__ uint32_t *point(uint32_t slot) const
    {
        return points + slot * (STRIDE * affine<F>::POINT_WORDS);
    }

    __device__ __forceinline__ uint32_t *product(uint32_t slot) const
    {
        return products + slot * (STRIDE * F::ELEMENT_WORDS);
    }

    __device__ __forceinline__ uint32_t *key(uint32_t slot) const
    {
        return keys + slot * STRIDE;
    }
};

/* Where a level takes its points from: the bases named by the sorted list, or slots (values NULL).
 * One code for both, or the loops of a level would not stay in the instruction cache. */
template <class F> struct batch_source {
    const uint32_t *keys, *values, *points;
    uint32_t stride;

    __device__ __forceinline__ uint32_t key(uint32_t i) const
    {
        return keys[(size_t)i * stride];
    }

    __device__ __forceinline__ uint32_t value(uint32_t i) const
    {
        return values ? values[i] : i * stride;
    }

    __device__ __forceinline__ const uint32_t *point(uint32_t value) const
    {
        return points + (size_t)(value & ~MSM_VALUE_NEGATIVE) * affine<F>::POINT_WORDS;
    }
};

/* One addition to be: a pair of neighbours, or a point without a partner, which is its own second.
 * What was loaded is looked at only when it is needed, a step later. */
template <class F> struct batch_pair {
    uint32_t key, second_key, first, second; /* values */
    bool may_pair;

    __device__ __forceinline__ void find(const batch_source<F> &source, uint32_t i, bool with_next)
    {
        uint32_t other = i + with_next;

        may_pair = with_next;
        key = source.key(i);
        second_key = source.key(other);
        first = source.value(i);
        second = source.value(other);
    }

    __device__ __forceinline__ bool is_pair() const
    {
        return may_pair && key == second_key;
    }

    __device__ __forceinline__ void drop_second()
    {
        second = is_pair() ? second : first;
    }
};

/* Which slots were pairs: the last pushed is popped first. */
struct batch_bits {
    uint32_t word[MSM_BATCH_SLOTS / 32];

    __device__ __forceinline__ void push(bool bit)
    {
#pragma unroll
        for (int i = MSM_BATCH_SLOTS / 32 - 1; i > 0; i--)
            word[i] = word[i] << 1 | word[i - 1] >> 31;
        word[0] = word[0] << 1 | (uint32_t)bit;
    }

    __device__ __forceinline__ bool pop()
    {
        bool bit = word[0] & 1;
#pragma unroll
        for (int i = 0; i < MSM_BATCH_SLOTS / 32 - 1; i++)
            word[i] = word[i] >> 1 | word[i + 1] << 31;
        word[MSM_BATCH_SLOTS / 32 - 1] >>= 1;
        return bit;
    }
};

/* Coordinates on their way from device memory to shared memory, while the thread does something
 * else. The first point has two places, used in turn: it is still wanted when the next is fetched.
 */
template <class F> struct batch_stage {
    static constexpr uint32_t WORDS = 7 * F::WORDS | 4; /* without conflicts of banks */
    enum place { X2, Y2, PRODUCT, X1, Y1, TURN = 2 };

    static __device__ __forceinline__ uint32_t *at(uint32_t place)
    {
        extern __shared__ __align__(16) uint32_t batch_staging[];

        return batch_staging + threadIdx.x * WORDS + place * F::WORDS;
    }

    static __device__ __forceinline__ void fetch(uint32_t place, const uint32_t *from)
    {
        uint32_t to = (uint32_t)__cvta_generic_to_shared(at(place));

        from += F::own_offset();
#pragma unroll
        for (int i = 0; i < F::WORDS; i += 4)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to + 4 * i),
                         "l"(from + i)
                         : "memory");
    }

    static __device__ __forceinline__ void wait()
    {
        asm volatile("cp.async.wait_all;" ::: "memory");
    }

    static __device__ __forceinline__ F get(uint32_t place)
    {
        return F::load_own(at(place));
    }
};

/* ---- one addition ---- */

/* The sum of p and q is that of the chord through both; or one of these. */
enum batch_case { BATCH_CHORD, BATCH_TANGENT, BATCH_FIRST, BATCH_SECOND, BATCH_INFINITY };

/* Of two points with x = 0 in one, or with the same x. */
template <class F>
static __device__ __noinline__ enum batch_case batch_classify(const affine<F> &p,
                                                              const affine<F> &q)
{
    if (p.is_infinity())
        return BATCH_SECOND;
    if (q.is_infinity())
        return BATCH_FIRST;
    if (!(p.x - q.x).is_zero())
        return BATCH_CHORD;
    bool is_same = (p.y - q.y).is_zero(), has_order_two = p.y.is_zero();
    return is_same && !has_order_two ? BATCH_TANGENT : BATCH_INFINITY;
}

/* What the slope is divided by: never zero. get_y(0) and get_y(1) are the points' y. */
template <class F, class Y>
static __device__ __forceinline__ F batch_divisor(bool is_pair, const F &x1, const F &x2,
                                                  const Y &get_y, enum batch_case *ret_case)
{
    F d = x2 - x1;
    bool is_zero = d.is_zero(), x1_is_zero = x1.is_zero(), x2_is_zero = x2.is_zero();

    *ret_case = is_pair ? BATCH_CHORD : BATCH_FIRST;
    if (is_pair && (is_zero || x1_is_zero || x2_is_zero)) {
        affine<F> p, q;

        p.x = x1, p.y = get_y(0);
        q.x = x2, q.y = get_y(1);
        *ret_case = batch_classify(p, q);
        if (*ret_case == BATCH_TANGENT)
            d = p.y + p.y;
    }
    return F::select(*ret_case <= BATCH_TANGENT, d, F::one());
}

/* ---- one level ---- */

template <class F> struct batch_product {
    uint32_t end, used;
    struct batch_bits bits;
    F product;
};

/* Takes input from `begin` until `end` or until `limit` slots are used, and says where it stopped.
 * The slots' divisors multiply into the product. Not inlined, as what the caller keeps would take
 * registers from the loop. */
template <class F>
static __device__ __noinline__ batch_product<F>
batch_up(batch_source<F> source, batch_slots<F> slots, uint32_t begin, uint32_t end, uint32_t limit)
{
    using stage = batch_stage<F>;
    uint32_t i = begin, used = 0;
    batch_pair<F> now = {}, next = {};
    batch_product<F> r = {};
    struct batch_bits bits = {};
    F product = F::one();
    auto step = [&]() {
        now = next;
        now.drop_second();
        stage::fetch(stage::X1, source.point(now.first));
        stage::fetch(stage::X2, source.point(now.second));
        uint32_t after = i + 1 + now.is_pair();
        if (after < end)
            next.find(source, after, after + 1 < end);
    };

    if (i < end) {
        next.find(source, i, i + 1 < end);
        step();
    }
    while (__any_sync(0xffffffffu, i < end && used < limit)) {
        if (i < end && used < limit) {
            stage::wait();
            F x1 = stage::get(stage::X1), x2 = stage::get(stage::X2);
            uint32_t first = now.first, second = now.second;
            bool is_pair = now.is_pair();
            enum batch_case ignored;

            i += 1 + is_pair;
            bits.push(is_pair);
            product.store(slots.product(used++));
            if (i < end && used < limit)
                step();
            auto get_y = [&](int which) {
                uint32_t value = which ? second : first;

                return F::load(source.point(value) + F::ELEMENT_WORDS)
                    .negated_if(value & MSM_VALUE_NEGATIVE);
            };
            product = product * batch_divisor(is_pair, x1, x2, get_y, &ignored);
        }
        __syncwarp();
    }
    r.end = i;
    r.used = used;
    r.bits = bits;
    r.product = product;
    return r;
}

/* The sums of the slots used, from the last of them to the first. up.product is the inverse now. */
template <class F>
static __device__ __noinline__ void batch_back(batch_source<F> source, batch_slots<F> slots,
                                               uint32_t slot_count, batch_product<F> up)
{
    using stage = batch_stage<F>;
    batch_pair<F> now = {}, next = {};
    uint32_t i = up.end, left = up.used, out = slot_count; /* i: where `next` begins */
    uint32_t turn = 0;
    struct batch_bits bits = up.bits;
    F inverse = up.product;
    auto find = [&]() {
        bool is_pair = bits.pop();

        i -= 1 + is_pair;
        next.find(source, i, is_pair);
    };
    auto step = [&]() {
        now = next;
        if (left > 0) {
            const uint32_t *first = source.point(now.first), *second = source.point(now.second);

            turn ^= stage::TURN;
            stage::fetch(stage::X1 + turn, first);
            stage::fetch(stage::X2, second);
            stage::fetch(stage::Y1 + turn, first + F::ELEMENT_WORDS);
            stage::fetch(stage::Y2, second + F::ELEMENT_WORDS);
            stage::fetch(stage::PRODUCT, slots.product(left - 1));
        }
        if (left > 1)
            find();
    };

    if (left > 0)
        find();
    step();
    while (__any_sync(0xffffffffu, left > 0)) {
        if (left > 0) {
            stage::wait();
            F kept = stage::get(stage::PRODUCT);
            F x1 = stage::get(stage::X1 + turn), x2 = stage::get(stage::X2);
            bool is_first_negative = now.first & MSM_VALUE_NEGATIVE;
            bool is_second_negative = now.second & MSM_VALUE_NEGATIVE;
            enum batch_case which;
            auto get_y = [&](int i) {
                return stage::get(i ? stage::Y2 : stage::Y1 + turn)
                    .negated_if(i ? is_second_negative : is_first_negative);
            };
            F d = batch_divisor(now.may_pair, x1, x2, get_y, &which);

            kept = inverse * kept;
            inverse = inverse * d;
            F n = get_y(1) - get_y(0);
            if (which == BATCH_TANGENT) {
                n = x1.squared();
                n = n + n + n;
            }
            if (which == BATCH_SECOND) {
                x2.store_own(stage::at(stage::X1 + turn));
                stage::get(stage::Y2).store_own(stage::at(stage::Y1 + turn));
                is_first_negative = is_second_negative;
            }
            F x_sum = x1 + x2;
            uint32_t mine = turn;
            out--;
            left--;
            *slots.key(out) = now.key;
            step();
            F slope = n * kept;
            affine<F> sum;
            sum.x = slope.squared() - x_sum;
            x1 = stage::get(stage::X1 + mine);
            sum.y = slope * (x1 - sum.x);
            F y1 = stage::get(stage::Y1 + mine).negated_if(is_first_negative);
            sum.y = sum.y - y1;
            if (which > BATCH_TANGENT) {
                sum.x = F::select(which == BATCH_INFINITY, F::zero(), x1);
                sum.y = F::select(which == BATCH_INFINITY, F::zero(), y1);
            }
            sum.store(slots.point(out));
        }
        __syncwarp();
    }
}

/* Each worker's value becomes its inverse, none of them zero. One warp in four does it for all,
 * with one inversion a thread; `turn` says which, so that it is not always on the same quarter of
 * the multiprocessor. */
template <class F> static __device__ __forceinline__ void invert_in_block(F &value, uint32_t turn)
{
    constexpr uint32_t WORKERS = BATCH_INVERT_THREADS / F::LANES, INVERTERS = 32 / F::LANES;
    constexpr int EACH = WORKERS / INVERTERS;
    __shared__ __align__(16)
        uint32_t exchanges[msm_tuning<F>::BATCH_THREADS / F::LANES * F::ELEMENT_WORDS];
    uint32_t *exchange =
        exchanges + threadIdx.x / BATCH_INVERT_THREADS * WORKERS * F::ELEMENT_WORDS;
    uint32_t place = threadIdx.x % BATCH_INVERT_THREADS;
    uint32_t *mine = exchange + place / F::LANES * F::ELEMENT_WORDS;

    value.store(mine);
    __syncthreads();
    if (place / 32 == (turn + threadIdx.x / BATCH_INVERT_THREADS) % (BATCH_INVERT_THREADS / 32)) {
        uint32_t *first = exchange + threadIdx.x % 32 / F::LANES * F::ELEMENT_WORDS;
        F before[EACH], inverse = F::load(first);

#pragma unroll
        for (int i = 1; i < EACH; i++) {
            before[i] = inverse;
            inverse = inverse * F::load(first + i * INVERTERS * F::ELEMENT_WORDS);
        }
        inverse = inverse.inverse();
#pragma unroll
        for (int i = EACH - 1; i > 0; i--) {
            uint32_t *at = first + i * INVERTERS * F::ELEMENT_WORDS;
            F own = F::load(at);

            (inverse * before[i]).store(at);
            inverse = inverse * own;
        }
        inverse.store(first);
    }
    __syncthreads();
    value = F::load(mine);
}

/* ---- the kernel ---- */

/* The rest of a piece, slots `begin` up, goes to the buckets or to the worker's head. *key is the
 * bucket that the piece before ended in, and becomes this piece's. */
template <class F>
static __device__ __noinline__ void batch_finish(batch_slots<F> slots, uint32_t begin, uint32_t end,
                                                 uint32_t head_key, uint32_t *key,
                                                 uint32_t *buckets, uint32_t *head)
{
    constexpr uint32_t WORDS = xyzz<F>::POINT_WORDS;
    uint32_t at = begin, next_key = at < end ? *slots.key(at) : MSM_KEY_NONE;
    xyzz<F> sum = xyzz<F>::infinity();

    if (at < end && next_key == *key)
        sum = xyzz<F>::load(next_key == head_key ? head : buckets + (size_t)next_key * WORDS);
    while (__any_sync(0xffffffffu, at < end)) {
        bool is_active = at < end;

        if (is_active) {
            affine<F> p = affine<F>::load(slots.point(at));

            *key = next_key;
            at++;
            next_key = at < end ? *slots.key(at) : MSM_KEY_NONE;
            if (!p.is_infinity())
                sum.add_affine(p);
        }
        __syncwarp();
        if (is_active && next_key != *key) {
            put_sum(sum, *key, *key == head_key, buckets, head);
            sum = xyzz<F>::infinity();
        }
        __syncwarp();
    }
}

/* How often to halve: until a level has too few pairs to share an inversion, or the buckets, on
 * average, too few points. */
static __device__ __forceinline__ uint32_t batch_levels(uint32_t total, uint32_t piece,
                                                        uint32_t bucket_count)
{
    uint32_t levels = 1;

    while (levels < BATCH_LEVELS_MAX && piece >> levels >= 2 * BATCH_PAIRS_MIN &&
           total >> levels >= 2 * bucket_count)
        levels++;
    return levels;
}

/* A share with some room for points without a partner. */
static __host__ __device__ __forceinline__ uint32_t batch_padded(uint32_t share)
{
    return share + share / 16 + 8;
}

template <class F>
__global__ void __launch_bounds__(msm_tuning<F>::BATCH_THREADS, msm_tuning<F>::BATCH_BLOCKS)
    batch(struct batch_memory memory, uint32_t bucket_count, uint32_t *buckets, uint32_t *head_keys,
          uint32_t *heads)
{
    uint32_t worker = worker_index<F>(), workers = gridDim.x * blockDim.x / F::LANES;
    uint32_t total = *memory.count, share = total / workers + 1;
    batch_slots<F> slots(memory);

    share = share < BATCH_SHARE_MIN ? BATCH_SHARE_MIN : share;
    uint64_t begin = (uint64_t)worker * share;
    uint32_t *head = heads + (size_t)worker * xyzz<F>::POINT_WORDS;
    uint32_t i = begin < total ? (uint32_t)begin : total;
    uint32_t end = total - i < share ? total : i + share;
    uint32_t head_key = MSM_KEY_NONE, key = MSM_KEY_NONE;
    uint32_t turn = blockIdx.x * msm_tuning<F>::BATCH_BLOCKS / gridDim.x;

    if (i > 0 && i < end && memory.keys[i - 1] == memory.keys[i])
        head_key = memory.keys[i];
    /* Pieces of one length. */
    uint32_t padded = batch_padded(share);
    uint32_t pieces = (padded + 2 * memory.slots - 1) / (2 * memory.slots);
    uint32_t limit = (padded / 2 + pieces - 1) / pieces;
    uint32_t levels = batch_levels(total, 2 * limit, bucket_count);
    uint32_t first_limit = limit;
    if (pieces > 2)
        first_limit = limit * (turn + 1) / msm_tuning<F>::BATCH_BLOCKS;
    while (__syncthreads_or(i < end)) {
        uint32_t used, first = 0;

        struct batch_source<F> source = {
            memory.keys, memory.values, memory.bases, 1
        };
#pragma unroll 1
        for (uint32_t level = 0; level < levels; level++) {
            bool is_first = level == 0;
            batch_product<F> up =
                batch_up<F>(source, slots, is_first ? i : first, is_first ? end : memory.slots,
                            is_first ? first_limit : memory.slots);

            invert_in_block(up.product, turn++);
            batch_back<F>(source, slots, memory.slots, up);
            if (is_first)
                i = up.end;
            used = up.used;
            source = {slots.keys, nullptr, slots.points, slots.STRIDE};
            first = memory.slots - used;
        }
        first_limit = limit;
        batch_finish(slots, first, memory.slots, head_key, &key, buckets, head);
    }
    head_keys[worker] = head_key;
}
