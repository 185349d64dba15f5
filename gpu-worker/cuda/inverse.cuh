/* Inverses modulo a prime by division steps on the low bits (Bernstein, Yang: "Fast constant-time
 * gcd computation and modular inversion", 2019; with the start delta = 1/2 and the signed 30-bit
 * limbs of Pieter Wuille's description in libsecp256k1). 30 steps at a time run on single words
 * without branches, so that the threads of a warp stay together; then their matrix is applied to
 * the long numbers. For (45907 BITS + 26313) / 19929 steps at most. */
#pragma once

#include <stdint.h>

#include "gpu-worker/cuda/carry.cuh"

template <class C> struct division_steps {
    static constexpr int STEPS = 30;
    static constexpr int LIMBS = (C::BITS + 1 + STEPS - 1) / STEPS;
    static constexpr uint32_t MASK = (1u << STEPS) - 1;
    static constexpr int ROUNDS = ((45907 * C::BITS + 26313) / 19929 + STEPS - 1) / STEPS;

    /* The least significant first; all but the last in 0 .. MASK. */
    struct number {
        int32_t limb[LIMBS];
    };

    /* 2^STEPS times what takes (f, g) to their values STEPS steps on. */
    struct matrix {
        int32_t u, v, q, r;
    };

    template <class W>
    static __host__ __device__ __forceinline__ int32_t limb_of(const W &word, int i)
    {
        int at = STEPS * i / 32, shift = STEPS * i % 32;
        uint64_t low = at < C::WORDS ? word(at) : 0, high = at + 1 < C::WORDS ? word(at + 1) : 0;

        return (int32_t)((low | high << 32) >> shift & MASK);
    }

    static __host__ __device__ __forceinline__ int32_t modulus(int i)
    {
        return limb_of([](int at) { return C::modulus(at); }, i);
    }

    static __host__ __device__ __forceinline__ int32_t step_all(int32_t zeta, uint32_t f,
                                                                uint32_t g, matrix *ret_matrix)
    {
        uint32_t u = 1, v = 0, q = 0, r = 1;

#pragma unroll 6
        for (int i = 0; i < STEPS; i++) {
            uint32_t is_swap = (uint32_t)(zeta >> 31), is_odd = 0u - (g & 1);

            g += ((f ^ is_swap) - is_swap) & is_odd;
            q += ((u ^ is_swap) - is_swap) & is_odd;
            r += ((v ^ is_swap) - is_swap) & is_odd;
            is_swap &= is_odd;
            zeta = (int32_t)((uint32_t)zeta ^ is_swap) - 1;
            f += g & is_swap;
            u += q & is_swap;
            v += r & is_swap;
            g >>= 1;
            u <<= 1;
            v <<= 1;
        }
        *ret_matrix = {(int32_t)u, (int32_t)v, (int32_t)q, (int32_t)r};
        return zeta;
    }

    /* (f, g) becomes the matrix times it, over 2^STEPS, exactly. */
    static __host__ __device__ __forceinline__ void apply(const matrix &t, number &f, number &g)
    {
        int64_t a = (int64_t)t.u * f.limb[0] + (int64_t)t.v * g.limb[0];
        int64_t b = (int64_t)t.q * f.limb[0] + (int64_t)t.r * g.limb[0];

        a >>= STEPS;
        b >>= STEPS;
#pragma unroll
        for (int i = 1; i < LIMBS; i++) {
            a += (int64_t)t.u * f.limb[i] + (int64_t)t.v * g.limb[i];
            b += (int64_t)t.q * f.limb[i] + (int64_t)t.r * g.limb[i];
            f.limb[i - 1] = (int32_t)((uint32_t)a & MASK);
            g.limb[i - 1] = (int32_t)((uint32_t)b & MASK);
            a >>= STEPS;
            b >>= STEPS;
        }
        f.limb[LIMBS - 1] = (int32_t)a;
        g.limb[LIMBS - 1] = (int32_t)b;
    }

    /* The same modulo p: multiples of p are added that make the division exact. */
    static __host__ __device__ __forceinline__ void apply_modulo(const matrix &t, number &d,
                                                                 number &e)
    {
        constexpr uint32_t INVERSE = (0u - C::N0) & MASK; /* 1/p mod 2^STEPS */
        int32_t d_sign = d.limb[LIMBS - 1] >> 31, e_sign = e.limb[LIMBS - 1] >> 31;
        int32_t m = (t.u & d_sign) + (t.v & e_sign), n = (t.q & d_sign) + (t.r & e_sign);
        int64_t a = (int64_t)t.u * d.limb[0] + (int64_t)t.v * e.limb[0];
        int64_t b = (int64_t)t.q * d.limb[0] + (int64_t)t.r * e.limb[0];

        m -= (int32_t)((INVERSE * (uint32_t)a + (uint32_t)m) & MASK);
        n -= (int32_t)((INVERSE * (uint32_t)b + (uint32_t)n) & MASK);
        a += (int64_t)modulus(0) * m;
        b += (int64_t)modulus(0) * n;
        a >>= STEPS;
        b >>= STEPS;
#pragma unroll
        for (int i = 1; i < LIMBS; i++) {
            a += (int64_t)t.u * d.limb[i] + (int64_t)t.v * e.limb[i];
            b += (int64_t)t.q * d.limb[i] + (int64_t)t.r * e.limb[i];
            a += (int64_t)modulus(i) * m;
            b += (int64_t)modulus(i) * n;
            d.limb[i - 1] = (int32_t)((uint32_t)a & MASK);
            e.limb[i - 1] = (int32_t)((uint32_t)b & MASK);
            a >>= STEPS;
            b >>= STEPS;
        }
        d.limb[LIMBS - 1] = (int32_t)a;
        e.limb[LIMBS - 1] = (int32_t)b;
    }

    static __host__ __device__ __forceinline__ void carry(number &a)
    {
#pragma unroll
        for (int i = 0; i < LIMBS - 1; i++) {
            a.limb[i + 1] += a.limb[i] >> STEPS;
            a.limb[i] &= (int32_t)MASK;
        }
    }

    static __host__ __device__ __forceinline__ void add_modulus_if_negative(number &a)
    {
        int32_t sign = a.limb[LIMBS - 1] >> 31;
#pragma unroll
        for (int i = 0; i < LIMBS; i++)
            a.limb[i] += modulus(i) & sign;
    }

    /* R^2 / a mod p for 0 <= a < p, and 0 for 0. */
    static __host__ __device__ __forceinline__ void invert(const uint32_t *a, uint32_t *ret_words)
    {
        number f, g, d, e;
        int32_t zeta = -1;

#pragma unroll
        for (int i = 0; i < LIMBS; i++) {
            f.limb[i] = modulus(i);
            g.limb[i] = limb_of([a](int at) { return a[at]; }, i);
            d.limb[i] = 0;
            e.limb[i] = limb_of([](int at) { return C::r2(at); }, i);
        }
        for (int round = 0; round < ROUNDS; round++) {
            int32_t any = 0;
            matrix t;
#pragma unroll
            for (int i = 0; i < LIMBS; i++)
                any |= g.limb[i];
            if (any == 0)
                break;
            zeta = step_all(zeta, (uint32_t)f.limb[0], (uint32_t)g.limb[0], &t);
            apply_modulo(t, d, e);
            apply(t, f, g);
        }
        /* f = 1 or -1, d = f R^2 / a, -2 p < d < p. */
        int32_t sign = f.limb[LIMBS - 1] >> 31;
        add_modulus_if_negative(d);
#pragma unroll
        for (int i = 0; i < LIMBS; i++)
            d.limb[i] = (d.limb[i] ^ sign) - sign;
        carry(d);
        add_modulus_if_negative(d);
        carry(d);
#pragma unroll
        for (int i = 0; i < C::WORDS; i++) {
            int at = 32 * i / STEPS, shift = 32 * i % STEPS;
            uint64_t low = (uint32_t)d.limb[at];
            uint64_t middle = at + 1 < LIMBS ? (uint32_t)d.limb[at + 1] : 0;
            uint64_t high = at + 2 < LIMBS ? (uint32_t)d.limb[at + 2] : 0;

            ret_words[i] = (uint32_t)((low | middle << 30) >> shift | high << (60 - shift));
        }
    }
};
