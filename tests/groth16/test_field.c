/* Cases about groth16/field: the four prime fields against vectors and laws, Fp2, and the roots of
 * unity. */

#include "groth16/field/bls12_381.h"
#include "groth16/field/bn254.h"
#include "tests/groth16/arch_test.h"
#include "tests/groth16/vectors.h"

#define FIELD       bn254_fp
#define FIELD_LIMBS 4
#include "tests/groth16/field_cases.inc.h"

#define FIELD       bn254_fr
#define FIELD_LIMBS 4
#include "tests/groth16/field_cases.inc.h"

#define FIELD       bls12_381_fp
#define FIELD_LIMBS 6
#include "tests/groth16/field_cases.inc.h"

#define FIELD       bls12_381_fr
#define FIELD_LIMBS 4
#include "tests/groth16/field_cases.inc.h"

TEST(fp2_squares_and_inverts_like_it_multiplies)
{
    uint64_t state = test_seed();

    for (int i = 0; i < 500; i++) {
        bls12_381_fp2 a = {bls12_381_fp_random(&state), bls12_381_fp_random(&state)}, s, t, one;

        bls12_381_fp2_sqr(&s, &a);
        bls12_381_fp2_mul(&t, &a, &a);
        ASSERT(bls12_381_fp2_is_equal(&s, &t));
        bls12_381_fp2_inv(&t, &a);
        bls12_381_fp2_mul(&t, &t, &a);
        bls12_381_fp2_set_one(&one);
        ASSERT(bls12_381_fp2_is_equal(&t, &one));
    }
}

TEST(fp2_u_squares_to_minus_one)
{
    bn254_fp2 u, minus_one;

    bn254_fp2_set_zero(&u);
    bn254_fp_set_one(&u.c1);
    bn254_fp2_sqr(&u, &u);
    bn254_fp2_set_one(&minus_one);
    bn254_fp2_neg(&minus_one, &minus_one);
    ASSERT(bn254_fp2_is_equal(&u, &minus_one));
}

TEST(roots_have_their_full_order)
{
    bn254_fr bn, bn_one;
    bls12_381_fr bls, bls_one;

    memcpy(&bn, bn254_fr_root, sizeof bn);
    for (int i = 0; i < BN254_FR_TWO_ADICITY - 1; i++)
        bn254_fr_sqr(&bn, &bn);
    bn254_fr_set_one(&bn_one);
    bn254_fr_add(&bn, &bn, &bn_one);
    ASSERT(bn254_fr_is_zero(&bn));

    memcpy(&bls, bls12_381_fr_root, sizeof bls);
    for (int i = 0; i < BLS12_381_FR_TWO_ADICITY - 1; i++)
        bls12_381_fr_sqr(&bls, &bls);
    bls12_381_fr_set_one(&bls_one);
    bls12_381_fr_add(&bls, &bls, &bls_one);
    ASSERT(bls12_381_fr_is_zero(&bls));
}

#define FIELD_CASES(field)                                                                         \
    CASE(field##_agrees_with_vectors), CASE(field##_inverts_like_vectors),                         \
        CASE(field##_obeys_the_laws), CASE(field##_portable_product_agrees),                       \
        CASE(field##_refuses_the_modulus_as_canonical)

ARCH_TEST_MAIN(FIELD_CASES(bn254_fp), FIELD_CASES(bn254_fr), FIELD_CASES(bls12_381_fp),
               FIELD_CASES(bls12_381_fr), CASE(fp2_squares_and_inverts_like_it_multiplies),
               CASE(fp2_u_squares_to_minus_one), CASE(roots_have_their_full_order))
