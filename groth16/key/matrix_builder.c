/* Counting sort of section 4 into rows. Below: zkey_read_coefficients, which has checked every
 * entry; above: prepared_write. */
#include "groth16/key/matrix_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/field/limbs.h"

enum {
    PROGRESS_STEP_BYTES = 8 << 20,
};

/* State of both passes. */
struct pass {
    struct matrix_builder *builder;
    struct matrix_progress *progress;
    struct reason *reason;
    uint64_t *next[2]; /* second pass: where the next entry of each row goes */
    uint32_t row_end;  /* one more than the largest row seen */
};

int matrix_progress_add(struct matrix_progress *progress, uint64_t bytes)
{
    progress->done_bytes += bytes;
    if (!progress->progress ||
        progress->done_bytes - progress->reported_bytes < PROGRESS_STEP_BYTES)
        return 0;
    progress->reported_bytes = progress->done_bytes;
    return progress->progress->report(progress->progress->context, progress->done_bytes,
                                      progress->total_bytes) < 0
               ? -ECANCELED
               : 0;
}

void matrix_builder_one_scaled(const struct curve *curve, uint64_t ret[4])
{
    uint64_t value[4] = {1};

    for (int i = 0; i < 2 * 256; i++)
        limbs_mod_add(value, value, value, curve->fr_modulus, 4);
    memcpy(ret, value, sizeof value);
}

static struct matrix_rows *rows_of(struct matrix_builder *builder, uint32_t matrix)
{
    return matrix == 0 ? &builder->a : &builder->b;
}

/* First pass: row_begin[row + 1] counts. */
static int count_entry(void *context, const struct zkey_coefficient *entry)
{
    struct pass *pass = context;
    struct matrix_rows *rows = rows_of(pass->builder, entry->matrix);

    rows->row_begin[entry->constraint + 1]++;
    rows->entry_count++;
    if (entry->constraint >= pass->row_end)
        pass->row_end = entry->constraint + 1;
    return matrix_progress_add(pass->progress, ZKEY_COEFFICIENT_BYTES);
}

/* Second pass. The file may have changed since the first, so a row may not outgrow its count. */
static int place_entry(void *context, const struct zkey_coefficient *entry)
{
    struct pass *pass = context;
    struct matrix_rows *rows = rows_of(pass->builder, entry->matrix);
    uint64_t at;
    uint32_t number;
    int error;

    if (entry->constraint >= pass->builder->row_count ||
        pass->next[entry->matrix][entry->constraint] == rows->row_begin[entry->constraint + 1])
        return reason_set(pass->reason, -EBADMSG,
                          "section 4 (coefficients) changed while it was read: leave the key file "
                          "alone and try again");
    error = dictionary_number(&pass->builder->dictionary, entry->value, &number);
    if (error)
        return reason_set(pass->reason, error, "no memory for the distinct coefficients");
    at = pass->next[entry->matrix][entry->constraint]++;
    rows->column[at] = entry->signal;
    rows->coefficient[at] = number;
    return matrix_progress_add(pass->progress, ZKEY_COEFFICIENT_BYTES);
}

static int allocate_entries(struct matrix_rows *rows)
{
    rows->entry_capacity = rows->entry_count;
    rows->column = calloc(rows->entry_count + 1, sizeof rows->column[0]);
    rows->coefficient = calloc(rows->entry_count + 1, sizeof rows->coefficient[0]);
    return rows->column && rows->coefficient ? 0 : -ENOMEM;
}

static int start_dictionary(struct matrix_builder *builder)
{
    static const uint64_t zero[4];
    uint64_t minus_one[4];
    uint32_t number;
    int error = dictionary_init(&builder->dictionary);

    matrix_builder_one_scaled(builder->curve, builder->one_scaled);
    limbs_mod_sub(minus_one, zero, builder->one_scaled, builder->curve->fr_modulus, 4);
    if (error == 0)
        error = dictionary_number(&builder->dictionary, builder->one_scaled, &number);
    if (error == 0)
        error = dictionary_number(&builder->dictionary, minus_one, &number);
    return error;
}

/* Between the passes: counts become offsets. */
static int turn_counts(struct matrix_builder *builder, struct pass *pass)
{
    struct matrix_rows *const both[2] = {&builder->a, &builder->b};

    builder->row_count = pass->row_end;
    for (int m = 0; m < 2; m++) {
        uint64_t *begin = both[m]->row_begin;

        for (uint32_t row = 0; row < builder->row_count; row++)
            begin[row + 1] += begin[row];
        if (allocate_entries(both[m]) != 0)
            return -ENOMEM;
        pass->next[m] = malloc(((size_t)builder->row_count + 1) * sizeof begin[0]);
        if (!pass->next[m])
            return -ENOMEM;
        memcpy(pass->next[m], begin, ((size_t)builder->row_count + 1) * sizeof begin[0]);
    }
    return 0;
}

/* Sizes: 2^domain_log2 was compared with the bytes of H, and the entries with those of section 4,
 * so no allocation here is much larger than the file. */
int matrix_builder_read(struct matrix_builder *builder, const struct zkey *zkey,
                        struct matrix_progress *progress, struct reason *reason)
{
    struct pass pass = {.builder = builder, .progress = progress, .reason = reason};
    size_t domain = (size_t)1 << zkey->domain_log2;
    int error;

    memset(builder, 0, sizeof *builder);
    builder->curve = zkey->curve;
    builder->a.row_begin = calloc(domain + 1, sizeof builder->a.row_begin[0]);
    builder->b.row_begin = calloc(domain + 1, sizeof builder->b.row_begin[0]);
    error = start_dictionary(builder);
    if (error || !builder->a.row_begin || !builder->b.row_begin)
        return reason_set(reason, -ENOMEM, "no memory for the matrices");
    error = zkey_read_coefficients(zkey, count_entry, &pass, reason);
    if (error)
        return error;
    error = turn_counts(builder, &pass);
    if (error)
        reason_set(reason, error, "no memory for the matrices of %u entries",
                   zkey->coefficient_count);
    else
        error = zkey_read_coefficients(zkey, place_entry, &pass, reason);
    free(pass.next[0]);
    free(pass.next[1]);
    if (error == 0 && builder->row_count > zkey->public_count)
        builder->constraint_count = builder->row_count - zkey->public_count - 1;
    return error;
}

static void destroy_rows(struct matrix_rows *rows)
{
    free(rows->row_begin);
    free(rows->column);
    free(rows->coefficient);
}

void matrix_builder_destroy(struct matrix_builder *builder)
{
    destroy_rows(&builder->a);
    destroy_rows(&builder->b);
    destroy_rows(&builder->c);
    dictionary_destroy(&builder->dictionary);
    memset(builder, 0, sizeof *builder);
}

int matrix_rows_append(struct matrix_rows *rows, uint32_t column, uint32_t coefficient)
{
    if (rows->entry_count == rows->entry_capacity) {
        uint64_t capacity = 2 * rows->entry_capacity + 1024;
        uint32_t *columns = realloc(rows->column, capacity * sizeof columns[0]);
        uint32_t *coefficients;

        if (!columns)
            return -ENOMEM;
        rows->column = columns;
        coefficients = realloc(rows->coefficient, capacity * sizeof coefficients[0]);
        if (!coefficients)
            return -ENOMEM;
        rows->coefficient = coefficients;
        rows->entry_capacity = capacity;
    }
    rows->column[rows->entry_count] = column;
    rows->coefficient[rows->entry_count++] = coefficient;
    return 0;
}
