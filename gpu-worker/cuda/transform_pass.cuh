/* Passes of transforms over one scalar field: several stages on tiles in shared memory.
 *
 * Stage s of `down` treats 2^s blocks; block k is a polynomial modulo x^m - T[k]^2 and is split by
 * (a, b) -> (a + T[k] b, a - T[k] b). `up` undoes that from the last stage to the first, up to the
 * factor n. T[k] is the product over the bits j of k of the roots of order 2^(j + 2), so that
 * 1 / T[k] = -T[k with the bits below its highest one flipped]: one table serves both ways. Every
 * butterfly costs one product, those of T[0] = 1 none in the first two stages; there are no
 * twiddles between passes.
 *
 * A pass takes its stages on a tile: 2^stages rows of neighbouring columns, or in the last pass of
 * `down` (the first of `up`) a run of neighbours. Threads take four values at a time through two
 * stages in registers.
 *
 * Structure of blocks and bit-reversed twiddles: Harvey 2014, "Faster arithmetic for
 * number-theoretic transforms". */
#pragma once

#include <cuda_runtime.h>

#include "gpu-worker/cuda/field.cuh"
#include "gpu-worker/cuda/tile.cuh"
#include "gpu-worker/cuda/transform.h"

enum : unsigned {
    GROUP_STAGES = 2, /* in registers; with 3 too few threads run to hide latency */
    TILE_LOG2_MAX = 10,
    TILE_THREADS_MAX = 1u << (TILE_LOG2_MAX - GROUP_STAGES),
    TILE_BLOCKS_EACH = 3,      /* on a multiprocessor at once */
    TILE_COLUMNS_LOG2_MIN = 2, /* 4 neighbours, 128 bytes */

    /* Where a, b and c of a quotient go together through one block, on smaller tiles. */
    TOGETHER_TILE_LOG2_MAX = 9,
    TOGETHER_THREADS_MAX = TRANSFORM_BATCH_MAX << (TOGETHER_TILE_LOG2_MAX - GROUP_STAGES),
};

static inline size_t tile_bytes(unsigned tile_log2)
{
    return ((size_t)9 << tile_log2) / 8 * CURVE_FR_BYTES;
}

/* What a pass does. */
enum pass_kind {
    PASS_DOWN,
    PASS_UP,
    PASS_MIDDLE, /* the last stages down with 1/w, times w_2n^rev(i), the first stages up with w */
};

template <class F> struct pass {
    uint32_t *values[TRANSFORM_BATCH_MAX];
    const uint32_t *table;
    unsigned log2;
    unsigned depth, stages; /* stages done before, and those of this pass */
    unsigned tile_log2;
    bool has_scale; /* times `scale` in the end */
    F scale;
    F root; /* w_2n, of the middle */

    /* The first pass of c loads a b (NULL: its own values). */
    const uint32_t *factor_a, *factor_b;
    /* The last pass of a: instead of a it stores scale a b - scale_c c over c (NULL: it does not).
     * Scales are plain, so that the products with them leave Montgomery form. */
    const uint32_t *finish_b;
    uint32_t *finish_c;
    F scale_c;
};

/* ---- butterflies ---- */

/* Without INVERSE, T[k]; with it, -1 / T[k]. No branch, so that loads may move ahead. */
template <class F, bool INVERSE>
static __device__ __forceinline__ F twiddle(const uint32_t *table, uint32_t k)
{
    if (!INVERSE)
        return F::load(table + (size_t)k * F::WORDS);
    uint32_t flipped = k ? k ^ ((0x80000000u >> __clz((int)k)) - 1) : 0;
    F t = F::load(table + (size_t)flipped * F::WORDS);
    return F::select(k == 0, F::one().negated(), t);
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

/* Either with T[0] = 1. */
template <class F> static __device__ __forceinline__ void cross(F &a, F &b)
{
    F difference = a - b;

    a = a + b;
    b = difference;
}

/* Value i of the domain times w_2n^rev(i) = T[i], of which the table has the lower half: `power`
 * is what it has, the upper half is w_2n times that. */
template <class F>
static __device__ __forceinline__ F coset_power(const struct pass<F> &pass, size_t i)
{
    size_t half = pass.log2 ? (size_t)1 << (pass.log2 - 1) : 1;

    return F::load(pass.table + (i & (half - 1)) * F::WORDS);
}

template <class F>
static __device__ __forceinline__ F coset_shift(const struct pass<F> &pass, size_t i, const F &v,
                                                const F &power)
{
    F shifted = v * power;

    return pass.log2 && i >> (pass.log2 - 1) ? shifted * pass.root : shifted;
}

/* ---- stages of a tile ---- */

/* `STAGES` stages from stage `stage` of the tile on, for 2^STAGES values a group; `block` is the
 * tile's first block at the pass's depth. IS_FIRST: it is block 0 of stage 0 of the transform. */
template <class F, unsigned STAGES, bool IS_UP, bool INVERSE, bool IS_FIRST>
static __device__ __forceinline__ void group(const tile<F> &tile, const struct pass<F> &pass,
                                             uint32_t block, unsigned stage, unsigned index)
{
    unsigned distance_log2 = pass.tile_log2 - stage - STAGES;
    unsigned in_block = index & ((1u << distance_log2) - 1), sub_block = index >> distance_log2;
    unsigned first = (sub_block << (distance_log2 + STAGES)) + in_block;
    uint32_t k = IS_FIRST ? 0 : (block << stage) + sub_block;
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
            bool is_one = IS_FIRST && b == 0;
            F t = is_one ? F::zero() : twiddle<F, INVERSE>(pass.table, (k << s) + b);
#pragma unroll
            for (unsigned i = 0; i < half; i++) {
                unsigned at = 2 * half * b + i;

                if (is_one)
                    cross<F>(v[at], v[at + half]);
                else if (IS_UP)
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
static __device__ __forceinline__ void full_group(const tile<F> &tile, const struct pass<F> &pass,
                                                  uint32_t block, unsigned stage)
{
    if (pass.depth + stage == 0)
        group<F, GROUP_STAGES, IS_UP, INVERSE, true>(tile, pass, block, stage, threadIdx.x);
    else
        group<F, GROUP_STAGES, IS_UP, INVERSE, false>(tile, pass, block, stage, threadIdx.x);
    __syncthreads();
}

/* By blockDim.x = 2^(tile_log2 - GROUP_STAGES) threads. An odd stage is the last of down and the
 * first of up. */
template <class F, bool IS_UP, bool INVERSE>
static __device__ __forceinline__ void stages_of_tile(const tile<F> &tile,
                                                      const struct pass<F> &pass, uint32_t block)
{
    unsigned odd = pass.stages % GROUP_STAGES, full = pass.stages - odd;

    if (!IS_UP)
        for (unsigned stage = 0; stage < full; stage += GROUP_STAGES)
            full_group<F, IS_UP, INVERSE>(tile, pass, block, stage);
    if (odd) {
#pragma unroll 1
        for (unsigned i = 0; i < 2; i++)
            group<F, 1, IS_UP, INVERSE, false>(tile, pass, block, full,
                                               threadIdx.x + i * blockDim.x);
        __syncthreads();
    }
    if (IS_UP)
        for (unsigned stage = full; stage > 0; stage -= GROUP_STAGES)
            full_group<F, IS_UP, INVERSE>(tile, pass, block, stage - GROUP_STAGES);
}

/* Where the tile of a block lies in the domain. */
struct tile_position {
    unsigned columns_log2, width_log2; /* columns of a block of the transform, and of the tile */
    uint32_t block;                    /* of the transform, at the pass's depth */
    size_t base;

    template <class F>
    __device__ __forceinline__ tile_position(const struct pass<F> &pass, uint32_t index)
    {
        columns_log2 = pass.log2 - pass.depth - pass.stages;
        width_log2 = pass.tile_log2 - pass.stages;
        block = index >> (columns_log2 - width_log2);
        uint32_t column = (index & ((1u << (columns_log2 - width_log2)) - 1)) << width_log2;
        base = ((size_t)block << (pass.log2 - pass.depth)) + column;
    }

    /* In the domain, of value i of the tile. */
    __device__ __forceinline__ size_t at(unsigned i) const
    {
        return base + ((size_t)(i >> width_log2) << columns_log2) + (i & ((1u << width_log2) - 1));
    }
};

/* Each power is loaded one round ahead. */
template <class F>
static __device__ __forceinline__ void shift_tile(const tile<F> &tile, const struct pass<F> &pass,
                                                  const struct tile_position &position)
{
    unsigned size = 1u << pass.tile_log2;
    F power = coset_power(pass, position.base + threadIdx.x);

#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
        unsigned next = i + blockDim.x;
        F next_power = coset_power(pass, position.base + (next < size ? next : i));

        tile.put(i, coset_shift(pass, position.base + i, tile.get(i), power));
        power = next_power;
    }
}

template <class F, enum pass_kind KIND, bool INVERSE>
static __device__ __forceinline__ void work_on_tile(const tile<F> &tile, const struct pass<F> &pass,
                                                    const struct tile_position &position)
{
    if (KIND != PASS_MIDDLE) {
        stages_of_tile<F, KIND == PASS_UP, INVERSE>(tile, pass, position.block);
        return;
    }
    stages_of_tile<F, false, true>(tile, pass, position.block);
    shift_tile(tile, pass, position);
    __syncthreads();
    stages_of_tile<F, true, false>(tile, pass, position.block);
}

/* All of a thread's loads are under way before the first value is needed. */
template <class F>
static __device__ __forceinline__ void load_tile(const tile<F> &tile, const struct pass<F> &pass,
                                                 const struct tile_position &position,
                                                 const uint32_t *values)
{
    F v[1 << GROUP_STAGES];

#pragma unroll
    for (unsigned i = 0; i < 1u << GROUP_STAGES; i++)
        v[i] = F::load(values + position.at(threadIdx.x + i * blockDim.x) * F::WORDS);
#pragma unroll
    for (unsigned i = 0; i < 1u << GROUP_STAGES; i++)
        tile.put(threadIdx.x + i * blockDim.x, v[i]);
}

template <class F>
static __device__ __forceinline__ void
load_products(const tile<F> &tile, const struct pass<F> &pass, const struct tile_position &position)
{
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < 1u << pass.tile_log2; i += blockDim.x) {
        size_t at = position.at(i) * F::WORDS;

        tile.put(i, F::load(pass.factor_a + at) * F::load(pass.factor_b + at));
    }
}

/* ---- kernels ---- */

/* One tile of one array a block. */
template <class F, enum pass_kind KIND, bool INVERSE>
__global__ void __launch_bounds__(TILE_THREADS_MAX, TILE_BLOCKS_EACH) run_pass(struct pass<F> pass)
{
    extern __shared__ __align__(16) uint4 memory[];
    unsigned size = 1u << pass.tile_log2, threads = blockDim.x;
    tile<F> tile = {memory, memory + tile_place(size)};
    uint32_t *values = pass.values[blockIdx.y];
    struct tile_position position(pass, blockIdx.x);

    if (KIND == PASS_DOWN && INVERSE && pass.factor_a)
        load_products(tile, pass, position);
    else
        load_tile(tile, pass, position, values);
    __syncthreads();
    work_on_tile<F, KIND, INVERSE>(tile, pass, position);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += threads) {
        size_t at = position.at(i) * F::WORDS;
        F v = tile.get(i);

        if (KIND == PASS_UP && !INVERSE && pass.finish_b) {
            F c = F::load(pass.finish_c + at) * pass.scale_c;

            (v * F::load(pass.finish_b + at) * pass.scale - c).store(pass.finish_c + at);
            continue;
        }
        if (KIND != PASS_MIDDLE && pass.has_scale)
            v = v * pass.scale;
        v.store(values + at);
    }
}

/* The tiles of a, b and c of a quotient in one block, one a row of threads. */
template <class F, enum pass_kind KIND>
__global__ void __launch_bounds__(TOGETHER_THREADS_MAX, 1) run_together(struct pass<F> pass)
{
    extern __shared__ __align__(16) uint4 memory[];
    unsigned size = 1u << pass.tile_log2, threads = blockDim.x, mine = threadIdx.y;
    uint4 *own_memory = memory + mine * 2 * tile_place(size);
    tile<F> tile = {own_memory, own_memory + tile_place(size)};
    struct tile_position position(pass, blockIdx.x);

    if (mine == 2 && pass.factor_a)
        load_products(tile, pass, position);
    else
        load_tile(tile, pass, position, pass.values[mine]);
    __syncthreads();
    work_on_tile<F, KIND, KIND == PASS_DOWN>(tile, pass, position);
    if (KIND == PASS_DOWN || !pass.finish_c) {
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < size; i += threads)
            tile.get(i).store(pass.values[mine] + position.at(i) * F::WORDS);
        return;
    }
    ::tile<F> a = {memory, memory + tile_place(size)};
    ::tile<F> b = {a.low + 2 * tile_place(size), a.high + 2 * tile_place(size)};
    ::tile<F> c = {b.low + 2 * tile_place(size), b.high + 2 * tile_place(size)};
#pragma unroll 1
    for (unsigned i = mine * threads + threadIdx.x; i < size; i += TRANSFORM_BATCH_MAX * threads) {
        F v = a.get(i) * b.get(i) * pass.scale - c.get(i) * pass.scale_c;

        v.store(pass.finish_c + position.at(i) * F::WORDS);
    }
}
