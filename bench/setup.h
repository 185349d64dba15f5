/* The scalars of a Groth16 key: the secrets, which follow from a seed, and each point's multiple of
 * the generator. For make_key and make_params. Whoever knows the seed can forge proofs under the
 * key.
 *
 * Groth, "On the Size of Pairing-based Non-interactive Arguments", EUROCRYPT 2016. The key has the
 * form that `snarkjs groth16 setup` gives, with H in the odd half of the Lagrange basis of the
 * domain of twice the size, or the one that bellman gives, with H in the monomial basis and rows on
 * the domain of another root. Scalars here are plain, 4 limbs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/constraints.h"
#include "bench/scalar.h"
#include "groth16/key/reason.h"

struct pool;

struct setup_secrets {
    struct scalar tau, alpha, beta, gamma, delta;
};

enum setup_form {
    SETUP_SNARKJS,
    SETUP_BELLMAN,
};

struct setup {
    const struct curve *curve;
    enum setup_form form;
    size_t domain, variables, publics;
    struct scalar tau, alpha, beta, gamma, delta;
    struct scalar *a, *b; /* a_s(tau), b_s(tau) by wire: of A, and of B1 and B2 */
    struct scalar *c;     /* by wire: of IC, publics + 1 of them, then of L */
    struct scalar *h;     /* domain of them, in bellman's form one less */
};

struct setup_secrets setup_secrets_from_seed(const struct curve *curve, uint64_t seed);

/* -ENOMEM. The object wants setup_destroy in any case. Spread over the pool. */
int setup_make(const struct constraints *constraints, const struct setup_secrets *secrets,
               enum setup_form form, struct pool *pool, struct setup *ret, struct reason *reason);
/* Accepts a zeroed object. */
void setup_destroy(struct setup *setup);

struct setup_points {
    uint64_t alpha_g1[CURVE_G1_BYTES_MAX / 8], beta_g1[CURVE_G1_BYTES_MAX / 8],
        delta_g1[CURVE_G1_BYTES_MAX / 8];
    uint64_t beta_g2[CURVE_G2_BYTES_MAX / 8], gamma_g2[CURVE_G2_BYTES_MAX / 8],
        delta_g2[CURVE_G2_BYTES_MAX / 8];
};

/* The points of the header. */
void setup_points_make(const struct setup *setup, struct setup_points *ret);
