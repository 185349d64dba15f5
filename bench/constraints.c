/* Constraints from an .r1cs. Upstream: make_key; below: r1cs_read. */
#include "bench/constraints.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/field/limbs.h"
#include "groth16/key/r1cs.h"

struct reading {
    struct constraints *constraints;
    struct dictionary c_values; /* prepared_write numbers the values of C after all others */
    struct reason *reason;
};

static struct matrix_rows *rows_of(struct constraints *constraints, enum r1cs_matrix matrix)
{
    return matrix == R1CS_A   ? &constraints->a
           : matrix == R1CS_B ? &constraints->b
                              : &constraints->c;
}

static int on_term(void *context, uint32_t constraint, enum r1cs_matrix matrix, uint32_t wire,
                   const uint64_t *value)
{
    struct reading *reading = context;
    struct constraints *constraints = reading->constraints;
    uint64_t scaled[4];
    uint32_t number;
    int error;

    (void)constraint;
    constraints->curve->scalar_mul(scaled, value, constraints->one_scaled);
    error = dictionary_number(matrix == R1CS_C ? &reading->c_values : &constraints->dictionary,
                              scaled, &number);
    if (error == 0)
        error = matrix_rows_append(rows_of(constraints, matrix), wire, number);
    return error ? reason_set(reading->reason, error, "no memory for the constraints") : 0;
}

static int on_constraint_end(void *context, uint32_t constraint)
{
    struct constraints *constraints = ((struct reading *)context)->constraints;

    constraints->a.row_begin[constraint + 1] = constraints->a.entry_count;
    constraints->b.row_begin[constraint + 1] = constraints->b.entry_count;
    constraints->c.row_begin[constraint + 1] = constraints->c.entry_count;
    return 0;
}

static int renumber_c(struct reading *reading)
{
    struct constraints *constraints = reading->constraints;
    const struct dictionary *from = &reading->c_values;
    uint32_t *to = malloc((from->count + (size_t)1) * sizeof to[0]);
    int error = to ? 0 : -ENOMEM;

    /* Both are numbered by first appearance. */
    for (uint32_t i = 0; i < from->count && error == 0; i++)
        error = dictionary_number(&constraints->dictionary, from->values + 4 * (size_t)i, &to[i]);
    for (uint64_t i = 0; i < constraints->c.entry_count && error == 0; i++)
        constraints->c.coefficient[i] = to[constraints->c.coefficient[i]];
    free(to);
    return error ? reason_set(reading->reason, error, "no memory for the constraints") : 0;
}

static int make_room(struct constraints *constraints)
{
    const size_t rows = constraints_row_count(constraints);

    constraints->a.row_begin = calloc(rows + 1, sizeof(uint64_t));
    constraints->b.row_begin = calloc(rows + 1, sizeof(uint64_t));
    constraints->c.row_begin = calloc((size_t)constraints->constraint_count + 1, sizeof(uint64_t));
    return constraints->a.row_begin && constraints->b.row_begin && constraints->c.row_begin
               ? 0
               : -ENOMEM;
}

int constraints_add_public_rows(struct constraints *constraints)
{
    for (uint32_t s = 0; s <= constraints->public_count; s++) {
        uint32_t row = constraints->constraint_count + s;
        int error = matrix_rows_append(&constraints->a, s, 0);

        if (error)
            return error;
        constraints->a.row_begin[row + 1] = constraints->a.entry_count;
        constraints->b.row_begin[row + 1] = constraints->b.entry_count;
    }
    return 0;
}

void constraints_destroy(struct constraints *constraints)
{
    struct matrix_rows *rows[3] = {&constraints->a, &constraints->b, &constraints->c};

    for (int m = 0; m < 3; m++) {
        free(rows[m]->row_begin);
        free(rows[m]->column);
        free(rows[m]->coefficient);
    }
    dictionary_destroy(&constraints->dictionary);
    memset(constraints, 0, sizeof *constraints);
}

int constraints_begin(struct constraints *constraints, struct reason *reason)
{
    static const uint64_t zero[4];
    uint64_t rows = (uint64_t)constraints->constraint_count + constraints->public_count;
    uint64_t minus_one[4];
    uint32_t number;
    int error;

    constraints->domain_log2 = rows > 1 ? 64 - (unsigned)__builtin_clzll(rows) : 1;
    if (constraints->domain_log2 >= constraints->curve->two_adicity ||
        constraints->domain_log2 > 31)
        return reason_set(reason, -EOVERFLOW, "%" PRIu64 " rows are too many for a key over %s",
                          rows, constraints->curve->name);
    matrix_builder_one_scaled(constraints->curve, constraints->one_scaled);
    limbs_mod_sub(minus_one, zero, constraints->one_scaled, constraints->curve->fr_modulus, 4);
    error = dictionary_init(&constraints->dictionary);
    if (error == 0)
        error = dictionary_number(&constraints->dictionary, constraints->one_scaled, &number);
    if (error == 0)
        error = dictionary_number(&constraints->dictionary, minus_one, &number);
    return error ? reason_set(reason, error, "no memory for the constraints") : 0;
}

int constraints_read(int r1cs_fd, struct constraints *ret, struct reason *reason)
{
    struct reading reading = {.constraints = ret, .reason = reason};
    const struct r1cs_sink sink = {&reading, on_term, on_constraint_end};
    struct r1cs r1cs;
    uint64_t publics;
    int error;

    memset(ret, 0, sizeof *ret);
    error = r1cs_open(r1cs_fd, &r1cs, reason);
    if (error)
        return error;
    publics = (uint64_t)r1cs.public_output_count + r1cs.public_input_count;
    if (publics + r1cs.constraint_count >= UINT32_MAX)
        return reason_set(reason, -EOVERFLOW, "2^32 rows are too many for a key");
    ret->curve = r1cs.curve;
    ret->variable_count = r1cs.wire_count;
    ret->public_count = (uint32_t)publics;
    ret->constraint_count = r1cs.constraint_count;
    error = constraints_begin(ret, reason);
    if (error)
        return error;
    if (make_room(ret) != 0 || dictionary_init(&reading.c_values) != 0)
        error = reason_set(reason, -ENOMEM, "no memory for %" PRIu32 " constraints",
                           ret->constraint_count);
    if (error == 0)
        error = r1cs_read(&r1cs, &sink, reason);
    if (error == 0)
        error = renumber_c(&reading);
    dictionary_destroy(&reading.c_values);
    if (error == 0 && constraints_add_public_rows(ret) != 0)
        error = reason_set(reason, -ENOMEM, "no memory for the constraints");
    return error;
}

struct scalar *constraints_plain_values(const struct constraints *constraints)
{
    const struct dictionary *dictionary = &constraints->dictionary;
    struct scalar *values = malloc(dictionary->count * sizeof values[0]), scale;

    if (!values)
        return NULL;
    memcpy(scale.l, constraints->one_scaled, sizeof scale.l);
    scale = scalar_inverse(constraints->curve, scale);
    for (uint32_t i = 0; i < dictionary->count; i++) {
        memcpy(values[i].l, dictionary->values + 4 * (size_t)i, sizeof values[i].l);
        values[i] = scalar_mul(constraints->curve, values[i], scale);
    }
    return values;
}
