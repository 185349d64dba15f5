/* What a prepared key is made of, whatever file it comes from: the reader of that file fills one of
 * these and calls prepared_write_source. Everything is borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/matrix.h"
#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"

/* A circuit as it was read or recorded: indices in range, the dictionary one for all three. */
struct prepared_circuit {
    const struct curve *curve;
    uint32_t variable_count;   /* wires, with the constant 1 */
    uint32_t public_count;     /* without the constant 1 */
    uint32_t constraint_count; /* without input-consistency rows, which A and B end with */
    unsigned domain_log2;
    struct matrix a, b;
    struct matrix c; /* constraint_count rows */
    bool has_c;
};

/* The smallest domain for `row_count` rows; at least 2^1. */
static inline unsigned prepared_domain_log2(size_t row_count)
{
    unsigned log2 = 1;

    while (row_count > (size_t)1 << log2)
        log2++;
    return log2;
}

/* Takes whole points in the encoding of curve.h, in order. Negative: ends it and is passed on. */
typedef int prepared_sink(void *context, const void *points, size_t bytes);

struct prepared_source {
    enum prepared_layout layout;
    const struct prepared_circuit *circuit;
    /* Checked: reduced, on the curve, in the subgroup, not at infinity. */
    const void *alpha_g1, *beta_g1, *delta_g1, *beta_g2, *gamma_g2, *delta_g2;
    const void *ic; /* public_count + 1 G1, checked */
    /* In the bellman layout, with ranks; a point each in A, and in B1 and B2. */
    struct density a_density, b_density;
    /* Streams PREPARED_A, B1, B2, L or H, every point checked, exactly as many as the image has. */
    int (*read_points)(void *context, enum prepared_section section, struct pool *pool,
                       prepared_sink *sink, void *sink_context, struct reason *reason);
    void *context;
    /* Bytes of input that were read before, for progress, and that will be in all. */
    uint64_t done_bytes, total_bytes;
};
