/* Products of optimal ate pairings. Called by verify.inc.h and by tests. Pure functions on caller's
 * memory; points are canonical, on their curves and in their subgroups (checked by the caller). A
 * pair with a point at infinity contributes 1.
 *
 * Vercauteren 2010, "Optimal Pairings"; one Miller loop shared by all pairs, one final
 * exponentiation. */

#pragma once

#include "groth16/curve/arch.h"
#include "groth16/curve/bls12_381.h"
#include "groth16/curve/bn254.h"

#define PAIRING_COUNT_MAX 8 /* A verification needs 4; the pairs' state lies on the stack. */

/* True when the product of e(p[i], q[i]), i < count <= PAIRING_COUNT_MAX, is 1. */
bool ARCH_NAME(bn254_pairing_is_one)(const bn254_g1_affine *p, const bn254_g2_affine *q,
                                     size_t count);
bool ARCH_NAME(bls12_381_pairing_is_one)(const bls12_381_g1_affine *p, const bls12_381_g2_affine *q,
                                         size_t count);

/* The product itself as 12 base field elements in Montgomery form: the coefficients of 1, v, v^2,
 * w, v w, v^2 w, each c0 then c1. It is a fixed power, coprime to r, of the reduced pairing. */
void ARCH_NAME(bn254_pairing_product)(uint64_t *ret, const bn254_g1_affine *p,
                                      const bn254_g2_affine *q, size_t count);
void ARCH_NAME(bls12_381_pairing_product)(uint64_t *ret, const bls12_381_g1_affine *p,
                                          const bls12_381_g2_affine *q, size_t count);
