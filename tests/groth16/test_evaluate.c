/* Rows of a matrix times a witness against sums of plain products. */

#include "groth16/curve/curve.h"
#include "groth16/key/matrix.h"

#include "tests/test.h"

enum { ROWS = 300, WIRES = 200, COEFFICIENTS = 8, ENTRIES_MAX = ROWS * 12 };

static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};

static void random_scalar(const struct curve *curve, uint64_t *seed, uint64_t *scalar)
{
    do {
        for (int i = 0; i < 4; i++)
            scalar[i] = test_random(seed);
        scalar[3] >>= 1;
    } while (!curve->scalar_is_reduced(scalar));
}

/* a = a + b mod r, for a, b < r < 2^255. */
static void add(const struct curve *curve, uint64_t *a, const uint64_t *b)
{
    unsigned __int128 sum = 0, difference = 0;
    uint64_t reduced[4];

    for (int i = 0; i < 4; i++) {
        sum = (sum >> 64) + a[i] + b[i];
        a[i] = (uint64_t)sum;
    }
    for (int i = 0; i < 4; i++) {
        difference = (unsigned __int128)a[i] - curve->fr_modulus[i] - (difference >> 127);
        reduced[i] = (uint64_t)difference;
    }
    if (difference >> 127 == 0)
        memcpy(a, reduced, 32);
}

static void to_mont(const struct curve *curve, uint64_t *value, int times)
{
    for (int i = 0; i < 256 * times; i++)
        add(curve, value, value);
}

static void check_rows(const struct curve *curve, uint64_t *seed)
{
    static uint64_t plain[COEFFICIENTS][4], dictionary[COEFFICIENTS][4], witness[WIRES][4];
    static uint64_t row_begin[ROWS + 1], rows[ROWS + 20][4], sums[ROWS][4];
    static uint32_t column[ENTRIES_MAX], coefficient[ENTRIES_MAX];
    size_t entries = 0;

    memset(plain, 0, sizeof plain);
    plain[0][0] = 1;
    memcpy(plain[1], curve->fr_modulus, 32);
    plain[1][0] -= 1;
    plain[2][0] = 2;
    for (int i = 3; i < COEFFICIENTS; i++)
        random_scalar(curve, seed, plain[i]);
    memcpy(dictionary, plain, sizeof plain);
    for (int i = 0; i < COEFFICIENTS; i++)
        to_mont(curve, dictionary[i], 2);
    for (int i = 0; i < WIRES; i++) {
        random_scalar(curve, seed, witness[i]);
        if (i % 4 < 3)
            memset(witness[i], 0, 32);
        witness[i][0] += i % 4 == 1;
    }
    memset(sums, 0, sizeof sums);
    for (int row = 0; row < ROWS; row++) {
        row_begin[row] = entries;
        for (uint64_t i = test_random(seed) % 12; i > 0; i--, entries++) {
            uint64_t term[4];

            column[entries] = (uint32_t)(test_random(seed) % WIRES);
            coefficient[entries] = (uint32_t)(test_random(seed) % COEFFICIENTS);
            curve->scalar_mul(term, plain[coefficient[entries]], witness[column[entries]]);
            add(curve, sums[row], term);
        }
        to_mont(curve, sums[row], 1);
    }
    row_begin[ROWS] = entries;

    struct matrix matrix = {ROWS,        entries,       row_begin,   column,
                            coefficient, dictionary[0], COEFFICIENTS};
    memset(rows, 0xff, sizeof rows);
    curve->evaluate(&matrix, witness[0], rows[0], 0, 100);
    ASSERT(rows[100][0] == UINT64_MAX);
    curve->evaluate(&matrix, witness[0], rows[0], 100, ROWS + 19);
    ASSERT(memcmp(rows, sums, sizeof sums) == 0);
    for (int i = ROWS; i < ROWS + 19; i++)
        for (int j = 0; j < 4; j++)
            ASSERT_INT(rows[i][j], 0);
    ASSERT(rows[ROWS + 19][0] == UINT64_MAX);
}

TEST(rows_are_sums_of_products_and_zero_beyond_the_matrix)
{
    uint64_t seed = test_seed();

    for (int i = 0; i < 2; i++)
        check_rows(curves[i], &seed);
}

TEST(scalars_check_finds_the_first_unreduced)
{
    uint64_t seed = test_seed(), scalars[50][4];

    for (int c = 0; c < 2; c++) {
        const struct curve *curve = curves[c];

        for (int i = 0; i < 50; i++)
            random_scalar(curve, &seed, scalars[i]);
        memcpy(scalars[7], curve->fr_modulus, 32);
        scalars[7][0]--;
        ASSERT_INT(curve->scalars_check(scalars[0], 50), 50);
        ASSERT_INT(curve->scalars_check(scalars[0], 0), 0);
        memcpy(scalars[40], curve->fr_modulus, 32);
        ASSERT_INT(curve->scalars_check(scalars[0], 50), 40);
        scalars[11][3] = UINT64_MAX;
        ASSERT_INT(curve->scalars_check(scalars[0], 50), 11);
        /* The top limb of r is not enough to know. */
        for (size_t i = 0; i < 50; i++) {
            memset(scalars, 0, sizeof scalars);
            memcpy(scalars[i], curve->fr_modulus, 32);
            ASSERT_INT(curve->scalars_check(scalars[0], 50), i);
            ASSERT_INT(curve->scalars_check(scalars[0], i), i);
            scalars[i][1]--;
            scalars[(i + 20) % 50][3] = curve->fr_modulus[3];
            ASSERT_INT(curve->scalars_check(scalars[0], 50), 50);
        }
    }
}

TEST_MAIN(CASE(rows_are_sums_of_products_and_zero_beyond_the_matrix),
          CASE(scalars_check_finds_the_first_unreduced))
