/* Verification on BN254: see verify.inc.h. */

#include "groth16/verify/verify.h"

#include <string.h>

#include "groth16/curve/entries.h"
#include "groth16/curve/pairing.h"

#define CURVE bn254
#include "groth16/verify/verify.inc.h"
