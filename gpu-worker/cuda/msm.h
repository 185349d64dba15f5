/* Sums of products of points by scalars on the device. Called by the CUDA backend (and by the bench
 * and the tests) on its one thread; nothing here allocates, waits or synchronises: memory is the
 * caller's, work goes to the caller's stream, results are ready when the stream gets there.
 *
 *   scalars ──► msm_plan ──► plan ──► msm_sum of A, of B1, of B2, of L, ... ──► points
 *
 * The plan holds the signed digits of all scalars sorted by bucket; it depends on scalars and shape
 * only and serves any number of base arrays, in G1 and G2. Zero digits are left out. A sum walks
 * the sorted list in pieces of equal length, one a thread (or pair of threads), whatever the
 * buckets' sizes: skewed scalars never cost more than uniform ones.
 *
 * Window w of a scalar has `window_bits` bits; there are `levels` tables of 2^(j sets window_bits)
 * P, j < levels, one after the other in the base array, and `sets` = ceil(windows / levels) sets of
 * buckets: window w uses table w / sets and set w mod sets. levels = 1: no tables.
 *
 * Base i belongs to scalar i in every array; a base that takes no part is infinity (L of the public
 * wires). Sums on several streams at once fill the gaps that the short ends of each leave.
 *
 * Scalars are plain integers of a caller that nobody checked: of values that are not below r the
 * sum means nothing, but no bucket and no base beyond the arrays is touched.
 *
 * Pippenger 1976; signed digits and the choice of -s for s > r / 2; sums over sorted lists. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MSM_WINDOW_BITS_MIN = 4,
    MSM_WINDOW_BITS_MAX = 24,
    MSM_BATCH_SLOTS = 128, /* the most */
};

struct msm_shape {
    enum curve_id curve;
    uint32_t count; /* scalars, >= 1; count * levels <= 2^31 */
    unsigned window_bits, levels;
    /* Derived by msm_shape_init. */
    unsigned windows, sets;
    uint32_t set_buckets;     /* 2^(window_bits - 1) */
    unsigned multiprocessors; /* of the current device */
    /* Affine additions of a worker that share an inversion. More are faster and need more scratch
     * memory: on an H200 with all slots 0.8 GiB in G1 of BN254, 0.6 GiB in G2 of BLS12-381, 0.4 GiB
     * in G2 of BN254, none in G1 of BLS12-381 and for small sums, which have no batches.
     * msm_shape_init says MSM_BATCH_SLOTS; a caller with little memory may set fewer before it asks
     * for the scratch of the sum, or 0 for no batches. The plan of a shape serves any number. */
    unsigned batch_slots;
};

/* A shape for `count` scalars with tables up to `levels_max` (1: none). window_bits 0: the best
 * known. -EINVAL for what cannot be, -ENODEV without a device. */
int msm_shape_init(struct msm_shape *ret_shape, enum curve_id curve, uint32_t count,
                   unsigned levels_max, unsigned window_bits);

/* Device bytes: of a plan (kept as long as it is used), of the scratch of one msm_plan call, of the
 * scratch of one msm_sum or msm_fill_table call, of a base array. Alignment 256. */
size_t msm_plan_bytes(const struct msm_shape *shape);
size_t msm_plan_scratch_bytes(const struct msm_shape *shape);
size_t msm_sum_scratch_bytes(const struct msm_shape *shape, bool is_g2);
size_t msm_bases_bytes(const struct msm_shape *shape, bool is_g2);

/* `stream` is a cudaStream_t. All pointers are device memory, 16-byte aligned. Scalars are plain
 * and < r, 32 bytes each. Negative errno when a launch is refused. */
int msm_plan(const struct msm_shape *shape, const void *scalars, void *ret_plan, void *scratch,
             void *stream);
/* bases: msm_bases_bytes, in the encoding of curve.h. ret_point: one affine point. */
int msm_sum(const struct msm_shape *shape, bool is_g2, const void *plan, const void *bases,
            void *scratch, void *ret_point, void *stream);
/* Fills table `level` (1 .. levels - 1) of a base array from the table before it. One call enqueues
 * no more launches than a stream takes without waiting. */
int msm_fill_table(const struct msm_shape *shape, bool is_g2, unsigned level, void *bases,
                   void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
