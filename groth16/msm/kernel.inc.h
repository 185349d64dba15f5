/* Template: the kernel of one group in portable C (see kernel.h), and the folds that every kernel
 * of the group uses.
 *
 * Set KERNEL (the group's prefix, e.g. bn254_g2), FIELD (its coordinates, e.g. bn254_fp2) and BASE
 * (their base field, e.g. bn254_fp) before the include; all are undefined at the end. Functions are
 * static: KERNEL##_add_pairs and so on.
 *
 * Batched affine addition: with D = x2 - x1 of all pairs inverted together (Montgomery 1987,
 * section 10.3.1), lambda = (y2 - y1) / D, x3 = lambda^2 - x1 - x2, y3 = lambda (x1 - x3) - y1:
 * 5M + 1S a pair, three of them for the inversion. */

#include "groth16/msm/kernel.h"

#define KERNEL_JOIN2(a, b) a##b
#define KERNEL_JOIN(a, b)  KERNEL_JOIN2(a, b)
#define KERNEL_FN(name)    KERNEL_JOIN(KERNEL, name)
#define FIELD_FN(name)     KERNEL_JOIN(FIELD, name)
#define AFFINE             KERNEL_JOIN(KERNEL, _affine)
#define XYZZ               KERNEL_JOIN(KERNEL, _xyzz)

#ifndef MSM_KERNEL_PREFETCH
#define MSM_KERNEL_PREFETCH 12 /* pairs ahead: the first level reads points at random */
#endif

struct KERNEL_FN(_scratch) {
    FIELD divisor[MSM_BATCH_PAIRS]; /* D, or what stands for it */
    FIELD running[MSM_BATCH_PAIRS]; /* product of the divisors before */
};

static inline void KERNEL_FN(_load)(AFFINE *r, msm_reference from)
{
    *r = *(const AFFINE *)(from & ~(msm_reference)1);
    if (from & 1)
        FIELD_FN(_neg)(&r->y, &r->y);
}

/* Sets d to what a + b divides by: x2 - x1; 2 y for equal points; 1 where nothing is divided. */
static inline void KERNEL_FN(_divisor)(FIELD *d, const AFFINE *a, const AFFINE *b)
{
    FIELD_FN(_sub)(d, &b->x, &a->x);
    if (__builtin_expect(FIELD_FN(_is_zero)(d), 0)) {
        FIELD_FN(_add)(d, &a->y, &b->y);
        if (FIELD_FN(_is_zero)(d))
            FIELD_FN(_set_one)(d);
    }
    if (__builtin_expect(KERNEL_FN(_affine_is_infinity)(a) || KERNEL_FN(_affine_is_infinity)(b), 0))
        FIELD_FN(_set_one)(d);
}

/* r = a + b, given 1 / divisor. */
static inline void KERNEL_FN(_finish)(AFFINE *r, const AFFINE *a, const AFFINE *b,
                                      const FIELD *inverse)
{
    FIELD lambda, x, t;

    if (__builtin_expect(KERNEL_FN(_affine_is_infinity)(a), 0)) {
        *r = *b;
        return;
    }
    if (__builtin_expect(KERNEL_FN(_affine_is_infinity)(b), 0)) {
        *r = *a;
        return;
    }
    if (__builtin_expect(FIELD_FN(_is_equal)(&a->x, &b->x), 0)) {
        if (!FIELD_FN(_is_equal)(&a->y, &b->y)) {
            KERNEL_FN(_affine_set_infinity)(r);
            return;
        }
        FIELD_FN(_sqr)(&t, &a->x);
        FIELD_FN(_dbl)(&lambda, &t);
        FIELD_FN(_add)(&t, &t, &lambda);
    } else {
        FIELD_FN(_sub)(&t, &b->y, &a->y);
    }
    FIELD_FN(_mul)(&lambda, &t, inverse);
    FIELD_FN(_sqr)(&x, &lambda);
    FIELD_FN(_sub)(&x, &x, &a->x);
    FIELD_FN(_sub)(&x, &x, &b->x);
    FIELD_FN(_sub)(&t, &a->x, &x);
    FIELD_FN(_mul)(&t, &t, &lambda);
    FIELD_FN(_sub)(&r->y, &t, &a->y);
    r->x = x;
}

static void KERNEL_FN(_add_pairs)(const struct msm_pair *pairs, size_t count, void *ret,
                                  void *scratch)
{
    struct KERNEL_FN(_scratch) *s = scratch;
    AFFINE *to = ret, a, b;
    FIELD product, inverse, t;

    FIELD_FN(_set_one)(&product);
    for (size_t i = 0; i < count; i++) {
        if (i + MSM_KERNEL_PREFETCH < count) {
            __builtin_prefetch((const void *)pairs[i + MSM_KERNEL_PREFETCH].a);
            __builtin_prefetch((const void *)pairs[i + MSM_KERNEL_PREFETCH].b);
        }
        KERNEL_FN(_load)(&a, pairs[i].a);
        KERNEL_FN(_load)(&b, pairs[i].b);
        KERNEL_FN(_divisor)(&s->divisor[i], &a, &b);
        s->running[i] = product;
        FIELD_FN(_mul)(&product, &product, &s->divisor[i]);
    }
    FIELD_FN(_inv)(&inverse, &product);
    for (size_t i = count; i-- > 0;) {
        KERNEL_FN(_load)(&a, pairs[i].a);
        KERNEL_FN(_load)(&b, pairs[i].b);
        FIELD_FN(_mul)(&t, &inverse, &s->running[i]);
        FIELD_FN(_mul)(&inverse, &inverse, &s->divisor[i]);
        KERNEL_FN(_finish)(&to[i], &a, &b, &t);
    }
}

/* The point behind a reference, from a kernel that leaves coordinates below 2 p. */
static inline void KERNEL_FN(_load_loose)(AFFINE *r, msm_reference from)
{
    AFFINE loose = *(const AFFINE *)(from & ~(msm_reference)1);

    for (size_t i = 0; i < sizeof loose / sizeof(BASE); i++) {
        BASE *coordinate = (BASE *)&loose + i;
        limbs_reduce_once(coordinate->l, coordinate->l, KERNEL_JOIN(BASE, _modulus),
                          sizeof(BASE) / 8);
    }
    KERNEL_FN(_load)(r, (msm_reference)&loose | (from & 1));
}

static void KERNEL_FN(_fold_bits)(const msm_reference *bits, unsigned count, msm_reference extra,
                                  void *ret_sum)
{
    XYZZ sum;
    AFFINE point;

    KERNEL_FN(_xyzz_set_infinity)(&sum);
    for (unsigned i = count; i-- > 0;) {
        KERNEL_FN(_xyzz_dbl)(&sum, &sum);
        if (bits[i]) {
            KERNEL_FN(_load_loose)(&point, bits[i]);
            KERNEL_FN(_xyzz_add_affine)(&sum, &sum, &point);
        }
    }
    if (extra) {
        KERNEL_FN(_load_loose)(&point, extra);
        KERNEL_FN(_xyzz_add_affine)(&sum, &sum, &point);
    }
    *(XYZZ *)ret_sum = sum;
}

static void KERNEL_FN(_fold_windows)(const void *sums, unsigned count, unsigned bits,
                                     void *ret_point)
{
    XYZZ sum;

    KERNEL_FN(_xyzz_set_infinity)(&sum);
    for (unsigned i = count; i-- > 0;) {
        for (unsigned j = 0; j < bits; j++)
            KERNEL_FN(_xyzz_dbl)(&sum, &sum);
        KERNEL_FN(_xyzz_add)(&sum, &sum, (const XYZZ *)sums + i);
    }
    KERNEL_FN(_xyzz_to_affine)(ret_point, &sum);
}

#undef XYZZ
#undef AFFINE
#undef FIELD_FN
#undef KERNEL_FN
#undef KERNEL_JOIN
#undef KERNEL_JOIN2
#undef BASE
#undef FIELD
#undef KERNEL
