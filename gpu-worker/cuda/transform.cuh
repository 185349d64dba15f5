/* Transforms over one scalar field (transform.h), included once per field.
 *
 * Stage s of `down` treats 2^s blocks; block k is a polynomial modulo x^m - T[k]^2 and is split by
 * (a, b) -> (a + T[k] b, a - T[k] b). `up` undoes that from the last stage to the first, up to the
 * factor n. T[k] is the product over the bits j of k of the roots of order 2^(j + 2), so that
 * 1 / T[k] = -T[k with the bits below its highest one flipped]: one table serves both ways. Every
 * butterfly costs exactly one product; there are no twiddles between passes.
 *
 * A pass takes several stages on a tile in shared memory: 2^stages rows of neighbouring columns, or
 * in the last pass of `down` (the first of `up`) a run of neighbours. Threads take eight values at
 * a time through up to three stages in registers.
 *
 * Structure of blocks and bit-reversed twiddles: Harvey 2014, "Faster arithmetic for
 * number-theoretic transforms". */
#pragma once

#include <cuda_runtime.h>
#include <errno.h>

#include "gpu-worker/cuda/field.cuh"
#include "gpu-worker/cuda/transform_internal.cuh"

enum : unsigned {
    TILE_LOG2_MAX = 11,
    TILE_SINGLE_LOG2_MAX = 9, /* smaller domains are one tile */
    TILE_THREADS_MAX = 1u << (TILE_LOG2_MAX - 3),
    TILE_COLUMNS_LOG2_MIN = 2, /* 4 neighbours, 128 bytes */
    TILE_BYTES_MAX = (9u << (TILE_LOG2_MAX - 3)) * CURVE_FR_BYTES,
    POINTWISE_THREADS = 256,
};

/* What a pass does. */
enum pass_kind {
    PASS_DOWN,
    PASS_UP,
    PASS_MIDDLE, /* the last stages down with 1/w, times T[i], the first stages up with w */
};

struct pass {
    uint32_t *values[TRANSFORM_BATCH_MAX];
    const uint32_t *table;
    /* Instead of loading from values[0]: the product of these, when not NULL. */
    const uint32_t *factor_a, *factor_b;
    unsigned log2;
    unsigned depth, stages; /* stages done before, and those of this pass */
    unsigned tile_log2;
    bool has_scale;
};

/* ---- tiles ---- */

/* The halves of a value lie apart, and a gap follows every eight values, so that no access pattern
 * below meets a bank twice. */
static __device__ __forceinline__ unsigned tile_place(unsigned index)
{
    return index + (index >> 3);
}

template <class F> struct tile {
    uint4 *low, *high;

    __device__ __forceinline__ F get(unsigned index) const
    {
        uint4 l = low[tile_place(index)], h = high[tile_place(index)];

        return F{{l.x, l.y, l.z, l.w, h.x, h.y, h.z, h.w}};
    }

    __device__ __forceinline__ void put(unsigned index, const F &v) const
    {
        low[tile_place(index)] = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
        high[tile_place(index)] = make_uint4(v.word[4], v.word[5], v.word[6], v.word[7]);
    }
};

/* Without INVERSE, T[k]; with it, -1 / T[k]. */
template <class F, bool INVERSE>
static __device__ __forceinline__ F twiddle(const uint32_t *table, uint32_t k)
{
    if (INVERSE) {
        if (k == 0)
            return F::one().negated();
        k ^= (0x80000000u >> __clz((int)k)) - 1;
    }
    return F::load(table + (size_t)k * F::WORDS);
}

template <class F, bool INVERSE>
static __device__ __forceinline__ void split(F &a, F &b, const F &t)
{
    F product = t * b, old = a;

    a = INVERSE ? old - product : old + product;
    b = INVERSE ? old + product : old - product;
}

template <class F, bool INVERSE>
static __device__ __forceinline__ void merge(F &a, F &b, const F &t)
{
    F difference = INVERSE ? b - a : a - b;

    a = a + b;
    b = difference * t;
}

/* `STAGES` stages from stage `stage` of the tile on, for 2^STAGES values a group; `block` is the
 * tile's first block at the pass's depth. */
template <class F, unsigned STAGES, bool IS_UP, bool INVERSE>
static __device__ __forceinline__ void group(const tile<F> &tile, const struct pass &pass,
                                             uint32_t block, unsigned stage, unsigned index)
{
    unsigned distance_log2 = pass.tile_log2 - stage - STAGES;
    unsigned in_block = index & ((1u << distance_log2) - 1), sub_block = index >> distance_log2;
    unsigned first = (sub_block << (distance_log2 + STAGES)) + in_block;
    uint32_t k = (block << stage) + sub_block;
    F v[1 << STAGES];

#pragma unroll
    for (unsigned i = 0; i < 1u << STAGES; i++)
        v[i] = tile.get(first + (i << distance_log2));
#pragma unroll
    for (unsigned round = 0; round < STAGES; round++) {
        unsigned s = IS_UP ? STAGES - 1 - round : round;
        unsigned half = 1u << (STAGES - 1 - s);
#pragma unroll
        for (unsigned b = 0; b < 1u << s; b++) {
            F t = twiddle<F, INVERSE>(pass.table, (k << s) + b);
#pragma unroll
            for (unsigned i = 0; i < half; i++) {
                unsigned at = 2 * half * b + i;

                if (IS_UP)
                    merge<F, INVERSE>(v[at], v[at + half], t);
                else
                    split<F, INVERSE>(v[at], v[at + half], t);
            }
        }
    }
#pragma unroll
    for (unsigned i = 0; i < 1u << STAGES; i++)
        tile.put(first + (i << distance_log2), v[i]);
}

template <class F, bool IS_UP, bool INVERSE>
static __device__ __forceinline__ void stages_of_tile(const tile<F> &tile, const struct pass &pass,
                                                      uint32_t block)
{
    unsigned rest = pass.stages % 3, threes = pass.stages - rest;

    /* The odd stages are the last of down and the first of up. */
    if (!IS_UP)
        for (unsigned stage = 0; stage < threes; stage += 3) {
            group<F, 3, IS_UP, INVERSE>(tile, pass, block, stage, threadIdx.x);
            __syncthreads();
        }
    if (rest == 2) {
#pragma unroll 1
        for (unsigned i = 0; i < 2; i++)
            group<F, 2, IS_UP, INVERSE>(tile, pass, block, threes, threadIdx.x + i * blockDim.x);
        __syncthreads();
    } else if (rest == 1) {
#pragma unroll 1
        for (unsigned i = 0; i < 4; i++)
            group<F, 1, IS_UP, INVERSE>(tile, pass, block, threes, threadIdx.x + i * blockDim.x);
        __syncthreads();
    }
    if (IS_UP)
        for (unsigned stage = threes; stage > 0; stage -= 3) {
            group<F, 3, IS_UP, INVERSE>(tile, pass, block, stage - 3, threadIdx.x);
            __syncthreads();
        }
}

template <class F, enum pass_kind KIND, bool INVERSE>
__global__ void __launch_bounds__(TILE_THREADS_MAX, 2) run_pass(struct pass pass, F scale)
{
    extern __shared__ __align__(16) uint4 memory[];
    unsigned size = 1u << pass.tile_log2, threads = blockDim.x;
    tile<F> tile = {memory, memory + tile_place(size)};
    uint32_t *values = pass.values[blockIdx.y];
    unsigned columns_log2 = pass.log2 - pass.depth - pass.stages; /* of a block */
    unsigned width_log2 = pass.tile_log2 - pass.stages;           /* columns in a tile */
    uint32_t block = blockIdx.x >> (columns_log2 - width_log2);
    uint32_t column = (blockIdx.x & ((1u << (columns_log2 - width_log2)) - 1)) << width_log2;
    size_t base = ((size_t)block << (pass.log2 - pass.depth)) + column;

#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += threads) {
        size_t at =
            base + ((size_t)(i >> width_log2) << columns_log2) + (i & ((1u << width_log2) - 1));

        if (KIND == PASS_DOWN && pass.factor_a)
            tile.put(i, F::load(pass.factor_a + at * F::WORDS) *
                            F::load(pass.factor_b + at * F::WORDS));
        else
            tile.put(i, F::load(values + at * F::WORDS));
    }
    __syncthreads();
    if (KIND == PASS_DOWN) {
        stages_of_tile<F, false, INVERSE>(tile, pass, block);
    } else if (KIND == PASS_UP) {
        stages_of_tile<F, true, INVERSE>(tile, pass, block);
    } else {
        stages_of_tile<F, false, true>(tile, pass, block);
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < size; i += threads)
            tile.put(i, tile.get(i) * F::load(pass.table + (base + i) * F::WORDS));
        __syncthreads();
        stages_of_tile<F, true, false>(tile, pass, block);
    }
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += threads) {
        size_t at =
            base + ((size_t)(i >> width_log2) << columns_log2) + (i & ((1u << width_log2) - 1));
        F v = tile.get(i);

        if (KIND != PASS_MIDDLE && pass.has_scale)
            v = v * scale;
        v.store(values + at * F::WORDS);
    }
}

/* ---- domains of less than eight values: one thread each ---- */

template <class F, bool IS_UP, bool INVERSE>
static __device__ void tiny_stages(uint32_t *values, const uint32_t *table, unsigned log2)
{
    for (unsigned round = 0; round < log2; round++) {
        unsigned s = IS_UP ? log2 - 1 - round : round, half = 1u << (log2 - 1 - s);

        for (unsigned i = 0; i < 1u << (log2 - 1); i++) {
            unsigned block = i / half, at = 2 * half * block + i % half;
            F a = F::load(values + at * F::WORDS), b = F::load(values + (at + half) * F::WORDS);
            F t = twiddle<F, INVERSE>(table, block);

            if (IS_UP)
                merge<F, INVERSE>(a, b, t);
            else
                split<F, INVERSE>(a, b, t);
            a.store(values + at * F::WORDS);
            b.store(values + (at + half) * F::WORDS);
        }
    }
}

template <class F>
static __device__ void tiny_scale(uint32_t *values, unsigned log2, const F &scale)
{
    for (unsigned i = 0; i < 1u << log2; i++)
        (F::load(values + i * F::WORDS) * scale).store(values + i * F::WORDS);
}

template <class F, enum pass_kind KIND, bool INVERSE>
__global__ void run_tiny(struct pass pass, F scale)
{
    uint32_t *values = pass.values[blockIdx.x];

    if (KIND == PASS_DOWN) {
        tiny_stages<F, false, INVERSE>(values, pass.table, pass.log2);
    } else if (KIND == PASS_UP) {
        tiny_stages<F, true, INVERSE>(values, pass.table, pass.log2);
    } else {
        tiny_stages<F, false, true>(values, pass.table, pass.log2);
        for (unsigned i = 0; i < 1u << pass.log2; i++)
            tiny_scale<F>(values + i * F::WORDS, 0, F::load(pass.table + i * F::WORDS));
        tiny_stages<F, true, false>(values, pass.table, pass.log2);
    }
    if (pass.has_scale)
        tiny_scale<F>(values, pass.log2, scale);
}

/* ---- pointwise ---- */

template <class F>
__global__ void __launch_bounds__(POINTWISE_THREADS)
    multiply(const uint32_t *a, const uint32_t *b, uint32_t *ret, uint32_t count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        (F::load(a + (size_t)i * F::WORDS) * F::load(b + (size_t)i * F::WORDS))
            .store(ret + (size_t)i * F::WORDS);
}

/* c = a b / n^2 - c / n as plain integers: all three carry a factor n. The scales are plain, so
 * that the products with them leave Montgomery form. */
template <class F>
__global__ void __launch_bounds__(POINTWISE_THREADS)
    finish_quotient(const uint32_t *a, const uint32_t *b, uint32_t *c, uint32_t count, F scale_ab,
                    F scale_c)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count) {
        size_t at = (size_t)i * F::WORDS;

        (F::load(a + at) * F::load(b + at) * scale_ab - F::load(c + at) * scale_c).store(c + at);
    }
}

struct table_roots {
    uint32_t word[TRANSFORM_LOG2_MAX][8]; /* of order 2^(j + 2) */
};

template <class F>
__global__ void __launch_bounds__(POINTWISE_THREADS)
    fill_twiddles(uint32_t *table, uint32_t count, struct table_roots roots)
{
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    F product = F::one();

    if (k >= count)
        return;
    for (unsigned j = 0; j < TRANSFORM_LOG2_MAX; j++)
        if (k >> j & 1) {
            F root;
#pragma unroll
            for (int i = 0; i < F::WORDS; i++)
                root.word[i] = roots.word[j][i];
            product = product * root;
        }
    product.store(table + (size_t)k * F::WORDS);
}

/* ---- launches ---- */

template <class F, class C> struct transform_launch {
    static F power_of_half(unsigned exponent)
    {
        F half, r = F::one();

        for (int i = 0; i < F::WORDS; i++)
            half.word[i] = C::half(i);
        for (unsigned i = 0; i < exponent; i++)
            r = r * half;
        return r;
    }

    static F to_plain(const F &a)
    {
        F integer_one = F::zero();

        integer_one.word[0] = 1;
        return a * integer_one;
    }

    static uint32_t blocks_for(uint32_t count)
    {
        return (count + POINTWISE_THREADS - 1) / POINTWISE_THREADS;
    }

    static cudaError_t fill_table(unsigned log2_max, uint32_t *table, cudaStream_t stream)
    {
        struct table_roots roots = {};
        F root;

        for (int i = 0; i < F::WORDS; i++)
            root.word[i] = C::root(i);
        for (int order_log2 = C::TWO_ADICITY; order_log2 >= 2; order_log2--) {
            if (order_log2 - 2 < TRANSFORM_LOG2_MAX)
                for (int i = 0; i < F::WORDS; i++)
                    roots.word[order_log2 - 2][i] = root.word[i];
            root = root * root;
        }
        fill_twiddles<F><<<blocks_for(1u << log2_max), POINTWISE_THREADS, 0, stream>>>(
            table, 1u << log2_max, roots);
        return cudaGetLastError();
    }

    template <enum pass_kind KIND, bool INVERSE>
    static cudaError_t launch(const struct pass &pass, unsigned count, const F &scale,
                              cudaStream_t stream)
    {
        unsigned threads = 1u << (pass.tile_log2 - 3);
        size_t bytes = ((size_t)9 << (pass.tile_log2 - 3)) * CURVE_FR_BYTES;
        cudaError_t error =
            cudaFuncSetAttribute(run_pass<F, KIND, INVERSE>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, TILE_BYTES_MAX);

        if (error != cudaSuccess)
            return error;
        run_pass<F, KIND, INVERSE>
            <<<dim3(1u << (pass.log2 - pass.tile_log2), count), threads, bytes, stream>>>(pass,
                                                                                          scale);
        return cudaGetLastError();
    }

    /* Large enough for the fewest passes and not larger, so that small domains still spread over
     * the device. */
    static unsigned tile_log2(unsigned log2)
    {
        unsigned two_passes = (log2 + TILE_COLUMNS_LOG2_MIN + 1) / 2;

        if (log2 <= TILE_SINGLE_LOG2_MAX)
            return log2;
        return two_passes < TILE_LOG2_MAX ? two_passes : TILE_LOG2_MAX;
    }

    /* Stages above the last tile's, shared out evenly over the fewest passes. */
    static unsigned column_passes(unsigned log2)
    {
        unsigned above = log2 - tile_log2(log2), each = tile_log2(log2) - TILE_COLUMNS_LOG2_MIN;

        return above ? (above + each - 1) / each : 0;
    }

    static struct pass column_pass(struct pass pass, unsigned index)
    {
        unsigned passes = column_passes(pass.log2);

        pass.tile_log2 = tile_log2(pass.log2);
        unsigned above = pass.log2 - pass.tile_log2;
        pass.depth = above * index / passes;
        pass.stages = above * (index + 1) / passes - pass.depth;
        return pass;
    }

    static struct pass last_pass(struct pass pass)
    {
        pass.stages = pass.tile_log2 = tile_log2(pass.log2);
        pass.depth = pass.log2 - pass.stages;
        return pass;
    }

    static struct pass make_pass(const uint32_t *table, unsigned log2, void *const *values,
                                 unsigned count)
    {
        struct pass pass = {};

        for (unsigned i = 0; i < count; i++)
            pass.values[i] = (uint32_t *)values[i];
        pass.table = table;
        pass.log2 = log2;
        return pass;
    }

    template <bool INVERSE>
    static cudaError_t down(const uint32_t *table, unsigned log2, void *const *values,
                            unsigned count, cudaStream_t stream)
    {
        struct pass pass = make_pass(table, log2, values, count);
        F scale = power_of_half(log2);
        cudaError_t error = cudaSuccess;

        pass.has_scale = INVERSE;
        if (log2 < 3) {
            run_tiny<F, PASS_DOWN, INVERSE><<<count, 1, 0, stream>>>(pass, scale);
            return cudaGetLastError();
        }
        pass.has_scale = false;
        for (unsigned i = 0; i < column_passes(log2) && error == cudaSuccess; i++)
            error = launch<PASS_DOWN, INVERSE>(column_pass(pass, i), count, scale, stream);
        pass.has_scale = INVERSE;
        if (error == cudaSuccess)
            error = launch<PASS_DOWN, INVERSE>(last_pass(pass), count, scale, stream);
        return error;
    }

    template <bool INVERSE>
    static cudaError_t up(const uint32_t *table, unsigned log2, void *const *values, unsigned count,
                          cudaStream_t stream)
    {
        struct pass pass = make_pass(table, log2, values, count);
        F scale = power_of_half(log2);
        unsigned passes = column_passes(log2);

        pass.has_scale = INVERSE && passes == 0;
        if (log2 < 3) {
            run_tiny<F, PASS_UP, INVERSE><<<count, 1, 0, stream>>>(pass, scale);
            return cudaGetLastError();
        }
        cudaError_t error = launch<PASS_UP, INVERSE>(last_pass(pass), count, scale, stream);
        for (unsigned i = passes; i-- > 0 && error == cudaSuccess;) {
            pass.has_scale = INVERSE && i == 0;
            error = launch<PASS_UP, INVERSE>(column_pass(pass, i), count, scale, stream);
        }
        return error;
    }

    static cudaError_t transform(bool is_up, bool inverse, const uint32_t *table, unsigned log2,
                                 void *const *values, unsigned count, cudaStream_t stream)
    {
        if (is_up)
            return inverse ? up<true>(table, log2, values, count, stream)
                           : up<false>(table, log2, values, count, stream);
        return inverse ? down<true>(table, log2, values, count, stream)
                       : down<false>(table, log2, values, count, stream);
    }

    /* The first pass of c multiplies a and b as it loads; then all three go together. */
    static cudaError_t first_passes(const struct pass &pass, cudaStream_t stream)
    {
        struct pass product = pass;
        unsigned passes = column_passes(pass.log2);
        uint32_t count = 1u << pass.log2;
        cudaError_t error;

        if (passes == 0) {
            multiply<F><<<blocks_for(count), POINTWISE_THREADS, 0, stream>>>(
                pass.values[0], pass.values[1], pass.values[2], count);
            return cudaGetLastError();
        }
        product.values[0] = pass.values[2];
        product.factor_a = pass.values[0];
        product.factor_b = pass.values[1];
        error = launch<PASS_DOWN, true>(column_pass(product, 0), 1, F::one(), stream);
        if (error == cudaSuccess)
            error = launch<PASS_DOWN, true>(column_pass(pass, 0), 2, F::one(), stream);
        for (unsigned i = 1; i < passes && error == cudaSuccess; i++)
            error = launch<PASS_DOWN, true>(column_pass(pass, i), 3, F::one(), stream);
        return error;
    }

    static cudaError_t quotient(const uint32_t *table, unsigned log2, void *a, void *b, void *c,
                                cudaStream_t stream)
    {
        void *values[TRANSFORM_BATCH_MAX] = {a, b, c};
        struct pass pass = make_pass(table, log2, values, 3);
        uint32_t count = 1u << log2;
        cudaError_t error = first_passes(pass, stream);

        if (error == cudaSuccess && log2 < 3)
            run_tiny<F, PASS_MIDDLE, false><<<3, 1, 0, stream>>>(pass, F::one());
        else if (error == cudaSuccess)
            error = launch<PASS_MIDDLE, false>(last_pass(pass), 3, F::one(), stream);
        for (unsigned i = column_passes(log2); i-- > 0 && error == cudaSuccess;)
            error = launch<PASS_UP, false>(column_pass(pass, i), 3, F::one(), stream);
        if (error != cudaSuccess)
            return error;
        finish_quotient<F><<<blocks_for(count), POINTWISE_THREADS, 0, stream>>>(
            (const uint32_t *)a, (const uint32_t *)b, (uint32_t *)c, count,
            to_plain(power_of_half(2 * log2)), to_plain(power_of_half(log2)));
        return cudaGetLastError();
    }
};

#define TRANSFORM_FIELD(name, F, C)                                                                \
    const struct transform_field name = {C::TWO_ADICITY, transform_launch<F, C>::fill_table,       \
                                         transform_launch<F, C>::transform,                        \
                                         transform_launch<F, C>::quotient};
