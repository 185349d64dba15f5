/* The five sums of a proof as they travel: the prover computes them from the slab, the supervisor
 * passes them on unread, the finalizer assembles the proof (assemble.h). One after the other in
 * this order, affine, in the encoding of groth16/curve/curve.h. */
#pragma once

#include <stddef.h>

#include "groth16/curve/curve.h"

enum sums_point {
    SUMS_A,
    SUMS_B1,
    SUMS_B2, /* in G2, the others in G1 */
    SUMS_L,
    SUMS_H,
    SUMS_COUNT,
};

enum {
    SUMS_BYTES_MAX = 4 * CURVE_G1_BYTES_MAX + CURVE_G2_BYTES_MAX,
};

static inline size_t sums_point_bytes(const struct curve *curve, enum sums_point point)
{
    return point == SUMS_B2 ? curve->g2_bytes : curve->g1_bytes;
}

/* Where a sum begins; of SUMS_COUNT: the bytes of all. */
static inline size_t sums_off(const struct curve *curve, enum sums_point point)
{
    size_t off = 0;

    for (int before = SUMS_A; before < (int)point; before++)
        off += sums_point_bytes(curve, (enum sums_point)before);
    return off;
}

static inline size_t sums_bytes(const struct curve *curve)
{
    return sums_off(curve, SUMS_COUNT);
}
