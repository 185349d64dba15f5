/* The fields of BN254: base field bn254_fp (4 limbs), its quadratic extension bn254_fp2 and
 * scalar field bn254_fr (4 limbs). Montgomery form, R = 2^(64 limbs): see field.inc.h. */

#pragma once

#include "groth16/field/constants.h"

#define FIELD       bn254_fp
#define FIELD_LIMBS 4
#include "groth16/field/field.inc.h"

#define FIELD       bn254_fr
#define FIELD_LIMBS 4
#include "groth16/field/field.inc.h"

#define FIELD       bn254_fp
#define FIELD_LIMBS 4
#define FP2         bn254_fp2
#include "groth16/field/fp2.inc.h"
