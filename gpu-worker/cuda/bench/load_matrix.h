/* Constraint matrices as circuits have them, and worse, for the device bench and tests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/matrix.h"

enum load_rows {
    LOAD_ROWS_EVEN,    /* 0 to 6 entries, wires near the row's */
    LOAD_ROWS_FAR,     /* the same, any wire */
    LOAD_ROWS_SKEWED,  /* mostly 0 to 6; a few long ones; one has over a quarter of all entries */
    LOAD_ROWS_ONE_ROW, /* all entries in one row, the others are empty */
    LOAD_ROWS_COUNT,
};

const char *load_rows_to_string(enum load_rows kind);

/* About three entries a row over `variable_count` wires; four in five coefficients are 1 or -1.
 * -ENOMEM. load_matrix_free accepts a zeroed one. */
int load_matrix(const struct curve *curve, enum load_rows kind, uint64_t seed, size_t row_count,
                uint32_t variable_count, size_t dictionary_count, struct matrix *ret_matrix);
void load_matrix_free(struct matrix *matrix);
