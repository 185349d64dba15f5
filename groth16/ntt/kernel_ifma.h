/* Transforms with AVX-512 IFMA (kernel.h). To be used only where ifma_is_available(), and for
 * 2^NTT_IFMA_LOG2_MIN values or more. */
#pragma once

#include "groth16/ntt/kernel.h"

enum { NTT_IFMA_LOG2_MIN = 6 };

extern const struct ntt_kernel bn254_ntt_ifma;
extern const struct ntt_kernel bls12_381_ntt_ifma;
