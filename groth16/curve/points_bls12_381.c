/* Point and scalar entries of `struct curve` for BLS12-381: see points.inc.h. */

#include <string.h>

#include "groth16/curve/arch.h"
#include "groth16/curve/bls12_381.h"
#include "groth16/curve/entries.h"

#define CURVE bls12_381
#include "groth16/curve/points.inc.h"
