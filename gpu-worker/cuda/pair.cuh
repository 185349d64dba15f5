/* Fp2 = Fp[u]/(u^2 + 1) on two neighbouring threads: the even one holds c0, the odd one c1. A
 * product is one fused sum of two products per thread, so that the two together do less work than
 * one thread with Karatsuba's three products, on half the registers each. The threads of a pair run
 * the same way through all code; other pairs of the warp need not. Device only. */
#pragma once

#include "gpu-worker/cuda/field.cuh"

template <class F> struct pair {
    static constexpr int WORDS = F::WORDS;
    static constexpr int LANES = 2;
    static constexpr int ELEMENT_WORDS = 2 * WORDS;

    F own;

    static __device__ __forceinline__ bool is_odd()
    {
        return threadIdx.x & 1;
    }

    static __device__ __forceinline__ uint32_t mask()
    {
        return 3u << (threadIdx.x & 30);
    }

    static __device__ __forceinline__ pair of(const F &own)
    {
        pair r;

        r.own = own;
        return r;
    }

    __device__ __forceinline__ F other() const
    {
        F r;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            r.word[i] = __shfl_xor_sync(mask(), own.word[i], 1);
        return r;
    }

    /* What another pair has, given by its even thread. */
    __device__ __forceinline__ pair from_thread(uint32_t threads, int even) const
    {
        return of(own.from_thread(threads, even + (threadIdx.x & 1)));
    }

    static __device__ __forceinline__ pair select(bool condition, const pair &a, const pair &b)
    {
        return of(F::select(condition, a.own, b.own));
    }

    static __device__ __forceinline__ pair zero()
    {
        return of(F::zero());
    }

    static __device__ __forceinline__ pair one()
    {
        return of(F::select(is_odd(), F::zero(), F::one()));
    }

    static __device__ __forceinline__ uint32_t own_offset()
    {
        return (threadIdx.x & 1) * WORDS;
    }

    static __device__ __forceinline__ pair load_own(const uint32_t *at)
    {
        return of(F::load(at));
    }

    __device__ __forceinline__ void store_own(uint32_t *at) const
    {
        own.store(at);
    }

    static __device__ __forceinline__ pair load(const uint32_t *at)
    {
        return load_own(at + own_offset());
    }

    __device__ __forceinline__ void store(uint32_t *at) const
    {
        own.store(at + (threadIdx.x & 1) * WORDS);
    }

    __device__ __forceinline__ bool is_zero() const
    {
        unsigned mine = own.is_zero();

        return mine & __shfl_xor_sync(mask(), mine, 1);
    }

    friend __device__ __forceinline__ pair operator+(const pair &a, const pair &b)
    {
        return of(a.own + b.own);
    }

    friend __device__ __forceinline__ pair operator-(const pair &a, const pair &b)
    {
        return of(a.own - b.own);
    }

    __device__ __forceinline__ pair negated_if(bool condition) const
    {
        return of(own.negated_if(condition));
    }

    /* c0 = a0 b0 + (-a1) b1; c1 = a0 b1 + a1 b0. */
    friend __device__ __forceinline__ pair operator*(const pair &a, const pair &b)
    {
        F a_other = a.other(), b_other = b.other();
        F x = F::select(is_odd(), a_other, a.own);
        F y = F::select(is_odd(), a.own, a_other.negated());

        return of(F::product_sum(x, b.own, y, b_other));
    }

    /* a b - c d with one reduction. */
    static __device__ __forceinline__ pair product_difference(const pair &a, const pair &b,
                                                              const pair &c, const pair &d)
    {
        F a_other = a.other(), b_other = b.other(), d_other = d.other();
        F c_minus = c.own.negated();
        F c_other = of(c_minus).other();
        F a_x = F::select(is_odd(), a_other, a.own);
        F a_y = F::select(is_odd(), a.own, a_other.negated());
        F c_x = F::select(is_odd(), c_other, c_minus);
        F c_y = F::select(is_odd(), c_minus, c_other.negated());

        return of(F::product_sum(a_x, b.own, a_y, b_other, c_x, d.own, c_y, d_other));
    }

    /* c0 = (a0 + a1) (a0 - a1); c1 = 2 a0 a1. */
    __device__ __forceinline__ pair squared() const
    {
        F a_other = other();
        F x = own + F::select(is_odd(), own, a_other);
        F y = F::select(is_odd(), a_other, own - a_other);

        return of(x * y);
    }

    /* conj(a) / (a0^2 + a1^2). */
    __device__ pair inverse() const
    {
        F a_other = other();
        F norm = F::product_sum(own, own, a_other, a_other);

        return of((own * norm.inverse()).negated_if(is_odd()));
    }
};
