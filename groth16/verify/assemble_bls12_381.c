/* Assembly of a proof on BLS12-381: see assemble.inc.h. */

#include "groth16/verify/assemble.h"

#include <string.h>

#include "groth16/curve/arch.h"
#include "groth16/curve/bls12_381.h"
#include "groth16/curve/entries.h"

#define CURVE bls12_381
#include "groth16/verify/assemble.inc.h"
