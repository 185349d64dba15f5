/* Made circuits: rows, a block a task. Upstream: make_key; beside: synthetic_witness.c. */
#include "bench/synthetic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/scalar.h"
#include "bench/synthetic_rows.h"
#include "groth16/pool.h"

int synthetic_kind_from_string(const char *text)
{
    static const char *const names[SYNTHETIC_KIND_COUNT] = {"chain", "sha"};

    for (int kind = 0; kind < SYNTHETIC_KIND_COUNT; kind++)
        if (strcmp(text, names[kind]) == 0)
            return kind;
    return -1;
}

static void put(struct synthetic_row *row, int matrix, uint32_t wire, uint32_t coefficient)
{
    struct synthetic_terms *terms = &row->terms[matrix];

    terms->wire[terms->count] = wire;
    terms->coefficient[terms->count++] = coefficient;
}

static void chain_row(uint32_t constraint, struct synthetic_row *ret)
{
    uint32_t own = SYNTHETIC_WIRE_FIRST + constraint;

    if (constraint % SYNTHETIC_BLOCK == 0) { /* x 1 = x: free */
        put(ret, 0, own, SYNTHETIC_ONE);
        put(ret, 1, 0, SYNTHETIC_ONE);
    } else {
        put(ret, 0, own - 1, SYNTHETIC_ONE);
        put(ret, 1, SYNTHETIC_WIRE_PUBLIC, SYNTHETIC_ONE);
        put(ret, 1, own - 1, SYNTHETIC_ONE);
    }
    put(ret, 2, own, SYNTHETIC_ONE);
}

static void sha_row(uint32_t constraint, struct synthetic_row *ret)
{
    uint32_t own = SYNTHETIC_WIRE_FIRST + constraint, at = constraint % SYNTHETIC_SHA_WIRES;
    uint32_t bits = own - at;

    if (at < SYNTHETIC_SHA_BITS) { /* b (b - 1) = 0 */
        put(ret, 0, own, SYNTHETIC_ONE);
        put(ret, 1, own, SYNTHETIC_ONE);
        put(ret, 1, 0, SYNTHETIC_MINUS_ONE);
    } else if (at < SYNTHETIC_SHA_WIRES - 1) { /* 2 b b' = b + b' - (b xor b') */
        uint32_t bit = bits + at - SYNTHETIC_SHA_BITS;

        put(ret, 0, bit, synthetic_power_of_two(1));
        put(ret, 1, bit + 1, SYNTHETIC_ONE);
        put(ret, 2, bit, SYNTHETIC_ONE);
        put(ret, 2, bit + 1, SYNTHETIC_ONE);
        put(ret, 2, own, SYNTHETIC_MINUS_ONE);
    } else { /* (sum of 2^j b_j) 1 = the word */
        for (uint32_t j = 0; j < SYNTHETIC_SHA_BITS; j++)
            put(ret, 0, bits + j, synthetic_power_of_two(j));
        put(ret, 1, 0, SYNTHETIC_ONE);
        put(ret, 2, own, SYNTHETIC_ONE);
    }
}

void synthetic_row(enum synthetic_kind kind, uint32_t constraint, struct synthetic_row *ret)
{
    for (int m = 0; m < 3; m++)
        ret->terms[m].count = 0;
    if (kind == SYNTHETIC_CHAIN)
        chain_row(constraint, ret);
    else
        sha_row(constraint, ret);
}

struct filling {
    const struct synthetic *synthetic;
    struct constraints *constraints;
    uint64_t block_entries[3]; /* of a whole block: all are alike */
};

static struct matrix_rows *rows_of(struct constraints *constraints, int matrix)
{
    return matrix == 0 ? &constraints->a : matrix == 1 ? &constraints->b : &constraints->c;
}

static void count_entries(enum synthetic_kind kind, uint32_t begin, uint32_t end, uint64_t ret[3])
{
    struct synthetic_row row;

    memset(ret, 0, 3 * sizeof ret[0]);
    for (uint32_t i = begin; i < end; i++) {
        synthetic_row(kind, i, &row);
        for (int m = 0; m < 3; m++)
            ret[m] += row.terms[m].count;
    }
}

static void fill_block(void *context, size_t block)
{
    const struct filling *filling = context;
    struct constraints *constraints = filling->constraints;
    uint32_t begin = (uint32_t)(block * SYNTHETIC_BLOCK);
    uint32_t end = synthetic_block_end(constraints->constraint_count, block);
    struct synthetic_row row;
    uint64_t at[3];

    for (int m = 0; m < 3; m++)
        at[m] = block * filling->block_entries[m];
    for (uint32_t i = begin; i < end; i++) {
        synthetic_row(filling->synthetic->kind, i, &row);
        for (int m = 0; m < 3; m++) {
            struct matrix_rows *rows = rows_of(constraints, m);
            const struct synthetic_terms *terms = &row.terms[m];

            for (uint32_t j = 0; j < terms->count; j++, at[m]++) {
                rows->column[at[m]] = terms->wire[j];
                rows->coefficient[at[m]] = terms->coefficient[j];
            }
            rows->row_begin[i + 1] = at[m];
        }
    }
}

/* The powers of two in the order in which the rows have them. */
static int fill_dictionary(struct constraints *constraints)
{
    struct scalar scaled, two = {{2}};
    uint32_t number;
    int error = 0;

    memcpy(scaled.l, constraints->one_scaled, sizeof scaled.l);
    for (uint32_t j = 1; j < SYNTHETIC_SHA_BITS && error == 0; j++) {
        scaled = scalar_mul(constraints->curve, scaled, two);
        error = dictionary_number(&constraints->dictionary, scaled.l, &number);
    }
    return error;
}

static int make_room(struct filling *filling)
{
    struct constraints *constraints = filling->constraints;
    const uint32_t count = constraints->constraint_count;
    uint64_t rest[3];

    count_entries(filling->synthetic->kind, 0, SYNTHETIC_BLOCK, filling->block_entries);
    count_entries(filling->synthetic->kind, count - count % SYNTHETIC_BLOCK, count, rest);
    for (int m = 0; m < 3; m++) {
        struct matrix_rows *rows = rows_of(constraints, m);

        rows->entry_count = count / SYNTHETIC_BLOCK * filling->block_entries[m] + rest[m];
        rows->entry_capacity = rows->entry_count + constraints->public_count + 1;
        rows->row_begin = malloc((constraints_row_count(constraints) + (size_t)1) * 8);
        rows->column = malloc(rows->entry_capacity * sizeof rows->column[0]);
        rows->coefficient = malloc(rows->entry_capacity * sizeof rows->coefficient[0]);
        if (!rows->row_begin || !rows->column || !rows->coefficient)
            return -ENOMEM;
        rows->row_begin[0] = 0;
    }
    return 0;
}

int synthetic_constraints(const struct synthetic *synthetic, struct pool *pool,
                          struct constraints *ret, struct reason *reason)
{
    struct filling filling = {.synthetic = synthetic, .constraints = ret};
    int error;

    memset(ret, 0, sizeof *ret);
    ret->curve = synthetic->curve;
    ret->public_count = 1;
    ret->constraint_count = synthetic_constraint_count(synthetic);
    ret->variable_count = SYNTHETIC_WIRE_FIRST + ret->constraint_count;
    error = constraints_begin(ret, reason);
    if (error)
        return error;
    error = synthetic->kind == SYNTHETIC_SHA ? fill_dictionary(ret) : 0;
    if (error == 0)
        error = make_room(&filling);
    if (error == 0) {
        pool_run(pool, synthetic_block_count(ret->constraint_count), fill_block, &filling);
        error = constraints_add_public_rows(ret);
    }
    return error ? reason_set(reason, error, "no memory for %" PRIu32 " constraints",
                              ret->constraint_count)
                 : 0;
}
