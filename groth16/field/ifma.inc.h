/* Template: eight elements of a prime field at a time, with the 52-bit products of AVX-512 IFMA.
 * Compiled only into files that are called after ifma_is_available().
 *
 * Set FIELD (a field of field.inc.h) and FIELD_LIMBS (its 64-bit limbs), IFMA_LIMBS (52-bit limbs:
 * 52 IFMA_LIMBS >= 64 FIELD_LIMBS + 2) before the include; all are undefined at the end.
 *
 * FIELD##_x8 holds limb j of eight elements in l[j]. "Normal": all limbs in [0, 2^52). Products
 * are Montgomery's with R' = 2^(52 IFMA_LIMBS). Values are not reduced: comments give bounds as
 * multiples of p. A product of normal a < A p, b < B p is below (A B p / R' + 1) p; p / R' is
 * 0.012 for a 254-bit p in 5 limbs and 0.028 for a 255-bit one, nothing for 381 bits in 8. */

#include <immintrin.h>

#define IFMA_JOIN2(a, b) a##b
#define IFMA_JOIN(a, b)  IFMA_JOIN2(a, b)
#define X8_FN(name)      IFMA_JOIN(FIELD, _x8##name)
#define FIELD_FN(name)   IFMA_JOIN(FIELD, name)
#define X8               IFMA_JOIN(FIELD, _x8)

#ifndef IFMA_COMMON
#define IFMA_COMMON
#define IFMA_INLINE static inline __attribute__((always_inline))
#define IFMA_MASK   ((uint64_t)0xfffffffffffff)

/* Bits 52 j .. 52 j + 51 of a number of `limbs` 64-bit limbs, times a small factor. Folds. */
IFMA_INLINE uint64_t ifma_limb(const uint64_t *a, int limbs, int j, uint64_t factor)
{
    uint64_t t[LIMBS_MAX + 1] = {0}, carry = 0;
    int word = 52 * j / 64, shift = 52 * j % 64;

    for (int i = 0; i < limbs; i++)
        t[i] = limbs_mul_add(a[i], factor, 0, &carry);
    t[limbs] = carry;
    if (word > limbs)
        return 0;
    return (t[word] >> shift | (shift > 12 && word < limbs ? t[word + 1] << (64 - shift) : 0)) &
           IFMA_MASK;
}

IFMA_INLINE __m512i ifma_set(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* Transposes eight rows of eight words. */
IFMA_INLINE void ifma_transpose(__m512i *r)
{
    __m512i t[8], u[8];

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
    }
    /* t[2 i + k] holds words k, k + 2, k + 4, k + 6 of rows 2 i and 2 i + 1. */
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            u[4 * i + k] = _mm512_shuffle_i64x2(t[4 * i + k], t[4 * i + 2 + k], 0x88);
            u[4 * i + 2 + k] = _mm512_shuffle_i64x2(t[4 * i + k], t[4 * i + 2 + k], 0xdd);
        }
    }
    /* u[4 i + k] holds words k and k + 4, u[4 i + 2 + k] words k + 2 and k + 6 of four rows. */
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        r[k] = _mm512_shuffle_i64x2(u[k], u[4 + k], 0x88);
        r[k + 4] = _mm512_shuffle_i64x2(u[k], u[4 + k], 0xdd);
    }
}
#endif

typedef struct {
    __m512i l[IFMA_LIMBS];
} X8;

/* Limb j of k p in all lanes. */
IFMA_INLINE __m512i X8_FN(_modulus)(int j, uint64_t k)
{
    return ifma_set(ifma_limb(FIELD_FN(_modulus), FIELD_LIMBS, j, k));
}

/* Carries signed limbs upwards; the value must not be negative. The top limb keeps the rest. */
IFMA_INLINE void X8_FN(_carry)(X8 *r)
{
    const __m512i mask = ifma_set(IFMA_MASK);

#pragma GCC unroll 8
    for (int j = 0; j + 1 < IFMA_LIMBS; j++) {
        r->l[j + 1] = _mm512_add_epi64(r->l[j + 1], _mm512_srai_epi64(r->l[j], 52));
        r->l[j] = _mm512_and_si512(r->l[j], mask);
    }
}

/* r = a - b + k p, normal, for b <= k p. */
IFMA_INLINE void X8_FN(_sub)(X8 *r, const X8 *a, const X8 *b, uint64_t k)
{
#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++)
        r->l[j] = _mm512_add_epi64(_mm512_sub_epi64(a->l[j], b->l[j]), X8_FN(_modulus)(j, k));
    X8_FN(_carry)(r);
}

/* r = a + b, normal. */
IFMA_INLINE void X8_FN(_add)(X8 *r, const X8 *a, const X8 *b)
{
#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++)
        r->l[j] = _mm512_add_epi64(a->l[j], b->l[j]);
    X8_FN(_carry)(r);
}

/* Reduces a value in [0, 7 p), of limbs that may still need carries of less than 8, to below 1.1 p,
 * normal. The quotient is estimated from the top limb, never too high; the multiple of p comes from
 * a table of eight. */
IFMA_INLINE void X8_FN(_reduce)(X8 *r)
{
    const uint64_t top = ifma_limb(FIELD_FN(_modulus), FIELD_LIMBS, IFMA_LIMBS - 1, 1);
    const __m512i zero = _mm512_setzero_si512();
    __m512i estimate = _mm512_max_epi64(_mm512_sub_epi64(r->l[IFMA_LIMBS - 1], ifma_set(8)), zero);
    __m512i q = _mm512_madd52hi_epu64(zero, estimate, ifma_set(((uint64_t)1 << 52) / (top + 1)));

#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++) {
#define MULTIPLE(k) (long long)ifma_limb(FIELD_FN(_modulus), FIELD_LIMBS, j, k)
        __m512i multiples = _mm512_setr_epi64(0, MULTIPLE(1), MULTIPLE(2), MULTIPLE(3), MULTIPLE(4),
                                              MULTIPLE(5), MULTIPLE(6), MULTIPLE(7));
#undef MULTIPLE
        r->l[j] = _mm512_sub_epi64(r->l[j], _mm512_permutexvar_epi64(q, multiples));
    }
    X8_FN(_carry)(r);
}

/* The same for a value in [0, 30 p), with limbs that may need carries of less than 2^8: to below
 * 1.3 p. */
IFMA_INLINE void X8_FN(_reduce_wide)(X8 *r)
{
    const uint64_t top = ifma_limb(FIELD_FN(_modulus), FIELD_LIMBS, IFMA_LIMBS - 1, 1);
    const __m512i zero = _mm512_setzero_si512();
    __m512i estimate =
        _mm512_max_epi64(_mm512_sub_epi64(r->l[IFMA_LIMBS - 1], ifma_set(256)), zero);
    __m512i q = _mm512_madd52hi_epu64(zero, estimate, ifma_set(((uint64_t)1 << 52) / (top + 1)));
    __m512i high = zero;

#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++) {
        __m512i low = _mm512_madd52lo_epu64(high, X8_FN(_modulus)(j, 1), q);

        high = _mm512_madd52hi_epu64(zero, X8_FN(_modulus)(j, 1), q);
        r->l[j] = _mm512_sub_epi64(r->l[j], low);
    }
    X8_FN(_carry)(r);
}

/* A product before its reduction: limb k weighs 2^(52 k). Every limb is a chain of its own, none
 * waits for a quotient, so the processor finds enough to do; that matters more than the count of
 * instructions. A limb sums at most 4 IFMA_LIMBS halves below 2^52 and carries below 2^12. */
typedef struct {
    __m512i l[2 * IFMA_LIMBS];
} X8_FN(_wide);

IFMA_INLINE void X8_FN(_wide_clear)(X8_FN(_wide) * t)
{
#pragma GCC unroll 16
    for (int k = 0; k < 2 * IFMA_LIMBS; k++)
        t->l[k] = _mm512_setzero_si512();
}

/* t += a b. 2 n^2 products of limbs. */
IFMA_INLINE void X8_FN(_wide_add)(X8_FN(_wide) * t, const X8 *a, const X8 *b)
{
#pragma GCC unroll 8
    for (int i = 0; i < IFMA_LIMBS; i++) {
#pragma GCC unroll 8
        for (int j = 0; j < IFMA_LIMBS; j++)
            t->l[i + j] = _mm512_madd52lo_epu64(t->l[i + j], a->l[j], b->l[i]);
#pragma GCC unroll 8
        for (int j = 0; j < IFMA_LIMBS; j++)
            t->l[i + j + 1] = _mm512_madd52hi_epu64(t->l[i + j + 1], a->l[j], b->l[i]);
    }
}

/* r = t / R': 2 n^2 + n products of limbs. */
IFMA_INLINE void X8_FN(_wide_reduce)(X8 *r, X8_FN(_wide) * t)
{
    const __m512i n0 = ifma_set(FIELD_FN(_n0) & IFMA_MASK), zero = _mm512_setzero_si512();

#pragma GCC unroll 8
    for (int i = 0; i < IFMA_LIMBS; i++) {
        __m512i q = _mm512_madd52lo_epu64(zero, t->l[i], n0);

        /* hi(p_0 q) joins the carry outside the sum's chain: the next quotient waits for both. */
        __m512i high = _mm512_madd52hi_epu64(zero, X8_FN(_modulus)(0, 1), q);

#pragma GCC unroll 8
        for (int j = 0; j < IFMA_LIMBS; j++)
            t->l[i + j] = _mm512_madd52lo_epu64(t->l[i + j], X8_FN(_modulus)(j, 1), q);
#pragma GCC unroll 8
        for (int j = 1; j < IFMA_LIMBS; j++)
            t->l[i + j + 1] = _mm512_madd52hi_epu64(t->l[i + j + 1], X8_FN(_modulus)(j, 1), q);
        high = _mm512_add_epi64(high, _mm512_srli_epi64(t->l[i], 52));
        t->l[i + 1] = _mm512_add_epi64(t->l[i + 1], high);
    }
#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++)
        r->l[j] = t->l[IFMA_LIMBS + j];
    X8_FN(_carry)(r);
}

/* r = a b / R'. */
IFMA_INLINE void X8_FN(_mul)(X8 *r, const X8 *a, const X8 *b)
{
    X8_FN(_wide) t;

    X8_FN(_wide_clear)(&t);
    X8_FN(_wide_add)(&t, a, b);
    X8_FN(_wide_reduce)(r, &t);
}

/* r = a^2 / R': mixed products once, doubled: n^2 + n products of limbs before the reduction. */
IFMA_INLINE void X8_FN(_sqr)(X8 *r, const X8 *a)
{
    X8_FN(_wide) t;

    X8_FN(_wide_clear)(&t);
#pragma GCC unroll 8
    for (int i = 0; i < IFMA_LIMBS; i++)
#pragma GCC unroll 8
        for (int j = i + 1; j < IFMA_LIMBS; j++) {
            t.l[i + j] = _mm512_madd52lo_epu64(t.l[i + j], a->l[j], a->l[i]);
            t.l[i + j + 1] = _mm512_madd52hi_epu64(t.l[i + j + 1], a->l[j], a->l[i]);
        }
#pragma GCC unroll 8
    for (int i = 0; i < IFMA_LIMBS; i++) {
        t.l[2 * i] =
            _mm512_madd52lo_epu64(_mm512_add_epi64(t.l[2 * i], t.l[2 * i]), a->l[i], a->l[i]);
        t.l[2 * i + 1] = _mm512_madd52hi_epu64(_mm512_add_epi64(t.l[2 * i + 1], t.l[2 * i + 1]),
                                               a->l[i], a->l[i]);
    }
    X8_FN(_wide_reduce)(r, &t);
}

/* r = (a b + c d) / R', with one reduction: 6 n^2 + n products of limbs. */
IFMA_INLINE void X8_FN(_mul_add)(X8 *r, const X8 *a, const X8 *b, const X8 *c, const X8 *d)
{
    X8_FN(_wide) t;

    X8_FN(_wide_clear)(&t);
    X8_FN(_wide_add)(&t, a, b);
    X8_FN(_wide_add)(&t, c, d);
    X8_FN(_wide_reduce)(r, &t);
}

IFMA_INLINE void X8_FN(_blend)(X8 *r, const X8 *a, const X8 *b, __mmask8 take_b)
{
#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++)
        r->l[j] = _mm512_mask_blend_epi64(take_b, a->l[j], b->l[j]);
}

/* Lanes in which a normal value is exactly k p. */
IFMA_INLINE __mmask8 X8_FN(_is_multiple)(const X8 *a, uint64_t k)
{
    __mmask8 r = 0xff;

#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++)
        r = _mm512_mask_cmpeq_epi64_mask(r, a->l[j], X8_FN(_modulus)(j, k));
    return r;
}

/* From and to words: word i of eight elements in words[i]. */
IFMA_INLINE void X8_FN(_unpack)(X8 *r, const __m512i *words)
{
    const __m512i mask = ifma_set(IFMA_MASK);

#pragma GCC unroll 8
    for (int j = 0; j < IFMA_LIMBS; j++) {
        int word = 52 * j / 64, shift = 52 * j % 64;

        if (word >= FIELD_LIMBS)
            r->l[j] = _mm512_setzero_si512();
        else if (shift > 12 && word + 1 < FIELD_LIMBS)
            r->l[j] = _mm512_and_si512(
                _mm512_or_si512(_mm512_srli_epi64(words[word], (unsigned)shift),
                                _mm512_slli_epi64(words[word + 1], (unsigned)(64 - shift))),
                mask);
        else
            r->l[j] = _mm512_and_si512(_mm512_srli_epi64(words[word], (unsigned)shift), mask);
    }
}

/* Of a normal value below 2^(64 FIELD_LIMBS). */
IFMA_INLINE void X8_FN(_pack)(__m512i *words, const X8 *a)
{
#pragma GCC unroll 8
    for (int i = 0; i < FIELD_LIMBS; i++) {
        int limb = 64 * i / 52, shift = 64 * i % 52;

        words[i] = _mm512_srli_epi64(a->l[limb], (unsigned)shift);
        if (limb + 1 < IFMA_LIMBS)
            words[i] = _mm512_or_si512(words[i],
                                       _mm512_slli_epi64(a->l[limb + 1], (unsigned)(52 - shift)));
        if (104 - shift < 64 && limb + 2 < IFMA_LIMBS)
            words[i] = _mm512_or_si512(words[i],
                                       _mm512_slli_epi64(a->l[limb + 2], (unsigned)(104 - shift)));
    }
}

#undef X8
#undef FIELD_FN
#undef X8_FN
#undef IFMA_JOIN
#undef IFMA_JOIN2
#undef IFMA_LIMBS
#undef FIELD_LIMBS
#undef FIELD
