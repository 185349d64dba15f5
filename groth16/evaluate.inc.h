/* Template: rows of a constraint matrix times a witness (curve.h, `evaluate` and `first_broken`).
 *
 * Set FIELD (the scalar field, e.g. bn254_fr) and ENTRY(name) (the symbol to define) before the
 * include; both are undefined at the end. */

#include <string.h>

#include "groth16/key/matrix.h"

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

/* Whether a row holds, whatever its values. At most two products besides those of its terms. */
static __attribute__((noinline)) bool FIELD_FN(_row_holds)(const struct matrix_check *check,
                                                           size_t row)
{
    FIELD a, b, c, product;

    FIELD_FN(_row_plain)(check, check->c, row, &c);
    if (check->a_rows) {
        FIELD_FN(_mul)
        (&product, (const FIELD *)check->a_rows + row, (const FIELD *)check->b_rows + row);
        FIELD_FN(_from_plain)(&c, &c);
        return FIELD_FN(_is_equal)(&product, &c);
    }
    FIELD_FN(_row_plain)(check, check->a, row, &a);
    FIELD_FN(_row_plain)(check, check->b, row, &b);
    if (FIELD_FN(_is_zero)(&a) || FIELD_FN(_is_zero)(&b))
        return FIELD_FN(_is_zero)(&c);
    if (FIELD_FN(_is_word)(&a, 1))
        return FIELD_FN(_is_equal)(&b, &c);
    if (FIELD_FN(_is_word)(&b, 1))
        return FIELD_FN(_is_equal)(&a, &c);
    FIELD_FN(_mul)(&product, &a, &b);
    FIELD_FN(_to_plain)(&c, &c);
    return FIELD_FN(_is_equal)(&product, &c);
}

/* Rows of small numbers need no field: |a b - c| < 2^126 + 2^127 < r, so they hold in the field if
 * and only if they hold as numbers. */
size_t ENTRY(first_broken)(const struct matrix_check *check, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++) {
        limbs_signed_wide a, b, c;

        if (FIELD_FN(_row_small)(check, check->a, row, &a) && a == (int64_t)a &&
            FIELD_FN(_row_small)(check, check->b, row, &b) && b == (int64_t)b &&
            FIELD_FN(_row_small)(check, check->c, row, &c)) {
            if (a * b != c)
                return row;
        } else if (!FIELD_FN(_row_holds)(check, row)) {
            return row;
        }
    }
    return end;
}

#undef FIELD_FN
#undef EVALUATE_JOIN
#undef EVALUATE_JOIN2
#undef ENTRY
#undef FIELD
