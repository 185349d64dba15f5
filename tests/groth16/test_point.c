/* Cases about groth16/curve/point.inc.h and subgroup_*.h: the four groups against vectors and laws.
 */

#include "groth16/curve/bls12_381.h"
#include "groth16/curve/bn254.h"
#include "tests/groth16/arch_test.h"
#include "tests/groth16/vectors.h"

#define POINT       bn254_g1
#define POINT_LIMBS 4
#define SCALARS     bn254_scalars
#define MULTIPLES   bn254_g1_multiples
#define GENERATOR   bn254_g1_generator_xy
#define FIELD       bn254_fp
#include "tests/groth16/point_cases.inc.h"

#define POINT       bn254_g2
#define POINT_LIMBS 8
#define SCALARS     bn254_scalars
#define MULTIPLES   bn254_g2_multiples
#define GENERATOR   bn254_g2_generator_xy
#define FIELD       bn254_fp2
#include "tests/groth16/point_cases.inc.h"

#define POINT       bls12_381_g1
#define POINT_LIMBS 6
#define SCALARS     bls12_381_scalars
#define MULTIPLES   bls12_381_g1_multiples
#define GENERATOR   bls12_381_g1_generator_xy
#define FIELD       bls12_381_fp
#include "tests/groth16/point_cases.inc.h"

#define POINT       bls12_381_g2
#define POINT_LIMBS 12
#define SCALARS     bls12_381_scalars
#define MULTIPLES   bls12_381_g2_multiples
#define GENERATOR   bls12_381_g2_generator_xy
#define FIELD       bls12_381_fp2
#include "tests/groth16/point_cases.inc.h"

TEST(subgroup_test_refuses_other_points_of_the_bn254_twist)
{
    for (size_t i = 0; i < sizeof bn254_g2_outside / sizeof(bn254_g2_affine); i++) {
        bn254_g2_affine p = bn254_g2_of(bn254_g2_outside, i);
        bn254_g2_xyzz t;

        ASSERT(bn254_g2_affine_is_on_curve(&p));
        ASSERT(!bn254_g2_affine_is_in_subgroup(&p));
        bn254_g2_xyzz_from_affine(&t, &p);
        bn254_g2_xyzz_mul(&t, &t, bn254_fr_modulus);
        ASSERT(!bn254_g2_xyzz_is_infinity(&t));
    }
}

TEST(subgroup_test_refuses_other_points_of_the_bls12_381_twist)
{
    for (size_t i = 0; i < sizeof bls12_381_g2_outside / sizeof(bls12_381_g2_affine); i++) {
        bls12_381_g2_affine p = bls12_381_g2_of(bls12_381_g2_outside, i);
        bls12_381_g2_xyzz t;

        ASSERT(bls12_381_g2_affine_is_on_curve(&p));
        ASSERT(!bls12_381_g2_affine_is_in_subgroup(&p));
        bls12_381_g2_xyzz_from_affine(&t, &p);
        bls12_381_g2_xyzz_mul(&t, &t, bls12_381_fr_modulus);
        ASSERT(!bls12_381_g2_xyzz_is_infinity(&t));
    }
}

/* [r]P of a point of the twist has an order that divides the cofactor: the nearest miss there is.
 */
TEST(subgroup_test_refuses_points_of_cofactor_order)
{
    bls12_381_g2_affine p = bls12_381_g2_of(bls12_381_g2_outside, 0);
    bn254_g2_affine q = bn254_g2_of(bn254_g2_outside, 0);
    bls12_381_g2_xyzz t;
    bn254_g2_xyzz u;

    bls12_381_g2_xyzz_from_affine(&t, &p);
    bls12_381_g2_xyzz_mul(&t, &t, bls12_381_fr_modulus);
    bls12_381_g2_xyzz_to_affine(&p, &t);
    ASSERT(bls12_381_g2_affine_is_on_curve(&p) && !bls12_381_g2_affine_is_in_subgroup(&p));
    bn254_g2_xyzz_from_affine(&u, &q);
    bn254_g2_xyzz_mul(&u, &u, bn254_fr_modulus);
    bn254_g2_xyzz_to_affine(&q, &u);
    ASSERT(bn254_g2_affine_is_on_curve(&q) && !bn254_g2_affine_is_in_subgroup(&q));
}

TEST(subgroup_test_refuses_other_points_of_the_bls12_381_curve)
{
    bls12_381_g1_affine p = bls12_381_g1_of(bls12_381_g1_outside, 0);
    bls12_381_g1_xyzz t;

    ASSERT(bls12_381_g1_affine_is_on_curve(&p));
    ASSERT(!bls12_381_g1_affine_is_in_subgroup(&p));
    bls12_381_g1_xyzz_from_affine(&t, &p);
    bls12_381_g1_xyzz_mul(&t, &t, bls12_381_fr_modulus);
    bls12_381_g1_xyzz_to_affine(&p, &t);
    ASSERT(!bls12_381_g1_affine_is_in_subgroup(&p));
}

#define POINT_CASES(point)                                                                         \
    CASE(point##_multiples_agree_with_vectors), CASE(point##_addition_is_complete),                \
        CASE(point##_addition_is_associative), CASE(point##_batch_of_affine_agrees_with_single),   \
        CASE(point##_check_finds_a_point_off_the_curve),                                           \
        CASE(point##_check_finds_an_unreduced_coordinate)

ARCH_TEST_MAIN(POINT_CASES(bn254_g1), POINT_CASES(bn254_g2), POINT_CASES(bls12_381_g1),
               POINT_CASES(bls12_381_g2),
               CASE(subgroup_test_refuses_other_points_of_the_bn254_twist),
               CASE(subgroup_test_refuses_other_points_of_the_bls12_381_twist),
               CASE(subgroup_test_refuses_points_of_cofactor_order),
               CASE(subgroup_test_refuses_other_points_of_the_bls12_381_curve))
