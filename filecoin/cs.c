/* Allocation, and rows on their way to the sink. */
#include "filecoin/cs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "filecoin/piece.h"
#include "runtime/check.h"

int cs_dictionary_init(struct dictionary *dictionary)
{
    int error = dictionary_init(dictionary);

    for (unsigned k = 0; error == 0 && k < CS_POWERS; k++) {
        uint32_t number;
        fr value = fr_word(0);

        fr_set_bit(&value, k);
        error = dictionary_number(dictionary, value.l, &number);
        bls12_381_fr_neg(&value, &value);
        if (error == 0)
            error = dictionary_number(dictionary, value.l, &number);
        CHECK(error != 0 || number == CS_NEG_POWER(k));
    }
    if (error != 0)
        dictionary_destroy(dictionary);
    return error;
}

void cs_init_blank(struct cs *cs, struct cs_sink *sink, struct dictionary *dictionary)
{
    *cs = (struct cs){.sink = sink,
                      .dictionary = dictionary,
                      .input_count = 1,
                      .partition = -1,
                      .sector = -1,
                      .challenge = -1};
}

void cs_init_values(struct cs *cs, fr *inputs, uint32_t input_capacity, fr *aux,
                    uint32_t aux_capacity, struct cs_sink *sink, struct dictionary *dictionary)
{
    cs_init_blank(cs, sink, dictionary);
    CHECK(input_capacity > 0 && inputs && aux);
    cs->inputs = inputs;
    cs->input_capacity = input_capacity;
    cs->aux = aux;
    cs->aux_capacity = aux_capacity;
    inputs[CS_ONE] = fr_word(1);
}

void cs_destroy(struct cs *cs)
{
    while (cs->piece_count > 0)
        piece_free(cs->pieces[--cs->piece_count]);
    *cs = (struct cs){0};
}

int cs_finish(struct cs *cs)
{
    for (uint32_t i = 0; i < cs->input_count; i++)
        cs_row(cs, CS_TERMS({i, CS_PLUS}), CS_NONE, CS_NONE);
    return cs->error;
}

cs_var cs_alloc(struct cs *cs, const fr *value)
{
    const uint32_t index = cs->aux_count++;

    CHECK(index < CS_AUX - 1);
    if (cs->aux) {
        CHECK(index < cs->aux_capacity && value);
        cs->aux[index] = *value;
    }
    return CS_AUX | index;
}

cs_var cs_alloc_word(struct cs *cs, uint64_t value)
{
    const fr plain = fr_word(value);

    return cs_alloc(cs, &plain);
}

cs_var cs_alloc_input(struct cs *cs, const fr *value)
{
    const uint32_t index = cs->input_count++;

    CHECK(index < CS_AUX - 1);
    if (cs->aux) {
        CHECK(index < cs->input_capacity && value);
        cs->inputs[index] = *value;
    }
    return index;
}

uint32_t cs_coefficient(struct cs *cs, const fr *plain)
{
    uint32_t number = 0;
    int error = cs->dictionary ? dictionary_number(cs->dictionary, plain->l, &number) : 0;

    if (error != 0 && cs->error == 0)
        cs->error = error;
    return number;
}

void cs_lc_add(struct cs_lc *lc, cs_var var, uint32_t coefficient)
{
    CHECK(lc->count < CS_LC_TERMS_MAX);
    lc->terms[lc->count++] = (struct cs_term){var, coefficient};
}

static int compare_terms(const void *a, const void *b)
{
    const struct cs_term *x = a, *y = b;

    return (x->var > y->var) - (x->var < y->var);
}

static void sort_terms(struct cs_term *terms, uint32_t count)
{
    uint32_t sorted = 1;

    while (sorted < count && terms[sorted - 1].var <= terms[sorted].var)
        sorted++;
    if (sorted >= count)
        return;
    if (count > 16) {
        qsort(terms, count, sizeof terms[0], compare_terms);
        return;
    }
    for (; sorted < count; sorted++) {
        const struct cs_term term = terms[sorted];
        uint32_t at = sorted;

        for (; at > 0 && terms[at - 1].var > term.var; at--)
            terms[at] = terms[at - 1];
        terms[at] = term;
    }
}

/* Terms of one variable become one term, or none. */
static uint32_t merge_terms(struct cs *cs, struct cs_term *terms, uint32_t count)
{
    uint32_t kept = 0;

    sort_terms(terms, count);
    for (uint32_t i = 0; i < count;) {
        struct cs_term term = terms[i++];

        if (i < count && terms[i].var == term.var) {
            const fr *values = (const fr *)cs->dictionary->values;
            fr sum = values[term.coefficient];

            for (; i < count && terms[i].var == term.var; i++)
                bls12_381_fr_add(&sum, &sum, &values[terms[i].coefficient]);
            if (bls12_381_fr_is_zero(&sum))
                continue;
            term.coefficient = cs_coefficient(cs, &sum);
        }
        terms[kept++] = term;
    }
    return kept;
}

void cs_row(struct cs *cs, const struct cs_term *a, unsigned a_count, const struct cs_term *b,
            unsigned b_count, const struct cs_term *c, unsigned c_count)
{
    const struct cs_term *from[3] = {a, b, c};
    const unsigned count[3] = {a_count, b_count, c_count};
    struct cs_term terms[3][8];
    struct cs_row row;

    cs->row_count++;
    if (!cs->sink)
        return;
    for (int i = 0; i < 3; i++) {
        CHECK(count[i] <= 8);
        for (unsigned j = 0; j < count[i]; j++)
            terms[i][j] = from[i][j];
        row.terms[i] = terms[i];
        row.count[i] = count[i] < 2 ? count[i] : merge_terms(cs, terms[i], count[i]);
    }
    cs->sink->on_row(cs->sink, &row);
}

/* ONE, kept apart until now, comes in as a term. */
static void close_lc(struct cs *cs, struct cs_lc *lc)
{
    if (!bls12_381_fr_is_zero(&lc->one))
        cs_lc_add(lc, CS_ONE, cs_coefficient(cs, &lc->one));
    lc->one = fr_word(0);
    lc->count = merge_terms(cs, lc->terms, lc->count);
}

void cs_row_lc(struct cs *cs, struct cs_lc *a, struct cs_lc *b, struct cs_lc *c)
{
    struct cs_lc *lcs[3] = {a, b, c};
    struct cs_row row = {.count = {0}};

    cs->row_count++;
    if (!cs->sink)
        return;
    for (int i = 0; i < 3; i++)
        if (lcs[i]) {
            close_lc(cs, lcs[i]);
            row.terms[i] = lcs[i]->terms;
            row.count[i] = lcs[i]->count;
        }
    cs->sink->on_row(cs->sink, &row);
}

void cs_row_sum(struct cs *cs, struct cs_lc *lc, cs_var var)
{
    const struct cs_term one = {CS_ONE, CS_PLUS}, sum = {var, CS_PLUS};
    struct cs_row row = {.terms = {lc->terms, &one, &sum}, .count = {0, 1, 1}};

    cs->row_count++;
    if (!cs->sink)
        return;
    close_lc(cs, lc);
    row.count[0] = lc->count;
    cs->sink->on_row(cs->sink, &row);
}

void cs_refuse(struct cs *cs, const char *format, ...)
{
    const struct {
        const char *name;
        int number;
    } places[] = {
        {"partition", cs->partition}, {"sector", cs->sector}, {"challenge", cs->challenge}};
    char text[256], place[96] = "";
    size_t used = 0;
    va_list args;

    if (cs->error != 0)
        return;
    for (unsigned i = 0; i < 3; i++)
        if (places[i].number >= 0)
            used += (size_t)snprintf(place + used, sizeof place - used, "%s%s %d", used ? ", " : "",
                                     places[i].name, places[i].number);
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    cs->error = reason_set(&cs->reason, -EBADMSG, "%s%s%s", place, used ? ": " : "", text);
}

void cs_inputize(struct cs *cs, cs_var var)
{
    const cs_var input = cs_alloc_input(cs, cs_value(cs, var));

    cs_row(cs, CS_TERMS({input, CS_PLUS}), CS_TERMS({CS_ONE, CS_PLUS}), CS_TERMS({var, CS_PLUS}));
}

void cs_equal(struct cs *cs, cs_var a, cs_var b, const char *what)
{
    if (cs_has_values(cs) && !bls12_381_fr_is_equal(cs_value(cs, a), cs_value(cs, b)))
        cs_refuse(cs, "%s", what);
    cs_row(cs, CS_TERMS({a, CS_PLUS}), CS_TERMS({CS_ONE, CS_PLUS}), CS_TERMS({b, CS_PLUS}));
}
