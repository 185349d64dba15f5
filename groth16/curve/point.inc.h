/* Template: points of y^2 = x^3 + b over a field made by field.inc.h or fp2.inc.h.
 *
 * Set FIELD (the coordinate field, e.g. bn254_fp2) and POINT (the prefix, e.g. bn254_g2) before the
 * include; both are undefined at the end. POINT##_b, the curve's b as a FIELD, must be declared
 * before.
 *
 * Affine points lie in memory as in a .zkey: x, y in Montgomery form, all zero for infinity ((0, 0)
 * is on neither curve, since b is not 0). Extended Jacobian points (X, Y, ZZ, ZZZ) with ZZ^3 =
 * ZZZ^2 stand for (X / ZZ, Y / ZZZ); infinity has ZZ = ZZZ = 0. Formulas are named as in the
 * Explicit-Formulas Database, "XYZZ coordinates for short Weierstrass curves", with a = 0. Costs in
 * M products, S squares of FIELD. Outputs come first and may be the same object as any input.
 * Everything is variable time. */

#define POINT_JOIN2(a, b) a##b
#define POINT_JOIN(a, b)  POINT_JOIN2(a, b)
#define POINT_FN(name)    POINT_JOIN(POINT, name)
#define FIELD_FN(name)    POINT_JOIN(FIELD, name)
#define AFFINE            POINT_FN(_affine)
#define XYZZ              POINT_FN(_xyzz)

typedef struct {
    FIELD x, y;
} AFFINE;

typedef struct {
    FIELD x, y, zz, zzz;
} XYZZ;

static inline void POINT_FN(_affine_set_infinity)(AFFINE *r)
{
    FIELD_FN(_set_zero)(&r->x);
    FIELD_FN(_set_zero)(&r->y);
}

static inline bool POINT_FN(_affine_is_infinity)(const AFFINE *a)
{
    return FIELD_FN(_is_zero)(&a->y) && FIELD_FN(_is_zero)(&a->x);
}

/* Both coordinates are below the modulus. Everything below expects that of its inputs. */
static inline bool POINT_FN(_affine_is_canonical)(const AFFINE *a)
{
    return FIELD_FN(_is_canonical)((const uint64_t *)&a->x) &&
           FIELD_FN(_is_canonical)((const uint64_t *)&a->y);
}

/* y^2 = x^3 + b, or infinity. 1M + 2S. */
static inline bool POINT_FN(_affine_is_on_curve)(const AFFINE *a)
{
    FIELD left, right;

    FIELD_FN(_sqr)(&left, &a->y);
    FIELD_FN(_sqr)(&right, &a->x);
    FIELD_FN(_mul)(&right, &right, &a->x);
    FIELD_FN(_add)(&right, &right, &POINT_FN(_b));
    return FIELD_FN(_is_equal)(&left, &right) || POINT_FN(_affine_is_infinity)(a);
}

static inline bool POINT_FN(_affine_is_equal)(const AFFINE *a, const AFFINE *b)
{
    return FIELD_FN(_is_equal)(&a->x, &b->x) && FIELD_FN(_is_equal)(&a->y, &b->y);
}

static inline void POINT_FN(_affine_neg)(AFFINE *r, const AFFINE *a)
{
    r->x = a->x;
    FIELD_FN(_neg)(&r->y, &a->y);
}

static inline void POINT_FN(_xyzz_set_infinity)(XYZZ *r)
{
    FIELD_FN(_set_zero)(&r->x);
    FIELD_FN(_set_zero)(&r->y);
    FIELD_FN(_set_zero)(&r->zz);
    FIELD_FN(_set_zero)(&r->zzz);
}

static inline bool POINT_FN(_xyzz_is_infinity)(const XYZZ *a)
{
    return FIELD_FN(_is_zero)(&a->zz);
}

static inline void POINT_FN(_xyzz_from_affine)(XYZZ *r, const AFFINE *a)
{
    if (POINT_FN(_affine_is_infinity)(a)) {
        POINT_FN(_xyzz_set_infinity)(r);
        return;
    }
    r->x = a->x;
    r->y = a->y;
    FIELD_FN(_set_one)(&r->zz);
    FIELD_FN(_set_one)(&r->zzz);
}

static inline void POINT_FN(_xyzz_neg)(XYZZ *r, const XYZZ *a)
{
    *r = *a;
    FIELD_FN(_neg)(&r->y, &a->y);
}

/* r = 2a. dbl-2008-s-1: 6M + 3S. Infinity stays infinity; neither group has a point of order 2. */
static inline void POINT_FN(_xyzz_dbl)(XYZZ *r, const XYZZ *a)
{
    FIELD u, v, w, s, m, t;

    FIELD_FN(_dbl)(&u, &a->y);
    FIELD_FN(_sqr)(&v, &u);
    FIELD_FN(_mul)(&w, &u, &v);
    FIELD_FN(_mul)(&s, &a->x, &v);
    FIELD_FN(_sqr)(&t, &a->x);
    FIELD_FN(_dbl)(&m, &t);
    FIELD_FN(_add)(&m, &m, &t);
    FIELD_FN(_mul)(&t, &w, &a->y);
    FIELD_FN(_mul)(&r->zz, &v, &a->zz);
    FIELD_FN(_mul)(&r->zzz, &w, &a->zzz);
    FIELD_FN(_sqr)(&v, &m);
    FIELD_FN(_dbl)(&u, &s);
    FIELD_FN(_sub)(&r->x, &v, &u);
    FIELD_FN(_sub)(&s, &s, &r->x);
    FIELD_FN(_mul)(&m, &m, &s);
    FIELD_FN(_sub)(&r->y, &m, &t);
}

/* r = 2b for a finite affine b. */
static inline void POINT_FN(_xyzz_dbl_affine)(XYZZ *r, const AFFINE *b)
{
    POINT_FN(_xyzz_from_affine)(r, b);
    POINT_FN(_xyzz_dbl)(r, r);
}

/* The common tail of both additions: from p = U2 - U1 (not 0), rr = S2 - S1, U1 and S1 sets r->x
 * and r->y and leaves PP and PPP for the caller's zz and zzz. u1 and s1 may point into r. 4M + 2S.
 */
static inline void POINT_FN(_xyzz_add_tail)(XYZZ *r, const FIELD *p, const FIELD *rr,
                                            const FIELD *u1, const FIELD *s1, FIELD *pp, FIELD *ppp)
{
    FIELD q, t, y;

    FIELD_FN(_sqr)(pp, p);
    FIELD_FN(_mul)(ppp, p, pp);
    FIELD_FN(_mul)(&q, u1, pp);
    FIELD_FN(_sqr)(&t, rr);
    FIELD_FN(_mul)(&y, s1, ppp);
    FIELD_FN(_sub)(&t, &t, ppp);
    FIELD_FN(_sub)(&t, &t, &q);
    FIELD_FN(_sub)(&r->x, &t, &q);
    FIELD_FN(_sub)(&q, &q, &r->x);
    FIELD_FN(_mul)(&q, &q, rr);
    FIELD_FN(_sub)(&r->y, &q, &y);
}

/* r = a + b. madd-2008-s: 8M + 2S; complete: infinity, equal and opposite points take a branch. */
static inline void POINT_FN(_xyzz_add_affine)(XYZZ *r, const XYZZ *a, const AFFINE *b)
{
    FIELD p, rr, pp, ppp;

    if (POINT_FN(_affine_is_infinity)(b)) {
        *r = *a;
        return;
    }
    if (POINT_FN(_xyzz_is_infinity)(a)) {
        POINT_FN(_xyzz_from_affine)(r, b);
        return;
    }
    FIELD_FN(_mul)(&p, &b->x, &a->zz);
    FIELD_FN(_mul)(&rr, &b->y, &a->zzz);
    FIELD_FN(_sub)(&p, &p, &a->x);
    FIELD_FN(_sub)(&rr, &rr, &a->y);
    if (__builtin_expect(FIELD_FN(_is_zero)(&p), 0)) {
        if (FIELD_FN(_is_zero)(&rr))
            POINT_FN(_xyzz_dbl_affine)(r, b);
        else
            POINT_FN(_xyzz_set_infinity)(r);
        return;
    }
    POINT_FN(_xyzz_add_tail)(r, &p, &rr, &a->x, &a->y, &pp, &ppp);
    FIELD_FN(_mul)(&r->zz, &a->zz, &pp);
    FIELD_FN(_mul)(&r->zzz, &a->zzz, &ppp);
}

/* r = a + b. add-2008-s: 12M + 2S; complete like add_affine. */
static inline void POINT_FN(_xyzz_add)(XYZZ *r, const XYZZ *a, const XYZZ *b)
{
    FIELD u1, s1, p, rr, pp, ppp;

    if (POINT_FN(_xyzz_is_infinity)(b)) {
        *r = *a;
        return;
    }
    if (POINT_FN(_xyzz_is_infinity)(a)) {
        *r = *b;
        return;
    }
    FIELD_FN(_mul)(&u1, &a->x, &b->zz);
    FIELD_FN(_mul)(&p, &b->x, &a->zz);
    FIELD_FN(_mul)(&s1, &a->y, &b->zzz);
    FIELD_FN(_mul)(&rr, &b->y, &a->zzz);
    FIELD_FN(_sub)(&p, &p, &u1);
    FIELD_FN(_sub)(&rr, &rr, &s1);
    if (__builtin_expect(FIELD_FN(_is_zero)(&p), 0)) {
        if (FIELD_FN(_is_zero)(&rr))
            POINT_FN(_xyzz_dbl)(r, a);
        else
            POINT_FN(_xyzz_set_infinity)(r);
        return;
    }
    FIELD zz, zzz;
    FIELD_FN(_mul)(&zz, &a->zz, &b->zz);
    FIELD_FN(_mul)(&zzz, &a->zzz, &b->zzz);
    POINT_FN(_xyzz_add_tail)(r, &p, &rr, &u1, &s1, &pp, &ppp);
    FIELD_FN(_mul)(&r->zz, &zz, &pp);
    FIELD_FN(_mul)(&r->zzz, &zzz, &ppp);
}

/* The same point, compared across denominators. 4M. */
static inline bool POINT_FN(_xyzz_is_equal)(const XYZZ *a, const XYZZ *b)
{
    FIELD left, right;

    if (POINT_FN(_xyzz_is_infinity)(a) || POINT_FN(_xyzz_is_infinity)(b))
        return POINT_FN(_xyzz_is_infinity)(a) && POINT_FN(_xyzz_is_infinity)(b);
    FIELD_FN(_mul)(&left, &a->x, &b->zz);
    FIELD_FN(_mul)(&right, &b->x, &a->zz);
    if (!FIELD_FN(_is_equal)(&left, &right))
        return false;
    FIELD_FN(_mul)(&left, &a->y, &b->zzz);
    FIELD_FN(_mul)(&right, &b->y, &a->zzz);
    return FIELD_FN(_is_equal)(&left, &right);
}

/* r = (a.x / ZZ, a.y / ZZZ) given 1 / ZZZ; 1 / ZZ = (ZZ / ZZZ)^2. 3M + 1S. */
static inline void POINT_FN(_xyzz_scale)(AFFINE *r, const XYZZ *a, const FIELD *zzz_inverse)
{
    FIELD zz_inverse;

    FIELD_FN(_mul)(&zz_inverse, &a->zz, zzz_inverse);
    FIELD_FN(_sqr)(&zz_inverse, &zz_inverse);
    FIELD_FN(_mul)(&r->y, &a->y, zzz_inverse);
    FIELD_FN(_mul)(&r->x, &a->x, &zz_inverse);
}

/* One inversion, 3M + 1S. */
static inline void POINT_FN(_xyzz_to_affine)(AFFINE *r, const XYZZ *a)
{
    FIELD zzz_inverse;

    if (POINT_FN(_xyzz_is_infinity)(a)) {
        POINT_FN(_affine_set_infinity)(r);
        return;
    }
    FIELD_FN(_inv)(&zzz_inverse, &a->zzz);
    POINT_FN(_xyzz_scale)(r, a, &zzz_inverse);
}

/* to_affine of `count` points with one inversion in all (Montgomery's trick), 6M + 1S a point. r
 * must not overlap a. */
static inline void POINT_FN(_xyzz_to_affine_batch)(AFFINE *r, const XYZZ *a, size_t count)
{
    FIELD running, inverse;

    FIELD_FN(_set_one)(&running);
    for (size_t i = 0; i < count; i++) {
        r[i].x = running;
        if (!POINT_FN(_xyzz_is_infinity)(&a[i]))
            FIELD_FN(_mul)(&running, &running, &a[i].zzz);
    }
    FIELD_FN(_inv)(&running, &running);
    for (size_t i = count; i-- > 0;) {
        if (POINT_FN(_xyzz_is_infinity)(&a[i])) {
            POINT_FN(_affine_set_infinity)(&r[i]);
            continue;
        }
        FIELD_FN(_mul)(&inverse, &running, &r[i].x);
        FIELD_FN(_mul)(&running, &running, &a[i].zzz);
        POINT_FN(_xyzz_scale)(&r[i], &a[i], &inverse);
    }
}

/* r = scalar * a for a plain scalar of `limbs` limbs; not reduced first. Windows of 4 bits: 64
 * doublings and at most 16 additions a limb, 14 additions for the table. */
static inline void POINT_FN(_xyzz_mul_limbs)(XYZZ *r, const XYZZ *a, const uint64_t *scalar,
                                             size_t limbs)
{
    XYZZ table[16], acc;

    table[1] = *a;
    for (int i = 2; i < 16; i++)
        POINT_FN(_xyzz_add)(&table[i], &table[i - 1], a);
    POINT_FN(_xyzz_set_infinity)(&acc);
    for (size_t nibble = 16 * limbs; nibble-- > 0;) {
        unsigned digit = (scalar[nibble / 16] >> (4 * (nibble % 16))) & 15;

        for (int i = 0; i < 4 && !POINT_FN(_xyzz_is_infinity)(&acc); i++)
            POINT_FN(_xyzz_dbl)(&acc, &acc);
        if (digit != 0)
            POINT_FN(_xyzz_add)(&acc, &acc, &table[digit]);
    }
    *r = acc;
}

/* r = scalar * a, for a plain scalar of 4 limbs. */
static inline void POINT_FN(_xyzz_mul)(XYZZ *r, const XYZZ *a, const uint64_t *scalar)
{
    POINT_FN(_xyzz_mul_limbs)(r, a, scalar, 4);
}

#undef XYZZ
#undef AFFINE
#undef FIELD_FN
#undef POINT_FN
#undef POINT_JOIN
#undef POINT_JOIN2
#undef POINT
#undef FIELD
