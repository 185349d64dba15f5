/* Cases about groth16/curve/curve.h: the descriptors, the look-ups and the choice of a build. */

#include "groth16/curve/curve.h"

#include "tests/test.h"

static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};

TEST(look_ups_find_both_curves)
{
    for (int i = 0; i < 2; i++) {
        ASSERT(curve_by_id(curves[i]->id) == curves[i]);
        ASSERT(curve_by_json_name(curves[i]->json_name) == curves[i]);
        ASSERT(curve_by_fr_modulus(curves[i]->fr_modulus) == curves[i]);
    }
}

TEST(look_ups_refuse_what_they_do_not_know)
{
    uint64_t modulus[4] = {1};

    ASSERT(curve_by_id(0) == NULL && curve_by_id(3) == NULL);
    ASSERT(curve_by_json_name("bn254") == NULL && curve_by_json_name("") == NULL);
    ASSERT(curve_by_fr_modulus(modulus) == NULL);
}

TEST(sizes_are_those_of_the_key_files)
{
    ASSERT_INT(curve_bn254.g1_bytes, 64);
    ASSERT_INT(curve_bn254.g2_bytes, 128);
    ASSERT_INT(curve_bn254.proof_bytes, 256);
    ASSERT_INT(curve_bn254.two_adicity, 28);
    ASSERT_INT(curve_bls12_381.g1_bytes, 96);
    ASSERT_INT(curve_bls12_381.g2_bytes, 192);
    ASSERT_INT(curve_bls12_381.proof_bytes, CURVE_PROOF_BYTES_MAX);
    ASSERT_INT(curve_bls12_381.two_adicity, 32);
}

TEST(generators_are_points_of_order_r)
{
    for (int i = 0; i < 2; i++) {
        uint64_t minus_one[4], g1[2 * CURVE_FP_LIMBS_MAX], plain[CURVE_FP_LIMBS_MAX];

        ASSERT_INT(curves[i]->g1_check(curves[i]->g1_generator, true), CURVE_POINT_OK);
        ASSERT_INT(curves[i]->g2_check(curves[i]->g2_generator, true), CURVE_POINT_OK);
        memcpy(minus_one, curves[i]->fr_modulus, sizeof minus_one);
        minus_one[0]--;
        curves[i]->g1_mul(curves[i]->g1_generator, minus_one, g1);
        /* [r - 1]G = -G has G's x. */
        ASSERT(memcmp(g1, curves[i]->g1_generator, curves[i]->fp_bytes) == 0);
        curves[i]->fp_to_plain(plain, g1);
        curves[i]->fp_from_plain(g1, plain);
        ASSERT(memcmp(g1, curves[i]->g1_generator, curves[i]->fp_bytes) == 0);
    }
}

TEST(scalars_are_compared_with_r)
{
    for (int i = 0; i < 2; i++) {
        uint64_t scalars[12] = {5, 0, 0, 0, 7}, product[4];

        memcpy(&scalars[8], curves[i]->fr_modulus, 32);
        ASSERT(curves[i]->scalar_is_reduced(scalars));
        ASSERT(!curves[i]->scalar_is_reduced(&scalars[8]));
        ASSERT_INT(curves[i]->scalars_check(scalars, 2), 2);
        ASSERT_INT(curves[i]->scalars_check(scalars, 3), 2);
        curves[i]->scalar_mul(product, scalars, &scalars[4]);
        ASSERT(product[0] == 35 && product[1] == 0 && product[2] == 0 && product[3] == 0);
    }
}

TEST(every_fault_has_a_name)
{
    for (int i = CURVE_POINT_OK; i <= CURVE_POINT_NOT_IN_SUBGROUP; i++)
        ASSERT(strcmp(curve_point_fault_to_string(i), curve_point_fault_to_string(99)) != 0);
}

TEST_MAIN(CASE(look_ups_find_both_curves), CASE(look_ups_refuse_what_they_do_not_know),
          CASE(sizes_are_those_of_the_key_files), CASE(generators_are_points_of_order_r),
          CASE(scalars_are_compared_with_r), CASE(every_fault_has_a_name))
