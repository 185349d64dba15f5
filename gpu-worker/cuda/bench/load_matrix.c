/* Constraint matrices for the device bench and tests (load_matrix.h). */

#include "gpu-worker/cuda/bench/load_matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-worker/cuda/bench/load.h"

enum {
    ENTRIES_EACH = 3,
    NEAR = 1024, /* wires around a row's own */
};

const char *load_rows_to_string(enum load_rows kind)
{
    static const char *const names[LOAD_ROWS_COUNT] = {"even", "far", "skewed", "one row"};

    return names[kind];
}

static size_t row_length(enum load_rows kind, uint64_t *state, size_t row, size_t row_count)
{
    size_t even = load_random(state) % (2 * ENTRIES_EACH + 1);

    if (kind == LOAD_ROWS_ONE_ROW)
        return row == row_count / 3 ? ENTRIES_EACH * row_count : 0;
    if (kind != LOAD_ROWS_SKEWED)
        return even;
    if (row == row_count / 2)
        return row_count;
    if (load_random(state) % 4096 == 0)
        return load_random(state) % 4096;
    return row % 1024 < 300 ? 0 : even;
}

static void fill_entries(enum load_rows kind, uint64_t *state, uint32_t variable_count,
                         struct matrix *matrix, uint32_t *column, uint32_t *coefficient)
{
    for (size_t row = 0; row < matrix->row_count; row++) {
        size_t own = row * (size_t)variable_count / matrix->row_count;

        for (uint64_t i = matrix->row_begin[row]; i < matrix->row_begin[row + 1]; i++) {
            uint64_t random = load_random(state);
            bool is_near = kind == LOAD_ROWS_EVEN && random % 8 != 0;

            random >>= 3;
            column[i] = (uint32_t)((is_near ? own + random % NEAR : random) % variable_count);
            random = load_random(state);
            coefficient[i] =
                (uint32_t)(random % 5 ? random & 1 : random % matrix->dictionary_count);
        }
    }
}

/* Entries 0 and 1 are R^2 and -R^2; the others are random. */
static void fill_dictionary(const struct curve *curve, uint64_t *state, size_t count,
                            uint64_t *ret_dictionary)
{
    uint64_t r[4] = {1}, borrow = 0;

    load_scalars(curve, LOAD_UNIFORM, load_random(state), count, ret_dictionary);
    /* 2^512 mod r by doublings, as products with 2. */
    for (int i = 0; i < 512; i++) {
        static const uint64_t two[4] = {2};

        curve->scalar_mul(r, r, two);
    }
    memcpy(ret_dictionary, r, sizeof r);
    for (int i = 0; i < 4; i++) {
        unsigned __int128 t = (unsigned __int128)curve->fr_modulus[i] - r[i] - borrow;

        ret_dictionary[4 + i] = (uint64_t)t;
        borrow = (uint64_t)(t >> 64) & 1;
    }
}

int load_matrix(const struct curve *curve, enum load_rows kind, uint64_t seed, size_t row_count,
                uint32_t variable_count, size_t dictionary_count, struct matrix *ret_matrix)
{
    uint64_t state = seed, *row_begin = calloc(row_count + 1, sizeof *row_begin);
    uint64_t *dictionary = malloc(CURVE_FR_BYTES * dictionary_count);
    uint32_t *column = NULL, *coefficient = NULL;

    if (row_begin) {
        for (size_t row = 0; row < row_count; row++)
            row_begin[row + 1] = row_begin[row] + row_length(kind, &state, row, row_count);
        column = malloc(sizeof *column * (row_begin[row_count] + 1));
        coefficient = malloc(sizeof *coefficient * (row_begin[row_count] + 1));
    }
    if (!dictionary || !column || !coefficient) {
        free(row_begin);
        free(dictionary);
        free(column);
        free(coefficient);
        return -ENOMEM;
    }
    *ret_matrix = (struct matrix){.row_count = row_count,
                                  .entry_count = row_begin[row_count],
                                  .row_begin = row_begin,
                                  .column = column,
                                  .coefficient = coefficient,
                                  .dictionary = dictionary,
                                  .dictionary_count = dictionary_count};
    fill_entries(kind, &state, variable_count, ret_matrix, column, coefficient);
    fill_dictionary(curve, &state, dictionary_count, dictionary);
    return 0;
}

void load_matrix_free(struct matrix *matrix)
{
    free((void *)matrix->row_begin);
    free((void *)matrix->column);
    free((void *)matrix->coefficient);
    free((void *)matrix->dictionary);
    *matrix = (struct matrix){0};
}
