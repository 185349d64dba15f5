/* From the coefficients of a .zkey, in any order, to rows: two passes of a counting sort over the
 * section. Used by prepared_write; one thread. */
#pragma once

#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/dictionary.h"
#include "groth16/key/matrix.h"
#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"
#include "groth16/key/zkey.h"

/* Rows of one matrix, growing or complete; owns its arrays. */
struct matrix_rows {
    uint64_t *row_begin; /* row_count + 1 */
    uint32_t *column, *coefficient;
    uint64_t entry_count, entry_capacity;
};

struct matrix_builder {
    const struct curve *curve;
    struct dictionary dictionary; /* shared by all three; 0 is 1, 1 is -1 */
    uint32_t row_count;           /* of A and B */
    uint32_t constraint_count;    /* rows of C, when there is one */
    struct matrix_rows a, b, c;
    uint64_t one_scaled[4]; /* R^2 mod r: coefficient 1 as it is stored */
};

/* How far the reading is, in bytes of input; shared by all steps of prepared_write. */
struct matrix_progress {
    const struct prepared_progress *progress; /* may be NULL */
    uint64_t done_bytes, total_bytes;
    uint64_t reported_bytes;
};

/* Adds bytes; reports once in some MiB. -ECANCELED when the receiver cancels. */
int matrix_progress_add(struct matrix_progress *progress, uint64_t bytes);

/* Fills dictionary, A and B. On failure the object still wants matrix_builder_destroy. -EBADMSG,
 * -ENOMEM, -ECANCELED. */
int matrix_builder_read(struct matrix_builder *builder, const struct zkey *zkey,
                        struct matrix_progress *progress, struct reason *reason);
/* Accepts a zeroed object. */
void matrix_builder_destroy(struct matrix_builder *builder);

/* Appends one entry at the end of growing rows. -ENOMEM. */
int matrix_rows_append(struct matrix_rows *rows, uint32_t column, uint32_t coefficient);

/* R^2 mod r, R = 2^256, by doubling 1: what coefficient 1 is in a .zkey and in a dictionary. */
void matrix_builder_one_scaled(const struct curve *curve, uint64_t ret[4]);
