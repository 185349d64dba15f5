/* Products of rows of bls12-381. Compiled with AVX-512 flags: see field/ifma.h. */

#include "groth16/field/bls12_381.h"

#define FIELD       bls12_381_fr
#define FIELD_LIMBS 4
#define IFMA_LIMBS  5
#include "groth16/field/ifma.inc.h"

#define PRODUCTS_CURVE bls12_381
#define FIELD          bls12_381_fr
#include "groth16/products_ifma.inc.h"
