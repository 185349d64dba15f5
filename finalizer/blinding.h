/* The blinding scalars r and s of a proof: what makes two proofs of one witness differ and hides
 * the witness. Called by the finalizer, which wipes them after assembly. */
#pragma once

#include <stdint.h>

#include "groth16/curve/curve.h"

/* One scalar from getrandom, uniform below the curve's r (by rejection). 0 or negative errno. */
int blinding_uniform(const struct curve *curve, uint64_t ret_scalar[4]);

/* r and s. blinding_random.c draws both; a build with -Dtest_hooks=true takes
 * tests/finalizer/blinding_fixed.c in its place, which can fix them. 0 or negative errno. */
int blinding_draw(const struct curve *curve, uint64_t ret_r[4], uint64_t ret_s[4]);
