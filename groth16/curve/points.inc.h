/* Template: the entries of `struct curve` that touch single points and scalars. Set CURVE before
 * the include; it is undefined at the end. Prototypes: entries.inc.h; what they do: curve.h. The
 * including file brings the headers. */

#define POINTS_JOIN2(a, b) a##b
#define POINTS_JOIN(a, b)  POINTS_JOIN2(a, b)
#define CURVE_FN(name)     POINTS_JOIN(CURVE, name)

size_t ARCH_NAME(CURVE_FN(_scalars_check))(const uint64_t *scalars, size_t count)
{
    enum { GROUP = 16 };
    const uint64_t top = CURVE_FN(_fr_modulus)[3];

    /* Where the top limbs are below that of r, nothing else need be looked at. */
    for (size_t i = 0; i < count;) {
        const size_t last = count - i < GROUP ? count : i + GROUP;
        bool is_close = false;

        for (size_t j = i; j < last; j++)
            is_close |= scalars[4 * j + 3] >= top;
        for (; is_close && i < last; i++) {
            if (!CURVE_FN(_fr_is_canonical)(scalars + 4 * i))
                return i;
        }
        i = last;
    }
    return count;
}

void ARCH_NAME(CURVE_FN(_scalar_mul))(uint64_t *ret, const uint64_t *a, const uint64_t *b)
{
    CURVE_FN(_fr) left, right;

    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    CURVE_FN(_fr_from_plain)(&left, &left);
    CURVE_FN(_fr_mul)(&left, &left, &right);
    memcpy(ret, &left, sizeof left);
}

enum curve_point_fault ARCH_NAME(CURVE_FN(_g1_check))(const void *point, bool subgroup)
{
    const CURVE_FN(_g1_affine) *p = point;

    if (!CURVE_FN(_g1_affine_is_canonical)(p))
        return CURVE_POINT_NOT_REDUCED;
    if (!CURVE_FN(_g1_affine_is_on_curve)(p))
        return CURVE_POINT_NOT_ON_CURVE;
    if (subgroup && !CURVE_FN(_g1_affine_is_in_subgroup)(p))
        return CURVE_POINT_NOT_IN_SUBGROUP;
    return CURVE_POINT_OK;
}

enum curve_point_fault ARCH_NAME(CURVE_FN(_g2_check))(const void *point, bool subgroup)
{
    const CURVE_FN(_g2_affine) *p = point;

    if (!CURVE_FN(_g2_affine_is_canonical)(p))
        return CURVE_POINT_NOT_REDUCED;
    if (!CURVE_FN(_g2_affine_is_on_curve)(p))
        return CURVE_POINT_NOT_ON_CURVE;
    if (subgroup && !CURVE_FN(_g2_affine_is_in_subgroup)(p))
        return CURVE_POINT_NOT_IN_SUBGROUP;
    return CURVE_POINT_OK;
}

void ARCH_NAME(CURVE_FN(_fp_to_plain))(uint64_t *ret_plain, const uint64_t *mont)
{
    CURVE_FN(_fp_to_plain)((CURVE_FN(_fp) *)ret_plain, (const CURVE_FN(_fp) *)mont);
}

void ARCH_NAME(CURVE_FN(_fp_from_plain))(uint64_t *ret_mont, const uint64_t *plain)
{
    CURVE_FN(_fp_from_plain)((CURVE_FN(_fp) *)ret_mont, (const CURVE_FN(_fp) *)plain);
}

void ARCH_NAME(CURVE_FN(_g1_mul))(const void *point, const uint64_t *scalar, void *ret_point)
{
    CURVE_FN(_g1_xyzz) p;

    CURVE_FN(_g1_xyzz_from_affine)(&p, point);
    CURVE_FN(_g1_xyzz_mul)(&p, &p, scalar);
    CURVE_FN(_g1_xyzz_to_affine)(ret_point, &p);
}

void ARCH_NAME(CURVE_FN(_g2_mul))(const void *point, const uint64_t *scalar, void *ret_point)
{
    CURVE_FN(_g2_xyzz) p;

    CURVE_FN(_g2_xyzz_from_affine)(&p, point);
    CURVE_FN(_g2_xyzz_mul)(&p, &p, scalar);
    CURVE_FN(_g2_xyzz_to_affine)(ret_point, &p);
}

#undef CURVE_FN
#undef POINTS_JOIN
#undef POINTS_JOIN2
#undef CURVE
