/* Multiples of the generator of G1 of BLS12-381 (fixed_base.cuh). */

#include "gpu-worker/cuda/bench/fixed_base.cuh"

FIXED_BASE_GROUP(bls12_381_g1, bls12_381_fp)
