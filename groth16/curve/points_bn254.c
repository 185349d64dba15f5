/* Point and scalar entries of `struct curve` for BN254: see points.inc.h. */

#include <string.h>

#include "groth16/curve/arch.h"
#include "groth16/curve/bn254.h"
#include "groth16/curve/entries.h"

#define CURVE bn254
#include "groth16/curve/points.inc.h"
