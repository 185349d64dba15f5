/* Arithmetic modulo p for literal limb counts: chooses the fastest form that the translation unit
 * allows. Callers: field.inc.h only. All forms give the same, fully reduced results.
 *
 * The build is for baseline x86-64. A file with hot loops is compiled once more with -mbmi2 -madx,
 * and the program chooses between the two objects (curve/arch.h). Unoptimised builds take the
 * portable form: without inlining there are not enough registers for the operands. */

#pragma once

#include "groth16/field/limbs.h"

#if defined(__has_feature)
#define MONT_IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MONT_IS_SANITIZED 1
#else
#define MONT_IS_SANITIZED 0
#endif

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !MONT_IS_SANITIZED
#define MONT_HAS_X86 1
#include "groth16/field/limbs_x86.h"
#else
#define MONT_HAS_X86 0
#endif

#if MONT_HAS_X86 && defined(__ADX__) && defined(__BMI2__)
#define MONT_HAS_ADX 1
#include "groth16/field/mont_adx.h"
#else
#define MONT_HAS_ADX 0
#endif

/* r = a + b mod p. */
LIMBS_INLINE void mont_add(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p,
                           int limbs)
{
#if MONT_HAS_X86
    if (limbs == 4)
        limbs_mod_add4_x86(r, a, b, p);
    else if (limbs == 6)
        limbs_mod_add6_x86(r, a, b, p);
    else
#endif
        limbs_mod_add(r, a, b, p, limbs);
}

/* r = a - b mod p. */
LIMBS_INLINE void mont_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p,
                           int limbs)
{
#if MONT_HAS_X86
    if (limbs == 4)
        limbs_mod_sub4_x86(r, a, b, p);
    else if (limbs == 6)
        limbs_mod_sub6_x86(r, a, b, p);
    else
#endif
        limbs_mod_sub(r, a, b, p, limbs);
}

/* sum += a, sum -= a: limbs_sum_add and limbs_sum_sub. */
LIMBS_INLINE void mont_sum_add(uint64_t *sum, const uint64_t *a)
{
#if MONT_HAS_X86
    limbs_sum_add_x86(sum, a);
#else
    limbs_sum_add(sum, a);
#endif
}

LIMBS_INLINE void mont_sum_sub(uint64_t *sum, const uint64_t *a)
{
#if MONT_HAS_X86
    limbs_sum_sub_x86(sum, a);
#else
    limbs_sum_sub(sum, a);
#endif
}

/* r = a b / 2^(64 limbs) mod p, n0 = -1/p mod 2^64. */
LIMBS_INLINE void mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t *p,
                           uint64_t n0, int limbs)
{
#if MONT_HAS_ADX
    if (limbs == 4)
        mont_mul4_adx(r, a, b, p, n0);
    else if (limbs == 6)
        mont_mul6_adx(r, a, b, p, n0);
    else
#endif
        limbs_mont_mul_portable(r, a, b, p, n0, limbs);
}

/* r = a^2 / 2^(64 limbs) mod p. */
LIMBS_INLINE void mont_sqr(uint64_t *r, const uint64_t *a, const uint64_t *p, uint64_t n0,
                           int limbs)
{
    mont_mul(r, a, a, p, n0, limbs);
}
