/* Records a gadget's rows in a constraint system of its own, in which the parameters are the first
 * variables, and replays them. */
#include "filecoin/piece.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/check.h"

struct cs_piece {
    struct cs_sink sink; /* first: takes the rows while the piece is recorded */
    piece_body *body;
    uint64_t kind;
    uint32_t parameter_count, aux_count;
    uint64_t row_count;
    cs_var result;
    struct cs_term *terms;
    uint64_t term_count, term_capacity;
    uint32_t *counts; /* three a row */
    uint64_t count_capacity;
    uint32_t row_terms_max;
    int error;
};

static int grow(void **array, uint64_t *capacity, uint64_t wanted, size_t size)
{
    uint64_t next = *capacity ? *capacity : 256;
    void *larger;

    if (wanted <= *capacity)
        return 0;
    while (next < wanted)
        next += next / 2;
    larger = realloc(*array, next * size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *capacity = next;
    return 0;
}

static void on_row(struct cs_sink *sink, const struct cs_row *row)
{
    struct cs_piece *piece = (struct cs_piece *)sink;
    const uint64_t terms = (uint64_t)row->count[0] + row->count[1] + row->count[2];

    if (piece->error == 0)
        piece->error = grow((void **)&piece->terms, &piece->term_capacity,
                            piece->term_count + terms, sizeof piece->terms[0]);
    if (piece->error == 0)
        piece->error = grow((void **)&piece->counts, &piece->count_capacity,
                            3 * (piece->row_count + 1), sizeof piece->counts[0]);
    if (piece->error != 0)
        return;
    if (terms > piece->row_terms_max)
        piece->row_terms_max = (uint32_t)terms;
    for (int i = 0; i < 3; i++) {
        if (row->count[i] > 0)
            memcpy(piece->terms + piece->term_count, row->terms[i],
                   row->count[i] * sizeof piece->terms[0]);
        piece->term_count += row->count[i];
        piece->counts[3 * piece->row_count + (unsigned)i] = row->count[i];
    }
    piece->row_count++;
}

void piece_free(struct cs_piece *piece)
{
    if (!piece)
        return;
    free(piece->terms);
    free(piece->counts);
    free(piece);
}

static struct cs_piece *record(struct cs *cs, piece_body *body, uint64_t kind,
                               uint32_t parameter_count)
{
    struct cs_piece *piece = calloc(1, sizeof *piece);
    cs_var *parameters = calloc(parameter_count, sizeof *parameters);
    struct cs own;

    cs_init_blank(&own, cs->sink && piece ? &piece->sink : NULL, cs->dictionary);
    if (!piece || !parameters) {
        own.error = -ENOMEM;
        goto out;
    }
    *piece = (struct cs_piece){
        .sink.on_row = on_row, .body = body, .kind = kind, .parameter_count = parameter_count};
    for (uint32_t i = 0; i < parameter_count; i++)
        parameters[i] = cs_alloc(&own, NULL);
    piece->result = body(&own, kind, parameters);
    CHECK(own.input_count == 1);
    piece->aux_count = own.aux_count - parameter_count;
    piece->row_count = own.row_count;
    if (own.error == 0)
        own.error = piece->error;
out:
    free(parameters);
    if (own.error != 0) {
        if (cs->error == 0)
            cs->error = own.error;
        piece_free(piece);
        piece = NULL;
    }
    cs_destroy(&own);
    return piece;
}

static struct cs_piece *find(struct cs *cs, piece_body *body, uint64_t kind,
                             uint32_t parameter_count)
{
    struct cs_piece *piece;

    for (unsigned i = 0; i < cs->piece_count; i++)
        if (cs->pieces[i]->body == body && cs->pieces[i]->kind == kind)
            return cs->pieces[i];
    CHECK(cs->piece_count < CS_PIECES_MAX);
    piece = record(cs, body, kind, parameter_count);
    if (piece)
        cs->pieces[cs->piece_count++] = piece;
    return piece;
}

/* Sorting is seldom needed: parameters come before what the piece allocates, mostly in order. */
static void order(struct cs_term *terms, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (terms[i - 1].var >= terms[i].var) {
            const struct cs_term term = terms[i];
            uint32_t at = i;

            for (; at > 0 && terms[at - 1].var > term.var; at--)
                terms[at] = terms[at - 1];
            CHECK(at == 0 || terms[at - 1].var != term.var); /* parameters differ */
            terms[at] = term;
        }
}

static cs_var renumber(const struct cs_piece *piece, const cs_var *parameters, uint32_t base,
                       cs_var var)
{
    const uint32_t index = var ^ CS_AUX;

    if (!(var & CS_AUX))
        return var;
    return index < piece->parameter_count ? parameters[index]
                                          : CS_AUX | (base + index - piece->parameter_count);
}

static void replay(struct cs *cs, const struct cs_piece *piece, const cs_var *parameters,
                   uint32_t base)
{
    const struct cs_term *from = piece->terms;
    struct cs_term *terms = malloc((piece->row_terms_max + 1) * sizeof *terms);

    if (!terms) {
        cs->error = -ENOMEM;
        return;
    }
    for (uint64_t i = 0; i < piece->row_count; i++) {
        const uint32_t *counts = piece->counts + 3 * i;
        struct cs_term *to = terms;
        struct cs_row row;

        for (int j = 0; j < 3; j++) {
            row.terms[j] = to;
            row.count[j] = counts[j];
            for (uint32_t n = 0; n < counts[j]; n++, from++)
                to[n] = (struct cs_term){renumber(piece, parameters, base, from->var),
                                         from->coefficient};
            order(to, counts[j]);
            to += counts[j];
        }
        cs->sink->on_row(cs->sink, &row);
    }
    cs->row_count += piece->row_count;
    free(terms);
}

cs_var piece_place(struct cs *cs, piece_body *body, uint64_t kind, const cs_var *parameters,
                   uint32_t parameter_count)
{
    const uint32_t base = cs->aux_count;
    struct cs_sink *const sink = cs->sink;
    const uint64_t rows = cs->row_count;
    struct cs_piece *piece;
    cs_var result;

    if (cs_has_values(cs) && !sink)
        return body(cs, kind, parameters);
    piece = find(cs, body, kind, parameter_count);
    if (!piece)
        return CS_ONE; /* the error is in cs */
    if (cs_has_values(cs)) {
        cs->sink = NULL;
        result = body(cs, kind, parameters);
        cs->sink = sink;
        cs->row_count = rows;
        CHECK(cs->aux_count == base + piece->aux_count);
    } else {
        cs->aux_count += piece->aux_count;
        CHECK(cs->aux_count < CS_AUX - 1);
        result = renumber(piece, parameters, base, piece->result);
    }
    if (sink)
        replay(cs, piece, parameters, base);
    else
        cs->row_count += piece->row_count;
    return result;
}
