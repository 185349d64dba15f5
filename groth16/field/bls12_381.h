/* The fields of BLS12-381: base field bls12_381_fp (6 limbs), its quadratic extension
 * bls12_381_fp2 and scalar field bls12_381_fr (4 limbs). Montgomery form, R = 2^(64 limbs): see
 * field.inc.h. */

#pragma once

#include "groth16/field/constants.h"

#define FIELD       bls12_381_fp
#define FIELD_LIMBS 6
#include "groth16/field/field.inc.h"

#define FIELD       bls12_381_fr
#define FIELD_LIMBS 4
#include "groth16/field/field.inc.h"

#define FIELD       bls12_381_fp
#define FIELD_LIMBS 6
#define FP2         bls12_381_fp2
#include "groth16/field/fp2.inc.h"
