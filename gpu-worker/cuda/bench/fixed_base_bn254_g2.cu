/* Multiples of the generator of G2 of BN254 (fixed_base.cuh). */

#include "gpu-worker/cuda/bench/fixed_base.cuh"

FIXED_BASE_GROUP(bn254_g2, pair<bn254_fp>)
