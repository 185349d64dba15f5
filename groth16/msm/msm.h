/* Multi-scalar multiplication: the sum of scalars[i] points[i], for any group that has a kernel.
 * Called by the entries msm_g1 and msm_g2 of `struct curve` on the pool's owner thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pool;
struct msm_kernel;

/* Points affine, scalars plain and reduced, both only read; ret_point affine and canonical.
 * Returns 0, or -ENOMEM with ret_point untouched. Memory: for 2^17 elements some 30 MiB, for 2^22
 * and more some 300 MiB, freed before the return. */
int msm_run(struct pool *pool, const struct msm_kernel *kernel, const void *points,
            const uint64_t *scalars, size_t count, void *ret_point);
