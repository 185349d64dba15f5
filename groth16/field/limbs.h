/* Unsigned integers of a fixed number of 64-bit limbs, least significant limb first.
 *
 * Every function takes the limb count, and where needed the modulus, as arguments that the
 * caller passes as literals or as static const arrays. All of them are always inlined, so that
 * the compiler unrolls the loops and folds the constants. Called only by the field templates
 * (field.inc.h); no state, any process, any thread.
 *
 * Aliasing: every output may be the same object as any input, but must not overlap it partly. */

#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LIMBS_MAX    6
#define LIMBS_INLINE static inline __attribute__((always_inline))

typedef unsigned __int128 limbs_wide;
typedef __int128 limbs_signed_wide;

/* Returns a + b + carry and leaves the carry out (0 or 1) in *carry. */
LIMBS_INLINE uint64_t limbs_add_carry(uint64_t a, uint64_t b, uint64_t *carry)
{
    limbs_wide sum = (limbs_wide)a + b + *carry;

    *carry = (uint64_t)(sum >> 64);
    return (uint64_t)sum;
}

/* Returns a - b - borrow and leaves the borrow out (0 or 1) in *borrow. */
LIMBS_INLINE uint64_t limbs_sub_borrow(uint64_t a, uint64_t b, uint64_t *borrow)
{
    limbs_wide diff = (limbs_wide)a - b - *borrow;

    *borrow = (uint64_t)(diff >> 64) & 1;
    return (uint64_t)diff;
}

/* Returns the low limb of a * b + c + *high and leaves the high limb in *high; cannot overflow. */
LIMBS_INLINE uint64_t limbs_mul_add(uint64_t a, uint64_t b, uint64_t c, uint64_t *high)
{
    limbs_wide t = (limbs_wide)a * b + c + *high;

    *high = (uint64_t)(t >> 64);
    return (uint64_t)t;
}

LIMBS_INLINE bool limbs_is_zero(const uint64_t *a, int limbs)
{
    uint64_t any = 0;

    for (int i = 0; i < limbs; i++)
        any |= a[i];
    return any == 0;
}

LIMBS_INLINE bool limbs_is_equal(const uint64_t *a, const uint64_t *b, int limbs)
{
    uint64_t any = 0;

    for (int i = 0; i < limbs; i++)
        any |= a[i] ^ b[i];
    return any == 0;
}

/* True when a < b. */
LIMBS_INLINE bool limbs_is_less(const uint64_t *a, const uint64_t *b, int limbs)
{
    uint64_t borrow = 0;

    for (int i = 0; i < limbs; i++)
        (void)limbs_sub_borrow(a[i], b[i], &borrow);
    return borrow != 0;
}

/* r = take_b ? b : a, without a branch. */
LIMBS_INLINE void limbs_select(uint64_t *r, const uint64_t *a, const uint64_t *b, bool take_b,
                               int limbs)
{
    uint64_t mask = (uint64_t)0 - take_b;

    for (int i = 0; i < limbs; i++)
        r[i] = a[i] ^ (mask & (a[i] ^ b[i]));
}

/* r = a - p when a >= p, else a. `a` is below 2p. */
LIMBS_INLINE void limbs_reduce_once(uint64_t *r, const uint64_t *a, const uint64_t *p, int limbs)
{
    uint64_t t[LIMBS_MAX], borrow = 0;

    for (int i = 0; i < limbs; i++)
        t[i] = limbs_sub_borrow(a[i], p[i], &borrow);
    for (int i = 0; i < limbs; i++)
        r[i] = borrow ? a[i] : t[i];
}

/* r = a + b mod p, for a, b < p and p < 2^(64 limbs - 1): the sum carries nothing out. */
LIMBS_INLINE void limbs_mod_add(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                const uint64_t *p, int limbs)
{
    uint64_t t[LIMBS_MAX], carry = 0;

    for (int i = 0; i < limbs; i++)
        t[i] = limbs_add_carry(a[i], b[i], &carry);
    limbs_reduce_once(r, t, p, limbs);
}

/* Signed sums of many terms, five limbs, two's complement: sum += a, sum -= a, for a of four. */
LIMBS_INLINE void limbs_sum_add(uint64_t *sum, const uint64_t *a)
{
    uint64_t carry = 0;

    for (int i = 0; i < 4; i++)
        sum[i] = limbs_add_carry(sum[i], a[i], &carry);
    sum[4] += carry;
}

LIMBS_INLINE void limbs_sum_sub(uint64_t *sum, const uint64_t *a)
{
    uint64_t borrow = 0;

    for (int i = 0; i < 4; i++)
        sum[i] = limbs_sub_borrow(sum[i], a[i], &borrow);
    sum[4] -= borrow;
}

/* sum += a factor; four products of limbs. */
LIMBS_INLINE void limbs_sum_mul(uint64_t *sum, const uint64_t *a, int64_t factor)
{
    const uint64_t size = factor < 0 ? -(uint64_t)factor : (uint64_t)factor;
    uint64_t product[4], high = 0;

    for (int i = 0; i < 4; i++)
        product[i] = limbs_mul_add(a[i], size, 0, &high);
    if (factor < 0) {
        limbs_sum_sub(sum, product);
        sum[4] -= high;
    } else {
        limbs_sum_add(sum, product);
        sum[4] += high;
    }
}

/* r = a - b mod p, for a, b < p. */
LIMBS_INLINE void limbs_mod_sub(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                const uint64_t *p, int limbs)
{
    uint64_t t[LIMBS_MAX], borrow = 0, carry = 0, mask;

    for (int i = 0; i < limbs; i++)
        t[i] = limbs_sub_borrow(a[i], b[i], &borrow);
    mask = (uint64_t)0 - borrow;
    for (int i = 0; i < limbs; i++)
        r[i] = limbs_add_carry(t[i], p[i] & mask, &carry);
}

/* r = a * b / 2^(64 limbs) mod p, for a, b < p; n0 = -1/p mod 2^64.
 *
 * Koc, Acar, Kaliski 1996, "Analyzing and Comparing Montgomery Multiplication Algorithms", CIOS,
 * with product and reduction of a row in one pass. The top limb of p is below 2^63 - 1, so the
 * two carries of a row fit one limb together and no row needs a limb more ("no-carry", as
 * described by the gnark authors). 2 n^2 + n products of limbs. */
LIMBS_INLINE void limbs_mont_mul_portable(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                          const uint64_t *p, uint64_t n0, int limbs)
{
    uint64_t t[LIMBS_MAX] = {0};

    for (int i = 0; i < limbs; i++) {
        uint64_t carry = 0, carry_p = 0;
        uint64_t low = limbs_mul_add(a[0], b[i], t[0], &carry);
        uint64_t m = low * n0;

        (void)limbs_mul_add(m, p[0], low, &carry_p);
        for (int j = 1; j < limbs; j++) {
            low = limbs_mul_add(a[j], b[i], t[j], &carry);
            t[j - 1] = limbs_mul_add(m, p[j], low, &carry_p);
        }
        t[limbs - 1] = carry + carry_p;
    }
    limbs_reduce_once(r, t, p, limbs);
}
