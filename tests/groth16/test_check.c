/* The check of constraints against sums of plain products, term by term, on rows made to be hard:
 * coefficients and values at every edge of the short cuts, and rows of many terms. */
#include "groth16/field/limbs.h"
#include "groth16/key/matrix_builder.h"
#include "groth16/key/prepared.h"

#include "tests/test.h"

enum {
    ROWS = 400,
    LONG_ROWS = 12, /* the last ones */
    LONG_TERMS = 100000,
    TERMS_MAX = 40,
    POOL = 64, /* wires that rows draw from; then one for each row */
    WIRES = POOL + ROWS,
    COEFFICIENTS = 96,
    ENTRIES_MAX = ROWS * (TERMS_MAX + 1) + LONG_ROWS * (LONG_TERMS + 1),
};

static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};

/* What the terms of a row are. */
enum kind {
    KIND_BITS,   /* 1 and -1, bits */
    KIND_POWERS, /* powers of two, bits */
    KIND_WORDS,  /* small coefficients, values of a word and more */
    KIND_FULL,   /* 1 and -1, full values */
    KIND_TOP,    /* r - 1 and 1, r - 1 times 1 and -1 */
    KIND_SMALL_FULL,
    KIND_ANY,
    KIND_COUNT,
};

struct rig {
    const struct curve *curve;
    uint64_t seed;
    uint64_t plain[COEFFICIENTS][4], dictionary[COEFFICIENTS][4], witness[WIRES][4];
    uint64_t row_begin[3][ROWS + 1];
    uint32_t column[3][ENTRIES_MAX], coefficient[3][ENTRIES_MAX];
    uint64_t a[ROWS][4], b[ROWS][4], sums[3][ROWS][4]; /* sums: plain */
    struct prepared prepared;
};

static struct rig rig;

/* Where the kinds of values lie in the pool, and of coefficients in the dictionary. */
enum {
    BITS = 0, /* wire 0 is 1 */
    BITS_END = 20,
    WORDS_END = 36,
    FULL_END = POOL,
    POWERS = 2, /* 2^1 to 2^62 */
    POWERS_END = 64,
    SMALL_END = 74,
};

static void random_scalar(uint64_t *scalar)
{
    do {
        for (int i = 0; i < 4; i++)
            scalar[i] = test_random(&rig.seed);
        scalar[3] >>= 1;
    } while (!rig.curve->scalar_is_reduced(scalar));
}

static void negate(uint64_t *value)
{
    static const uint64_t zero[4];

    limbs_mod_sub(value, zero, value, rig.curve->fr_modulus, 4);
}

static void add(uint64_t *sum, const uint64_t *term)
{
    limbs_mod_add(sum, sum, term, rig.curve->fr_modulus, 4);
}

static void make_coefficients(void)
{
    static const uint64_t edges[] = {0x7fffffff, 0x80000000, 3, INT64_MAX, UINT64_C(1) << 62};
    uint64_t one_scaled[4];

    memset(rig.plain, 0, sizeof rig.plain);
    rig.plain[0][0] = rig.plain[1][0] = 1;
    negate(rig.plain[1]);
    for (int i = POWERS; i < POWERS_END; i++)
        rig.plain[i][0] = UINT64_C(2) << (i - POWERS);
    for (int i = 0; i < 5; i++) {
        rig.plain[POWERS_END + 2 * i][0] = rig.plain[POWERS_END + 2 * i + 1][0] = edges[i];
        negate(rig.plain[POWERS_END + 2 * i + 1]);
    }
    rig.plain[SMALL_END][0] = UINT64_C(1) << 63;
    rig.plain[SMALL_END + 1][0] = UINT64_C(1) << 63;
    negate(rig.plain[SMALL_END + 1]);
    rig.plain[SMALL_END + 2][1] = 1;
    rig.plain[SMALL_END + 3][3] = UINT64_C(1) << 60;
    /* SMALL_END + 4 is 0 */
    for (int i = SMALL_END + 5; i < COEFFICIENTS; i++)
        random_scalar(rig.plain[i]);
    matrix_builder_one_scaled(rig.curve, one_scaled);
    for (int i = 0; i < COEFFICIENTS; i++)
        rig.curve->scalar_mul(rig.dictionary[i], rig.plain[i], one_scaled);
}

static void make_values(void)
{
    memset(rig.witness, 0, sizeof rig.witness);
    for (int i = BITS; i < BITS_END; i++)
        rig.witness[i][0] = i == 0 || test_random(&rig.seed) % 2;
    for (int i = BITS_END; i < WORDS_END; i++)
        rig.witness[i][0] = test_random(&rig.seed) >> test_random(&rig.seed) % 64;
    rig.witness[BITS_END][0] = INT64_MAX;
    rig.witness[BITS_END + 1][0] = UINT64_C(1) << 63;
    rig.witness[BITS_END + 2][0] = UINT64_MAX;
    for (int i = WORDS_END; i < FULL_END; i++)
        random_scalar(rig.witness[i]);
    for (int i = 0; i < 3; i++) { /* r - 1, r - 2, r - 3 */
        rig.witness[WORDS_END + i][0] = (uint64_t)i + 1;
        negate(rig.witness[WORDS_END + i]);
    }
    memset(rig.witness[WORDS_END + 3], 0, 32);
    memset(rig.witness[WORDS_END + 4], 0, 32);
    rig.witness[WORDS_END + 4][1] = 1;
}

static uint32_t between(uint32_t begin, uint32_t end)
{
    return begin + (uint32_t)(test_random(&rig.seed) % (end - begin));
}

static void make_term(enum kind kind, uint32_t *wire, uint32_t *number)
{
    switch (kind) {
    case KIND_BITS:
        *wire = between(BITS, BITS_END);
        *number = between(0, 2);
        break;
    case KIND_POWERS:
        *wire = between(BITS, BITS_END);
        *number = between(0, POWERS_END);
        break;
    case KIND_WORDS:
        *wire = between(BITS, WORDS_END);
        *number = between(0, SMALL_END);
        break;
    case KIND_FULL:
        *wire = between(BITS, FULL_END);
        *number = between(0, 2);
        break;
    case KIND_TOP:
        *wire = between(WORDS_END, WORDS_END + 2);
        *number = test_random(&rig.seed) % 8 == 0;
        break;
    case KIND_SMALL_FULL:
        *wire = between(WORDS_END, FULL_END);
        *number = between(0, SMALL_END);
        break;
    default:
        *wire = between(BITS, FULL_END);
        *number = between(0, COEFFICIENTS);
    }
}

/* Appends a row of random terms; adds them up. */
static void make_row(int matrix, size_t row, uint32_t terms, enum kind kind, uint64_t *ret_sum)
{
    uint64_t at = rig.row_begin[matrix][row], term[4];

    memset(ret_sum, 0, 32);
    for (uint32_t i = 0; i < terms; i++, at++) {
        uint32_t *wire = &rig.column[matrix][at], *number = &rig.coefficient[matrix][at];

        make_term(kind, wire, number);
        rig.curve->scalar_mul(term, rig.plain[*number], rig.witness[*wire]);
        add(ret_sum, term);
    }
    rig.row_begin[matrix][row + 1] = at;
}

/* The row's own wire, times 1 or -1, makes its C what A B is. */
static void complete_row(size_t row, const uint64_t *a, const uint64_t *b, const uint64_t *c)
{
    const uint64_t at = rig.row_begin[2][row + 1]++;
    const bool is_negative = test_random(&rig.seed) % 2;
    uint64_t *own = rig.witness[POOL + row];

    rig.curve->scalar_mul(own, a, b);
    limbs_mod_sub(own, own, c, rig.curve->fr_modulus, 4);
    if (is_negative)
        negate(own);
    rig.column[2][at] = (uint32_t)(POOL + row);
    rig.coefficient[2][at] = is_negative;
}

static struct matrix matrix_of(int matrix)
{
    return (struct matrix){
        .row_count = ROWS,
        .entry_count = rig.row_begin[matrix][ROWS],
        .row_begin = rig.row_begin[matrix],
        .column = rig.column[matrix],
        .coefficient = rig.coefficient[matrix],
        .dictionary = rig.dictionary[0],
        .dictionary_count = COEFFICIENTS,
    };
}

static void make_rig(const struct curve *curve)
{
    rig.seed = test_seed();
    rig.curve = curve;
    make_coefficients();
    make_values();
    for (size_t row = 0; row < ROWS; row++) {
        const enum kind kind = (enum kind)(row % KIND_COUNT);
        for (int m = 0; m < 3; m++) {
            /* One matrix in four is of any kind, so that small and large meet in a row. */
            const enum kind own = test_random(&rig.seed) % 4 == 0
                                      ? (enum kind)(test_random(&rig.seed) % KIND_COUNT)
                                      : kind;
            const uint32_t short_terms =
                (uint32_t)test_random(&rig.seed) % (row % 2 ? TERMS_MAX : 4);

            make_row(m, row, row < ROWS - LONG_ROWS ? short_terms : LONG_TERMS, own,
                     rig.sums[m][row]);
        }
        complete_row(row, rig.sums[0][row], rig.sums[1][row], rig.sums[2][row]);
    }
    rig.prepared = (struct prepared){.curve = curve, .has_c = true};
    rig.prepared.matrix_a = matrix_of(0);
    rig.prepared.matrix_b = matrix_of(1);
    rig.prepared.matrix_c = matrix_of(2);
    prepared_find_small(&rig.prepared);
    curve->evaluate(&rig.prepared.matrix_a, rig.witness[0], rig.a[0], 0, ROWS);
    curve->evaluate(&rig.prepared.matrix_b, rig.witness[0], rig.b[0], 0, ROWS);
}

/* With and without evaluated rows, with and without the table: all say the same. */
static size_t first_broken(size_t begin, size_t end)
{
    const struct prepared *p = &rig.prepared;
    struct prepared without = *p;
    const size_t broken = prepared_check_constraints(p, rig.witness[0], NULL, NULL, begin, end);

    without.small_count = 0;
    ASSERT_INT(prepared_check_constraints(p, rig.witness[0], rig.a[0], rig.b[0], begin, end),
               broken);
    ASSERT_INT(prepared_check_constraints(&without, rig.witness[0], NULL, NULL, begin, end),
               broken);
    return broken;
}

/* Breaks a row by its own wire, which no other row has. */
static void change(size_t row, const uint64_t *by)
{
    add(rig.witness[POOL + row], by);
}

TEST(small_coefficients_are_known_as_numbers)
{
    for (int c = 0; c < 2; c++) {
        make_rig(curves[c]);
        const struct prepared *p = &rig.prepared;

        ASSERT_INT(p->small_count, COEFFICIENTS);
        ASSERT_INT(p->small[0], 1);
        ASSERT_INT(p->small[1], -1);
        for (int i = POWERS; i < POWERS_END; i++)
            ASSERT(p->small[i] == INT64_C(2) << (i - POWERS));
        ASSERT(p->small[POWERS_END] == 0x7fffffff && p->small[POWERS_END + 1] == -0x7fffffff);
        ASSERT(p->small[POWERS_END + 6] == INT64_MAX && p->small[POWERS_END + 7] == -INT64_MAX);
        for (int i = SMALL_END; i < COEFFICIENTS; i++)
            ASSERT_INT(p->small[i], 0);
    }
}

TEST(evaluated_rows_are_the_sums_in_montgomery_form)
{
    for (int c = 0; c < 2; c++) {
        uint64_t one[4] = {1}, expected[4];

        make_rig(curves[c]);
        for (int i = 0; i < 256; i++)
            limbs_mod_add(one, one, one, rig.curve->fr_modulus, 4);
        for (size_t row = 0; row < ROWS; row++) {
            rig.curve->scalar_mul(expected, rig.sums[0][row], one);
            ASSERT(memcmp(rig.a[row], expected, sizeof expected) == 0);
            rig.curve->scalar_mul(expected, rig.sums[1][row], one);
            ASSERT(memcmp(rig.b[row], expected, sizeof expected) == 0);
        }
    }
}

TEST(rows_that_hold_hold)
{
    for (int c = 0; c < 2; c++) {
        make_rig(curves[c]);
        ASSERT_INT(first_broken(0, ROWS), ROWS);
        ASSERT_INT(first_broken(0, ROWS + 100), ROWS + 100);
        ASSERT_INT(first_broken(ROWS, ROWS + 1), ROWS + 1);
        ASSERT_INT(first_broken(17, 17), 17);
    }
}

TEST(each_broken_row_is_found_and_the_first_is_named)
{
    static const uint64_t steps[4][4] = {{1}, {0, 1}, {UINT64_C(1) << 63}, {0, 0, 0, 1}};

    for (int c = 0; c < 2; c++) {
        make_rig(curves[c]);
        for (size_t row = 0; row < ROWS; row++) {
            uint64_t by[4];
            size_t later = row + 1 + test_random(&rig.seed) % ROWS;

            memcpy(by, steps[row % 4], sizeof by);
            if (test_random(&rig.seed) % 2)
                negate(by);
            /* Only the long rows take long; each is looked at alone. */
            const size_t begin = row < ROWS - LONG_ROWS ? row - row % 50 : row;
            const size_t end = row < ROWS - LONG_ROWS ? ROWS - LONG_ROWS : row + 1;

            change(row, by);
            if (later < end)
                change(later, by);
            ASSERT_INT(first_broken(begin, end), row);
            ASSERT_INT(first_broken(begin, row), row);
            negate(by);
            change(row, by);
            ASSERT_INT(first_broken(begin, end), later < end ? later : end);
            if (later < end)
                change(later, by);
        }
        ASSERT_INT(first_broken(0, ROWS), ROWS);
    }
}

TEST(work_splits_rows_by_their_terms)
{
    make_rig(&curve_bn254);
    const struct prepared *p = &rig.prepared;
    const uint64_t total = prepared_check_work(p, 0, ROWS);
    size_t row = 0, pieces = 0;

    ASSERT_INT(total,
               p->matrix_a.entry_count + p->matrix_b.entry_count + p->matrix_c.entry_count + ROWS);
    ASSERT_INT(prepared_check_row(p, 0, total), ROWS);
    ASSERT_INT(prepared_check_row(p, 0, total + 1), ROWS);
    ASSERT_INT(prepared_check_row(p, 5, 0), 5);
    for (; row < ROWS; pieces++) {
        const size_t next = prepared_check_row(p, row, 1000);

        ASSERT(next > row && next <= ROWS);
        ASSERT(next == ROWS || prepared_check_work(p, row, next) >= 1000);
        ASSERT(prepared_check_work(p, row, next - 1) < 1000);
        row = next;
    }
    ASSERT(pieces > LONG_ROWS && pieces < ROWS / 2);
}

TEST_MAIN(CASE(small_coefficients_are_known_as_numbers),
          CASE(evaluated_rows_are_the_sums_in_montgomery_form), CASE(rows_that_hold_hold),
          CASE(each_broken_row_is_found_and_the_first_is_named),
          CASE(work_splits_rows_by_their_terms))
