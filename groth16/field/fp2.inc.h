/* Template: the quadratic extension Fp[u] / (u^2 + 1) over a field made by field.inc.h.
 *
 * Set FIELD (the base field, e.g. bn254_fp), FIELD_LIMBS (its limbs) and FP2 (the new prefix and
 * type name, e.g. bn254_fp2) before the include; all are undefined at the end. -1 is no square
 * in either base field (p = 3 mod 4). An element is c0 + c1 u; c0 first in memory, as in a
 * .zkey. Outputs come first and may be the same object as any input. M, S are base field
 * products, squares. */

#define FP2_JOIN2(a, b) a##b
#define FP2_JOIN(a, b)  FP2_JOIN2(a, b)
#define FP2_FN(name)    FP2_JOIN(FP2, name)
#define FIELD_FN(name)  FP2_JOIN(FIELD, name)

typedef struct {
    FIELD c0, c1;
} FP2;

LIMBS_INLINE void FP2_FN(_set_zero)(FP2 *r)
{
    FIELD_FN(_set_zero)(&r->c0);
    FIELD_FN(_set_zero)(&r->c1);
}

LIMBS_INLINE void FP2_FN(_set_one)(FP2 *r)
{
    FIELD_FN(_set_one)(&r->c0);
    FIELD_FN(_set_zero)(&r->c1);
}

LIMBS_INLINE bool FP2_FN(_is_zero)(const FP2 *a)
{
    return FIELD_FN(_is_zero)(&a->c0) && FIELD_FN(_is_zero)(&a->c1);
}

LIMBS_INLINE bool FP2_FN(_is_equal)(const FP2 *a, const FP2 *b)
{
    return FIELD_FN(_is_equal)(&a->c0, &b->c0) && FIELD_FN(_is_equal)(&a->c1, &b->c1);
}

/* True when both halves of 2 FIELD_LIMBS limbs are below the modulus. */
LIMBS_INLINE bool FP2_FN(_is_canonical)(const uint64_t *limbs)
{
    return FIELD_FN(_is_canonical)(limbs) && FIELD_FN(_is_canonical)(limbs + FIELD_LIMBS);
}

LIMBS_INLINE void FP2_FN(_select)(FP2 *r, const FP2 *a, const FP2 *b, bool take_b)
{
    FIELD_FN(_select)(&r->c0, &a->c0, &b->c0, take_b);
    FIELD_FN(_select)(&r->c1, &a->c1, &b->c1, take_b);
}

LIMBS_INLINE void FP2_FN(_add)(FP2 *r, const FP2 *a, const FP2 *b)
{
    FIELD_FN(_add)(&r->c0, &a->c0, &b->c0);
    FIELD_FN(_add)(&r->c1, &a->c1, &b->c1);
}

LIMBS_INLINE void FP2_FN(_sub)(FP2 *r, const FP2 *a, const FP2 *b)
{
    FIELD_FN(_sub)(&r->c0, &a->c0, &b->c0);
    FIELD_FN(_sub)(&r->c1, &a->c1, &b->c1);
}

LIMBS_INLINE void FP2_FN(_dbl)(FP2 *r, const FP2 *a)
{
    FIELD_FN(_dbl)(&r->c0, &a->c0);
    FIELD_FN(_dbl)(&r->c1, &a->c1);
}

LIMBS_INLINE void FP2_FN(_neg)(FP2 *r, const FP2 *a)
{
    FIELD_FN(_neg)(&r->c0, &a->c0);
    FIELD_FN(_neg)(&r->c1, &a->c1);
}

/* r = c0 - c1 u, which is a^p. */
LIMBS_INLINE void FP2_FN(_conj)(FP2 *r, const FP2 *a)
{
    r->c0 = a->c0;
    FIELD_FN(_neg)(&r->c1, &a->c1);
}

/* Karatsuba: c0 = a0 b0 - a1 b1, c1 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1. 3M. */
static inline void FP2_FN(_mul)(FP2 *r, const FP2 *a, const FP2 *b)
{
    FIELD low, high, sum_a, sum_b;

    FIELD_FN(_add)(&sum_a, &a->c0, &a->c1);
    FIELD_FN(_add)(&sum_b, &b->c0, &b->c1);
    FIELD_FN(_mul)(&low, &a->c0, &b->c0);
    FIELD_FN(_mul)(&high, &a->c1, &b->c1);
    FIELD_FN(_mul)(&sum_a, &sum_a, &sum_b);
    FIELD_FN(_sub)(&sum_a, &sum_a, &low);
    FIELD_FN(_sub)(&r->c1, &sum_a, &high);
    FIELD_FN(_sub)(&r->c0, &low, &high);
}

/* c0 = (a0 + a1)(a0 - a1), c1 = 2 a0 a1. 2M. */
static inline void FP2_FN(_sqr)(FP2 *r, const FP2 *a)
{
    FIELD sum, diff, twice;

    FIELD_FN(_add)(&sum, &a->c0, &a->c1);
    FIELD_FN(_sub)(&diff, &a->c0, &a->c1);
    FIELD_FN(_dbl)(&twice, &a->c0);
    FIELD_FN(_mul)(&r->c1, &twice, &a->c1);
    FIELD_FN(_mul)(&r->c0, &sum, &diff);
}

/* r = a b for b in the base field. 2M. */
static inline void FP2_FN(_mul_base)(FP2 *r, const FP2 *a, const FIELD *b)
{
    FIELD factor = *b;

    FIELD_FN(_mul)(&r->c0, &a->c0, &factor);
    FIELD_FN(_mul)(&r->c1, &a->c1, &factor);
}

/* r = 1 / a, and 0 for a = 0: conj(a) / (a0^2 + a1^2). 2S, 2M and one base field inversion. */
static inline void FP2_FN(_inv)(FP2 *r, const FP2 *a)
{
    FIELD norm, t;

    FIELD_FN(_sqr)(&norm, &a->c0);
    FIELD_FN(_sqr)(&t, &a->c1);
    FIELD_FN(_add)(&norm, &norm, &t);
    FIELD_FN(_inv)(&norm, &norm);
    FIELD_FN(_mul)(&r->c0, &a->c0, &norm);
    FIELD_FN(_mul)(&t, &a->c1, &norm);
    FIELD_FN(_neg)(&r->c1, &t);
}

LIMBS_INLINE void FP2_FN(_from_plain)(FP2 *r, const FP2 *a)
{
    FIELD_FN(_from_plain)(&r->c0, &a->c0);
    FIELD_FN(_from_plain)(&r->c1, &a->c1);
}

LIMBS_INLINE void FP2_FN(_to_plain)(FP2 *r, const FP2 *a)
{
    FIELD_FN(_to_plain)(&r->c0, &a->c0);
    FIELD_FN(_to_plain)(&r->c1, &a->c1);
}

/* r = a^e for a plain exponent of `exponent_limbs` limbs, bit by bit from the top. */
static inline void FP2_FN(_pow)(FP2 *r, const FP2 *a, const uint64_t *exponent,
                                size_t exponent_limbs)
{
    FP2 base = *a, acc;

    FP2_FN(_set_one)(&acc);
    for (size_t bit = 64 * exponent_limbs; bit-- > 0;) {
        FP2_FN(_sqr)(&acc, &acc);
        if ((exponent[bit / 64] >> (bit % 64)) & 1)
            FP2_FN(_mul)(&acc, &acc, &base);
    }
    *r = acc;
}

#undef FIELD_FN
#undef FP2_FN
#undef FP2_JOIN
#undef FP2_JOIN2
#undef FP2
#undef FIELD_LIMBS
#undef FIELD
