/* The transforms of bn254: kernel and entries of `struct curve`. */

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/bn254.h"
#include "groth16/field/ifma.h"
#include "groth16/ntt/kernel_ifma.h"
#include "groth16/ntt/ntt.h"

#define KERNEL      bn254_scalar
#define FIELD       bn254_fr
#define TWO_ADICITY BN254_FR_TWO_ADICITY
#include "groth16/ntt/kernel.inc.h"

static const struct ntt_kernel *choose(unsigned log2)
{
    return log2 >= NTT_IFMA_LOG2_MIN && ifma_is_available() ? &bn254_ntt_ifma
                                                            : &bn254_scalar_kernel;
}

void ARCH_NAME(bn254_ntt)(struct pool *pool, uint64_t *values, unsigned log2, bool inverse)
{
    ntt_run(choose(log2), pool, values, log2, inverse);
}

void ARCH_NAME(bn254_quotient)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                               unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    ntt_quotient(choose(log2), pool, a, b, log2, ret_scalars, scratch);
}

void ARCH_NAME(bn254_quotient_monomial)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                                        unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    ntt_quotient_monomial(choose(log2), pool, a, b, log2, ret_scalars, scratch);
}
