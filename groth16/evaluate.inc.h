/* Template: rows of a constraint matrix times a witness (curve.h, `evaluate`).
 *
 * Set FIELD (the scalar field, e.g. bn254_fr) and ENTRY(name) (the symbol to define) before the
 * include; both are undefined at the end.
 *
 * Most coefficients are 1 or -1 and most witness values 0 or 1, so a row is three sums: of plain
 * witness values (coefficient 1 or -1, no product), of dictionary entries (value 1, no product)
 * and of products. One product each converts the first two at the end of the row. */

#include "groth16/key/matrix.h"

#define EVALUATE_JOIN2(a, b) a##b
#define EVALUATE_JOIN(a, b)  EVALUATE_JOIN2(a, b)
#define FIELD_FN(name)       EVALUATE_JOIN(FIELD, name)

LIMBS_INLINE bool FIELD_FN(_limbs_are_one)(const FIELD *a)
{
    return a->l[0] == 1 && (a->l[1] | a->l[2] | a->l[3]) == 0;
}

static inline void FIELD_FN(_evaluate_row)(const struct matrix *matrix, const FIELD *witness,
                                           size_t row, FIELD *ret)
{
    const FIELD *dictionary = (const FIELD *)matrix->dictionary;
    FIELD plain, entries, sum, t;

    FIELD_FN(_set_zero)(&plain);
    FIELD_FN(_set_zero)(&entries);
    FIELD_FN(_set_zero)(&sum);
    for (uint64_t i = matrix->row_begin[row]; i < matrix->row_begin[row + 1]; i++) {
        const FIELD *value = witness + matrix->column[i];
        uint32_t coefficient = matrix->coefficient[i];

        if (coefficient == 0) {
            FIELD_FN(_add)(&plain, &plain, value);
        } else if (coefficient == 1) {
            FIELD_FN(_sub)(&plain, &plain, value);
        } else if (FIELD_FN(_limbs_are_one)(value)) {
            FIELD_FN(_add)(&entries, &entries, dictionary + coefficient);
        } else if (!FIELD_FN(_is_zero)(value)) {
            FIELD_FN(_mul)(&t, dictionary + coefficient, value);
            FIELD_FN(_add)(&sum, &sum, &t);
        }
    }
    if (!FIELD_FN(_is_zero)(&plain)) {
        FIELD_FN(_from_plain)(&t, &plain);
        FIELD_FN(_add)(&sum, &sum, &t);
    }
    if (!FIELD_FN(_is_zero)(&entries)) {
        FIELD_FN(_to_plain)(&t, &entries); /* coefficient R^2 -> coefficient R */
        FIELD_FN(_add)(&sum, &sum, &t);
    }
    *ret = sum;
}

void ENTRY(evaluate)(const struct matrix *matrix, const uint64_t *witness, uint64_t *ret_rows,
                     size_t begin, size_t end)
{
    FIELD *to = (FIELD *)ret_rows;

    for (size_t row = begin; row < end; row++) {
        if (row < matrix->row_count)
            FIELD_FN(_evaluate_row)(matrix, (const FIELD *)witness, row, &to[row]);
        else
            FIELD_FN(_set_zero)(&to[row]);
    }
}

#undef FIELD_FN
#undef EVALUATE_JOIN
#undef EVALUATE_JOIN2
#undef ENTRY
#undef FIELD
