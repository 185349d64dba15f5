/* Verification on BLS12-381: see verify.inc.h. */

#include "groth16/verify/verify.h"

#include <string.h>

#include "groth16/curve/entries.h"
#include "groth16/curve/pairing.h"

#define CURVE bls12_381
#include "groth16/verify/verify.inc.h"
