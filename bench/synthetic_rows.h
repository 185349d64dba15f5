/* The shape of made circuits, shared by synthetic.c and synthetic_witness.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/synthetic.h"

enum {
    SYNTHETIC_BLOCK = 4096, /* constraints a task */
    SYNTHETIC_WIRE_PUBLIC = 1,
    SYNTHETIC_WIRE_FIRST = 2, /* of constraint 0 */
    SYNTHETIC_SHA_BITS = 32,
    SYNTHETIC_SHA_WIRES = 64,
    SYNTHETIC_TERMS_MAX = 32,
    /* Numbers in the dictionary. */
    SYNTHETIC_ONE = 0,
    SYNTHETIC_MINUS_ONE = 1,
};

struct synthetic_row {
    struct synthetic_terms {
        uint32_t count, wire[SYNTHETIC_TERMS_MAX], coefficient[SYNTHETIC_TERMS_MAX];
    } terms[3]; /* A, B, C */
};

void synthetic_row(enum synthetic_kind kind, uint32_t constraint, struct synthetic_row *ret);

static inline uint32_t synthetic_power_of_two(uint32_t log2)
{
    return log2 == 0 ? SYNTHETIC_ONE : log2 + 1;
}

static inline uint32_t synthetic_constraint_count(const struct synthetic *synthetic)
{
    return (UINT32_C(1) << synthetic->log2) - 2; /* the constant 1 and wire 1 have a row each */
}

static inline size_t synthetic_block_count(uint32_t constraint_count)
{
    return ((size_t)constraint_count + SYNTHETIC_BLOCK - 1) / SYNTHETIC_BLOCK;
}

static inline uint32_t synthetic_block_end(uint32_t constraint_count, size_t block)
{
    size_t end = (block + 1) * SYNTHETIC_BLOCK;

    return end < constraint_count ? (uint32_t)end : constraint_count;
}
