/* Modular inversion by a binary greatest common divisor, several times faster than Fermat's little
 * theorem. Variable time: for values that need no hiding, such as sums of public points. Called
 * where one inversion serves a batch (msm/); pure, any thread. */

#pragma once

#include "groth16/field/limbs.h"

enum { INVERSE_STEP_BITS = 30 };

/* a's low 31 bits and its 33 bits below bit n, n >= 64: both ends of the number in one word. */
LIMBS_INLINE uint64_t inverse_ends(const uint64_t *a, unsigned n)
{
    unsigned at = n - 33, limb = at / 64, shift = at % 64;
    uint64_t top = a[limb] >> shift;

    if (shift > 31)
        top |= a[limb + 1] << (64 - shift);
    return (a[0] & 0x7fffffff) | top << 31;
}

/* t = a f + b g in two's complement of limbs + 1 words, for |f|, |g| <= 2^30. A negative factor is
 * first taken as itself + 2^64. */
LIMBS_INLINE void inverse_dot(uint64_t *t, const uint64_t *a, const uint64_t *b, int64_t f,
                              int64_t g, int limbs)
{
    uint64_t carry_f = 0, carry_g = 0, borrow_f = 0, borrow_g = 0;
    uint64_t mask_f = (uint64_t)(f >> 63), mask_g = (uint64_t)(g >> 63);

    for (int i = 0; i < limbs; i++) {
        t[i] = limbs_mul_add(a[i], (uint64_t)f, 0, &carry_f);
        t[i] = limbs_mul_add(b[i], (uint64_t)g, t[i], &carry_g);
    }
    t[limbs] = carry_f + carry_g;
    for (int i = 0; i < limbs; i++) {
        t[i + 1] = limbs_sub_borrow(t[i + 1], a[i] & mask_f, &borrow_f);
        t[i + 1] = limbs_sub_borrow(t[i + 1], b[i] & mask_g, &borrow_g);
    }
}

/* r = |a f + b g| / 2^30 exactly; returns all ones when the value was negative, else 0. */
LIMBS_INLINE uint64_t inverse_combine(uint64_t *r, const uint64_t *a, const uint64_t *b, int64_t f,
                                      int64_t g, int limbs)
{
    uint64_t t[LIMBS_MAX + 1], sign, carry;

    inverse_dot(t, a, b, f, g, limbs);
    sign = 0 - (t[limbs] >> 63);
    carry = sign & 1;
    for (int i = 0; i <= limbs; i++)
        t[i] = limbs_add_carry(t[i] ^ sign, 0, &carry);
    for (int i = 0; i < limbs; i++)
        r[i] = t[i] >> 30 | t[i + 1] << 34;
    return sign;
}

/* r = (u f + v g) / 2^30 mod p, below p, for u, v < p; n0 = -1/p mod 2^64. */
LIMBS_INLINE void inverse_combine_mod(uint64_t *r, const uint64_t *u, const uint64_t *v, int64_t f,
                                      int64_t g, const uint64_t *p, uint64_t n0, int limbs)
{
    uint64_t t[LIMBS_MAX + 1], borrow = 0, carry = 0, sign, q, high = 0;

    inverse_dot(t, u, v, f, g, limbs);
    /* A multiple of p makes the low 30 bits vanish: the sum lies in (-2^30 p, 2^31 p). */
    q = (t[0] * n0) & 0x3fffffff;
    for (int i = 0; i < limbs; i++)
        t[i] = limbs_mul_add(q, p[i], t[i], &high);
    t[limbs] += high;
    for (int i = 0; i < limbs; i++)
        t[i] = t[i] >> 30 | t[i + 1] << 34;
    t[limbs] = (uint64_t)((int64_t)t[limbs] >> 30);
    /* Now in (-p, 2 p): add p when negative, then subtract it when not below. */
    sign = 0 - (t[limbs] >> 63);
    for (int i = 0; i < limbs; i++)
        t[i] = limbs_add_carry(t[i], p[i] & sign, &carry);
    for (int i = 0; i < limbs; i++)
        r[i] = limbs_sub_borrow(t[i], p[i], &borrow);
    limbs_select(r, r, t, borrow, limbs);
}

LIMBS_INLINE unsigned inverse_bits(const uint64_t *a, const uint64_t *b, int limbs)
{
    for (int i = limbs - 1; i > 0; i--)
        if (a[i] | b[i])
            return (unsigned)(64 * i + 64 - __builtin_clzll(a[i] | b[i]));
    return 64;
}

/* r = factor / a mod p, for 0 <= a, factor < p; 0 when a is 0. n0 = -1/p mod 2^64.
 *
 * Pornin 2020, "Optimized Binary GCD for Modular Inversion", algorithm 2, with 30 steps at a time
 * on the ends of both numbers, then one multiplication of the whole by what the steps did; stops as
 * soon as a has vanished. Invariant: a = y u, b = y v mod p, up to the common factor. */
LIMBS_INLINE void limbs_inverse(uint64_t *r, const uint64_t *value, const uint64_t *factor,
                                const uint64_t *p, uint64_t n0, int limbs)
{
    uint64_t a[LIMBS_MAX], b[LIMBS_MAX], u[LIMBS_MAX], v[LIMBS_MAX] = {0};
    uint64_t next_a[LIMBS_MAX], next_u[LIMBS_MAX];

    for (int i = 0; i < limbs; i++) {
        a[i] = value[i];
        b[i] = p[i];
        u[i] = factor[i];
    }
    while (!limbs_is_zero(a, limbs)) {
        unsigned n = inverse_bits(a, b, limbs);
        uint64_t x = n > 64 ? inverse_ends(a, n) : a[0], y = n > 64 ? inverse_ends(b, n) : b[0];
        uint64_t fg0 = 1, fg1 = (uint64_t)1 << 32; /* f + 2^32 g, both signed */

        for (int i = 0; i < INVERSE_STEP_BITS; i++) {
            uint64_t odd = 0 - (x & 1), swap = 0 - (uint64_t)(x < y);

            /* Both are coin tosses: keeps the compiler from branching on them. */
            __asm__("" : "+r"(odd), "+r"(swap));
            swap &= odd;
            uint64_t t = (x ^ y) & swap, fg = (fg0 ^ fg1) & swap;

            x ^= t;
            y ^= t;
            fg0 ^= fg;
            fg1 ^= fg;
            x = (x - (y & odd)) >> 1;
            fg0 -= fg1 & odd;
            fg1 *= 2;
        }
        int64_t f0 = (int32_t)fg0, g0 = (int64_t)(fg0 - (uint64_t)f0) >> 32;
        int64_t f1 = (int32_t)fg1, g1 = (int64_t)(fg1 - (uint64_t)f1) >> 32;
        uint64_t sign_a = inverse_combine(next_a, a, b, f0, g0, limbs);
        uint64_t sign_b = inverse_combine(b, a, b, f1, g1, limbs);

        for (int i = 0; i < limbs; i++)
            a[i] = next_a[i];
        f0 = (f0 ^ (int64_t)sign_a) - (int64_t)sign_a;
        g0 = (g0 ^ (int64_t)sign_a) - (int64_t)sign_a;
        f1 = (f1 ^ (int64_t)sign_b) - (int64_t)sign_b;
        g1 = (g1 ^ (int64_t)sign_b) - (int64_t)sign_b;
        inverse_combine_mod(next_u, u, v, f0, g0, p, n0, limbs);
        inverse_combine_mod(v, u, v, f1, g1, p, n0, limbs);
        for (int i = 0; i < limbs; i++)
            u[i] = next_u[i];
    }
    for (int i = 0; i < limbs; i++)
        r[i] = v[i];
}
