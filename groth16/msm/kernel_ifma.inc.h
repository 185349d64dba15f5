/* Template: batched affine additions of one group, eight pairs at a time (kernel.h, add_pairs).
 *
 * Set KERNEL (the group's prefix, e.g. bn254_g1), FIELD (its coordinates, e.g. bn254_fp2), BASE
 * (their base field, e.g. bn254_fp), BASE_LIMBS, BASE_IFMA_LIMBS and DEGREE (1 or 2 coordinates of
 * the base field in FIELD) before the include; all are undefined at the end. Makes the function
 * KERNEL##_add_pairs_ifma.
 *
 * Points come and go in words with R = 2^(64 n), products divide by R' = 2^(52 m). No conversion is
 * needed: read as R' numbers the coordinates are s x and s y with s = R / R'. With
 * mu = sqrt(s) lambda, which takes a factor sqrt(s) in the one inverse of the batch,
 *   s x3 = mu^2 - s x1 - s x2,  s y3 = mu (s x1 - s x3) / sqrt(s) - s y1,
 * and 1 / sqrt(s) = 2^(26 m - 32 n) is a shift: 2^2 or 2^16.
 *
 * Bounds: coordinates in memory are below 1.1 p (the caller's below p), not canonical. */

#include <assert.h>
#include <string.h>

#include "groth16/field/inverse.h"
#include "groth16/msm/kernel.h"
#include "groth16/msm/kernel_ifma.h"

#define KERNEL_JOIN2(a, b) a##b
#define KERNEL_JOIN(a, b)  KERNEL_JOIN2(a, b)
#define KERNEL_FN(name)    KERNEL_JOIN(KERNEL, _ifma##name)
#define X8_FN(name)        KERNEL_JOIN(FIELD, _x8##name)
#define BASE_FN(name)      KERNEL_JOIN(BASE, _x8##name)
#define SCALAR_FN(name)    KERNEL_JOIN(BASE, name)
#define FIELD_FN(name)     KERNEL_JOIN(FIELD, name)
#define X8                 KERNEL_JOIN(FIELD, _x8)
#define BASE_X8            KERNEL_JOIN(BASE, _x8)
#define COORDINATE_WORDS   (BASE_LIMBS * DEGREE)
#define POINT_WORDS        (2 * COORDINATE_WORDS)
#define UNSCALE_BITS       (26 * BASE_IFMA_LIMBS - 32 * BASE_LIMBS)

#ifndef KERNEL_IFMA_COMMON
#define KERNEL_IFMA_COMMON
enum {
    MSM_IFMA_LANES = 8,
    MSM_IFMA_GROUPS = MSM_BATCH_PAIRS / MSM_IFMA_LANES,
    MSM_IFMA_STRIDE = 4, /* groups that go through the second pass together */
    MSM_IFMA_AHEAD = 3,  /* groups to prefetch ahead: the first level reads points at random */
};

/* Lanes of a group that are no plain additions. */
struct msm_ifma_special {
    __mmask8 keep;  /* the result is x1, y1 as stored */
    __mmask8 twice; /* a doubling: d is not x2 - x1 */
};
#endif

/* Eight pairs between the two passes. y1 is not normal. */
struct KERNEL_FN(_group) {
    X8 x1, y1, d, e, running; /* d = x2 - x1 or what stands for it, e = y2 - y1 or 3 x1^2 */
};

struct KERNEL_FN(_scratch) {
    struct KERNEL_FN(_group) groups[MSM_IFMA_GROUPS];
    struct msm_ifma_special special[MSM_IFMA_GROUPS];
};

/* Loads eight points as words across lanes: words[i] is word i of each. */
IFMA_INLINE void KERNEL_FN(_gather)(__m512i *words, const msm_reference *from)
{
#pragma GCC unroll 3
    for (int block = 0; block < POINT_WORDS; block += 8) {
#pragma GCC unroll 8
        for (int lane = 0; lane < 8; lane++) {
            const char *at = (const char *)(from[lane] & ~(msm_reference)1) + 8 * block;

            words[block + lane] = POINT_WORDS - block >= 8 ? _mm512_loadu_si512(at)
                                                           : _mm512_maskz_loadu_epi64(0x0f, at);
        }
        ifma_transpose(words + block);
    }
}

IFMA_INLINE void KERNEL_FN(_scatter)(uint64_t *to, __m512i *words, size_t count)
{
#pragma GCC unroll 3
    for (int block = 0; block < POINT_WORDS; block += 8) {
        ifma_transpose(words + block);
#pragma GCC unroll 8
        for (int lane = 0; lane < 8; lane++) {
            uint64_t *at = to + (size_t)lane * POINT_WORDS + block;

            if ((size_t)lane < count)
                _mm512_mask_storeu_epi64(at, POINT_WORDS - block >= 8 ? 0xff : 0x0f,
                                         words[block + lane]);
        }
    }
}

IFMA_INLINE void KERNEL_FN(_unpack)(X8 *r, const __m512i *words)
{
    BASE_X8 *halves = (BASE_X8 *)r;

#pragma GCC unroll 2
    for (int i = 0; i < DEGREE; i++)
        BASE_FN(_unpack)(&halves[i], words + i * BASE_LIMBS);
}

IFMA_INLINE void KERNEL_FN(_pack)(__m512i *words, const X8 *a)
{
    const BASE_X8 *halves = (const BASE_X8 *)a;

#pragma GCC unroll 2
    for (int i = 0; i < DEGREE; i++)
        BASE_FN(_pack)(words + i * BASE_LIMBS, &halves[i]);
}

/* y = negative ? 2 p - y : y, not normal. */
IFMA_INLINE void KERNEL_FN(_negate)(X8 *y, __mmask8 negative)
{
    BASE_X8 *halves = (BASE_X8 *)y;

#pragma GCC unroll 2
    for (int i = 0; i < DEGREE; i++)
#pragma GCC unroll 8
        for (int j = 0; j < BASE_IFMA_LIMBS; j++)
            halves[i].l[j] = _mm512_mask_sub_epi64(halves[i].l[j], negative,
                                                   BASE_FN(_modulus)(j, 2), halves[i].l[j]);
}

IFMA_INLINE void KERNEL_FN(_load)(X8 *x, X8 *y, const msm_reference *from)
{
    /* Room for the last block of eight. */
    __m512i words[POINT_WORDS + 4];
    __m512i address = _mm512_loadu_si512(from);

    KERNEL_FN(_gather)(words, from);
    KERNEL_FN(_unpack)(x, words);
    KERNEL_FN(_unpack)(y, words + COORDINATE_WORDS);
    KERNEL_FN(_negate)(y, _mm512_test_epi64_mask(address, ifma_set(1)));
}

/* Lanes that may be special: a point whose x starts with 0, or x1 = x2 mod p. */
IFMA_INLINE __mmask8 KERNEL_FN(_suspects)(const X8 *x1, const X8 *x2, const X8 *d)
{
    const __m512i zero = _mm512_setzero_si512();
    __m512i low = ((const BASE_X8 *)d)->l[0];

    return _mm512_cmpeq_epi64_mask(((const BASE_X8 *)x1)->l[0], zero) |
           _mm512_cmpeq_epi64_mask(((const BASE_X8 *)x2)->l[0], zero) |
           _mm512_cmpeq_epi64_mask(low, BASE_FN(_modulus)(0, 1)) |
           _mm512_cmpeq_epi64_mask(low, BASE_FN(_modulus)(0, 2)) |
           _mm512_cmpeq_epi64_mask(low, BASE_FN(_modulus)(0, 3));
}

/* Lanes where a normal value below 4 p is 0 mod p. */
static __mmask8 KERNEL_FN(_vanishes)(const X8 *a)
{
    const BASE_X8 *halves = (const BASE_X8 *)a;
    __mmask8 r = 0xff;

    for (int i = 0; i < DEGREE; i++)
        r &= BASE_FN(_is_multiple)(&halves[i], 0) | BASE_FN(_is_multiple)(&halves[i], 1) |
             BASE_FN(_is_multiple)(&halves[i], 2) | BASE_FN(_is_multiple)(&halves[i], 3);
    return r;
}

/* r = 2^exponent mod p, for 64 n <= exponent < 128 n - 1. */
static void KERNEL_FN(_power_of_two)(BASE *r, unsigned exponent)
{
    BASE r2;

    memcpy(&r2, SCALAR_FN(_r2), sizeof r2);
    exponent -= 64 * BASE_LIMBS;
    memset(r, 0, sizeof *r);
    r->l[exponent / 64] = (uint64_t)1 << (exponent % 64);
    SCALAR_FN(_mul)(r, r, &r2);
}

/* a = 1 in the lanes of a mask: a divisor that does no harm. */
static void KERNEL_FN(_set_one)(X8 *a, __mmask8 lanes)
{
    BASE_X8 *halves = (BASE_X8 *)a;

    for (int i = 0; i < DEGREE; i++)
        for (int j = 0; j < BASE_IFMA_LIMBS; j++)
            halves[i].l[j] =
                _mm512_mask_mov_epi64(halves[i].l[j], lanes, ifma_set(i == 0 && j == 0));
}

/* Gives equal, opposite and infinite points a divisor and a numerator. */
static __attribute__((noinline)) struct msm_ifma_special
KERNEL_FN(_settle)(struct KERNEL_FN(_group) * g, const X8 *x2, const X8 *y2)
{
    const X8 zero = {0};
    X8 y1 = g->y1, triple, power;
    __m512i words[COORDINATE_WORDS];
    BASE scale;
    __mmask8 infinite1, infinite2, equal_x, twice, opposite;

    X8_FN(_carry)(&y1);
    /* No point has x = y = 0, and a negated 0 is 2 p. */
    infinite1 = KERNEL_FN(_vanishes)(&g->x1) & KERNEL_FN(_vanishes)(&y1);
    infinite2 = KERNEL_FN(_vanishes)(x2);
    {
        X8 normal = *y2;

        X8_FN(_carry)(&normal);
        infinite2 &= KERNEL_FN(_vanishes)(&normal);
    }
    equal_x = KERNEL_FN(_vanishes)(&g->d) & ~(infinite1 | infinite2);
    twice = equal_x & KERNEL_FN(_vanishes)(&g->e);
    opposite = equal_x & ~twice;

    /* s 3 x^2 = 3 (s x)^2 / s: a product with 2^(2 * 52 m - 64 n) divides by s. */
    KERNEL_FN(_power_of_two)(&scale, 104 * BASE_IFMA_LIMBS - 64 * BASE_LIMBS);
    for (int i = 0; i < COORDINATE_WORDS; i++)
        words[i] = ifma_set(i < BASE_LIMBS ? scale.l[i] : 0);
    KERNEL_FN(_unpack)(&power, words);
    X8_FN(_sqr)(&triple, &g->x1);
    X8_FN(_mul)(&triple, &triple, &power);
    X8_FN(_add)(&power, &triple, &triple);
    X8_FN(_add)(&triple, &triple, &power);
    X8_FN(_blend)(&g->e, &g->e, &triple, twice);
    X8_FN(_add)(&y1, &y1, &y1);
    X8_FN(_blend)(&g->d, &g->d, &y1, twice);

    KERNEL_FN(_set_one)(&g->d, infinite1 | infinite2 | opposite);
    X8_FN(_blend)(&g->x1, &g->x1, x2, infinite1);
    X8_FN(_blend)(&g->y1, &g->y1, y2, infinite1);
    X8_FN(_blend)(&g->x1, &g->x1, &zero, opposite | (infinite1 & infinite2));
    X8_FN(_blend)(&g->y1, &g->y1, &zero, opposite | (infinite1 & infinite2));
    return (struct msm_ifma_special){infinite1 | infinite2 | opposite, twice};
}

/* First pass over eight pairs. */
IFMA_INLINE struct msm_ifma_special
KERNEL_FN(_prepare)(struct KERNEL_FN(_group) * g, const msm_reference *a, const msm_reference *b)
{
    X8 x1, y1, x2, y2, d, e;

    KERNEL_FN(_load)(&x1, &y1, a);
    KERNEL_FN(_load)(&x2, &y2, b);
    X8_FN(_sub)(&d, &x2, &x1, 2);
    X8_FN(_sub)(&e, &y2, &y1, 2);
    g->x1 = x1;
    g->y1 = y1;
    g->d = d;
    g->e = e;
    if (__builtin_expect(KERNEL_FN(_suspects)(&x1, &x2, &d), 0))
        return KERNEL_FN(_settle)(g, &x2, &y2);
    return (struct msm_ifma_special){0, 0};
}

/* r = (a - b + 2 p) 2^UNSCALE_BITS, normal. */
IFMA_INLINE void KERNEL_FN(_sub_unscaled)(X8 *r, const X8 *a, const X8 *b)
{
    BASE_X8 *halves = (BASE_X8 *)r;

    X8_FN(_sub)(r, a, b, 2);
#pragma GCC unroll 2
    for (int i = 0; i < DEGREE; i++) {
#pragma GCC unroll 8
        for (int j = BASE_IFMA_LIMBS - 1; j > 0; j--)
            halves[i].l[j] = _mm512_and_si512(
                _mm512_or_si512(_mm512_slli_epi64(halves[i].l[j], UNSCALE_BITS),
                                _mm512_srli_epi64(halves[i].l[j - 1], 52 - UNSCALE_BITS)),
                ifma_set(IFMA_MASK));
        halves[i].l[0] =
            _mm512_and_si512(_mm512_slli_epi64(halves[i].l[0], UNSCALE_BITS), ifma_set(IFMA_MASK));
    }
}

/* r = mu2 - x1 - x2 mod p, from d = x2 - x1 + 2 p; mu2 < 2 p, x < 2 p: in (0, 6 p) before. */
IFMA_INLINE void KERNEL_FN(_x3)(X8 *r, const X8 *mu2, const X8 *x1, const X8 *d)
{
    const BASE_X8 *m = (const BASE_X8 *)mu2, *x = (const BASE_X8 *)x1, *dd = (const BASE_X8 *)d;
    BASE_X8 *to = (BASE_X8 *)r;

#pragma GCC unroll 2
    for (int i = 0; i < DEGREE; i++)
#pragma GCC unroll 8
        for (int j = 0; j < BASE_IFMA_LIMBS; j++) {
            __m512i twice = _mm512_add_epi64(x[i].l[j], x[i].l[j]);
            __m512i rest = _mm512_sub_epi64(BASE_FN(_modulus)(j, 6), dd[i].l[j]);

            to[i].l[j] = _mm512_add_epi64(_mm512_sub_epi64(m[i].l[j], twice), rest);
        }
    X8_FN(_reduce)(r);
}

/* r = t - y mod p: in [0, 4 p) before. */
IFMA_INLINE void KERNEL_FN(_y3)(X8 *r, const X8 *t, const X8 *y)
{
    const BASE_X8 *a = (const BASE_X8 *)t, *b = (const BASE_X8 *)y;
    BASE_X8 *to = (BASE_X8 *)r;

#pragma GCC unroll 2
    for (int i = 0; i < DEGREE; i++)
#pragma GCC unroll 8
        for (int j = 0; j < BASE_IFMA_LIMBS; j++)
            to[i].l[j] =
                _mm512_add_epi64(_mm512_sub_epi64(a[i].l[j], b[i].l[j]), BASE_FN(_modulus)(j, 2));
    X8_FN(_reduce)(r);
}

/* Where a few groups stand in the second pass. Each step runs over all of them before the next, for
 * a group's own chain of four products is longer than the processor looks ahead. */
struct KERNEL_FN(_stride) {
    X8 inverse[MSM_IFMA_STRIDE], mu[MSM_IFMA_STRIDE], x3[MSM_IFMA_STRIDE];
};

/* Second pass, first half: mu and x3 of a group whose d has the given inverse. */
IFMA_INLINE void KERNEL_FN(_finish_x)(X8 *x3, const X8 *mu, const struct KERNEL_FN(_group) * g,
                                      struct msm_ifma_special special)
{
    X8 mu2, t, d;

    X8_FN(_sqr)(&mu2, mu);
    if (__builtin_expect(special.twice, 0)) {
        X8_FN(_sub)(&t, &g->x1, &g->x1, 2);
        X8_FN(_blend)(&d, &g->d, &t, special.twice);
        KERNEL_FN(_x3)(x3, &mu2, &g->x1, &d);
    } else {
        KERNEL_FN(_x3)(x3, &mu2, &g->x1, &g->d);
    }
}

/* Second half: y3; writes eight sums (or the first `count`). */
IFMA_INLINE void KERNEL_FN(_finish_y)(const X8 *mu, X8 *x3, const struct KERNEL_FN(_group) * g,
                                      struct msm_ifma_special special, uint64_t *to, size_t count)
{
    __m512i words[POINT_WORDS + 4];
    X8 y3, t;

    KERNEL_FN(_sub_unscaled)(&t, &g->x1, x3);
    X8_FN(_mul)(&t, &t, mu);
    KERNEL_FN(_y3)(&y3, &t, &g->y1);
    if (__builtin_expect(special.keep, 0)) {
        t = g->y1;
        X8_FN(_reduce)(&t);
        X8_FN(_blend)(x3, x3, &g->x1, special.keep);
        X8_FN(_blend)(&y3, &y3, &t, special.keep);
    }
    KERNEL_FN(_pack)(words, x3);
    KERNEL_FN(_pack)(words + COORDINATE_WORDS, &y3);
#pragma GCC unroll 4
    for (int i = POINT_WORDS; i % 8 != 0; i++)
        words[i] = _mm512_setzero_si512();
    KERNEL_FN(_scatter)(to, words, count);
}

/* Groups first .. first + groups - 1; *product is the inverse of the product of all d up to there,
 * afterwards of those before `first`. */
IFMA_INLINE void KERNEL_FN(_finish)(struct KERNEL_FN(_scratch) * s, X8 *product, size_t first,
                                    size_t groups, uint64_t *ret, size_t count)
{
    struct KERNEL_FN(_stride) t;

    for (size_t i = groups; i-- > 0;) {
        if (first + i == 0) {
            t.inverse[i] = *product; /* times one */
        } else {
            X8_FN(_mul)(&t.inverse[i], product, &s->groups[first + i].running);
            X8_FN(_mul)(product, product, &s->groups[first + i].d);
        }
    }
    for (size_t i = 0; i < groups; i++)
        X8_FN(_mul)(&t.mu[i], &s->groups[first + i].e, &t.inverse[i]);
    for (size_t i = 0; i < groups; i++)
        KERNEL_FN(_finish_x)(&t.x3[i], &t.mu[i], &s->groups[first + i], s->special[first + i]);
    for (size_t i = 0; i < groups; i++) {
        size_t at = MSM_IFMA_LANES * (first + i), left = count - at;

        KERNEL_FN(_finish_y)
        (&t.mu[i], &t.x3[i], &s->groups[first + i], s->special[first + i], ret + at * POINT_WORDS,
         left < MSM_IFMA_LANES ? left : MSM_IFMA_LANES);
    }
}

/* r = 1 / a times a factor: R factor / a for words as they are. */
static void KERNEL_FN(_invert_one)(FIELD *r, const FIELD *a, const BASE *factor)
{
#if DEGREE == 1
    limbs_inverse(r->l, a->l, factor->l, SCALAR_FN(_modulus), SCALAR_FN(_n0), BASE_LIMBS);
#else
    BASE norm, t;

    SCALAR_FN(_sqr)(&norm, &a->c0);
    SCALAR_FN(_sqr)(&t, &a->c1);
    SCALAR_FN(_add)(&norm, &norm, &t);
    limbs_inverse(norm.l, norm.l, factor->l, SCALAR_FN(_modulus), SCALAR_FN(_n0), BASE_LIMBS);
    FIELD_FN(_conj)(r, a);
    FIELD_FN(_mul_base)(r, r, &norm);
#endif
}

/* Each lane of a becomes sqrt(s) R'^2 / a, from which the running products make inverses as
 * _finish wants them. In plain C, with one inversion for all lanes. */
static __attribute__((noinline)) void KERNEL_FN(_invert)(X8 *a)
{
    FIELD lanes[MSM_IFMA_LANES], running[MSM_IFMA_LANES], total, inverse;
    uint64_t plain[COORDINATE_WORDS][MSM_IFMA_LANES];
    __m512i words[COORDINATE_WORDS];
    BASE factor, r2;

    X8_FN(_reduce)(a);
    KERNEL_FN(_pack)(words, a);
    for (int i = 0; i < COORDINATE_WORDS; i++)
        _mm512_storeu_si512(plain[i], words[i]);
    FIELD_FN(_set_one)(&total);
    for (int lane = 0; lane < MSM_IFMA_LANES; lane++) {
        BASE *halves = (BASE *)&lanes[lane];

        for (int i = 0; i < COORDINATE_WORDS; i++)
            halves[i / BASE_LIMBS].l[i % BASE_LIMBS] = plain[i][lane];
        for (int i = 0; i < DEGREE; i++)
            limbs_reduce_once(halves[i].l, halves[i].l, SCALAR_FN(_modulus), BASE_LIMBS);
        running[lane] = total;
        FIELD_FN(_mul)(&total, &total, &lanes[lane]);
    }
    /* sqrt(s) R'^2 = 2^(2 * 52 m) / 2^UNSCALE_BITS, in two factors. */
    memcpy(&r2, SCALAR_FN(_r2), sizeof r2);
    KERNEL_FN(_power_of_two)(&factor, 104 * BASE_IFMA_LIMBS - UNSCALE_BITS - 64 * BASE_LIMBS);
    SCALAR_FN(_mul)(&factor, &factor, &r2);
    KERNEL_FN(_invert_one)(&total, &total, &factor);
    for (int lane = MSM_IFMA_LANES; lane-- > 0;) {
        const BASE *halves = (const BASE *)&inverse;

        FIELD_FN(_mul)(&inverse, &total, &running[lane]);
        FIELD_FN(_mul)(&total, &total, &lanes[lane]);
        for (int i = 0; i < COORDINATE_WORDS; i++)
            plain[i][lane] = halves[i / BASE_LIMBS].l[i % BASE_LIMBS];
    }
    for (int i = 0; i < COORDINATE_WORDS; i++)
        words[i] = _mm512_loadu_si512(plain[i]);
    KERNEL_FN(_unpack)(a, words);
}

/* The references of eight pairs; those beyond the end repeat the last. */
IFMA_INLINE void KERNEL_FN(_references)(msm_reference *a, msm_reference *b,
                                        const struct msm_pair *pairs, size_t count)
{
    for (size_t lane = 0; lane < MSM_IFMA_LANES; lane++) {
        const struct msm_pair *pair = &pairs[lane < count ? lane : count - 1];

        a[lane] = pair->a;
        b[lane] = pair->b;
    }
}

IFMA_INLINE void KERNEL_FN(_prefetch)(const struct msm_pair *pairs)
{
    for (int lane = 0; lane < MSM_IFMA_LANES; lane++)
        for (int line = 0; line < 8 * POINT_WORDS; line += 64) {
            __builtin_prefetch((const char *)pairs[lane].a + line);
            __builtin_prefetch((const char *)pairs[lane].b + line);
        }
}

void KERNEL_JOIN(KERNEL, _add_pairs_ifma)(const struct msm_pair *pairs, size_t count, void *ret,
                                          void *scratch)
{
    struct KERNEL_FN(_scratch) *s = scratch;
    size_t groups = (count + MSM_IFMA_LANES - 1) / MSM_IFMA_LANES;
    msm_reference a[MSM_IFMA_LANES] __attribute__((aligned(64)));
    msm_reference b[MSM_IFMA_LANES] __attribute__((aligned(64)));
    X8 product = {0};

    for (size_t g = 0; g < groups; g++) {
        KERNEL_FN(_references)(a, b, pairs + MSM_IFMA_LANES * g, count - MSM_IFMA_LANES * g);
        if (MSM_IFMA_LANES * (g + MSM_IFMA_AHEAD + 1) <= count)
            KERNEL_FN(_prefetch)(pairs + MSM_IFMA_LANES * (g + MSM_IFMA_AHEAD));
        s->special[g] = KERNEL_FN(_prepare)(&s->groups[g], a, b);
        /* The first product would be with R', the next ones are: Montgomery's one. */
        s->groups[g].running = product;
        if (g == 0)
            product = s->groups[g].d;
        else
            X8_FN(_mul)(&product, &product, &s->groups[g].d);
    }
    KERNEL_FN(_invert)(&product);
    while (groups > 0) {
        size_t first = (groups - 1) / MSM_IFMA_STRIDE * MSM_IFMA_STRIDE;

        KERNEL_FN(_finish)(s, &product, first, groups - first, ret, count);
        groups = first;
    }
}

static_assert(sizeof(struct KERNEL_FN(_scratch)) <= MSM_IFMA_SCRATCH_BYTES,
              "callers reserve that much");

#undef UNSCALE_BITS
#undef POINT_WORDS
#undef COORDINATE_WORDS
#undef BASE_X8
#undef X8
#undef FIELD_FN
#undef SCALAR_FN
#undef BASE_FN
#undef X8_FN
#undef KERNEL_FN
#undef KERNEL_JOIN
#undef KERNEL_JOIN2
#undef DEGREE
#undef BASE_IFMA_LIMBS
#undef BASE_LIMBS
#undef BASE
#undef FIELD
#undef KERNEL
