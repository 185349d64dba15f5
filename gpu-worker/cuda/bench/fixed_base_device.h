/* scalars[i] * generator on the device, for key_points_gpu.c. Nothing here allocates or waits: all
 * pointers are device memory, 16-byte aligned; `stream` is a cudaStream_t. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The table of windows of `width` bits (8 or 16): for each w < 256 / width, the multiples
 * 1, 2, ..., 2^width - 1 of 2^(width w) G, affine. Scalars are plain, 32 bytes each; scratch holds
 * 2 * count points. ret_points is in the encoding of curve.h, each as the CPU library gives it,
 * byte for byte. count <= 2^24. -EIO when a launch is refused. */
int fixed_base_bn254_g1(const void *table, unsigned width, const void *scalars, uint32_t count,
                        void *scratch, void *ret_points, void *stream);
int fixed_base_bn254_g2(const void *table, unsigned width, const void *scalars, uint32_t count,
                        void *scratch, void *ret_points, void *stream);
int fixed_base_bls12_381_g1(const void *table, unsigned width, const void *scalars, uint32_t count,
                            void *scratch, void *ret_points, void *stream);
int fixed_base_bls12_381_g2(const void *table, unsigned width, const void *scalars, uint32_t count,
                            void *scratch, void *ret_points, void *stream);

#ifdef __cplusplus
}
#endif
