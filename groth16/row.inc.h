/* Template: the sum of one row of a constraint matrix times a witness, for evaluate.inc.h and
 * check.inc.h. FIELD and FIELD_FN(name) are the includer's.
 *
 * Most coefficients are small and most witness values 0, 1 or a machine word. _row_small sums such
 * a row in 128 bits. _row_ones takes rows of coefficients 1 and -1, which it sums in 320 bits and
 * reduces once. _row_any takes any row: small coefficients are multiplied into the 320 bits, terms
 * with the value 1 are sums of dictionary entries, and only the others cost a Montgomery product
 * each. */

#include "groth16/key/matrix.h"

/* Small coefficients below this may be multiplied into the 320 bits: 2^255 2^31 2^32 < 2^319. */
#define ROW_FACTOR_MAX INT64_C(0x7fffffff)
#define ROW_TERMS_MAX  UINT64_C(0xffffffff)

LIMBS_INLINE bool FIELD_FN(_is_word)(const FIELD *a, uint64_t word)
{
    return a->l[0] == word && (a->l[1] | a->l[2] | a->l[3]) == 0;
}

/* The sum of a row as a number, when all its coefficients are in the table of small ones, all
 * values are below 2^63 and the sum needs no more bits; else false. */
LIMBS_INLINE bool FIELD_FN(_row_small)(const struct matrix_check *check,
                                       const struct matrix *matrix, size_t row,
                                       limbs_signed_wide *ret)
{
    const FIELD *witness = (const FIELD *)check->witness;
    const uint64_t end = matrix->row_begin[row + 1];
    limbs_signed_wide sum = 0;

    for (uint64_t i = matrix->row_begin[row]; i < end; i++) {
        const uint64_t *value = witness[matrix->column[i]].l;
        const uint32_t number = matrix->coefficient[i];
        const int64_t factor = number < check->small_count ? check->small[number] : 0;
        const bool is_unknown = (factor == 0) & (value[0] != 0);

        /* One branch, never taken in rows of this kind: one on a value alone would often be
         * mispredicted. */
        if ((value[0] >> 63 | value[1] | value[2] | value[3] | is_unknown) != 0)
            return false;
        if (__builtin_add_overflow(sum, (limbs_signed_wide)factor * (int64_t)value[0], &sum))
            return false;
    }
    *ret = sum;
    return true;
}

/* A signed number of five limbs, |sum| < 2^319, to its residue. One product, if it is long. */
LIMBS_INLINE void FIELD_FN(_row_reduce)(FIELD *ret, const uint64_t *sum)
{
    const uint64_t top = FIELD_FN(_modulus)[3];
    uint64_t flip = (uint64_t)0 - (sum[4] >> 63), carry = flip & 1;
    FIELD high;

    for (int i = 0; i < 4; i++)
        ret->l[i] = limbs_add_carry(sum[i] ^ flip, 0, &carry);
    high.l[0] = (sum[4] ^ flip) + carry;
    while (ret->l[3] >= top && !FIELD_FN(_is_canonical)(ret->l)) /* 2^256 < 6 r */
        limbs_reduce_once(ret->l, ret->l, FIELD_FN(_modulus), 4);
    if (high.l[0]) {
        high.l[1] = high.l[2] = high.l[3] = 0;
        FIELD_FN(_from_plain)(&high, &high);
        FIELD_FN(_add)(ret, ret, &high);
    }
    if (flip)
        FIELD_FN(_neg)(ret, ret);
}

/* The sum of a row when all its coefficients are 1 or -1; else false. */
LIMBS_INLINE bool FIELD_FN(_row_ones)(const struct matrix_check *check, const struct matrix *matrix,
                                      size_t row, FIELD *ret)
{
    const FIELD *witness = (const FIELD *)check->witness;
    const uint64_t begin = matrix->row_begin[row], end = matrix->row_begin[row + 1];
    uint64_t sum[5] = {0};

    if (end - begin == 1 && matrix->coefficient[begin] == 0) {
        *ret = witness[matrix->column[begin]];
        return true;
    }
    for (uint64_t i = begin; i < end; i++) {
        const uint64_t *value = witness[matrix->column[i]].l;

        if (matrix->coefficient[i] == 0)
            mont_sum_add(sum, value);
        else if (matrix->coefficient[i] == 1)
            mont_sum_sub(sum, value);
        else
            return false;
    }
    FIELD_FN(_row_reduce)(ret, sum);
    return true;
}

/* Terms that are summed in Montgomery form. */
typedef struct {
    FIELD sum;
    bool is_set;
} FIELD_FN(_row_part);

LIMBS_INLINE void FIELD_FN(_row_part_add)(FIELD_FN(_row_part) * part, const FIELD *term)
{
    if (part->is_set)
        FIELD_FN(_add)(&part->sum, &part->sum, term);
    else
        part->sum = *term;
    part->is_set = true;
}

/* The sum of a row as *ret_plain + *ret_mont / R. False: *ret_mont is not set and counts as 0. */
static __attribute__((noinline)) bool FIELD_FN(_row_any)(const struct matrix_check *check,
                                                         const struct matrix *matrix, size_t row,
                                                         FIELD *ret_plain, FIELD *ret_mont)
{
    const FIELD *witness = (const FIELD *)check->witness;
    const FIELD *dictionary = (const FIELD *)matrix->dictionary;
    const uint64_t begin = matrix->row_begin[row], end = matrix->row_begin[row + 1];
    const size_t small_count = end - begin > ROW_TERMS_MAX ? 0 : check->small_count;
    uint64_t sum[5] = {0};
    FIELD_FN(_row_part) entries = {.is_set = false}, products = {.is_set = false};
    FIELD t;

    for (uint64_t i = begin; i < end; i++) {
        const FIELD *value = witness + matrix->column[i];
        const uint32_t number = matrix->coefficient[i];
        const int64_t factor = number < small_count ? check->small[number] : 0;

        if (number == 0) {
            mont_sum_add(sum, value->l);
        } else if (number == 1) {
            mont_sum_sub(sum, value->l);
        } else if (FIELD_FN(_is_zero)(value)) {
            continue;
        } else if (factor != 0 && factor <= ROW_FACTOR_MAX && factor >= -ROW_FACTOR_MAX) {
            limbs_sum_mul(sum, value->l, factor);
        } else if (FIELD_FN(_is_word)(value, 1)) {
            FIELD_FN(_row_part_add)(&entries, dictionary + number);
        } else {
            FIELD_FN(_mul)(&t, dictionary + number, value);
            FIELD_FN(_row_part_add)(&products, &t);
        }
    }
    FIELD_FN(_row_reduce)(ret_plain, sum);
    if (entries.is_set) {
        FIELD_FN(_to_plain)(&t, &entries.sum); /* coefficient R^2 -> coefficient R */
        FIELD_FN(_row_part_add)(&products, &t);
    }
    if (products.is_set)
        *ret_mont = products.sum;
    return products.is_set;
}

#undef ROW_FACTOR_MAX
#undef ROW_TERMS_MAX
