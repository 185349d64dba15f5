/* Template: the endomorphism psi of the twist, the p-power Frobenius of the curve carried over. On
 * G2 it multiplies by p.
 *
 * Set CURVE (e.g. bn254) before the include; it is undefined at the end. The constants _psi_x,
 * _psi_y come from constants.h. */

#define PSI_JOIN2(a, b) a##b
#define PSI_JOIN(a, b)  PSI_JOIN2(a, b)
#define CURVE_FN(name)  PSI_JOIN(CURVE, name)

static inline void CURVE_FN(_g2_affine_psi)(CURVE_FN(_g2_affine) * r,
                                            const CURVE_FN(_g2_affine) * a)
{
    CURVE_FN(_fp2_conj)(&r->x, &a->x);
    CURVE_FN(_fp2_conj)(&r->y, &a->y);
    CURVE_FN(_fp2_mul)(&r->x, &r->x, &CURVE_FN(_psi_x));
    CURVE_FN(_fp2_mul)(&r->y, &r->y, &CURVE_FN(_psi_y));
}

static inline void CURVE_FN(_g2_xyzz_psi)(CURVE_FN(_g2_xyzz) * r, const CURVE_FN(_g2_xyzz) * a)
{
    CURVE_FN(_fp2_conj)(&r->x, &a->x);
    CURVE_FN(_fp2_conj)(&r->y, &a->y);
    CURVE_FN(_fp2_conj)(&r->zz, &a->zz);
    CURVE_FN(_fp2_conj)(&r->zzz, &a->zzz);
    CURVE_FN(_fp2_mul)(&r->x, &r->x, &CURVE_FN(_psi_x));
    CURVE_FN(_fp2_mul)(&r->y, &r->y, &CURVE_FN(_psi_y));
}

#undef CURVE_FN
#undef PSI_JOIN
#undef PSI_JOIN2
#undef CURVE
