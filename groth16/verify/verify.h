/* Groth16 verification (Groth, "On the Size of Pairing-based Non-interactive Arguments",
 * EUROCRYPT 2016): e(A, B) = e(alpha, beta) e(IC(x), gamma) e(C, delta), as one product of four
 * Miller loops. Called by the finalizer for every proof, by `cuzkctl verify` and by tests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Points in the encoding of groth16/curve/curve.h; borrowed. */
struct verify_key {
    const void *alpha_g1, *beta_g2, *gamma_g2, *delta_g2;
    const void *ic; /* ic_count G1 points, one more than public inputs */
    size_t ic_count;
};

enum verify_result {
    VERIFY_OK = 0,
    VERIFY_WRONG_PUBLIC_COUNT = 1, /* public_count + 1 != ic_count */
    VERIFY_PUBLIC_NOT_REDUCED = 2, /* a public input is not < r */
    VERIFY_PROOF_POINT = 3,        /* a proof point not reduced, off the curve or out of subgroup */
    VERIFY_FAILED = 4,             /* the pairing equation does not hold */
};

const char *verify_result_to_string(enum verify_result result);
