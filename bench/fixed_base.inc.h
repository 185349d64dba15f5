/* Template: fixed-base multiplication in one group. Set POINT (bn254_g1, ...) before the include;
 * it is undefined at the end. */

#define BASE_JOIN2(a, b) a##b
#define BASE_JOIN(a, b)  BASE_JOIN2(a, b)
#define BASE_FN(name)    BASE_JOIN(POINT, name)
#define AFFINE           BASE_FN(_affine)
#define XYZZ             BASE_FN(_xyzz)

/* Window `index` of the table: 1, 2, ..., 2^width - 1 times 2^(width index) G; first is that base.
 */
static bool BASE_FN(_fill_window)(const struct fixed_base *base, size_t index)
{
    size_t count = ((size_t)1 << base->width) - 1;
    AFFINE *window = (AFFINE *)base->table + index * count, step;
    XYZZ *multiples = malloc(count * sizeof multiples[0]);

    if (!multiples)
        return false;
    BASE_FN(_xyzz_from_affine)(&multiples[0], (const AFFINE *)base->generator);
    for (size_t i = 0; i < index * base->width; i++)
        BASE_FN(_xyzz_dbl)(&multiples[0], &multiples[0]);
    BASE_FN(_xyzz_to_affine)(&step, &multiples[0]);
    for (size_t i = 1; i < count; i++)
        BASE_FN(_xyzz_add_affine)(&multiples[i], &multiples[i - 1], &step);
    BASE_FN(_xyzz_to_affine_batch)(window, multiples, count);
    free(multiples);
    return true;
}

/* At most FIXED_BASE_BATCH scalars: one mixed addition (8M + 2S) a window, one inversion in all. */
static void BASE_FN(_mul_batch)(const struct fixed_base *base, const uint64_t *scalars,
                                size_t count, void *ret_points)
{
    size_t per_window = ((size_t)1 << base->width) - 1;
    XYZZ sums[FIXED_BASE_BATCH];

    for (size_t i = 0; i < count; i++) {
        BASE_FN(_xyzz_set_infinity)(&sums[i]);
        for (unsigned window = 0; window < base->window_count; window++) {
            uint64_t digit = fixed_base_digit(scalars + 4 * i, window * base->width, base->width);

            if (digit != 0)
                BASE_FN(_xyzz_add_affine)
                (&sums[i], &sums[i], (const AFFINE *)base->table + window * per_window + digit - 1);
        }
    }
    BASE_FN(_xyzz_to_affine_batch)((AFFINE *)ret_points, sums, count);
}

#undef XYZZ
#undef AFFINE
#undef BASE_FN
#undef BASE_JOIN
#undef BASE_JOIN2
#undef POINT
