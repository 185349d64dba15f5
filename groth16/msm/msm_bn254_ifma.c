/* Vectorised additions on bn254. Compiled with AVX-512 flags: see kernel_ifma.h. */

#include "groth16/field/bn254.h"

#define FIELD       bn254_fp
#define FIELD_LIMBS 4
#define IFMA_LIMBS  5
#include "groth16/field/ifma.inc.h"

#define FIELD bn254_fp
#define FP2   bn254_fp2
#include "groth16/field/ifma_fp2.inc.h"

#define KERNEL          bn254_g1
#define FIELD           bn254_fp
#define BASE            bn254_fp
#define BASE_LIMBS      4
#define BASE_IFMA_LIMBS 5
#define DEGREE          1
#include "groth16/msm/kernel_ifma.inc.h"

#define KERNEL          bn254_g2
#define FIELD           bn254_fp2
#define BASE            bn254_fp
#define BASE_LIMBS      4
#define BASE_IFMA_LIMBS 5
#define DEGREE          2
#include "groth16/msm/kernel_ifma.inc.h"
