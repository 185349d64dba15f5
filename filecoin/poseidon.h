/* Poseidon over the scalar field of BLS12-381 with the constants of Filecoin (neptune 11, standard
 * strength): x^5, 8 full rounds, width arity + 1, the digest is element 1. Called by the gadget
 * (poseidon_gadget.c) and by whoever derives challenges. The constants are computed once, from the
 * Grain generator of the Poseidon paper (https://eprint.iacr.org/2019/458, appendix E), and reach
 * the optimised form of its appendix B: one key a partial round and sparse matrices. Any thread. */
#pragma once

#include "filecoin/fr.h"

enum {
    POSEIDON_WIDTH_MAX = 17,
    POSEIDON_FULL_ROUNDS = 8,
    POSEIDON_PARTIAL_ROUNDS_MAX = 59,
    POSEIDON_KEYS_MAX = 8 * POSEIDON_WIDTH_MAX + POSEIDON_PARTIAL_ROUNDS_MAX,
};

/* What is hashed: decides the first element of the state. */
enum poseidon_use {
    POSEIDON_MERKLE, /* 2^arity - 1 */
    POSEIDON_RANDOM, /* 2^40: phi, rho and the digests of challenges in SnapDeals; arity 2 */
};

/* A matrix that is the identity but for its first column and row: what a partial round mixes with.
 */
struct poseidon_sparse {
    fr column[POSEIDON_WIDTH_MAX]; /* element 0 of the result is its product with the state */
    fr row[POSEIDON_WIDTH_MAX];    /* [j - 1] times element 0 is added to element j */
};

/* All in Montgomery form. The vector of the state is multiplied from the left: new[j] is the sum of
 * old[i] matrix[i][j]. */
struct poseidon {
    unsigned arity, width, partial_rounds;
    fr keys[POSEIDON_KEYS_MAX]; /* in order of use: 2 width before and in the first round, ... */
    unsigned key_count;
    fr mds[POSEIDON_WIDTH_MAX][POSEIDON_WIDTH_MAX];
    fr pre_sparse[POSEIDON_WIDTH_MAX][POSEIDON_WIDTH_MAX]; /* after the fourth full round */
    struct poseidon_sparse sparse[POSEIDON_PARTIAL_ROUNDS_MAX];
};

/* Arity 2, 4, 8, 11 or 16; others are a programming error. Milliseconds at the first call. */
const struct poseidon *poseidon_get(unsigned arity);

/* The first element of the state, Montgomery form. */
fr poseidon_tag(const struct poseidon *poseidon, enum poseidon_use use);

/* Plain values in and out. */
void poseidon_hash(const struct poseidon *poseidon, enum poseidon_use use, const fr *inputs,
                   fr *ret);

/* One layer of mixing of `state` (Montgomery form): matrix number `round` of the 7 +
 * partial_rounds. */
void poseidon_mix(const struct poseidon *poseidon, unsigned round, fr *state);
