/* The groups of BN254: bn254_g1 over bn254_fp and bn254_g2 over bn254_fp2. See point.inc.h. */

#pragma once

#include "groth16/curve/constants.h"
#include "groth16/field/bn254.h"

#define FIELD bn254_fp
#define POINT bn254_g1
#include "groth16/curve/point.inc.h"

#define FIELD bn254_fp2
#define POINT bn254_g2
#include "groth16/curve/point.inc.h"

#define CURVE bn254
#include "groth16/curve/psi.inc.h"

#include "groth16/curve/subgroup_bn254.h"
