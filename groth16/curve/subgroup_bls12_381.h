/* Membership of curve points in the groups of order r, BLS12-381. Included by bls12_381.h only.
 * Scott 2021, "A note on group membership tests for G1, G2 and GT on BLS pairing-friendly curves".
 */

#pragma once

/* r = [|x|]a, bit by bit: |x| has six bits set. */
static inline void bls12_381_g1_mul_x(bls12_381_g1_xyzz *r, const bls12_381_g1_xyzz *a)
{
    bls12_381_g1_xyzz acc = *a;

    for (int bit = 62; bit >= 0; bit--) {
        bls12_381_g1_xyzz_dbl(&acc, &acc);
        if ((bls12_381_x_abs >> bit) & 1)
            bls12_381_g1_xyzz_add(&acc, &acc, a);
    }
    *r = acc;
}

static inline void bls12_381_g2_mul_x(bls12_381_g2_xyzz *r, const bls12_381_g2_xyzz *a)
{
    bls12_381_g2_xyzz acc = *a;

    for (int bit = 62; bit >= 0; bit--) {
        bls12_381_g2_xyzz_dbl(&acc, &acc);
        if ((bls12_381_x_abs >> bit) & 1)
            bls12_381_g2_xyzz_add(&acc, &acc, a);
    }
    *r = acc;
}

/* phi(P) = (beta x, y) = -[x^2]P. Since phi^2 + phi + 1 = 0, that means [x^4 - x^2 + 1]P = [r]P =
 * 0. */
static inline bool bls12_381_g1_affine_is_in_subgroup(const bls12_381_g1_affine *a)
{
    bls12_381_g1_xyzz p, image, multiple;

    bls12_381_g1_xyzz_from_affine(&p, a);
    image = p;
    bls12_381_fp_mul(&image.x, &image.x, &bls12_381_beta);
    bls12_381_g1_mul_x(&multiple, &p);
    bls12_381_g1_mul_x(&multiple, &multiple);
    bls12_381_g1_xyzz_neg(&multiple, &multiple);
    return bls12_381_g1_xyzz_is_equal(&image, &multiple);
}

/* psi(Q) = [x]Q, x < 0; field/constants.py proves that this suffices. */
static inline bool bls12_381_g2_affine_is_in_subgroup(const bls12_381_g2_affine *a)
{
    bls12_381_g2_xyzz q, image, multiple;

    bls12_381_g2_xyzz_from_affine(&q, a);
    bls12_381_g2_xyzz_psi(&image, &q);
    bls12_381_g2_mul_x(&multiple, &q);
    bls12_381_g2_xyzz_neg(&multiple, &multiple);
    return bls12_381_g2_xyzz_is_equal(&image, &multiple);
}
