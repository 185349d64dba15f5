/* The matrices of a circuit, recorded once from its blank form: what a key is prepared with and
 * rows are evaluated from. C is recorded only where a witness is to be checked row by row: for
 * proving, C w is A w times B w. An entry takes six bytes, since circuits have a few thousand
 * coefficients. */
#pragma once

#include "filecoin/circuit.h"
#include "groth16/key/matrix.h"

enum { RECORD_COEFFICIENTS_MAX = UINT16_MAX + 1 };

struct record_matrix {
    uint64_t *row_begin; /* row_count + 1 */
    uint32_t *column;    /* ONE and inputs from 0, then the others */
    uint16_t *coefficient;
    uint64_t entry_count, entry_capacity;
};

struct record {
    struct cs_sink sink; /* first */
    struct circuit_size size;
    struct record_matrix matrix[3]; /* A, B and, where wanted, C */
    bool has_c;
    struct dictionary dictionary; /* plain values; 0 is 1, 1 is -1 */
    uint64_t row_count;
    int error;
};

/* -ENOMEM; -EOVERFLOW for a circuit of too many coefficients (none of Filecoin's). */
int record_circuit(struct record *ret, const struct circuit *circuit, bool has_c);
/* Accepts a zeroed object. */
void record_destroy(struct record *record);

/* The matrices as keys and synthesis take them (groth16/key/matrix.h), with one dictionary for all.
 * C is without its input rows, which are empty; without C it has no rows. row_begin and column stay
 * the record's, the rest is new: record_matrices_release. -ENOMEM. */
int record_matrices(const struct record *record, struct matrix ret[3]);
void record_matrices_release(struct matrix matrices[3]);
