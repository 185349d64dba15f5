/* Constraint rows of bls12_381: an entry of `struct curve`. */

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/bls12_381.h"

#define FIELD               bls12_381_fr
#define PRODUCTS_CHECK_IFMA bls12_381_products_check_ifma
#define ENTRY(name)         ARCH_NAME(bls12_381_##name)
#include "groth16/evaluate.inc.h"
