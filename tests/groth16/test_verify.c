/* Cases about groth16/verify: assembly and verification, with keys of known discrete logarithms. */

#include "groth16/verify/verify.h"

#include "groth16/curve/bls12_381.h"
#include "groth16/curve/bn254.h"
#include "groth16/curve/entries.h"
#include "groth16/verify/assemble.h"
#include "tests/groth16/arch_test.h"
#include "tests/groth16/vectors.h"

enum { PUBLIC_COUNT = 3 };

#define CURVE       bn254
#define CURVE_LIMBS 4
#include "tests/groth16/verify_cases.inc.h"

#define CURVE       bls12_381
#define CURVE_LIMBS 6
#include "tests/groth16/verify_cases.inc.h"

TEST(bls12_381_g1_check_refuses_a_point_outside_the_subgroup)
{
    bls12_381_g1_affine p;

    memcpy(&p, bls12_381_g1_outside, sizeof p);
    bls12_381_fp_from_plain(&p.x, &p.x);
    bls12_381_fp_from_plain(&p.y, &p.y);
    ASSERT_INT(ARCH_NAME(bls12_381_g1_check)(&p, false), CURVE_POINT_OK);
    ASSERT_INT(ARCH_NAME(bls12_381_g1_check)(&p, true), CURVE_POINT_NOT_IN_SUBGROUP);
}

TEST(every_result_has_a_name)
{
    for (int i = VERIFY_OK; i <= VERIFY_FAILED; i++)
        ASSERT(strcmp(verify_result_to_string(i), verify_result_to_string(99)) != 0);
}

#define VERIFY_CASES(curve)                                                                        \
    CASE(curve##_assembly_follows_its_formula),                                                    \
        CASE(curve##_assembled_proof_verifies_for_any_blinding),                                   \
        CASE(curve##_proof_of_another_statement_is_refused),                                       \
        CASE(curve##_altered_proof_points_are_refused),                                            \
        CASE(curve##_proof_points_off_the_curve_or_unreduced_are_refused),                         \
        CASE(curve##_proof_point_outside_the_subgroup_is_refused),                                 \
        CASE(curve##_public_inputs_are_counted_and_reduced)

ARCH_TEST_MAIN(VERIFY_CASES(bn254), VERIFY_CASES(bls12_381),
               CASE(bls12_381_g1_check_refuses_a_point_outside_the_subgroup),
               CASE(every_result_has_a_name))
