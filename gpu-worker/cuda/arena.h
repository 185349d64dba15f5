/* Ranges of one device allocation. Everything that the CUDA backend keeps on the card (keys,
 * tables, working memory) is a range of it, so that loading and dropping keys asks nothing of the
 * driver, which would wait for the card. Called by the driver thread and by the plan, which tries
 * things out on a copy. Pure: only addresses are computed. */
#pragma once

#include <stdint.h>

#include "gpu-worker/backend.h"

enum {
    ARENA_ALIGN = 256,
    /* A range a key, one of the workspace and one for what a load needs in passing. */
    ARENA_RANGES_MAX = BACKEND_KEYS_MAX + 2,
};

struct arena_range {
    uint64_t off, bytes;
};

struct arena {
    uint8_t *memory; /* device */
    uint64_t bytes;
    struct arena_range ranges[ARENA_RANGES_MAX]; /* by offset */
    unsigned count;
};

static inline uint64_t arena_align(uint64_t bytes)
{
    return (bytes + ARENA_ALIGN - 1) & ~(uint64_t)(ARENA_ALIGN - 1);
}

void arena_init(struct arena *arena, void *memory, uint64_t bytes);
/* The lowest place that fits, or the highest. Aligned to ARENA_ALIGN. -ENOMEM. */
int arena_take(struct arena *arena, uint64_t bytes, void **ret_memory);
int arena_take_high(struct arena *arena, uint64_t bytes, void **ret_memory);
/* NULL is ignored. */
void arena_give(struct arena *arena, void *memory);
/* Keeps the first `bytes` of a range. */
void arena_shrink(struct arena *arena, void *memory, uint64_t bytes);
/* Free in all, and in the largest piece. */
uint64_t arena_free_bytes(const struct arena *arena);
uint64_t arena_largest(const struct arena *arena);
