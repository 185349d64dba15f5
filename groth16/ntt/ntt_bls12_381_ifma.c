/* Vectorised transforms of bls12_381. Compiled with AVX-512 flags: see kernel_ifma.h. */

#include "groth16/field/bls12_381.h"

#define FIELD       bls12_381_fr
#define FIELD_LIMBS 4
#define IFMA_LIMBS  5
#include "groth16/field/ifma.inc.h"

#define KERNEL      bls12_381_ntt_ifma
#define FIELD       bls12_381_fr
#define TWO_ADICITY BLS12_381_FR_TWO_ADICITY
#include "groth16/ntt/kernel_ifma.inc.h"
