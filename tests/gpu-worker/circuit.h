/* Random circuits of known answer for the tests of backends: every point is a known multiple of the
 * generator, so the expected sums are computed with plain scalars and one multiplication each, and
 * the quotient term by term. */
#pragma once

#include "gpu-worker/backend.h"
#include "groth16/verify/sums.h"

enum {
    CIRCUIT_COEFFICIENTS = 4,
    CIRCUIT_ROW_ENTRIES = 3,
};

struct scalar {
    uint64_t limbs[4];
};

struct circuit {
    struct prepared prepared;
    size_t variables, publics, rows, domain;
    uint64_t *row_begin, *dictionary;
    uint32_t *a_columns, *b_columns, *a_coefficients, *b_coefficients;
    uint8_t *points[5];     /* A, B1, B2, L, H */
    struct scalar *logs[5]; /* of the points; B1 and B2 share theirs */
    struct scalar coefficients[CIRCUIT_COEFFICIENTS];
};

struct partition {
    uint8_t *slab, *copy;
    size_t bytes;
    uint8_t expected[SUMS_BYTES_MAX];
    bool has_evaluations;
    unsigned ends, uploads;
    bool is_cancelled;
    unsigned place; /* of its PROVED among all */
};

/* *random: state of test_random. Memory short: the program ends. */
void circuit_make(uint64_t *random, struct circuit *circuit, const struct curve *curve,
                  unsigned domain_log2);
void circuit_free(struct circuit *circuit);

/* A slab with a witness like real ones and its evaluations, mapped for reading: a backend that
 * writes crashes. */
void partition_make(uint64_t *random, const struct circuit *circuit, struct partition *partition);
/* The witness alone is left: whoever reads evaluations crashes. */
void partition_strip(const struct circuit *circuit, struct partition *partition);
void partition_free(struct partition *partition);
