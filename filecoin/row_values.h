/* A sink that evaluates rows as they are made, from the values of the same run: witness, A w and B
 * w in one pass. Called by synthesis and tests. */
#pragma once

#include "filecoin/cs.h"

struct row_values {
    struct cs_sink sink; /* first */
    const struct cs *cs; /* borrowed; has values */
    fr *a, *b;           /* borrowed, row_capacity each; Montgomery form, or plain */
    uint64_t row_capacity, row_count;
    bool is_plain;
    uint64_t broken_count; /* rows with A w * B w != C w; the first one is kept */
    uint64_t broken_first;
    fr *mont; /* the dictionary in Montgomery form, as far as it was needed */
    uint32_t mont_count, mont_capacity;
    int error;
};

/* cs is initialised afterwards, with this sink. */
void row_values_init(struct row_values *values, const struct cs *cs, fr *a, fr *b,
                     uint64_t row_capacity);
/* Accepts a zeroed object. */
void row_values_destroy(struct row_values *values);
