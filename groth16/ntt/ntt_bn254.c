/* The transforms of bn254: kernel and entries of `struct curve`. */

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/bn254.h"
#include "groth16/ntt/ntt.h"

#define KERNEL      bn254_scalar
#define FIELD       bn254_fr
#define TWO_ADICITY BN254_FR_TWO_ADICITY
#include "groth16/ntt/kernel.inc.h"

void ARCH_NAME(bn254_ntt)(struct pool *pool, uint64_t *values, unsigned log2, bool inverse)
{
    ntt_run(&bn254_scalar_kernel, pool, values, log2, inverse);
}

void ARCH_NAME(bn254_quotient)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                               unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    ntt_quotient(&bn254_scalar_kernel, pool, a, b, log2, ret_scalars, scratch);
}
