/* A constraint system under construction: what circuits and gadgets speak to. One body of gadget
 * code makes values, rows or both:
 *   values  (cs_init with arrays): every variable's value is written in the order of allocation;
 *           equalities are tested as they are met, and the first that fails says where (cs_refuse).
 *   rows    (a sink): every row goes to the sink, in order; without values the circuit is blank.
 *   neither: only counts, which is how sizes are found.
 * Variables are numbered as in Filecoin's files: inputs from 0 (ONE), others from 0 with bit 31
 * set. Coefficients are numbers in a dictionary. A cs belongs to one thread. */
#pragma once

#include "filecoin/fr.h"
#include "groth16/key/dictionary.h"
#include "groth16/key/reason.h"

#define CS_ONE 0u
#define CS_AUX 0x80000000u

enum {
    CS_POWERS = 255,        /* 2^k below r */
    CS_LC_TERMS_MAX = 4096, /* eight words of eight operands in one MultiEq, with room */
    CS_PIECES_MAX = 32,
};

typedef uint32_t cs_var;

struct cs_term {
    cs_var var;
    uint32_t coefficient; /* number in the dictionary */
};

/* Terms of A, B and C: sorted by variable, merged, none zero. */
struct cs_row {
    const struct cs_term *terms[3];
    uint32_t count[3];
};

/* Where rows go. Called in order, with the values (if any) of all that a row names already made.
 * An error is kept by the sink. */
struct cs_sink {
    void (*on_row)(struct cs_sink *sink, const struct cs_row *row);
};

/* A linear combination in the making. */
struct cs_lc {
    fr one; /* the coefficient of ONE, plain */
    uint32_t count;
    struct cs_term terms[CS_LC_TERMS_MAX];
};

struct cs_piece;

struct cs {
    fr *inputs, *aux; /* plain values, borrowed; NULL: none are made */
    uint32_t input_capacity, aux_capacity;
    uint32_t input_count, aux_count;
    uint64_t row_count;
    struct cs_sink *sink;          /* NULL: rows are only counted */
    struct dictionary *dictionary; /* plain values; of cs_dictionary_init; NULL without a sink */
    struct cs_piece *pieces[CS_PIECES_MAX];
    unsigned piece_count;
    int error; /* -ENOMEM, or -EBADMSG: values that break the circuit, and reason says where */
    struct reason reason;
    /* Where the circuit is, for the reason; negative: not said. */
    int partition, sector, challenge;
};

/* 1, -1, 2, -2, 4, ...: numbers of coefficients that every dictionary here begins with. */
enum { CS_PLUS = 0, CS_MINUS = 1 };
#define CS_POWER(k)     (2u * (k))
#define CS_NEG_POWER(k) (2u * (k) + 1)

/* -ENOMEM. */
int cs_dictionary_init(struct dictionary *dictionary);

/* Rows to a sink (borrowed, with the dictionary), blank circuit; a NULL sink only counts. */
void cs_init_blank(struct cs *cs, struct cs_sink *sink, struct dictionary *dictionary);
/* Values, and rows too if a sink is given. The arrays are borrowed and as large as counted. */
void cs_init_values(struct cs *cs, fr *inputs, uint32_t input_capacity, fr *aux,
                    uint32_t aux_capacity, struct cs_sink *sink, struct dictionary *dictionary);
/* Accepts a zeroed object. */
void cs_destroy(struct cs *cs);
/* Appends the input rows (x_i | 0 | 0), ONE included. Returns cs->error. */
int cs_finish(struct cs *cs);

static inline bool cs_has_values(const struct cs *cs)
{
    return cs->aux;
}

/* A value that is not there (blank circuit) is NULL. The caller checked that it is below r. */
cs_var cs_alloc(struct cs *cs, const fr *value);
cs_var cs_alloc_word(struct cs *cs, uint64_t value);
cs_var cs_alloc_input(struct cs *cs, const fr *value);
/* NULL in a blank circuit. */
static inline const fr *cs_value(const struct cs *cs, cs_var var)
{
    if (!cs->aux)
        return NULL;
    return var & CS_AUX ? &cs->aux[var ^ CS_AUX] : &cs->inputs[var];
}

/* Whether rows have to be built; where not, cs_skip_rows counts them. */
static inline bool cs_wants_rows(const struct cs *cs)
{
    return cs->sink;
}
static inline void cs_skip_rows(struct cs *cs, uint64_t count)
{
    cs->row_count += count;
}

/* The row a | b | c of up to 8 terms each, in any order, the same variable more than once too. */
void cs_row(struct cs *cs, const struct cs_term *a, unsigned a_count, const struct cs_term *b,
            unsigned b_count, const struct cs_term *c, unsigned c_count);
/* The same of long ones; NULL is 0. Their terms are sorted in place. */
void cs_row_lc(struct cs *cs, struct cs_lc *a, struct cs_lc *b, struct cs_lc *c);
/* lc | 1 | var. */
void cs_row_sum(struct cs *cs, struct cs_lc *lc, cs_var var);

#define CS_TERMS(...)                                                                              \
    (const struct cs_term[]){__VA_ARGS__},                                                         \
        (unsigned)(sizeof((const struct cs_term[]){__VA_ARGS__}) / sizeof(struct cs_term))
#define CS_NONE NULL, 0

static inline void cs_lc_init(struct cs_lc *lc)
{
    lc->one = fr_word(0);
    lc->count = 0;
}
void cs_lc_add(struct cs_lc *lc, cs_var var, uint32_t coefficient);
/* The number of a plain coefficient; 0, and cs->error, when memory is out. */
uint32_t cs_coefficient(struct cs *cs, const fr *plain);

/* Refuses the values: the first reason is kept, with the place before it. */
void cs_refuse(struct cs *cs, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* i | 1 | v with a new input i of v's value. */
void cs_inputize(struct cs *cs, cs_var var);
/* a | 1 | b; values that differ are refused with `what`: "TreeD root differs". */
void cs_equal(struct cs *cs, cs_var a, cs_var b, const char *what);
