/* Template: rows of a constraint matrix times a witness (curve.h, `evaluate` and `first_broken`).
 *
 * Set FIELD (the scalar field, e.g. bn254_fr), ENTRY(name) (the symbol to define) and
 * PRODUCTS_CHECK_IFMA (products.h) before the include; all are undefined at the end. */

#include <string.h>

#include "groth16/field/ifma.h"
#include "groth16/key/matrix.h"
#include "groth16/products.h"

#define EVALUATE_JOIN2(a, b) a##b
#define EVALUATE_JOIN(a, b)  EVALUATE_JOIN2(a, b)
#define FIELD_FN(name)       EVALUATE_JOIN(FIELD, name)

#include "groth16/row.inc.h"

/* Plain to Montgomery form; no product for 0, 1 and -1. */
LIMBS_INLINE void FIELD_FN(_from_row)(FIELD *ret, const FIELD *plain)
{
    if (FIELD_FN(_is_zero)(plain)) {
        FIELD_FN(_set_zero)(ret);
    } else if (FIELD_FN(_is_word)(plain, 1)) {
        FIELD_FN(_set_one)(ret);
    } else if (plain->l[0] == FIELD_FN(_modulus)[0] - 1 &&
               limbs_is_equal(plain->l + 1, FIELD_FN(_modulus) + 1, 3)) {
        FIELD_FN(_set_one)(ret);
        FIELD_FN(_neg)(ret, ret);
    } else {
        FIELD_FN(_from_plain)(ret, plain);
    }
}

void ENTRY(evaluate)(const struct matrix *matrix, const uint64_t *witness, uint64_t *ret_rows,
                     size_t begin, size_t end)
{
    const struct matrix_check terms = {.witness = witness};
    const size_t limit = end < matrix->row_count ? end : matrix->row_count;
    FIELD *to = (FIELD *)ret_rows;
    size_t row = begin;

    for (; row < limit; row++) {
        FIELD plain, mont;

        if (FIELD_FN(_row_ones)(&terms, matrix, row, &plain)) {
            FIELD_FN(_from_row)(&to[row], &plain);
        } else {
            const bool has_mont = FIELD_FN(_row_any)(&terms, matrix, row, &plain, &mont);

            FIELD_FN(_from_row)(&to[row], &plain);
            if (has_mont)
                FIELD_FN(_add)(&to[row], &to[row], &mont);
        }
    }
    for (; row < end; row++)
        FIELD_FN(_set_zero)(&to[row]);
}

LIMBS_INLINE void FIELD_FN(_row_plain)(const struct matrix_check *check,
                                       const struct matrix *matrix, size_t row, FIELD *ret)
{
    FIELD mont;

    if (FIELD_FN(_row_ones)(check, matrix, row, ret))
        return;
    if (FIELD_FN(_row_any)(check, matrix, row, ret, &mont)) {
        FIELD_FN(_to_plain)(&mont, &mont);
        FIELD_FN(_add)(ret, ret, &mont);
    }
}

/* Of values that were just computed: limb by limb, since a vector load would wait for their stores
 * (limbs_x86.h). */
LIMBS_INLINE bool FIELD_FN(_is_equal_now)(const FIELD *a, const FIELD *b)
{
    uint64_t any = 0;

    for (int i = 0; i < 4; i++) {
        uint64_t difference = a->l[i] ^ b->l[i];

        __asm__("" : "+r"(difference));
        any |= difference;
    }
    return any == 0;
}

/* Whether a product holds. Two Montgomery products, none where a factor is 0 or 1. */
static bool FIELD_FN(_product_holds)(const struct product *p, bool is_mont)
{
    const FIELD *a = (const FIELD *)p->a, *b = (const FIELD *)p->b, *c = (const FIELD *)p->c;
    FIELD product, right;

    if (FIELD_FN(_is_zero)(a) || FIELD_FN(_is_zero)(b))
        return FIELD_FN(_is_zero)(c);
    if (!is_mont && FIELD_FN(_is_word)(a, 1))
        return FIELD_FN(_is_equal)(b, c);
    if (!is_mont && FIELD_FN(_is_word)(b, 1))
        return FIELD_FN(_is_equal)(a, c);
    FIELD_FN(_mul)(&product, a, b);
    if (is_mont)
        FIELD_FN(_from_plain)(&right, c);
    else
        FIELD_FN(_to_plain)(&right, c);
    return FIELD_FN(_is_equal_now)(&product, &right);
}

/* Empties the batch: the row of the first product that does not hold, or `end`. */
static size_t FIELD_FN(_products_flush)(struct product *products, size_t count, bool is_mont,
                                        size_t end)
{
    size_t first = 0;

    if (ifma_is_available()) {
        for (; count % 8 != 0; count++)
            products[count] = (struct product){.row = end}; /* 0 0 = 0 */
        first = PRODUCTS_CHECK_IFMA(products, count, is_mont);
    } else {
        while (first < count && FIELD_FN(_product_holds)(&products[first], is_mont))
            first++;
    }
    return first < count ? products[first].row : end;
}

static __attribute__((noinline)) void FIELD_FN(_product_fill)(const struct matrix_check *check,
                                                              size_t row, struct product *ret)
{
    ret->row = row;
    FIELD_FN(_row_plain)(check, check->c, row, (FIELD *)ret->c);
    if (check->a_rows) {
        memcpy(ret->a, check->a_rows + 4 * row, sizeof ret->a);
        memcpy(ret->b, check->b_rows + 4 * row, sizeof ret->b);
    } else {
        FIELD_FN(_row_plain)(check, check->a, row, (FIELD *)ret->a);
        FIELD_FN(_row_plain)(check, check->b, row, (FIELD *)ret->b);
    }
}

/* The first row of [row, end) that is not a small one that holds, or end. Rows of small numbers
 * need no field: |a b - c| < 2^126 + 2^127 < r, so they hold in the field if and only if they hold
 * as numbers. Apart, since the compiler finds registers for nothing else. */
static __attribute__((noinline)) size_t
FIELD_FN(_skip_small)(const struct matrix_check *check, size_t row, size_t end, bool *ret_is_broken)
{
    for (; row < end; row++) {
        limbs_signed_wide a, b, c;

        if (!FIELD_FN(_row_small)(check, check->a, row, &a) || a != (int64_t)a ||
            !FIELD_FN(_row_small)(check, check->b, row, &b) || b != (int64_t)b ||
            !FIELD_FN(_row_small)(check, check->c, row, &c))
            break;
        if (a * b != c) {
            *ret_is_broken = true;
            break;
        }
    }
    return row;
}

/* Products are gathered, and are of earlier rows than the one at hand. */
size_t ENTRY(first_broken)(const struct matrix_check *check, size_t begin, size_t end)
{
    const bool is_mont = check->a_rows;
    struct product products[PRODUCTS_MAX];
    bool is_broken = false;
    size_t row = begin, count = 0;

    for (;; row++) {
        row = FIELD_FN(_skip_small)(check, row, end, &is_broken);
        if (row == end || is_broken)
            return FIELD_FN(_products_flush)(products, count, is_mont, row);
        FIELD_FN(_product_fill)(check, row, &products[count++]);
        if (count == PRODUCTS_MAX) {
            const size_t broken = FIELD_FN(_products_flush)(products, count, is_mont, end);

            if (broken < end)
                return broken;
            count = 0;
        }
    }
}

#undef FIELD_FN
#undef EVALUATE_JOIN
#undef EVALUATE_JOIN2
#undef PRODUCTS_CHECK_IFMA
#undef ENTRY
#undef FIELD
