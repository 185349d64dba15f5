/* The rows of a constraint matrix times a witness, on the device: a = A w and b = B w of a proof.
 * Called like msm.h: memory is the caller's, work goes to the caller's stream, nothing here
 * allocates or waits.
 *
 * The matrix is the prepared key's own (groth16/key/matrix.h), its arrays copied to the device as
 * they are. Rows of very different lengths cost what their entries cost. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EVALUATE_BLOCKS_MAX = 4096, /* each leaves the sum of a row that it did not finish */
};

static inline size_t evaluate_scratch_bytes(void)
{
    return EVALUATE_BLOCKS_MAX * (CURVE_FR_BYTES + sizeof(uint64_t));
}

/* Rows [row_begin, row_end) into ret_values[row_begin ..] (fr, Montgomery form). `matrix` holds
 * device pointers: row_begin[0 .. row_count], and column and coefficient arrays that are indexed
 * from `entry_base`: element 0 of them is entry `entry_base` of the matrix, so that a matrix may
 * pass through the device in pieces. Rows at and past matrix->row_count give zero. Witness values
 * are plain, variable_count of them; a column or coefficient index out of range reads nothing and
 * counts as zero. `scratch` (evaluate_scratch_bytes()) serves one call at a time; calls on one
 * stream may share it. Witness, dictionary, values and scratch are 16-byte aligned. Negative errno
 * when a launch is refused. */
int evaluate_rows(enum curve_id curve, const struct matrix *matrix, uint64_t entry_base,
                  const void *witness, uint32_t variable_count, uint64_t row_begin,
                  uint64_t row_end, void *ret_values, void *scratch, void *stream);

#ifdef __cplusplus
}
#endif
