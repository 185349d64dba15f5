/* Two passes over the bytes: rows are counted, then kept. */
#include "bench/row_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERM_BYTES = 4 + 32,
};

#define AUX_BIT UINT32_C(0x80000000)

struct row_stream {
    const uint8_t *bytes;
    size_t count, off;
    uint32_t input_count, aux_count;
    struct constraints *constraints; /* NULL: rows are only counted */
    struct reason *reason;
};

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t value;

    memcpy(&value, p, sizeof value);
    return value;
}

static int refuse(const struct row_stream *stream, const char *what)
{
    return reason_set(stream->reason, -EBADMSG, "rows: %s at byte %zu", what, stream->off);
}

static int keep_term(struct row_stream *stream, struct matrix_rows *rows, uint32_t variable)
{
    struct constraints *constraints = stream->constraints;
    uint64_t value[4];
    uint32_t number;
    int error;

    memcpy(value, stream->bytes + stream->off + 4, sizeof value);
    if (!constraints->curve->scalar_is_reduced(value))
        return refuse(stream, "a coefficient that is not below r");
    constraints->curve->scalar_mul(value, value, constraints->one_scaled);
    error = dictionary_number(&constraints->dictionary, value, &number);
    if (error == 0)
        error = matrix_rows_append(rows, variable, number);
    return error ? reason_set(stream->reason, error, "no memory for the rows") : 0;
}

/* One of A, B and C of a row; rows NULL: passed over. */
static int read_terms(struct row_stream *stream, struct matrix_rows *rows)
{
    uint32_t count;

    if (stream->count - stream->off < 4)
        return refuse(stream, "the end, inside a row,");
    count = get_u32(stream->bytes + stream->off);
    stream->off += 4;
    if (count > (stream->count - stream->off) / TERM_BYTES)
        return refuse(stream, "more terms than bytes");
    for (uint32_t i = 0; i < count; i++, stream->off += TERM_BYTES) {
        uint32_t id = get_u32(stream->bytes + stream->off), variable = id;
        int error;

        if (id & AUX_BIT)
            variable = stream->input_count + (id & ~AUX_BIT);
        if ((id & AUX_BIT) ? (id & ~AUX_BIT) >= stream->aux_count : id >= stream->input_count)
            return refuse(stream, "a variable out of range");
        error = rows ? keep_term(stream, rows, variable) : 0;
        if (error)
            return error;
    }
    return 0;
}

static int count_rows(struct row_stream *stream, uint32_t *ret)
{
    uint32_t rows = 0;

    for (stream->off = 0; stream->off < stream->count; rows++)
        for (int m = 0; m < 3; m++) {
            int error = read_terms(stream, NULL);

            if (error)
                return error;
        }
    *ret = rows;
    return 0;
}

static int keep_rows(struct row_stream *stream)
{
    struct constraints *c = stream->constraints;
    const uint32_t rows = constraints_row_count(c);

    stream->off = 0;
    for (uint32_t row = 0; row < rows; row++) {
        const bool has_c = row < c->constraint_count;
        int error = read_terms(stream, &c->a);

        if (error == 0)
            error = read_terms(stream, &c->b);
        if (error == 0)
            error = read_terms(stream, has_c ? &c->c : NULL);
        if (error)
            return error;
        c->a.row_begin[row + 1] = c->a.entry_count;
        c->b.row_begin[row + 1] = c->b.entry_count;
        if (has_c)
            c->c.row_begin[row + 1] = c->c.entry_count;
    }
    return 0;
}

int row_stream_read(const uint8_t *bytes, size_t count, uint32_t input_count, uint32_t aux_count,
                    struct constraints *ret, struct reason *reason)
{
    struct row_stream stream = {
        .bytes = bytes,
        .count = count,
        .input_count = input_count,
        .aux_count = aux_count,
        .reason = reason,
    };
    uint32_t rows;
    int error = count_rows(&stream, &rows);

    memset(ret, 0, sizeof *ret);
    if (error)
        return error;
    if (input_count < 1 || rows < input_count)
        return refuse(&stream, "fewer rows than inputs");
    ret->curve = &curve_bls12_381;
    ret->variable_count = input_count + aux_count;
    ret->public_count = input_count - 1;
    ret->constraint_count = rows - input_count;
    error = constraints_begin(ret, reason);
    if (error)
        return error;
    ret->a.row_begin = calloc((size_t)rows + 1, sizeof(uint64_t));
    ret->b.row_begin = calloc((size_t)rows + 1, sizeof(uint64_t));
    ret->c.row_begin = calloc((size_t)ret->constraint_count + 1, sizeof(uint64_t));
    if (!ret->a.row_begin || !ret->b.row_begin || !ret->c.row_begin)
        return reason_set(reason, -ENOMEM, "no memory for %" PRIu32 " rows", rows);
    stream.constraints = ret;
    return keep_rows(&stream);
}

static struct matrix matrix_of(const struct constraints *constraints,
                               const struct matrix_rows *rows, size_t row_count)
{
    return (struct matrix){
        .row_count = row_count,
        .entry_count = rows->entry_count,
        .row_begin = rows->row_begin,
        .column = rows->column,
        .coefficient = rows->coefficient,
        .dictionary = constraints->dictionary.values,
        .dictionary_count = constraints->dictionary.count,
    };
}

struct prepared_circuit row_stream_circuit(const struct constraints *constraints, bool has_c)
{
    const uint32_t rows = constraints_row_count(constraints);

    return (struct prepared_circuit){
        .curve = constraints->curve,
        .variable_count = constraints->variable_count,
        .public_count = constraints->public_count,
        .constraint_count = constraints->constraint_count,
        .domain_log2 = constraints->domain_log2,
        .a = matrix_of(constraints, &constraints->a, rows),
        .b = matrix_of(constraints, &constraints->b, rows),
        .c = matrix_of(constraints, &constraints->c, constraints->constraint_count),
        .has_c = has_c,
    };
}
