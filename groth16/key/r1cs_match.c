/* Streams the .r1cs beside the rows of the key. Below: r1cs_read, matrix_builder. */
#include "groth16/key/r1cs_match.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/field/limbs.h"

struct term {
    uint32_t wire;
    uint64_t value[4]; /* scaled, as in the dictionary */
};

struct terms {
    struct term *items;
    size_t count, capacity;
};

struct match {
    const struct r1cs *r1cs;
    struct matrix_builder *builder;
    struct matrix_progress *progress;
    struct reason *reason;
    struct terms file[2]; /* A and B of the constraint being read */
    struct terms key;     /* scratch */
};

static int push(struct terms *terms, uint32_t wire, const uint64_t *value)
{
    if (terms->count == terms->capacity) {
        size_t capacity = 2 * terms->capacity + 64;
        struct term *items = realloc(terms->items, capacity * sizeof items[0]);

        if (!items)
            return -ENOMEM;
        terms->items = items;
        terms->capacity = capacity;
    }
    terms->items[terms->count].wire = wire;
    memcpy(terms->items[terms->count++].value, value, sizeof terms->items[0].value);
    return 0;
}

static int on_term(void *context, uint32_t constraint, enum r1cs_matrix matrix, uint32_t wire,
                   const uint64_t *value)
{
    struct match *match = context;
    struct matrix_builder *builder = match->builder;
    uint64_t scaled[4];
    uint32_t number;
    int error;

    (void)constraint;
    builder->curve->scalar_mul(scaled, value, builder->one_scaled);
    if (matrix != R1CS_C) {
        error = push(&match->file[matrix], wire, scaled);
    } else {
        error = dictionary_number(&builder->dictionary, scaled, &number);
        if (error == 0)
            error = matrix_rows_append(&builder->c, wire, number);
    }
    return error ? reason_set(match->reason, error, "no memory for the constraints") : 0;
}

static int compare_wires(const void *a, const void *b)
{
    uint32_t wa = ((const struct term *)a)->wire, wb = ((const struct term *)b)->wire;

    return (wa > wb) - (wa < wb);
}

/* Sorted by wire, one term a wire, no zero. */
static void normalise(struct terms *terms, const uint64_t *modulus)
{
    size_t kept = 0;

    if (terms->count > 0)
        qsort(terms->items, terms->count, sizeof terms->items[0], compare_wires);
    for (size_t i = 0; i < terms->count;) {
        struct term sum = terms->items[i++];

        for (; i < terms->count && terms->items[i].wire == sum.wire; i++)
            limbs_mod_add(sum.value, sum.value, terms->items[i].value, modulus, 4);
        if (!limbs_is_zero(sum.value, 4))
            terms->items[kept++] = sum;
    }
    terms->count = kept;
}

/* The first wire whose coefficient differs in two normalised lists; false when there is none. */
static bool first_difference(const struct terms *a, const struct terms *b, uint32_t *ret_wire)
{
    size_t i = 0;

    while (i < a->count && i < b->count && a->items[i].wire == b->items[i].wire &&
           limbs_is_equal(a->items[i].value, b->items[i].value, 4))
        i++;
    if (i == a->count && i == b->count)
        return false;
    *ret_wire = i == a->count                         ? b->items[i].wire
                : i == b->count                       ? a->items[i].wire
                : a->items[i].wire < b->items[i].wire ? a->items[i].wire
                                                      : b->items[i].wire;
    return true;
}

/* Row `row` of the key against `file`, which is normalised on the way and emptied. */
static int compare_row(struct match *match, uint32_t row, enum r1cs_matrix matrix)
{
    const struct matrix_builder *builder = match->builder;
    const struct matrix_rows *rows = matrix == R1CS_A ? &builder->a : &builder->b;
    struct terms *file = &match->file[matrix], *key = &match->key;
    uint32_t wire;
    int error = 0;

    key->count = 0;
    if (row < builder->row_count)
        for (uint64_t i = rows->row_begin[row]; i < rows->row_begin[row + 1] && error == 0; i++)
            error = push(key, rows->column[i],
                         builder->dictionary.values + 4 * (size_t)rows->coefficient[i]);
    if (error)
        return reason_set(match->reason, error, "no memory to compare a row");
    /* circom and snarkjs keep the order of terms: most rows are equal as they stand. */
    if (first_difference(file, key, &wire)) {
        normalise(file, builder->curve->fr_modulus);
        normalise(key, builder->curve->fr_modulus);
        if (first_difference(file, key, &wire))
            return reason_set(match->reason, -EBADMSG,
                              "constraint %" PRIu32 ", %c: the coefficient of signal %" PRIu32
                              " is not the same in the .r1cs and in the key: they come from "
                              "different circuits or versions of one",
                              row, "AB"[matrix], wire);
    }
    file->count = 0;
    return 0;
}

static int on_constraint_end(void *context, uint32_t constraint)
{
    struct match *match = context;
    int error = compare_row(match, constraint, R1CS_A);

    if (error == 0)
        error = compare_row(match, constraint, R1CS_B);
    if (error)
        return error;
    match->builder->c.row_begin[constraint + 1] = match->builder->c.entry_count;
    return matrix_progress_add(match->progress,
                               match->r1cs->constraints.bytes / match->r1cs->constraint_count);
}

/* Row constraint_count + s is signal s in A and nothing in B, for the 1 and every public signal. */
static int compare_consistency_rows(struct match *match, const struct zkey *zkey)
{
    for (uint32_t s = 0; s <= zkey->public_count; s++) {
        int error = push(&match->file[R1CS_A], s, match->builder->one_scaled);

        if (error)
            return reason_set(match->reason, error, "no memory to compare a row");
        error = compare_row(match, match->r1cs->constraint_count + s, R1CS_A);
        if (error == 0)
            error = compare_row(match, match->r1cs->constraint_count + s, R1CS_B);
        if (error)
            return reason_set(match->reason, error,
                              "the key's input-consistency row of public signal %" PRIu32
                              " (row %" PRIu32 ") is not as snarkjs makes it: the key is damaged",
                              s, match->r1cs->constraint_count + s);
    }
    return 0;
}

static int compare_counts(const struct r1cs *r1cs, const struct zkey *zkey,
                          const struct matrix_builder *builder, struct reason *reason)
{
    uint64_t publics = (uint64_t)r1cs->public_output_count + r1cs->public_input_count;

    if (r1cs->curve->id != zkey->curve->id)
        return reason_set(reason, -EBADMSG, "the .r1cs is over %s but the key is over %s",
                          r1cs->curve->name, zkey->curve->name);
    if (r1cs->wire_count != zkey->variable_count || publics != zkey->public_count)
        return reason_set(reason, -EBADMSG,
                          "the .r1cs has %" PRIu32 " wires and %" PRIu64
                          " public signals, the key %" PRIu32 " and %" PRIu32
                          ": they come from different circuits",
                          r1cs->wire_count, publics, zkey->variable_count, zkey->public_count);
    if ((uint64_t)r1cs->constraint_count + publics + 1 != builder->row_count)
        return reason_set(reason, -EBADMSG,
                          "the .r1cs has %" PRIu32 " constraints, the key %" PRIu32
                          ": they come from different circuits or versions of one",
                          r1cs->constraint_count, builder->constraint_count);
    return 0;
}

int r1cs_match(const struct r1cs *r1cs, const struct zkey *zkey, struct matrix_builder *builder,
               struct matrix_progress *progress, struct reason *reason)
{
    struct match match = {.r1cs = r1cs, .builder = builder, .progress = progress, .reason = reason};
    const struct r1cs_sink sink = {&match, on_term, on_constraint_end};
    int error = compare_counts(r1cs, zkey, builder, reason);

    if (error)
        return error;
    builder->c.row_begin =
        calloc((size_t)r1cs->constraint_count + 1, sizeof builder->c.row_begin[0]);
    if (!builder->c.row_begin)
        return reason_set(reason, -ENOMEM, "no memory for %" PRIu32 " constraints",
                          r1cs->constraint_count);
    error = r1cs_read(r1cs, &sink, reason);
    if (error == 0)
        error = compare_consistency_rows(&match, zkey);
    if (error == 0)
        builder->constraint_count = r1cs->constraint_count;
    free(match.file[0].items);
    free(match.file[1].items);
    free(match.key.items);
    return error;
}
