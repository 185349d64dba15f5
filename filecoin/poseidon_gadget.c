/* Rows and values apart: the same steps in the same order, on linear combinations and on numbers.
 */
#include "filecoin/poseidon_gadget.h"

#include <errno.h>
#include <stdlib.h>

#include "filecoin/piece.h"
#include "runtime/check.h"

enum {
    /* Variables that one gadget allocates, arity 16: 3 (17 8 + 58) + 17 8 + 58 - 16. */
    ALLOCATED_MAX = 761,
    PARAMETERS_MAX = POSEIDON_WIDTH_MAX - 1,
    LC_MAX = 1 + PARAMETERS_MAX + ALLOCATED_MAX, /* ONE comes first */
};

/* An element of the state: a variable or a linear combination. Coefficients in Montgomery form by
 * variable, [0] is ONE; a constant system of a piece, so that variables are few. */
struct element {
    fr lc[LC_MAX];
    bool is_variable;
    cs_var var;
};

struct rows {
    struct cs *cs;
    const struct poseidon *poseidon;
    struct element *state;
    struct cs_lc lc;
};

static uint32_t position(cs_var var)
{
    return var == CS_ONE ? 0 : 1 + (var ^ CS_AUX);
}

static void set_variable(struct element *element, cs_var var)
{
    memset(element->lc, 0, sizeof element->lc);
    CHECK(position(var) < LC_MAX);
    bls12_381_fr_set_one(&element->lc[position(var)]);
    element->is_variable = true;
    element->var = var;
}

/* The variable of an element: a linear combination becomes one. */
static cs_var to_variable(struct rows *rows, struct element *element)
{
    struct cs *cs = rows->cs;
    fr plain;

    if (element->is_variable)
        return element->var;
    cs_lc_init(&rows->lc);
    for (uint32_t i = 0; i <= cs->aux_count; i++) {
        bls12_381_fr_to_plain(&plain, &element->lc[i]);
        if (i == 0)
            rows->lc.one = plain;
        else if (!bls12_381_fr_is_zero(&plain))
            cs_lc_add(&rows->lc, CS_AUX | (i - 1), cs_coefficient(cs, &plain));
    }
    element->var = cs_alloc(cs, NULL);
    cs_row_sum(cs, &rows->lc, element->var);
    return element->var;
}

static uint32_t key_number(struct cs *cs, const fr *key_mont, bool is_negative)
{
    fr plain;

    bls12_381_fr_to_plain(&plain, key_mont);
    if (is_negative)
        bls12_381_fr_neg(&plain, &plain);
    return cs_coefficient(cs, &plain);
}

/* x -> (x + before)^5 + after. */
static void sbox_rows(struct rows *rows, struct element *element, const fr *before, const fr *after)
{
    struct cs *cs = rows->cs;
    const cs_var x = to_variable(rows, element);
    const cs_var x2 = cs_alloc(cs, NULL), x4 = cs_alloc(cs, NULL), x5 = cs_alloc(cs, NULL);
    struct cs_term sum[2] = {{x, CS_PLUS}}, result[2] = {{x5, CS_PLUS}};
    unsigned sum_count = 1, result_count = 1;

    if (before)
        sum[sum_count++] = (struct cs_term){CS_ONE, key_number(cs, before, false)};
    if (after)
        result[result_count++] = (struct cs_term){CS_ONE, key_number(cs, after, true)};
    cs_row(cs, sum, sum_count, sum, sum_count, CS_TERMS({x2, CS_PLUS}));
    cs_row(cs, CS_TERMS({x2, CS_PLUS}), CS_TERMS({x2, CS_PLUS}), CS_TERMS({x4, CS_PLUS}));
    cs_row(cs, sum, sum_count, CS_TERMS({x4, CS_PLUS}), result, result_count);
    set_variable(element, x5);
}

/* Mixes all coefficients of one variable, column by column, as if they were a state. */
static void mix_rows(struct rows *rows, unsigned round)
{
    const unsigned width = rows->poseidon->width;

    for (uint32_t i = 0; i <= rows->cs->aux_count; i++) {
        fr column[POSEIDON_WIDTH_MAX];
        bool is_zero = true;

        for (unsigned j = 0; j < width; j++) {
            column[j] = rows->state[j].lc[i];
            is_zero = is_zero && bls12_381_fr_is_zero(&column[j]);
        }
        if (is_zero)
            continue;
        poseidon_mix(rows->poseidon, round, column);
        for (unsigned j = 0; j < width; j++)
            rows->state[j].lc[i] = column[j];
    }
    for (unsigned j = 0; j < width; j++)
        rows->state[j].is_variable = false;
}

/* The first element through its constant first S-box. */
static fr first_tag(const struct poseidon *poseidon, enum poseidon_use use)
{
    fr tag = poseidon_tag(poseidon, use), power;

    bls12_381_fr_add(&tag, &tag, &poseidon->keys[0]);
    bls12_381_fr_sqr(&power, &tag);
    bls12_381_fr_sqr(&power, &power);
    bls12_381_fr_mul(&tag, &tag, &power);
    bls12_381_fr_add(&tag, &tag, &poseidon->keys[poseidon->width]);
    return tag;
}

static cs_var make_rows(struct cs *cs, const struct poseidon *poseidon, enum poseidon_use use,
                        const cs_var *inputs)
{
    const unsigned width = poseidon->width, half = POSEIDON_FULL_ROUNDS / 2;
    struct rows *rows = calloc(1, sizeof *rows);
    const fr *key = poseidon->keys + 2 * width;
    cs_var result = CS_ONE;
    unsigned round = 0;

    if (rows)
        rows->state = calloc(width, sizeof *rows->state);
    if (!rows || !rows->state) {
        cs->error = -ENOMEM;
        free(rows);
        return result;
    }
    rows->cs = cs;
    rows->poseidon = poseidon;
    rows->state[0].lc[0] = first_tag(poseidon, use);
    for (unsigned i = 1; i < width; i++) {
        set_variable(&rows->state[i], inputs[i - 1]);
        sbox_rows(rows, &rows->state[i], &poseidon->keys[i], &poseidon->keys[width + i]);
    }
    mix_rows(rows, round++);
    for (unsigned full = 1; full < POSEIDON_FULL_ROUNDS; full++) {
        const bool is_last = full == POSEIDON_FULL_ROUNDS - 1;

        for (unsigned i = 0; i < width; i++)
            sbox_rows(rows, &rows->state[i], NULL, is_last ? NULL : key++);
        mix_rows(rows, round++);
        for (unsigned i = 0; full == half - 1 && i < poseidon->partial_rounds; i++) {
            sbox_rows(rows, &rows->state[0], NULL, key++);
            mix_rows(rows, round++);
        }
    }
    result = to_variable(rows, &rows->state[1]);
    free(rows->state);
    free(rows);
    return result;
}

static cs_var alloc_mont(struct cs *cs, const fr *mont)
{
    fr plain;

    bls12_381_fr_to_plain(&plain, mont);
    return cs_alloc(cs, &plain);
}

static void sbox_values(struct cs *cs, fr *x, bool is_variable, const fr *before, const fr *after)
{
    fr power;

    if (!is_variable)
        alloc_mont(cs, x);
    if (before)
        bls12_381_fr_add(x, x, before);
    bls12_381_fr_sqr(&power, x);
    alloc_mont(cs, &power);
    bls12_381_fr_sqr(&power, &power);
    alloc_mont(cs, &power);
    bls12_381_fr_mul(x, x, &power);
    if (after)
        bls12_381_fr_add(x, x, after);
    alloc_mont(cs, x);
}

static cs_var make_values(struct cs *cs, const struct poseidon *poseidon, enum poseidon_use use,
                          const cs_var *inputs)
{
    const unsigned width = poseidon->width, half = POSEIDON_FULL_ROUNDS / 2;
    const fr *key = poseidon->keys + 2 * width;
    fr state[POSEIDON_WIDTH_MAX];
    const uint32_t before = cs->aux_count;
    unsigned round = 0;
    cs_var result;

    state[0] = first_tag(poseidon, use);
    for (unsigned i = 1; i < width; i++) {
        bls12_381_fr_from_plain(&state[i], cs_value(cs, inputs[i - 1]));
        sbox_values(cs, &state[i], true, &poseidon->keys[i], &poseidon->keys[width + i]);
    }
    poseidon_mix(poseidon, round++, state);
    for (unsigned full = 1; full < POSEIDON_FULL_ROUNDS; full++) {
        const bool is_last = full == POSEIDON_FULL_ROUNDS - 1;

        for (unsigned i = 0; i < width; i++)
            sbox_values(cs, &state[i], false, NULL, is_last ? NULL : key++);
        poseidon_mix(poseidon, round++, state);
        for (unsigned i = 0; full == half - 1 && i < poseidon->partial_rounds; i++) {
            sbox_values(cs, &state[0], false, NULL, key++);
            poseidon_mix(poseidon, round++, state);
        }
    }
    result = alloc_mont(cs, &state[1]);
    cs_skip_rows(cs, cs->aux_count - before); /* each row defines one variable */
    return result;
}

static cs_var body(struct cs *cs, uint64_t kind, const cs_var *inputs)
{
    const struct poseidon *poseidon = poseidon_get((unsigned)(kind >> 1));
    const enum poseidon_use use = kind & 1 ? POSEIDON_RANDOM : POSEIDON_MERKLE;

    return cs_has_values(cs) ? make_values(cs, poseidon, use, inputs)
                             : make_rows(cs, poseidon, use, inputs);
}

cs_var poseidon_gadget(struct cs *cs, unsigned arity, enum poseidon_use use, const cs_var *inputs)
{
    return piece_place(cs, body, (uint64_t)arity << 1 | (use == POSEIDON_RANDOM), inputs, arity);
}
