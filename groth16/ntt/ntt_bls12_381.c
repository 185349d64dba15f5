/* The transforms of bls12_381: kernel and entries of `struct curve`. */

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/bls12_381.h"
#include "groth16/field/ifma.h"
#include "groth16/ntt/kernel_ifma.h"
#include "groth16/ntt/ntt.h"

#define KERNEL      bls12_381_scalar
#define FIELD       bls12_381_fr
#define TWO_ADICITY BLS12_381_FR_TWO_ADICITY
#include "groth16/ntt/kernel.inc.h"

static const struct ntt_kernel *choose(unsigned log2)
{
    return log2 >= NTT_IFMA_LOG2_MIN && ifma_is_available() ? &bls12_381_ntt_ifma
                                                            : &bls12_381_scalar_kernel;
}

void ARCH_NAME(bls12_381_ntt)(struct pool *pool, uint64_t *values, unsigned log2, bool inverse)
{
    ntt_run(choose(log2), pool, values, log2, inverse);
}

void ARCH_NAME(bls12_381_quotient)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                                   unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    ntt_quotient(choose(log2), pool, a, b, log2, ret_scalars, scratch);
}

void ARCH_NAME(bls12_381_quotient_monomial)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                                            unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    ntt_quotient_monomial(choose(log2), pool, a, b, log2, ret_scalars, scratch);
}
