/* Vectorised transforms of bn254. Compiled with AVX-512 flags: see kernel_ifma.h. */

#include "groth16/field/bn254.h"

#define FIELD       bn254_fr
#define FIELD_LIMBS 4
#define IFMA_LIMBS  5
#include "groth16/field/ifma.inc.h"

#define KERNEL      bn254_ntt_ifma
#define FIELD       bn254_fr
#define TWO_ADICITY BN254_FR_TWO_ADICITY
#include "groth16/ntt/kernel_ifma.inc.h"
