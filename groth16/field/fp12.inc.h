/* Template: the quadratic extension Fp6[w] / (w^2 - v), so w^6 = xi.
 *
 * Include right after fp6.inc.h with FP2 and FP6 still set, and FP (the base field) and FP12 (the
 * new prefix and type name) and CURVE (the prefix of the constants _frobenius, _frobenius2) set;
 * all five are undefined at the end. An element is c0 + c1 w. Outputs come first and may be the
 * same object as any input. M, S are products and squares in Fp2. */

#define FP12_JOIN2(a, b) a##b
#define FP12_JOIN(a, b)  FP12_JOIN2(a, b)
#define FP_FN(name)      FP12_JOIN(FP, name)
#define FP2_FN(name)     FP12_JOIN(FP2, name)
#define FP6_FN(name)     FP12_JOIN(FP6, name)
#define FP12_FN(name)    FP12_JOIN(FP12, name)
#define CURVE_FN(name)   FP12_JOIN(CURVE, name)

typedef struct {
    FP6 c0, c1;
} FP12;

static inline void FP12_FN(_set_one)(FP12 *r)
{
    FP6_FN(_set_zero)(&r->c0);
    FP6_FN(_set_zero)(&r->c1);
    FP2_FN(_set_one)(&r->c0.c0);
}

static inline bool FP12_FN(_is_equal)(const FP12 *a, const FP12 *b)
{
    return FP6_FN(_is_equal)(&a->c0, &b->c0) && FP6_FN(_is_equal)(&a->c1, &b->c1);
}

static inline bool FP12_FN(_is_one)(const FP12 *a)
{
    FP12 one;

    FP12_FN(_set_one)(&one);
    return FP12_FN(_is_equal)(a, &one);
}

/* r = c0 - c1 w, which is a^(p^6): the inverse in the cyclotomic subgroup. */
static inline void FP12_FN(_conj)(FP12 *r, const FP12 *a)
{
    r->c0 = a->c0;
    FP6_FN(_neg)(&r->c1, &a->c1);
}

/* r.c0 = v0 + v v1, r.c1 = cross - v0 - v1. */
static inline void FP12_FN(_gather)(FP12 *r, const FP6 *v0, const FP6 *v1, const FP6 *cross)
{
    FP6 t;

    FP6_FN(_sub)(&t, cross, v0);
    FP6_FN(_sub)(&r->c1, &t, v1);
    FP6_FN(_mul_v)(&t, v1);
    FP6_FN(_add)(&r->c0, v0, &t);
}

/* Karatsuba, 18M. */
static void FP12_FN(_mul)(FP12 *r, const FP12 *a, const FP12 *b)
{
    FP6 v0, v1, sum_a, sum_b;

    FP6_FN(_mul)(&v0, &a->c0, &b->c0);
    FP6_FN(_mul)(&v1, &a->c1, &b->c1);
    FP6_FN(_add)(&sum_a, &a->c0, &a->c1);
    FP6_FN(_add)(&sum_b, &b->c0, &b->c1);
    FP6_FN(_mul)(&sum_a, &sum_a, &sum_b);
    FP12_FN(_gather)(r, &v0, &v1, &sum_a);
}

/* Complex squaring, 12M: c0 = (a0 + a1)(a0 + v a1) - a0 a1 - v a0 a1, c1 = 2 a0 a1. */
static void FP12_FN(_sqr)(FP12 *r, const FP12 *a)
{
    FP6 product, sum, t;

    FP6_FN(_mul)(&product, &a->c0, &a->c1);
    FP6_FN(_mul_v)(&t, &a->c1);
    FP6_FN(_add)(&t, &t, &a->c0);
    FP6_FN(_add)(&sum, &a->c0, &a->c1);
    FP6_FN(_mul)(&sum, &sum, &t);
    FP6_FN(_sub)(&sum, &sum, &product);
    FP6_FN(_mul_v)(&t, &product);
    FP6_FN(_sub)(&r->c0, &sum, &t);
    FP6_FN(_add)(&r->c1, &product, &product);
}

/* r = a (b0 + (b3 + b4 v) w): a line of a D-type twist. 13M. */
static inline void FP12_FN(_mul_by_034)(FP12 *r, const FP12 *a, const FP2 *b0, const FP2 *b3,
                                        const FP2 *b4)
{
    FP6 v0, v1, sum;
    FP2 t;

    FP6_FN(_mul_by_0)(&v0, &a->c0, b0);
    FP6_FN(_mul_by_01)(&v1, &a->c1, b3, b4);
    FP6_FN(_add)(&sum, &a->c0, &a->c1);
    FP2_FN(_add)(&t, b0, b3);
    FP6_FN(_mul_by_01)(&sum, &sum, &t, b4);
    FP12_FN(_gather)(r, &v0, &v1, &sum);
}

/* r = a (b0 + b1 v + b4 v w): a line of an M-type twist. 13M. */
static inline void FP12_FN(_mul_by_014)(FP12 *r, const FP12 *a, const FP2 *b0, const FP2 *b1,
                                        const FP2 *b4)
{
    FP6 v0, v1, sum;
    FP2 t;

    FP6_FN(_mul_by_01)(&v0, &a->c0, b0, b1);
    FP6_FN(_mul_by_1)(&v1, &a->c1, b4);
    FP6_FN(_add)(&sum, &a->c0, &a->c1);
    FP2_FN(_add)(&t, b1, b4);
    FP6_FN(_mul_by_01)(&sum, &sum, b0, &t);
    FP12_FN(_gather)(r, &v0, &v1, &sum);
}

/* r = 1 / a: (c0 - c1 w) / (c0^2 - v c1^2). */
static inline void FP12_FN(_inv)(FP12 *r, const FP12 *a)
{
    FP6 norm, t;

    FP6_FN(_mul)(&norm, &a->c0, &a->c0);
    FP6_FN(_mul)(&t, &a->c1, &a->c1);
    FP6_FN(_mul_v)(&t, &t);
    FP6_FN(_sub)(&norm, &norm, &t);
    FP6_FN(_inv)(&norm, &norm);
    FP6_FN(_mul)(&r->c0, &a->c0, &norm);
    FP6_FN(_mul)(&t, &a->c1, &norm);
    FP6_FN(_neg)(&r->c1, &t);
}

/* The six coefficients in the order of the powers of w: w^0, w^1, ... w^5. */
static inline void FP12_FN(_coefficients)(FP2 **ret, FP12 *a)
{
    FP2 *const order[6] = {&a->c0.c0, &a->c1.c0, &a->c0.c1, &a->c1.c1, &a->c0.c2, &a->c1.c2};

    for (int i = 0; i < 6; i++)
        ret[i] = order[i];
}

/* r = a^p: each coefficient is conjugated and multiplied by xi^(i (p - 1) / 6). 5M. */
static inline void FP12_FN(_frobenius)(FP12 *r, const FP12 *a)
{
    FP2 *c[6];

    *r = *a;
    FP12_FN(_coefficients)(c, r);
    for (int i = 0; i < 6; i++) {
        FP2_FN(_conj)(c[i], c[i]);
        if (i > 0)
            FP2_FN(_mul)(c[i], c[i], &CURVE_FN(_frobenius)[i]);
    }
}

/* r = a^(p^2). */
static inline void FP12_FN(_frobenius2)(FP12 *r, const FP12 *a)
{
    FP2 *c[6];

    *r = *a;
    FP12_FN(_coefficients)(c, r);
    for (int i = 1; i < 6; i++)
        FP2_FN(_mul_base)(c[i], c[i], &CURVE_FN(_frobenius2)[i]);
}

/* (x + y V)^2 = s + t V in Fp4 = Fp2[V] / (V^2 - xi): s = x^2 + xi y^2, t = 2 x y. 3S. */
static inline void FP12_FN(_fp4_sqr)(FP2 *s, FP2 *t, const FP2 *x, const FP2 *y)
{
    FP2 x2, y2, sum;

    FP2_FN(_sqr)(&x2, x);
    FP2_FN(_sqr)(&y2, y);
    FP2_FN(_add)(&sum, x, y);
    FP2_FN(_sqr)(&sum, &sum);
    FP2_FN(_sub)(&sum, &sum, &x2);
    FP2_FN(_sub)(t, &sum, &y2);
    FP2_FN(_mul_xi)(&y2, &y2);
    FP2_FN(_add)(s, &x2, &y2);
}

/* r = 3 t - 2 z. */
static inline void FP12_FN(_triple_minus)(FP2 *r, const FP2 *t, const FP2 *z)
{
    FP2 diff;

    FP2_FN(_sub)(&diff, t, z);
    FP2_FN(_dbl)(&diff, &diff);
    FP2_FN(_add)(r, &diff, t);
}

/* r = 3 t + 2 z. */
static inline void FP12_FN(_triple_plus)(FP2 *r, const FP2 *t, const FP2 *z)
{
    FP2 sum;

    FP2_FN(_add)(&sum, t, z);
    FP2_FN(_dbl)(&sum, &sum);
    FP2_FN(_add)(r, &sum, t);
}

/* r = a^2 for a in the cyclotomic subgroup (order dividing p^4 - p^2 + 1). 9S. Granger, Scott 2010,
 * "Faster Squaring in the Cyclotomic Subgroup of Sixth Degree Extensions", section 3.2. */
static void FP12_FN(_sqr_cyclotomic)(FP12 *r, const FP12 *a)
{
    FP2 s0, t0, s1, t1, s2, t2;

    FP12_FN(_fp4_sqr)(&s0, &t0, &a->c0.c0, &a->c1.c1);
    FP12_FN(_fp4_sqr)(&s1, &t1, &a->c1.c0, &a->c0.c2);
    FP12_FN(_fp4_sqr)(&s2, &t2, &a->c0.c1, &a->c1.c2);
    FP2_FN(_mul_xi)(&t2, &t2);
    FP12_FN(_triple_minus)(&r->c0.c0, &s0, &a->c0.c0);
    FP12_FN(_triple_minus)(&r->c0.c1, &s1, &a->c0.c1);
    FP12_FN(_triple_minus)(&r->c0.c2, &s2, &a->c0.c2);
    FP12_FN(_triple_plus)(&r->c1.c0, &t2, &a->c1.c0);
    FP12_FN(_triple_plus)(&r->c1.c1, &t0, &a->c1.c1);
    FP12_FN(_triple_plus)(&r->c1.c2, &t1, &a->c1.c2);
}

#undef CURVE_FN
#undef FP12_FN
#undef FP6_FN
#undef FP2_FN
#undef FP_FN
#undef FP12_JOIN
#undef FP12_JOIN2
#undef CURVE
#undef FP12
#undef FP6
#undef FP2
#undef FP
