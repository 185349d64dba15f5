/* Sums of many lists of points at once, as trees of batched affine additions. Each thread of an
 * MSM has one adder; it hands pairs to the kernel in batches large enough to share an inversion. */
#pragma once

#include "groth16/msm/kernel.h"

struct adder {
    const struct msm_kernel *kernel;
    uint8_t *arena;         /* results, in order of their making */
    size_t used, capacity;  /* points */
    size_t pending;         /* results at the end of `used` that are promised, not yet computed */
    struct msm_pair *pairs; /* the pending ones */
    void *scratch;
    void *memory;
};

/* Room for `capacity` additions between resets. -ENOMEM, or 0. */
int adder_init(struct adder *adder, const struct msm_kernel *kernel, size_t capacity);
void adder_destroy(struct adder *adder);
/* Forgets all results. */
void adder_reset(struct adder *adder);

/* Computes what is pending. */
void adder_flush(struct adder *adder);

/* The sum of two points, of which either may be 0 (no point). The result's address is final but
 * the point itself is there only after adder_flush. Negative references are resolved only by an
 * addition: a single negative point is returned as it came. */
static inline msm_reference adder_sum(struct adder *adder, msm_reference a, msm_reference b)
{
    if (a == 0 || b == 0)
        return a | b;
    if (adder->pending == MSM_BATCH_PAIRS)
        adder_flush(adder);
    adder->pairs[adder->pending++] = (struct msm_pair){a, b};
    return (msm_reference)(adder->arena + adder->used++ * adder->kernel->point_bytes);
}

/* Lists of points that lie one behind the other in items[]; lengths[i] items each. */
struct adder_lists {
    msm_reference *items;
    uint32_t *lengths;
    size_t item_count, count;
};

/* Appends an item to the last list, or an empty list. The caller made room. */
static inline void adder_lists_push(struct adder_lists *lists, msm_reference item)
{
    lists->items[lists->item_count++] = item;
    lists->lengths[lists->count - 1]++;
}

static inline void adder_lists_open(struct adder_lists *lists)
{
    lists->lengths[lists->count++] = 0;
}

/* Adds neighbours in every list; items[] closes up. Returns the longest length left. The items are
 * there after adder_flush, which must come before they are added again. */
uint32_t adder_halve_lists(struct adder *adder, struct adder_lists *lists);
