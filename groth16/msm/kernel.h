/* What the multi-scalar multiplication (msm.h) needs from a group: additions of many independent
 * pairs of affine points, and the few doublings at the end. One kernel per group and instruction
 * set. Pure functions, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The address of an affine point (all zero for infinity), with bit 0 set for its negative; 0 is
 * no point at all. Points are at least 8-byte aligned. */
typedef uintptr_t msm_reference;

struct msm_pair {
    msm_reference a, b;
};

enum {
    /* Pairs that share an inversion. An inversion costs some 100 additions (vectorised), so it
     * should be thousands; the working set of a batch should stay in the second-level cache. */
    MSM_BATCH_PAIRS = 2048,
    MSM_ALIGN = 64,
    MSM_POINT_BYTES_MAX = 192,
};

struct msm_kernel {
    size_t point_bytes;     /* of an affine point */
    size_t sum_bytes;       /* of the opaque sums below */
    size_t scratch_bytes;   /* for a batch of MSM_BATCH_PAIRS */
    const uint64_t *order;  /* of the group, 4 limbs */
    double add_ns, fold_ns; /* an addition in a full batch; a step of fold_bits: for the plan */

    /* ret[i] = a + b of pairs[i], for i < count <= MSM_BATCH_PAIRS. ret is MSM_ALIGNed, and so is
     * scratch; ret overlaps no input. Equal, opposite and infinite points are allowed. Coordinates
     * of the results may be up to 2 p, for add_pairs and fold_bits only: not canonical. */
    void (*add_pairs)(const struct msm_pair *pairs, size_t count, void *ret, void *scratch);
    /* ret_sum = extra + sum of 2^i bits[i], i < count. */
    void (*fold_bits)(const msm_reference *bits, unsigned count, msm_reference extra,
                      void *ret_sum);
    /* ret_point = sum of 2^(i bits) sums[i], i < count, affine and canonical. */
    void (*fold_windows)(const void *sums, unsigned count, unsigned bits, void *ret_point);
};
