/* Names of verification results (verify.h). */

#include "groth16/verify/verify.h"

const char *verify_result_to_string(enum verify_result result)
{
    switch (result) {
    case VERIFY_OK:
        return "the proof is valid";
    case VERIFY_WRONG_PUBLIC_COUNT:
        return "the number of public inputs does not fit the verification key";
    case VERIFY_PUBLIC_NOT_REDUCED:
        return "a public input is not below the scalar field's modulus";
    case VERIFY_PROOF_POINT:
        return "a proof point is not reduced, not on the curve or not in the subgroup";
    case VERIFY_FAILED:
        return "the pairing equation does not hold";
    }
    return "unknown verification result";
}
