/* The groups of BLS12-381: bls12_381_g1 over bls12_381_fp and bls12_381_g2 over bls12_381_fp2. See
 * point.inc.h. */

#pragma once

#include "groth16/curve/constants.h"
#include "groth16/field/bls12_381.h"

#define FIELD bls12_381_fp
#define POINT bls12_381_g1
#include "groth16/curve/point.inc.h"

#define FIELD bls12_381_fp2
#define POINT bls12_381_g2
#include "groth16/curve/point.inc.h"

#define CURVE bls12_381
#include "groth16/curve/psi.inc.h"

#include "groth16/curve/subgroup_bls12_381.h"
