/* Derives the constants of Poseidon: round keys from the Grain generator, the Cauchy matrix, then
 * the optimised form, in which the keys of partial rounds are pulled back through the inverse
 * matrix and each matrix between partial rounds is factored into a sparse one and a rest that moves
 * into the layer before. tests/filecoin/test_poseidon.c compares them with neptune's. */
#include "filecoin/poseidon.h"

#include <pthread.h>

#include "runtime/check.h"

enum { HALF = POSEIDON_FULL_ROUNDS / 2, GRAIN_BITS = 80 };

typedef fr matrix[POSEIDON_WIDTH_MAX][POSEIDON_WIDTH_MAX];

static const struct {
    unsigned arity, partial_rounds;
} instances[] = {{2, 55}, {4, 56}, {8, 57}, {11, 57}, {16, 59}};

enum { INSTANCE_COUNT = sizeof instances / sizeof instances[0] };

static struct poseidon made[INSTANCE_COUNT];
static pthread_once_t made_once = PTHREAD_ONCE_INIT;

/* The self-shrinking generator over an 80-bit shift register; bits are kept one a byte. */
struct grain {
    uint8_t bits[GRAIN_BITS];
    unsigned at;
};

static unsigned grain_step(struct grain *grain)
{
    static const uint8_t taps[] = {62, 51, 38, 23, 13, 0};
    unsigned bit = 0;

    for (unsigned i = 0; i < sizeof taps; i++)
        bit ^= grain->bits[(grain->at + taps[i]) % GRAIN_BITS];
    grain->bits[grain->at] = (uint8_t)bit;
    grain->at = (grain->at + 1) % GRAIN_BITS;
    return bit;
}

/* Field 1 (prime) in 2 bits, S-box 1 in 4 (neptune's code for x^5, where the paper has 0), sizes,
 * ones; the first 160 bits are thrown away. */
static void grain_init(struct grain *grain, const struct poseidon *poseidon)
{
    const struct {
        unsigned value, bits;
    } fields[] = {{1, 2},
                  {1, 4},
                  {FR_BITS, 12},
                  {poseidon->width, 12},
                  {POSEIDON_FULL_ROUNDS, 10},
                  {poseidon->partial_rounds, 10},
                  {(1u << 30) - 1, 30}};
    unsigned count = 0;

    grain->at = 0;
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        for (unsigned bit = fields[i].bits; bit-- > 0;)
            grain->bits[count++] = fields[i].value >> bit & 1;
    CHECK(count == GRAIN_BITS);
    for (unsigned i = 0; i < 160; i++)
        grain_step(grain);
}

/* The next value below r, drawn again while it is not; Montgomery form. */
static void grain_next(struct grain *grain, fr *ret)
{
    do {
        *ret = fr_word(0);
        for (unsigned bit = FR_BITS; bit-- > 0;) {
            while (!grain_step(grain))
                grain_step(grain);
            if (grain_step(grain))
                fr_set_bit(ret, bit);
        }
    } while (!bls12_381_fr_is_canonical(ret->l));
    bls12_381_fr_from_plain(ret, ret);
}

/* r = sum of a[i] b[i][column], i < size. */
static void dot_column(fr *r, const fr *a, const matrix b, unsigned column, unsigned size)
{
    fr sum = fr_word(0), term;

    for (unsigned i = 0; i < size; i++) {
        bls12_381_fr_mul(&term, &a[i], &b[i][column]);
        bls12_381_fr_add(&sum, &sum, &term);
    }
    *r = sum;
}

/* v = v m. */
static void vector_times(fr *v, const matrix m, unsigned size)
{
    fr r[POSEIDON_WIDTH_MAX];

    for (unsigned j = 0; j < size; j++)
        dot_column(&r[j], v, m, j, size);
    memcpy(v, r, size * sizeof r[0]);
}

/* Gauss and Jordan; the matrices here are never singular. Destroys m. */
static void invert(matrix m, matrix ret, unsigned size)
{
    fr factor, term;

    for (unsigned i = 0; i < size; i++)
        for (unsigned j = 0; j < size; j++)
            if (i == j)
                bls12_381_fr_set_one(&ret[i][j]);
            else
                ret[i][j] = fr_word(0);
    for (unsigned c = 0; c < size; c++) {
        unsigned pivot = c;

        while (pivot < size && bls12_381_fr_is_zero(&m[pivot][c]))
            pivot++;
        CHECK(pivot < size);
        for (unsigned j = 0; pivot != c && j < size; j++) {
            term = m[c][j], m[c][j] = m[pivot][j], m[pivot][j] = term;
            term = ret[c][j], ret[c][j] = ret[pivot][j], ret[pivot][j] = term;
        }
        bls12_381_fr_inv(&factor, &m[c][c]);
        for (unsigned j = 0; j < size; j++) {
            bls12_381_fr_mul(&m[c][j], &m[c][j], &factor);
            bls12_381_fr_mul(&ret[c][j], &ret[c][j], &factor);
        }
        for (unsigned i = 0; i < size; i++) {
            factor = m[i][c];
            if (i == c || bls12_381_fr_is_zero(&factor))
                continue;
            for (unsigned j = 0; j < size; j++) {
                bls12_381_fr_mul(&term, &factor, &m[c][j]);
                bls12_381_fr_sub(&m[i][j], &m[i][j], &term);
                bls12_381_fr_mul(&term, &factor, &ret[c][j]);
                bls12_381_fr_sub(&ret[i][j], &ret[i][j], &term);
            }
        }
    }
}

/* The keys of a round are added after its S-boxes, so they go back through the matrix between; all
 * but the first element of a partial round's keys go on to the round before. */
static void make_keys(struct poseidon *poseidon)
{
    const unsigned width = poseidon->width, partial = poseidon->partial_rounds;
    static fr raw[(POSEIDON_FULL_ROUNDS + POSEIDON_PARTIAL_ROUNDS_MAX) * POSEIDON_WIDTH_MAX];
    fr last[POSEIDON_PARTIAL_ROUNDS_MAX], *to = poseidon->keys, sum[POSEIDON_WIDTH_MAX];
    matrix copy, inverse;
    struct grain grain;

    grain_init(&grain, poseidon);
    for (unsigned i = 0; i < (POSEIDON_FULL_ROUNDS + partial) * width; i++)
        grain_next(&grain, &raw[i]);
    memcpy(copy, poseidon->mds, sizeof copy);
    invert(copy, inverse, width);

    memcpy(to, raw, width * sizeof *to);
    to += width;
    for (unsigned round = 1; round < HALF; round++, to += width) {
        memcpy(to, raw + round * width, width * sizeof *to);
        vector_times(to, inverse, width);
    }
    memcpy(sum, raw + (HALF + partial) * width, width * sizeof *sum);
    for (unsigned i = partial; i-- > 0;) {
        vector_times(sum, inverse, width);
        last[i] = sum[0];
        sum[0] = raw[(HALF + i) * width];
        for (unsigned j = 1; j < width; j++)
            bls12_381_fr_add(&sum[j], &sum[j], &raw[(HALF + i) * width + j]);
    }
    vector_times(sum, inverse, width);
    memcpy(to, sum, width * sizeof *to);
    to += width;
    memcpy(to, last, partial * sizeof *to);
    to += partial;
    for (unsigned round = 1; round < HALF; round++, to += width) {
        memcpy(to, raw + (HALF + partial + round) * width, width * sizeof *to);
        vector_times(to, inverse, width);
    }
    poseidon->key_count = (unsigned)(to - poseidon->keys);
}

/* From the last partial round to the first: current = rest * sparse, and the rest is multiplied
 * into the matrix of the layer before. */
static void make_sparse(struct poseidon *poseidon)
{
    const unsigned width = poseidon->width;
    matrix current, hat, inverse, rest;

    memcpy(current, poseidon->mds, sizeof current);
    for (unsigned round = poseidon->partial_rounds; round-- > 0;) {
        struct poseidon_sparse *sparse = &poseidon->sparse[round];

        for (unsigned i = 1; i < width; i++)
            memcpy(hat[i - 1], &current[i][1], (width - 1) * sizeof hat[0][0]);
        invert(hat, inverse, width - 1);
        sparse->column[0] = current[0][0];
        for (unsigned j = 1; j < width; j++) {
            fr sum = fr_word(0), term;

            for (unsigned i = 1; i < width; i++) {
                bls12_381_fr_mul(&term, &current[i][0], &inverse[i - 1][j - 1]);
                bls12_381_fr_add(&sum, &sum, &term);
            }
            sparse->column[j] = sum;
            sparse->row[j - 1] = current[0][j];
        }
        memset(rest, 0, sizeof rest);
        bls12_381_fr_set_one(&rest[0][0]);
        for (unsigned i = 1; i < width; i++)
            memcpy(&rest[i][1], &current[i][1], (width - 1) * sizeof rest[0][0]);
        for (unsigned i = 0; i < width; i++)
            for (unsigned j = 0; j < width; j++)
                dot_column(&current[i][j], poseidon->mds[i], rest, j, width);
    }
    memcpy(poseidon->pre_sparse, current, sizeof current);
}

static void make(void)
{
    for (unsigned n = 0; n < INSTANCE_COUNT; n++) {
        struct poseidon *poseidon = &made[n];

        poseidon->arity = instances[n].arity;
        poseidon->width = instances[n].arity + 1;
        poseidon->partial_rounds = instances[n].partial_rounds;
        for (unsigned i = 0; i < poseidon->width; i++)
            for (unsigned j = 0; j < poseidon->width; j++) {
                fr *entry = &poseidon->mds[i][j];

                *entry = fr_word(i + j + poseidon->width);
                bls12_381_fr_from_plain(entry, entry);
                bls12_381_fr_inv(entry, entry);
            }
        make_keys(poseidon);
        make_sparse(poseidon);
    }
}

const struct poseidon *poseidon_get(unsigned arity)
{
    pthread_once(&made_once, make);
    for (unsigned n = 0; n < INSTANCE_COUNT; n++)
        if (made[n].arity == arity)
            return &made[n];
    CHECK(!"a Poseidon of another arity");
    return NULL;
}
