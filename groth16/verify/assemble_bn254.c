/* Assembly of a proof on BN254: see assemble.inc.h. */

#include "groth16/verify/assemble.h"

#include <string.h>

#include "groth16/curve/arch.h"
#include "groth16/curve/bn254.h"
#include "groth16/curve/entries.h"

#define CURVE bn254
#include "groth16/verify/assemble.inc.h"
