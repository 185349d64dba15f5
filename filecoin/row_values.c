/* Most coefficients are 1, -1 or powers of two and most values 0 or 1: only what is left costs a
 * Montgomery product. */
#include "filecoin/row_values.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/check.h"

/* Montgomery forms of all coefficients up to this one. */
static bool reach(struct row_values *values, uint32_t coefficient)
{
    const fr *plain = (const fr *)values->cs->dictionary->values;

    if (coefficient >= values->mont_capacity) {
        const uint32_t capacity = coefficient + 1024;
        fr *mont = realloc(values->mont, capacity * sizeof *mont);

        if (!mont) {
            values->error = -ENOMEM;
            return false;
        }
        values->mont = mont;
        values->mont_capacity = capacity;
    }
    for (; values->mont_count <= coefficient; values->mont_count++)
        bls12_381_fr_from_plain(&values->mont[values->mont_count], &plain[values->mont_count]);
    return true;
}

static fr evaluate(struct row_values *values, const struct cs_term *terms, uint32_t count)
{
    const fr *plain = (const fr *)values->cs->dictionary->values, one = fr_word(1);
    fr sum = fr_word(0), term;

    for (uint32_t i = 0; i < count; i++) {
        const fr *value = cs_value(values->cs, terms[i].var);
        const uint32_t coefficient = terms[i].coefficient;

        if (bls12_381_fr_is_zero(value))
            continue;
        if (coefficient == CS_PLUS) {
            bls12_381_fr_add(&sum, &sum, value);
        } else if (coefficient == CS_MINUS) {
            bls12_381_fr_sub(&sum, &sum, value);
        } else if (bls12_381_fr_is_equal(value, &one)) {
            bls12_381_fr_add(&sum, &sum, &plain[coefficient]);
        } else if (coefficient < values->mont_count || reach(values, coefficient)) {
            bls12_381_fr_mul(&term, &values->mont[coefficient], value);
            bls12_381_fr_add(&sum, &sum, &term);
        }
    }
    return sum;
}

static void on_row(struct cs_sink *sink, const struct cs_row *row)
{
    struct row_values *values = (struct row_values *)sink;
    const uint64_t at = values->row_count++;
    const fr a = evaluate(values, row->terms[0], row->count[0]);
    const fr b = evaluate(values, row->terms[1], row->count[1]);
    const fr c = evaluate(values, row->terms[2], row->count[2]);
    fr product;

    CHECK(at < values->row_capacity);
    fr_product(&product, &a, &b);
    if (!bls12_381_fr_is_equal(&product, &c) && values->broken_count++ == 0)
        values->broken_first = at;
    values->a[at] = a;
    values->b[at] = b;
    if (!values->is_plain) {
        bls12_381_fr_from_plain(&values->a[at], &a);
        bls12_381_fr_from_plain(&values->b[at], &b);
    }
}

void row_values_init(struct row_values *values, const struct cs *cs, fr *a, fr *b,
                     uint64_t row_capacity)
{
    *values = (struct row_values){
        .sink.on_row = on_row, .cs = cs, .a = a, .b = b, .row_capacity = row_capacity};
}

void row_values_destroy(struct row_values *values)
{
    free(values->mont);
    *values = (struct row_values){0};
}
