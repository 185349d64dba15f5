/* Many multiples of one generator on the device: an addition a window of the scalar out of tables
 * of its multiples, then affine coordinates with one inversion for BASE_PER_INVERSION points
 * (Montgomery's trick). A template over the group, one instantiation a file. The per-thread parts
 * also compile for the host, where a test compares them with the CPU library. */
#pragma once

#include "gpu-worker/cuda/bench/fixed_base_device.h"
#include "gpu-worker/cuda/point.cuh"

enum {
    BASE_PER_INVERSION = 16,
};

/* Bits width window ... of a plain scalar; width divides 32. */
static __device__ __forceinline__ uint32_t base_digit(const uint32_t *scalar, unsigned window,
                                                      unsigned width)
{
    unsigned bit = window * width;

    return scalar[bit / 32] >> (bit % 32) & ((1u << width) - 1);
}

/* Window w of the table holds 1, 2, ..., 2^width - 1 times 2^(width w) G. At most 256 / width mixed
 * additions of 8M + 2S. */
template <class F>
static __device__ __forceinline__ xyzz<F> base_sum(const uint32_t *table, unsigned width,
                                                   const uint32_t *scalar)
{
    const size_t per_window = (1u << width) - 1;
    xyzz<F> sum = xyzz<F>::infinity();

#pragma unroll 1
    for (unsigned window = 0; window < 256 / width; window++) {
        uint32_t digit = base_digit(scalar, window, width);

        if (digit == 0)
            continue;
        size_t at = window * per_window + digit - 1;
        sum.add_affine(affine<F>::load(table + at * affine<F>::POINT_WORDS));
    }
    return sum;
}

/* ZZ ZZZ of a sum, and 1 for infinity. */
template <class F> static __device__ __forceinline__ F base_denominator(const uint32_t *sum)
{
    F zz = F::load(sum + 2 * F::ELEMENT_WORDS), zzz = F::load(sum + 3 * F::ELEMENT_WORDS);

    return F::select(zz.is_zero(), F::one(), zz * zzz);
}

/* Sums first, first + step, ... below count: to affine. The x of a result holds the product of the
 * denominators before it until the way back. 1I + 9M + ... a point. */
template <class F>
static __device__ __forceinline__ void base_to_affine(const uint32_t *sums, uint32_t first,
                                                      uint32_t step, uint32_t count,
                                                      uint32_t *ret_points)
{
    F product = F::one();
    uint32_t last = first;

#pragma unroll 1
    for (uint32_t i = first; i < count; i += step) {
        product.store(ret_points + (size_t)i * affine<F>::POINT_WORDS);
        product = product * base_denominator<F>(sums + (size_t)i * xyzz<F>::POINT_WORDS);
        last = i;
    }
    F inverse = product.inverse();
#pragma unroll 1
    for (uint32_t i = last;; i -= step) {
        const uint32_t *sum = sums + (size_t)i * xyzz<F>::POINT_WORDS;
        uint32_t *point = ret_points + (size_t)i * affine<F>::POINT_WORDS;
        F zz = F::load(sum + 2 * F::ELEMENT_WORDS), zzz = F::load(sum + 3 * F::ELEMENT_WORDS);
        bool is_infinity = zz.is_zero();
        F own = inverse * F::load(point);
        F x = F::load(sum) * (own * zzz), y = F::load(sum + F::ELEMENT_WORDS) * (own * zz);

        inverse = inverse * F::select(is_infinity, F::one(), zz * zzz);
        F::select(is_infinity, F::zero(), x).store(point);
        F::select(is_infinity, F::zero(), y).store(point + F::ELEMENT_WORDS);
        if (i == first)
            break;
    }
}

#ifdef __CUDACC__

#include <errno.h>

template <class F>
__global__ void __launch_bounds__(128)
    base_sums(const uint32_t *table, unsigned width, const uint32_t *scalars, uint32_t count,
              uint32_t *ret_sums)
{
    uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / F::LANES;

    if (i < count)
        base_sum<F>(table, width, scalars + 8 * (size_t)i)
            .store(ret_sums + (size_t)i * xyzz<F>::POINT_WORDS);
}

template <class F>
__global__ void __launch_bounds__(128)
    base_points(const uint32_t *sums, uint32_t count, uint32_t step, uint32_t *ret_points)
{
    uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) / F::LANES;

    if (i < step)
        base_to_affine<F>(sums, i, step, count, ret_points);
}

static inline uint32_t base_blocks(uint32_t threads)
{
    return (threads + 127) / 128;
}

template <class F>
static int base_multiply(const void *table, unsigned width, const void *scalars, uint32_t count,
                         void *scratch, void *ret_points, void *stream)
{
    uint32_t step = (count + BASE_PER_INVERSION - 1) / BASE_PER_INVERSION;
    uint32_t *sums = (uint32_t *)scratch;
    cudaStream_t on = (cudaStream_t)stream;

    base_sums<F><<<base_blocks(count * F::LANES), 128, 0, on>>>(
        (const uint32_t *)table, width, (const uint32_t *)scalars, count, sums);
    base_points<F>
        <<<base_blocks(step * F::LANES), 128, 0, on>>>(sums, count, step, (uint32_t *)ret_points);
    return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

#define FIXED_BASE_GROUP(group, F)                                                                 \
    int fixed_base_##group(const void *table, unsigned width, const void *scalars, uint32_t count, \
                           void *scratch, void *ret_points, void *stream)                          \
    {                                                                                              \
        return base_multiply<F>(table, width, scalars, count, scratch, ret_points, stream);        \
    }

#endif
