/* Vectorised additions on bls12_381. Compiled with AVX-512 flags: see kernel_ifma.h. */

#include "groth16/field/bls12_381.h"

#define FIELD       bls12_381_fp
#define FIELD_LIMBS 6
#define IFMA_LIMBS  8
#include "groth16/field/ifma.inc.h"

#define FIELD bls12_381_fp
#define FP2   bls12_381_fp2
#include "groth16/field/ifma_fp2.inc.h"

#define KERNEL          bls12_381_g1
#define FIELD           bls12_381_fp
#define BASE            bls12_381_fp
#define BASE_LIMBS      6
#define BASE_IFMA_LIMBS 8
#define DEGREE          1
#include "groth16/msm/kernel_ifma.inc.h"

#define KERNEL          bls12_381_g2
#define FIELD           bls12_381_fp2
#define BASE            bls12_381_fp
#define BASE_LIMBS      6
#define BASE_IFMA_LIMBS 8
#define DEGREE          2
#include "groth16/msm/kernel_ifma.inc.h"
