/* Products of rows of bn254. Compiled with AVX-512 flags: see field/ifma.h. */

#include "groth16/field/bn254.h"

#define FIELD       bn254_fr
#define FIELD_LIMBS 4
#define IFMA_LIMBS  5
#include "groth16/field/ifma.inc.h"

#define PRODUCTS_CURVE bn254
#define FIELD          bn254_fr
#include "groth16/products_ifma.inc.h"
