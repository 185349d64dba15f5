/* Multiples of the generator of G1 of BN254 (fixed_base.cuh). */

#include "gpu-worker/cuda/bench/fixed_base.cuh"

FIXED_BASE_GROUP(bn254_g1, bn254_fp)
