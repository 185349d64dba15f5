/* Constraint rows of bn254: an entry of `struct curve`. */

#include "groth16/curve/arch.h"
#include "groth16/curve/entries.h"
#include "groth16/field/bn254.h"

#define FIELD               bn254_fr
#define PRODUCTS_CHECK_IFMA bn254_products_check_ifma
#define ENTRY(name)         ARCH_NAME(bn254_##name)
#include "groth16/evaluate.inc.h"
