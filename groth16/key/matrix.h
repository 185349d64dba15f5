/* A constraint matrix in compressed rows with a dictionary of coefficients, as it lies in the
 * prepared key (groth16/key/prepared.h) and is evaluated by synthesis. Arrays are borrowed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct matrix {
    size_t row_count; /* constraints plus the input-consistency rows */
    size_t entry_count;
    const uint64_t *row_begin;   /* row_count + 1 offsets into column[] and coefficient[] */
    const uint32_t *column;      /* wire, < variable_count */
    const uint32_t *coefficient; /* index into dictionary */
    /* 4 limbs each: coefficient * R^2 mod r, so that one Montgomery product with a plain witness
     * value gives a Montgomery-form term. Entry 0 is always 1, entry 1 is always -1. */
    const uint64_t *dictionary;
    size_t dictionary_count;
};

/* The three matrices of a key and a witness, whose rows are to satisfy A w * B w = C w. */
struct matrix_check {
    const struct matrix *a, *b, *c;
    /* Coefficient i of the dictionary as a number, for i < small_count, where its absolute value is
     * below 2^63; 0 where not. Saves time only: small_count may be 0. */
    const int64_t *small;
    size_t small_count;
    const uint64_t *witness;
    const uint64_t *a_rows, *b_rows; /* A w and B w (fr), from row 0; or both NULL */
};
