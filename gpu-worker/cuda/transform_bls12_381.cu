/* Transforms over the scalar field of BLS12-381 (transform.cuh). */

#include "gpu-worker/cuda/transform.cuh"

TRANSFORM_FIELD(transform_bls12_381, bls12_381_fr, bls12_381_fr_constants)
