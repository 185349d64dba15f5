/* The Poseidon permutation in its optimised form. Constants: poseidon_constants.c. */
#include "filecoin/poseidon.h"

static void mix_dense(const struct poseidon *poseidon,
                      const fr matrix[POSEIDON_WIDTH_MAX][POSEIDON_WIDTH_MAX], fr *state)
{
    fr next[POSEIDON_WIDTH_MAX], term;

    for (unsigned j = 0; j < poseidon->width; j++) {
        bls12_381_fr_mul(&next[j], &state[0], &matrix[0][j]);
        for (unsigned i = 1; i < poseidon->width; i++) {
            bls12_381_fr_mul(&term, &state[i], &matrix[i][j]);
            bls12_381_fr_add(&next[j], &next[j], &term);
        }
    }
    memcpy(state, next, poseidon->width * sizeof next[0]);
}

static void mix_sparse(const struct poseidon *poseidon, const struct poseidon_sparse *sparse,
                       fr *state)
{
    const fr first = state[0];
    fr sum, term;

    bls12_381_fr_mul(&sum, &first, &sparse->column[0]);
    for (unsigned j = 1; j < poseidon->width; j++) {
        bls12_381_fr_mul(&term, &state[j], &sparse->column[j]);
        bls12_381_fr_add(&sum, &sum, &term);
        bls12_381_fr_mul(&term, &first, &sparse->row[j - 1]);
        bls12_381_fr_add(&state[j], &state[j], &term);
    }
    state[0] = sum;
}

void poseidon_mix(const struct poseidon *poseidon, unsigned round, fr *state)
{
    const unsigned half = POSEIDON_FULL_ROUNDS / 2;

    if (round == half - 1)
        mix_dense(poseidon, poseidon->pre_sparse, state);
    else if (round >= half && round < half + poseidon->partial_rounds)
        mix_sparse(poseidon, &poseidon->sparse[round - half], state);
    else
        mix_dense(poseidon, poseidon->mds, state);
}

/* x = x^5 + key. */
static void sbox(fr *x, const fr *key)
{
    fr power;

    bls12_381_fr_sqr(&power, x);
    bls12_381_fr_sqr(&power, &power);
    bls12_381_fr_mul(x, x, &power);
    if (key)
        bls12_381_fr_add(x, x, key);
}

fr poseidon_tag(const struct poseidon *poseidon, enum poseidon_use use)
{
    const uint64_t word =
        use == POSEIDON_RANDOM ? UINT64_C(1) << 40 : (UINT64_C(1) << poseidon->arity) - 1;
    fr tag = fr_word(word);

    bls12_381_fr_from_plain(&tag, &tag);
    return tag;
}

void poseidon_hash(const struct poseidon *poseidon, enum poseidon_use use, const fr *inputs,
                   fr *ret)
{
    const unsigned width = poseidon->width, half = POSEIDON_FULL_ROUNDS / 2;
    const fr *key = poseidon->keys;
    unsigned round = 0;
    fr state[POSEIDON_WIDTH_MAX];

    state[0] = poseidon_tag(poseidon, use);
    for (unsigned i = 1; i < width; i++)
        bls12_381_fr_from_plain(&state[i], &inputs[i - 1]);
    for (unsigned i = 0; i < width; i++)
        bls12_381_fr_add(&state[i], &state[i], key++);
    for (unsigned full = 0; full < POSEIDON_FULL_ROUNDS; full++) {
        const bool is_last = full == POSEIDON_FULL_ROUNDS - 1;

        for (unsigned i = 0; i < width; i++)
            sbox(&state[i], is_last ? NULL : key++);
        poseidon_mix(poseidon, round++, state);
        for (unsigned i = 0; full == half - 1 && i < poseidon->partial_rounds; i++) {
            sbox(&state[0], key++);
            poseidon_mix(poseidon, round++, state);
        }
    }
    bls12_381_fr_to_plain(ret, &state[1]);
}
