/* Trees of batched affine additions (see adder.h). Called by msm.c; calls the kernels. */

#include "groth16/msm/adder.h"

#include <errno.h>
#include <stdlib.h>

static size_t align_up(size_t bytes)
{
    return (bytes + MSM_ALIGN - 1) & ~(size_t)(MSM_ALIGN - 1);
}

int adder_init(struct adder *adder, const struct msm_kernel *kernel, size_t capacity)
{
    size_t arena_bytes = align_up(capacity * kernel->point_bytes);
    size_t pairs_bytes = align_up(MSM_BATCH_PAIRS * sizeof(struct msm_pair));
    uint8_t *memory =
        aligned_alloc(MSM_ALIGN, arena_bytes + pairs_bytes + align_up(kernel->scratch_bytes));

    if (!memory)
        return -ENOMEM;
    *adder = (struct adder){
        .kernel = kernel,
        .memory = memory,
        .arena = memory,
        .capacity = capacity,
        .pairs = (struct msm_pair *)(memory + arena_bytes),
        .scratch = memory + arena_bytes + pairs_bytes,
    };
    return 0;
}

void adder_destroy(struct adder *adder)
{
    free(adder->memory);
}

void adder_reset(struct adder *adder)
{
    adder->used = 0;
    adder->pending = 0;
}

void adder_flush(struct adder *adder)
{
    size_t first = adder->used - adder->pending;

    if (adder->pending > 0)
        adder->kernel->add_pairs(adder->pairs, adder->pending,
                                 adder->arena + first * adder->kernel->point_bytes, adder->scratch);
    adder->pending = 0;
}

uint32_t adder_halve_lists(struct adder *adder, struct adder_lists *lists)
{
    const msm_reference *from = lists->items;
    msm_reference *to = lists->items;
    uint32_t longest = 0;

    for (size_t i = 0; i < lists->count; i++) {
        uint32_t length = lists->lengths[i], half = length / 2;

        for (uint32_t j = 0; j < half; j++, from += 2)
            *to++ = adder_sum(adder, from[0], from[1]);
        if (length & 1)
            *to++ = *from++;
        lists->lengths[i] = half + (length & 1);
        if (lists->lengths[i] > longest)
            longest = lists->lengths[i];
    }
    lists->item_count = (size_t)(to - lists->items);
    return longest;
}
