/* Where one partition's vectors lie in a slab. The same computation in the supervisor (ring sizes),
 * the synthesis worker (writes) and the GPU worker (reads): offsets, never pointers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    SLAB_LAYOUT_ALIGN = 4096,
    SLAB_LAYOUT_VALUE_BYTES = 32,
    SLAB_LAYOUT_DOMAIN_LOG2_MAX = 32,
};

struct slab_layout {
    uint64_t witness_off, witness_bytes; /* variable_count plain scalars */
    uint64_t a_off, b_off;               /* 2^domain_log2 fr each: A w and B w, zero-padded */
    uint64_t evaluation_bytes;           /* of a, and of b */
    uint64_t bytes;                      /* of the whole; a multiple of SLAB_LAYOUT_ALIGN */
};

static inline uint64_t slab_layout_align(uint64_t bytes)
{
    return (bytes + SLAB_LAYOUT_ALIGN - 1) & ~(uint64_t)(SLAB_LAYOUT_ALIGN - 1);
}

/* domain_log2 <= SLAB_LAYOUT_DOMAIN_LOG2_MAX; then nothing overflows. */
static inline struct slab_layout slab_layout_make(uint32_t variable_count, unsigned domain_log2)
{
    struct slab_layout layout = {0};
    layout.witness_bytes = (uint64_t)variable_count * SLAB_LAYOUT_VALUE_BYTES;
    layout.evaluation_bytes = (uint64_t)SLAB_LAYOUT_VALUE_BYTES << domain_log2;
    layout.a_off = slab_layout_align(layout.witness_bytes);
    layout.b_off = layout.a_off + slab_layout_align(layout.evaluation_bytes);
    layout.bytes = layout.b_off + slab_layout_align(layout.evaluation_bytes);
    return layout;
}

/* Bytes of the slab that a partition takes: without evaluations the witness alone. */
static inline uint64_t slab_layout_used_bytes(const struct slab_layout *layout,
                                              bool has_evaluations)
{
    return has_evaluations ? layout->bytes : layout->a_off;
}
