/* Multiples of the generator of G2 of BLS12-381 (fixed_base.cuh). */

#include "gpu-worker/cuda/bench/fixed_base.cuh"

FIXED_BASE_GROUP(bls12_381_g2, pair<bls12_381_fp>)
