/* Membership of curve points in the groups of order r, BN254. Included by bn254.h only.
 *
 * Dai, Lin, Zhao, Zhou 2022, "Fast subgroup membership testings for G1, G2 and GT on
 * pairing-friendly curves"; field/constants.py proves the condition for these parameters. */

#pragma once

/* The curve over the base field has prime order. */
static inline bool bn254_g1_affine_is_in_subgroup(const bn254_g1_affine *a)
{
    (void)a;
    return true;
}

/* [x + 1]Q + psi([x]Q) + psi^2([x]Q) = psi^3([2x]Q), for a point on the twist. */
static inline bool bn254_g2_affine_is_in_subgroup(const bn254_g2_affine *a)
{
    bn254_g2_xyzz q, xq, left, right;

    bn254_g2_xyzz_from_affine(&q, a);
    bn254_g2_xyzz_mul_limbs(&xq, &q, &bn254_x_abs, 1);
    bn254_g2_xyzz_psi(&right, &xq);
    bn254_g2_xyzz_add(&left, &xq, &q);
    bn254_g2_xyzz_add(&left, &left, &right);
    bn254_g2_xyzz_psi(&right, &right);
    bn254_g2_xyzz_add(&left, &left, &right);
    bn254_g2_xyzz_psi(&right, &right);
    bn254_g2_xyzz_dbl(&right, &right);
    return bn254_g2_xyzz_is_equal(&left, &right);
}
