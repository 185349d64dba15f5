/* Rows to compressed matrices. */
#include "filecoin/record.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/check.h"

static int reserve(struct record_matrix *matrix, uint64_t count)
{
    const uint64_t wanted = matrix->entry_count + count;
    uint64_t capacity = matrix->entry_capacity ? matrix->entry_capacity : 4096;
    uint32_t *column;
    uint16_t *coefficient;

    if (wanted <= matrix->entry_capacity)
        return 0;
    while (capacity < wanted)
        capacity += capacity / 2;
    column = realloc(matrix->column, capacity * sizeof *column);
    if (!column)
        return -ENOMEM;
    matrix->column = column;
    coefficient = realloc(matrix->coefficient, capacity * sizeof *coefficient);
    if (!coefficient)
        return -ENOMEM;
    matrix->coefficient = coefficient;
    matrix->entry_capacity = capacity;
    return 0;
}

static void append(struct record *record, unsigned number, const struct cs_term *terms,
                   uint32_t count)
{
    struct record_matrix *matrix = &record->matrix[number];
    const uint32_t input_count = record->size.input_count;

    record->error = reserve(matrix, count);
    for (uint32_t i = 0; i < count && record->error == 0; i++) {
        const cs_var var = terms[i].var;

        if (terms[i].coefficient >= RECORD_COEFFICIENTS_MAX)
            record->error = -EOVERFLOW;
        matrix->column[matrix->entry_count] = var & CS_AUX ? input_count + (var ^ CS_AUX) : var;
        matrix->coefficient[matrix->entry_count++] = (uint16_t)terms[i].coefficient;
    }
    matrix->row_begin[record->row_count + 1] = matrix->entry_count;
}

static void on_row(struct cs_sink *sink, const struct cs_row *row)
{
    struct record *record = (struct record *)sink;

    CHECK(record->row_count < record->size.row_count);
    for (unsigned i = 0; i < (record->has_c ? 3u : 2u) && record->error == 0; i++)
        append(record, i, row->terms[i], row->count[i]);
    record->row_count++;
}

static void trim(struct record_matrix *matrix)
{
    const uint64_t count = matrix->entry_count ? matrix->entry_count : 1;
    uint32_t *column = realloc(matrix->column, count * sizeof *column);
    uint16_t *coefficient = realloc(matrix->coefficient, count * sizeof *coefficient);

    if (column)
        matrix->column = column;
    if (coefficient)
        matrix->coefficient = coefficient;
}

int record_circuit(struct record *ret, const struct circuit *circuit, bool has_c)
{
    struct record record = {.sink.on_row = on_row, .has_c = has_c};
    struct cs cs = {0};
    int error = circuit_measure(circuit, &record.size);

    if (error == 0)
        error = cs_dictionary_init(&record.dictionary);
    for (unsigned i = 0; i < 3 && error == 0; i++) {
        record.matrix[i].row_begin =
            calloc(i < 2 || has_c ? record.size.row_count + 1 : 1, sizeof(uint64_t));
        if (!record.matrix[i].row_begin)
            error = -ENOMEM;
    }
    if (error == 0) {
        cs_init_blank(&cs, &record.sink, &record.dictionary);
        error = circuit_synthesize(&cs, circuit, NULL, NULL);
    }
    cs_destroy(&cs);
    if (error == 0)
        error = record.error;
    if (error != 0) {
        record_destroy(&record);
        return error;
    }
    CHECK(record.row_count == record.size.row_count);
    for (unsigned i = 0; i < 3; i++)
        trim(&record.matrix[i]);
    *ret = record;
    return 0;
}

void record_destroy(struct record *record)
{
    for (unsigned i = 0; i < 3; i++) {
        free(record->matrix[i].row_begin);
        free(record->matrix[i].column);
        free(record->matrix[i].coefficient);
    }
    dictionary_destroy(&record->dictionary);
    *record = (struct record){0};
}

/* Coefficients as they stand in keys, R^2 times the plain value. */
static fr *scaled_dictionary(const struct dictionary *from)
{
    const fr *plain = (const fr *)from->values;
    fr *scaled = calloc(from->count, sizeof *scaled);

    for (uint32_t i = 0; scaled && i < from->count; i++) {
        bls12_381_fr_from_plain(&scaled[i], &plain[i]);
        bls12_381_fr_from_plain(&scaled[i], &scaled[i]);
    }
    return scaled;
}

int record_matrices(const struct record *record, struct matrix ret[3])
{
    fr *dictionary = scaled_dictionary(&record->dictionary);
    struct matrix matrices[3] = {{0}};

    matrices[0].dictionary = (const uint64_t *)dictionary;
    for (unsigned n = 0; n < 3; n++) {
        const struct record_matrix *from = &record->matrix[n];
        uint32_t *coefficient = malloc((from->entry_count + 1) * sizeof *coefficient);

        matrices[n] = (struct matrix){.row_count = record->size.row_count,
                                      .entry_count = from->entry_count,
                                      .row_begin = from->row_begin,
                                      .column = from->column,
                                      .coefficient = coefficient,
                                      .dictionary = (const uint64_t *)dictionary,
                                      .dictionary_count = record->dictionary.count};
        if (!coefficient || !dictionary) {
            record_matrices_release(matrices);
            return -ENOMEM;
        }
        for (uint64_t i = 0; i < from->entry_count; i++)
            coefficient[i] = from->coefficient[i];
    }
    matrices[2].row_count = record->has_c ? record->size.row_count - record->size.input_count : 0;
    memcpy(ret, matrices, sizeof matrices);
    return 0;
}

void record_matrices_release(struct matrix matrices[3])
{
    free((void *)matrices[0].dictionary);
    for (unsigned n = 0; n < 3; n++) {
        free((void *)matrices[n].coefficient);
        matrices[n] = (struct matrix){0};
    }
}
