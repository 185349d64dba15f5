/* Transforms over the scalar field of BN254 (transform.cuh). */

#include "gpu-worker/cuda/transform.cuh"

TRANSFORM_FIELD(transform_bn254, bn254_fr, bn254_fr_constants)
