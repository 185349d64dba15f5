/* Cases about groth16/curve/pairing.h. */

#include "groth16/curve/entries.h"
#include "groth16/curve/pairing.h"
#include "tests/groth16/arch_test.h"
#include "tests/groth16/vectors.h"

#define CURVE       bn254
#define CURVE_LIMBS 4
#include "tests/groth16/pairing_cases.inc.h"

#define CURVE       bls12_381
#define CURVE_LIMBS 6
#include "tests/groth16/pairing_cases.inc.h"

#define PAIRING_CASES(curve)                                                                       \
    CASE(curve##_pairing_agrees_with_an_independent_one), CASE(curve##_pairing_is_bilinear),       \
        CASE(curve##_pairing_of_generators_is_not_one),                                            \
        CASE(curve##_pairing_with_infinity_is_one), CASE(curve##_pairing_product_adds_exponents)

ARCH_TEST_MAIN(PAIRING_CASES(bn254), PAIRING_CASES(bls12_381))
