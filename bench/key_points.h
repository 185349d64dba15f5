/* Who multiplies the generators for make_key: the CPU (key_points_cpu.c), or the GPU in the program
 * that links CUDA (gpu-worker/cuda/bench/key_points_gpu.c). Both give the same bytes. One thread
 * calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bench/scalar.h"
#include "groth16/key/reason.h"

struct pool;

struct key_points_maker {
    const char *name; /* "CPU" or "GPU" */
    /* For about so many multiplications in G1 and G2. A maker of its own type, for destroy. */
    int (*create)(const struct curve *curve, size_t g1_count, size_t g2_count, struct pool *pool,
                  void **ret, struct reason *reason);
    /* Accepts NULL. */
    void (*destroy)(void *maker);
    /* ret_points[i] = scalars[i] * generator in the encoding of curve.h; ret_points is 8-byte
     * aligned. Blocking. */
    int (*multiply)(void *maker, bool is_g2, const struct scalar *scalars, size_t count,
                    void *ret_points, struct reason *reason);
};

extern const struct key_points_maker key_points_cpu;
