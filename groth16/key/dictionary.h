/* The distinct coefficients of a circuit's matrices, numbered in order of first appearance. Used
 * while a key is prepared (matrix_builder, r1cs_match); one thread.
 *
 * Keys may be hostile: the hash is seeded from getrandom, so that nobody can choose coefficients
 * that collide. The numbering does not depend on the seed. */
#pragma once

#include <stdint.h>

struct dictionary {
    uint64_t *values; /* 4 limbs each */
    uint32_t count, capacity;
    uint32_t *slots;     /* value number + 1; 0 is free */
    uint32_t slot_count; /* a power of two, at least twice count */
    uint64_t seed[5];
};

/* -ENOMEM. */
int dictionary_init(struct dictionary *dictionary);
/* Accepts a zeroed object. */
void dictionary_destroy(struct dictionary *dictionary);
/* The number of a value, new or known. -ENOMEM, -EOVERFLOW beyond 2^30 values. */
int dictionary_number(struct dictionary *dictionary, const uint64_t *value, uint32_t *ret);
