/* Number-theoretic transforms and the quotient of a proof on the device, on the scalar fields of
 * both curves. Called like msm.h: memory is the caller's, work goes to the caller's stream, nothing
 * here allocates or waits.
 *
 *   natural order ──► transform_down ──► bit-reversed order ──► transform_up ──► natural order
 *
 * Nothing is ever permuted. Both directions use one table T, T[k] = w^{rev(k)}, of which every
 * domain uses a prefix: half as many values as the domain has, 16 bytes for each of these. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TRANSFORM_LOG2_MAX = 27,
    TRANSFORM_BATCH_MAX = 3, /* a, b and c of a proof */
};

static inline size_t transform_table_bytes(unsigned log2_max)
{
    return (size_t)CURVE_FR_BYTES << (log2_max ? log2_max - 1 : 0);
}

/* -EINVAL: log2_max too large. */
int transform_fill_table(enum curve_id curve, unsigned log2_max, void *ret_table, void *stream);

/* `count` transforms of 2^log2 fr each, in place, in one launch a pass. inverse: with 1/w and the
 * factor 1/n. The table covers log2 or more. */
int transform_down(enum curve_id curve, const void *table, unsigned log2, bool inverse,
                   void *const *values, unsigned count, void *stream);
int transform_up(enum curve_id curve, const void *table, unsigned log2, bool inverse,
                 void *const *values, unsigned count, void *stream);

/* As curve.h's `quotient`: a and b (2^log2 fr) are overwritten, ret_scalars (2^log2 scalars) is
 * ready for the sum with H. The table covers log2 or more. Domains below the
 * largest of the field only, so 2^27 on BN254: for 2^28 a snarkjs key takes another coset, since
 * there is no root of order 2^29, and its powers are not in T. -EINVAL beyond. */
int transform_quotient(enum curve_id curve, const void *table, unsigned log2, void *a, void *b,
                       void *ret_scalars, void *stream);

#ifdef __cplusplus
}
#endif
