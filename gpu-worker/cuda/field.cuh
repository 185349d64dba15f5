/* Prime fields in Montgomery form on 32-bit words, for kernels (and for host unit tests). A value
 * is one thread's, always reduced: 0 <= a < p. In memory it is what curve.h calls fr or a
 * coordinate: the words of the 64-bit limbs, 16-byte aligned.
 *
 * The product interleaves rows of a b_i with Montgomery's reduction (Montgomery 1985; the
 * interleaving is CIOS of Koç, Acar, Kaliski 1996). Words of even and odd position are added into
 * two accumulators, so that each 32 x 32 -> 64 product falls on an aligned pair and one carry chain
 * runs through each: n (2 n + 1) multiply-adds for n words. Needs 2 p < 2^(32 n), and the sum
 * of two products 3 p < 2^(32 n). */
#pragma once

#include <stdint.h>

#include "gpu-worker/cuda/carry.cuh"
#include "gpu-worker/cuda/constants.cuh"
#include "gpu-worker/cuda/inverse.cuh"

#define FIELD_FN __host__ __device__ __forceinline__

template <class C> struct field {
    static constexpr int WORDS = C::WORDS;
    static constexpr int BITS = C::BITS;
    /* Threads that hold one element together; see pair.cuh for two. */
    static constexpr int LANES = 1;
    static constexpr int ELEMENT_WORDS = WORDS;

    uint32_t word[WORDS];

    static FIELD_FN field zero()
    {
        field r;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            r.word[i] = 0;
        return r;
    }

    static FIELD_FN field one()
    {
        field r;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            r.word[i] = C::one(i);
        return r;
    }

    static FIELD_FN field load(const uint32_t *at)
    {
        field r;
#ifdef __CUDA_ARCH__
#pragma unroll
        for (int i = 0; i < WORDS; i += 4) {
            uint4 v = *(const uint4 *)(at + i);

            r.word[i] = v.x, r.word[i + 1] = v.y, r.word[i + 2] = v.z, r.word[i + 3] = v.w;
        }
#else
        for (int i = 0; i < WORDS; i++)
            r.word[i] = at[i];
#endif
        return r;
    }

    /* An element lies in memory as the words of its threads, one after the other: where this
     * thread's are, and a value of these alone. */
    static FIELD_FN uint32_t own_offset()
    {
        return 0;
    }

    static FIELD_FN field load_own(const uint32_t *at)
    {
        return load(at);
    }

    FIELD_FN void store_own(uint32_t *at) const
    {
        store(at);
    }

    FIELD_FN void store(uint32_t *at) const
    {
#ifdef __CUDA_ARCH__
#pragma unroll
        for (int i = 0; i < WORDS; i += 4)
            *(uint4 *)(at + i) = make_uint4(word[i], word[i + 1], word[i + 2], word[i + 3]);
#else
        for (int i = 0; i < WORDS; i++)
            at[i] = word[i];
#endif
    }

    FIELD_FN bool is_zero() const
    {
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            any |= word[i];
        return any == 0;
    }

    /* a < 2 p becomes a mod p. */
    FIELD_FN void reduce()
    {
        uint32_t t[WORDS];

        t[0] = sub_cc(word[0], C::modulus(0));
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            t[i] = subc_cc(word[i], C::modulus(i));
        bool is_less = subc(0, 0) != 0;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            word[i] = is_less ? word[i] : t[i];
    }

    friend FIELD_FN field operator+(const field &a, const field &b)
    {
        field r;

        r.word[0] = add_cc(a.word[0], b.word[0]);
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            r.word[i] = addc_cc(a.word[i], b.word[i]);
        r.reduce();
        return r;
    }

    friend FIELD_FN field operator-(const field &a, const field &b)
    {
        field r;

        r.word[0] = sub_cc(a.word[0], b.word[0]);
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            r.word[i] = subc_cc(a.word[i], b.word[i]);
        uint32_t mask = subc(0, 0);
        r.word[0] = add_cc(r.word[0], C::modulus(0) & mask);
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            r.word[i] = addc_cc(r.word[i], C::modulus(i) & mask);
        return r;
    }

    FIELD_FN field negated() const
    {
        return zero() - *this;
    }

    FIELD_FN field negated_if(bool condition) const
    {
        field n = negated(), r;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            r.word[i] = condition ? n.word[i] : word[i];
        return r;
    }

    static FIELD_FN field select(bool condition, const field &a, const field &b)
    {
        field r;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            r.word[i] = condition ? a.word[i] : b.word[i];
        return r;
    }

#ifdef __CUDACC__
    /* What another thread of the warp has. */
    __device__ __forceinline__ field from_thread(uint32_t mask, int thread) const
    {
        field r;
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            r.word[i] = __shfl_sync(mask, word[i], thread);
        return r;
    }
#endif

    /* ---- the product ---- */

    /* acc (words 0 .. WORDS - 1) += the words of a at `from`, from + 2, ... times b; the carry
     * stays in the flag. */
    static FIELD_FN void add_row(uint32_t *acc, const uint32_t *a, int from, uint32_t b)
    {
        acc[0] = mad_lo_cc(a[from], b, acc[0]);
        acc[1] = madc_hi_cc(a[from], b, acc[1]);
#pragma unroll
        for (int i = 2; i < WORDS; i += 2) {
            acc[i] = madc_lo_cc(a[from + i], b, acc[i]);
            acc[i + 1] = madc_hi_cc(a[from + i], b, acc[i + 1]);
        }
    }

    /* Moduli with word 0 = 1 - 2^FIRST_SHIFT mod 2^32, and word 1 = 2^32 - 1: products by these
     * are shifts and additions, which run beside the multiplier. 0: it is neither. */
    static constexpr unsigned FIRST_SHIFT = C::modulus(0) == 1            ? 32
                                            : C::modulus(0) == 0xf0000001 ? 28
                                                                          : 0;
    static constexpr bool IS_SECOND_MINUS_ONE = FIRST_SHIFT == 32 && C::modulus(1) == 0xffffffff;

    /* m with word + m p = 0 mod 2^32. Negated as ~x + 1: of 0 - x the assembler would move the
     * sign into each product by m, and these would no longer pair up. */
    static FIELD_FN uint32_t factor(uint32_t word)
    {
        if (FIRST_SHIFT == 0)
            return mul_lo(word, C::N0);
        return add(~(FIRST_SHIFT == 32 ? word : word + (word << FIRST_SHIFT % 32)), 1);
    }

    /* acc += the even words of p times m; word 0 of the sum is known to be zero, and is not set. */
    static FIELD_FN void add_modulus_row(uint32_t *acc, const uint32_t *p, uint32_t m)
    {
        if (FIRST_SHIFT == 0) {
            add_row(acc, p, 0, m);
            return;
        }
        /* m (1 - 2^shift + 2^32) and acc[0], over 2^32; without 2^32 when p is 1. */
        uint32_t high = FIRST_SHIFT == 32 ? 0 : m - (m >> (32 - FIRST_SHIFT) % 32);
        add_cc(acc[0], m);
        acc[1] = addc_cc(acc[1], high);
#pragma unroll
        for (int i = 2; i < WORDS; i += 2) {
            acc[i] = madc_lo_cc(p[i], m, acc[i]);
            acc[i + 1] = madc_hi_cc(p[i], m, acc[i + 1]);
        }
    }

    /* acc (columns 1 ..) += the odd words of p times m, m = -word. Where word 1 of p is 2^32 - 1,
     * without the product: m (2^32 - 1) is word + 2^32 (m - 1), and 0 when m is. */
    static FIELD_FN void add_modulus_odd_row(uint32_t *acc, const uint32_t *p, uint32_t m,
                                             uint32_t word)
    {
        if (!IS_SECOND_MINUS_ONE) {
            add_row(acc, p, 1, m);
            return;
        }
        sub_cc(0, word);
        uint32_t high = subc(m, 0);
        acc[0] = add_cc(acc[0], word);
        acc[1] = addc_cc(acc[1], high);
#pragma unroll
        for (int i = 2; i < WORDS; i += 2) {
            acc[i] = madc_lo_cc(p[i + 1], m, acc[i]);
            acc[i + 1] = madc_hi_cc(p[i + 1], m, acc[i + 1]);
        }
    }

    /* even + 2^32 odd += m p, m such that word 0 becomes zero. */
    static FIELD_FN void add_modulus(uint32_t *even, uint32_t *odd)
    {
        uint32_t m = factor(even[0]), p[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            p[i] = C::modulus(i);
        add_modulus_odd_row(odd, p, m, even[0]);
        add_modulus_row(even, p, m);
        odd[WORDS - 1] = addc(odd[WORDS - 1], 0);
    }

    static FIELD_FN void first_row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b)
    {
#pragma unroll
        for (int i = 0; i < WORDS; i += 2) {
            mul_wide(&even[i], &even[i + 1], a[i], b);
            mul_wide(&odd[i], &odd[i + 1], a[i + 1], b);
        }
    }

    /* The sum moves down by one word, whose value is zero, and takes a b: `odd` becomes the even
     * accumulator and `even` the odd one. */
    static FIELD_FN void next_row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b)
    {
        odd[0] = add_cc(odd[0], even[1]);
#pragma unroll
        for (int i = 0; i < WORDS - 2; i += 2) {
            even[i] = madc_lo_cc(a[i + 1], b, even[i + 2]);
            even[i + 1] = madc_hi_cc(a[i + 1], b, even[i + 3]);
        }
        even[WORDS - 2] = madc_lo_cc(a[WORDS - 1], b, 0);
        even[WORDS - 1] = madc_hi(a[WORDS - 1], b, 0);
        add_row(odd, a, 0, b);
        even[WORDS - 1] = addc(even[WORDS - 1], 0);
    }

    /* even + 2^32 odd += a b without a move. */
    static FIELD_FN void same_row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b)
    {
        add_row(odd, a, 1, b);
        add_row(even, a, 0, b);
        odd[WORDS - 1] = addc(odd[WORDS - 1], 0);
    }

    static FIELD_FN field join(const uint32_t *even, const uint32_t *odd)
    {
        field r;

        r.word[0] = add_cc(odd[0], even[1]);
#pragma unroll
        for (int i = 1; i < WORDS - 1; i++)
            r.word[i] = addc_cc(odd[i], even[i + 1]);
        r.word[WORDS - 1] = addc(odd[WORDS - 1], 0);
        r.reduce();
        return r;
    }

    friend FIELD_FN field operator*(const field &a, const field &b)
    {
        uint32_t x[WORDS], y[WORDS];

        first_row(x, y, a.word, b.word[0]);
        add_modulus(x, y);
#pragma unroll
        for (int i = 1; i < WORDS; i += 2) {
            next_row(x, y, a.word, b.word[i]);
            add_modulus(y, x);
            if (i + 1 < WORDS) {
                next_row(y, x, a.word, b.word[i + 1]);
                add_modulus(x, y);
            }
        }
        return join(y, x);
    }

    /* a b + c d with one reduction: n (3 n + 1) multiply-adds. */
    static FIELD_FN field product_sum(const field &a, const field &b, const field &c,
                                      const field &d)
    {
        uint32_t x[WORDS], y[WORDS];

        first_row(x, y, a.word, b.word[0]);
        same_row(x, y, c.word, d.word[0]);
        add_modulus(x, y);
#pragma unroll
        for (int i = 1; i < WORDS; i += 2) {
            next_row(x, y, a.word, b.word[i]);
            same_row(y, x, c.word, d.word[i]);
            add_modulus(y, x);
            if (i + 1 < WORDS) {
                next_row(y, x, a.word, b.word[i + 1]);
                same_row(x, y, c.word, d.word[i + 1]);
                add_modulus(x, y);
            }
        }
        return join(y, x);
    }

    /* a b - c d with one reduction. */
    static FIELD_FN field product_difference(const field &a, const field &b, const field &c,
                                             const field &d)
    {
        return product_sum(a, b, c.negated(), d);
    }

    /* a b + c d + e f + g h with one reduction: n (5 n + 1) multiply-adds. Needs 5 p < 2^(32 n). */
    static FIELD_FN field product_sum(const field &a, const field &b, const field &c,
                                      const field &d, const field &e, const field &f,
                                      const field &g, const field &h)
    {
        uint32_t x[WORDS], y[WORDS];

        first_row(x, y, a.word, b.word[0]);
        same_row(x, y, c.word, d.word[0]);
        same_row(x, y, e.word, f.word[0]);
        same_row(x, y, g.word, h.word[0]);
        add_modulus(x, y);
#pragma unroll
        for (int i = 1; i < WORDS; i += 2) {
            next_row(x, y, a.word, b.word[i]);
            same_row(y, x, c.word, d.word[i]);
            same_row(y, x, e.word, f.word[i]);
            same_row(y, x, g.word, h.word[i]);
            add_modulus(y, x);
            if (i + 1 < WORDS) {
                next_row(y, x, a.word, b.word[i + 1]);
                same_row(x, y, c.word, d.word[i + 1]);
                same_row(x, y, e.word, f.word[i + 1]);
                same_row(x, y, g.word, h.word[i + 1]);
                add_modulus(x, y);
            }
        }
        return join(y, x);
    }

    /* ---- the square: the products of different words once, doubled; then the reduction ---- */

    /* acc[i + j] += a_i a_j for j = i + first, i + first + 2, ...: one chain. acc counts columns.
     */
    static FIELD_FN void add_products(uint32_t *acc, const uint32_t *a, int i, int first)
    {
        int j = i + first;

        if (j >= WORDS)
            return;
        acc[i + j] = mad_lo_cc(a[j], a[i], acc[i + j]);
        acc[i + j + 1] = madc_hi_cc(a[j], a[i], acc[i + j + 1]);
#pragma unroll
        for (j += 2; j < WORDS; j += 2) {
            acc[i + j] = madc_lo_cc(a[j], a[i], acc[i + j]);
            acc[i + j + 1] = madc_hi_cc(a[j], a[i], acc[i + j + 1]);
        }
        if (i + j < 2 * WORDS)
            acc[i + j] = addc(acc[i + j], 0);
    }

    /* (words 0 .. WORDS - 1 of t) / R + words WORDS .. of t, mod p. */
    static FIELD_FN field reduce_double(const uint32_t *t)
    {
        uint32_t x[WORDS], y[WORDS], p[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            x[i] = t[i];
            p[i] = C::modulus(i);
        }
        uint32_t m = factor(x[0]);
#pragma unroll
        for (int i = 0; i < WORDS; i += 2)
            mul_wide(&y[i], &y[i + 1], p[i + 1], m);
        add_modulus_row(x, p, m);
        y[WORDS - 1] = addc(y[WORDS - 1], 0);
#pragma unroll
        for (int i = 1; i < WORDS; i += 2) {
            next_modulus(x, y, p);
            if (i + 1 < WORDS)
                next_modulus(y, x, p);
        }
        field r;
        uint32_t low[WORDS];

        low[0] = add_cc(x[0], y[1]);
#pragma unroll
        for (int i = 1; i < WORDS - 1; i++)
            low[i] = addc_cc(x[i], y[i + 1]);
        low[WORDS - 1] = addc(x[WORDS - 1], 0);
        r.word[0] = add_cc(low[0], t[WORDS]);
#pragma unroll
        for (int i = 1; i < WORDS; i++)
            r.word[i] = addc_cc(low[i], t[WORDS + i]);
        r.reduce();
        return r;
    }

    /* next_row with the modulus times what makes the new word 0 zero. */
    static FIELD_FN void next_modulus(uint32_t *even, uint32_t *odd, const uint32_t *p)
    {
        odd[0] = add_cc(odd[0], even[1]);
        uint32_t m = factor(odd[0]);
#pragma unroll
        for (int i = 0; i < WORDS - 2; i += 2) {
            even[i] = madc_lo_cc(p[i + 1], m, even[i + 2]);
            even[i + 1] = madc_hi_cc(p[i + 1], m, even[i + 3]);
        }
        even[WORDS - 2] = madc_lo_cc(p[WORDS - 1], m, 0);
        even[WORDS - 1] = madc_hi(p[WORDS - 1], m, 0);
        add_modulus_row(odd, p, m);
        even[WORDS - 1] = addc(even[WORDS - 1], 0);
    }

    /* n (n + 1) / 2 + n (n + 1) multiply-adds. */
    FIELD_FN field squared() const
    {
        uint32_t t[2 * WORDS], odd[2 * WORDS];
#pragma unroll
        for (int i = 0; i < 2 * WORDS; i++)
            t[i] = odd[i] = 0;
#pragma unroll
        for (int i = 0; i < WORDS - 1; i++) {
            add_products(odd, word, i, 1);
            add_products(t, word, i, 2);
        }
        t[1] = odd[1];
        t[2] = add_cc(t[2], odd[2]);
#pragma unroll
        for (int i = 3; i < 2 * WORDS - 1; i++)
            t[i] = addc_cc(t[i], odd[i]);
        t[2 * WORDS - 1] = addc(t[2 * WORDS - 1], odd[2 * WORDS - 1]);
#pragma unroll
        for (int i = 2 * WORDS - 1; i > 1; i--)
            t[i] = t[i] << 1 | t[i - 1] >> 31;
        t[1] <<= 1;
        t[0] = mad_lo_cc(word[0], word[0], t[0]);
        t[1] = madc_hi_cc(word[0], word[0], t[1]);
#pragma unroll
        for (int i = 1; i < WORDS; i++) {
            t[2 * i] = madc_lo_cc(word[i], word[i], t[2 * i]);
            t[2 * i + 1] = madc_hi_cc(word[i], word[i], t[2 * i + 1]);
        }
        return reduce_double(t);
    }

    /* ---- the inverse ---- */

    /* 1 / a, and 0 for 0. */
    __host__ __device__ __noinline__ field inverse() const
    {
        field r;

        division_steps<C>::invert(word, r.word);
        return r;
    }
};

using bn254_fp = field<bn254_fp_constants>;
using bn254_fr = field<bn254_fr_constants>;
using bls12_381_fp = field<bls12_381_fp_constants>;
using bls12_381_fr = field<bls12_381_fr_constants>;
