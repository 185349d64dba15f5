/* Which wires have a point in an array of a bellman key, which leaves out those that occur in no
 * row, and where it is. The point of wire i, if bit i is set, is number
 * ranks[i / 64] + the set bits below i in words[i / 64]: 12 bytes for 64 wires. Lies in the
 * prepared key; filled while it is made. Arrays are borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/key/matrix.h"

struct pool;

struct density {
    size_t bit_count, one_count;
    const uint64_t *words; /* bit i % 64 of word i / 64; bits behind the last are 0 */
    const uint32_t *ranks; /* set bits before each word */
};

static inline size_t density_word_count(size_t bit_count)
{
    return bit_count / 64 + (bit_count % 64 != 0);
}

/* Sets the bit of every wire that occurs in the matrix; words are zeroed before. */
void density_mark(uint64_t *words, const struct matrix *matrix);
/* Sets the first `count` bits. */
void density_mark_first(uint64_t *words, size_t count);
/* Fills ranks from words and returns how many bits are set. */
size_t density_rank(const uint64_t *words, size_t word_count, uint32_t *ret_ranks);
/* Whether ranks, one_count and the bits behind the last fit the words. */
bool density_is_sound(const struct density *density);
/* ret[k] = the scalar (4 limbs) of the wire with the k-th point; ret holds one_count. Spread over
 * the pool. */
void density_gather(const struct density *density, struct pool *pool, const uint64_t *scalars,
                    uint64_t *ret);
