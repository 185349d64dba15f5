/* Template: the cubic extension Fp2[v] / (v^3 - xi) over a field made by fp2.inc.h.
 *
 * Set FP2 (e.g. bn254_fp2) and FP6 (the new prefix and type name) before the include; both stay
 * defined for fp12.inc.h. FP2##_mul_xi must exist. An element is c0 + c1 v + c2 v^2. Outputs come
 * first and may be the same object as any input. Formulas: Devegili, O hEigeartaigh, Scott, Dahab
 * 2006, "Multiplication and Squaring on Pairing-Friendly Fields". M are products in Fp2. */

#define FP6_JOIN2(a, b) a##b
#define FP6_JOIN(a, b)  FP6_JOIN2(a, b)
#define FP2_FN(name)    FP6_JOIN(FP2, name)
#define FP6_FN(name)    FP6_JOIN(FP6, name)

typedef struct {
    FP2 c0, c1, c2;
} FP6;

static inline void FP6_FN(_set_zero)(FP6 *r)
{
    FP2_FN(_set_zero)(&r->c0);
    FP2_FN(_set_zero)(&r->c1);
    FP2_FN(_set_zero)(&r->c2);
}

static inline bool FP6_FN(_is_equal)(const FP6 *a, const FP6 *b)
{
    return FP2_FN(_is_equal)(&a->c0, &b->c0) && FP2_FN(_is_equal)(&a->c1, &b->c1) &&
           FP2_FN(_is_equal)(&a->c2, &b->c2);
}

static inline void FP6_FN(_add)(FP6 *r, const FP6 *a, const FP6 *b)
{
    FP2_FN(_add)(&r->c0, &a->c0, &b->c0);
    FP2_FN(_add)(&r->c1, &a->c1, &b->c1);
    FP2_FN(_add)(&r->c2, &a->c2, &b->c2);
}

static inline void FP6_FN(_sub)(FP6 *r, const FP6 *a, const FP6 *b)
{
    FP2_FN(_sub)(&r->c0, &a->c0, &b->c0);
    FP2_FN(_sub)(&r->c1, &a->c1, &b->c1);
    FP2_FN(_sub)(&r->c2, &a->c2, &b->c2);
}

static inline void FP6_FN(_neg)(FP6 *r, const FP6 *a)
{
    FP2_FN(_neg)(&r->c0, &a->c0);
    FP2_FN(_neg)(&r->c1, &a->c1);
    FP2_FN(_neg)(&r->c2, &a->c2);
}

/* r = a v. */
static inline void FP6_FN(_mul_v)(FP6 *r, const FP6 *a)
{
    FP2 wrapped;

    FP2_FN(_mul_xi)(&wrapped, &a->c2);
    r->c2 = a->c1;
    r->c1 = a->c0;
    r->c0 = wrapped;
}

/* r = (x + y)(z + w) - s - t: the cross term of a Karatsuba step. 1M. */
static inline void FP6_FN(_cross)(FP2 *r, const FP2 *x, const FP2 *y, const FP2 *z, const FP2 *w,
                                  const FP2 *s, const FP2 *t)
{
    FP2 left, right;

    FP2_FN(_add)(&left, x, y);
    FP2_FN(_add)(&right, z, w);
    FP2_FN(_mul)(&left, &left, &right);
    FP2_FN(_sub)(&left, &left, s);
    FP2_FN(_sub)(r, &left, t);
}

/* Karatsuba, 6M:
 * c0 = v0 + xi (a1 b2 + a2 b1), c1 = (a0 b1 + a1 b0) + xi v2, c2 = (a0 b2 + a2 b0) + v1, vi = ai
 * bi. */
static void FP6_FN(_mul)(FP6 *r, const FP6 *a, const FP6 *b)
{
    FP2 v0, v1, v2, t0, t1, t2;

    FP2_FN(_mul)(&v0, &a->c0, &b->c0);
    FP2_FN(_mul)(&v1, &a->c1, &b->c1);
    FP2_FN(_mul)(&v2, &a->c2, &b->c2);
    FP6_FN(_cross)(&t0, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    FP6_FN(_cross)(&t1, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    FP6_FN(_cross)(&t2, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    FP2_FN(_mul_xi)(&t0, &t0);
    FP2_FN(_add)(&r->c0, &v0, &t0);
    FP2_FN(_mul_xi)(&v2, &v2);
    FP2_FN(_add)(&r->c1, &t1, &v2);
    FP2_FN(_add)(&r->c2, &t2, &v1);
}

/* r = a b0 for b0 in Fp2. 3M. */
static inline void FP6_FN(_mul_by_0)(FP6 *r, const FP6 *a, const FP2 *b0)
{
    FP2_FN(_mul)(&r->c0, &a->c0, b0);
    FP2_FN(_mul)(&r->c1, &a->c1, b0);
    FP2_FN(_mul)(&r->c2, &a->c2, b0);
}

/* r = a b1 v. 3M. */
static inline void FP6_FN(_mul_by_1)(FP6 *r, const FP6 *a, const FP2 *b1)
{
    FP6_FN(_mul_by_0)(r, a, b1);
    FP6_FN(_mul_v)(r, r);
}

/* r = a (b0 + b1 v). 5M. */
static void FP6_FN(_mul_by_01)(FP6 *r, const FP6 *a, const FP2 *b0, const FP2 *b1)
{
    FP2 v0, v1, t0, t1, t2;

    FP2_FN(_mul)(&v0, &a->c0, b0);
    FP2_FN(_mul)(&v1, &a->c1, b1);
    FP6_FN(_cross)(&t1, &a->c0, &a->c1, b0, b1, &v0, &v1);
    FP2_FN(_mul)(&t0, &a->c2, b1);
    FP2_FN(_mul)(&t2, &a->c2, b0);
    FP2_FN(_mul_xi)(&t0, &t0);
    FP2_FN(_add)(&r->c0, &v0, &t0);
    r->c1 = t1;
    FP2_FN(_add)(&r->c2, &t2, &v1);
}

/* r = 1 / a, and 0 for a = 0; 9M + 3S and one inversion in Fp2. With t0 = a0^2 - xi a1 a2,
 * t1 = xi a2^2 - a0 a1, t2 = a1^2 - a0 a2: (t0, t1, t2) / (a0 t0 + xi (a2 t1 + a1 t2)). */
static inline void FP6_FN(_inv)(FP6 *r, const FP6 *a)
{
    FP2 t0, t1, t2, product, norm;

    FP2_FN(_sqr)(&t0, &a->c0);
    FP2_FN(_mul)(&product, &a->c1, &a->c2);
    FP2_FN(_mul_xi)(&product, &product);
    FP2_FN(_sub)(&t0, &t0, &product);
    FP2_FN(_sqr)(&t1, &a->c2);
    FP2_FN(_mul_xi)(&t1, &t1);
    FP2_FN(_mul)(&product, &a->c0, &a->c1);
    FP2_FN(_sub)(&t1, &t1, &product);
    FP2_FN(_sqr)(&t2, &a->c1);
    FP2_FN(_mul)(&product, &a->c0, &a->c2);
    FP2_FN(_sub)(&t2, &t2, &product);

    FP2_FN(_mul)(&norm, &a->c2, &t1);
    FP2_FN(_mul)(&product, &a->c1, &t2);
    FP2_FN(_add)(&norm, &norm, &product);
    FP2_FN(_mul_xi)(&norm, &norm);
    FP2_FN(_mul)(&product, &a->c0, &t0);
    FP2_FN(_add)(&norm, &norm, &product);
    FP2_FN(_inv)(&norm, &norm);
    FP2_FN(_mul)(&r->c0, &t0, &norm);
    FP2_FN(_mul)(&r->c1, &t1, &norm);
    FP2_FN(_mul)(&r->c2, &t2, &norm);
}

#undef FP6_FN
#undef FP2_FN
#undef FP6_JOIN
#undef FP6_JOIN2
