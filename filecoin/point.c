/* zcash's encoding of points (point.h). Below: the field templates for roots, the curve's table,
 * which knows the processor, for the checks. */
#include "filecoin/point.h"

#include <assert.h>
#include <string.h>

#include "groth16/curve/curve.h"
#include "groth16/field/bls12_381.h"

enum {
    FLAG_COMPRESSED = 0x80,
    FLAG_INFINITY = 0x40,
    FLAG_SIGN = 0x20,
    FLAGS = FLAG_COMPRESSED | FLAG_INFINITY | FLAG_SIGN,
    LIMBS = 6,
    FP_BYTES = 48,
};

struct g1 {
    bls12_381_fp x, y;
};

struct g2 {
    bls12_381_fp2 x, y;
};

static_assert(sizeof(struct g1) == POINT_G1_BYTES && sizeof(struct g2) == POINT_G2_BYTES,
              "the encoding of curve.h");

const char *point_fault_to_string(enum point_fault fault)
{
    switch (fault) {
    case POINT_OK:
        return "the point is acceptable";
    case POINT_IS_INFINITY:
        return "the point is at infinity";
    case POINT_BAD_FLAGS:
        return "the flags in its first byte are not those of such a point";
    case POINT_NOT_REDUCED:
        return "a coordinate is not below the field's modulus";
    case POINT_NOT_ON_CURVE:
        return "the point is not on the curve";
    case POINT_NOT_IN_SUBGROUP:
        return "the point is not in the subgroup of order r";
    }
    return "unknown point fault";
}

/* ---- coordinates ---- */

/* The top `flags` bits of the first byte are left out. */
static bool fp_read(const uint8_t *bytes, bool has_flags, bls12_381_fp *ret)
{
    for (int i = 0; i < LIMBS; i++) {
        uint64_t limb;

        memcpy(&limb, bytes + FP_BYTES - 8 * (i + 1), sizeof limb);
        ret->l[i] = __builtin_bswap64(limb);
    }
    if (has_flags)
        ret->l[LIMBS - 1] &= UINT64_MAX >> 3;
    if (!bls12_381_fp_is_canonical(ret->l))
        return false;
    curve_bls12_381.fp_from_plain(ret->l, ret->l);
    return true;
}

static void fp_write(const bls12_381_fp *value, uint8_t *ret_bytes)
{
    uint64_t plain[LIMBS];

    curve_bls12_381.fp_to_plain(plain, value->l);
    for (int i = 0; i < LIMBS; i++) {
        const uint64_t limb = __builtin_bswap64(plain[i]);

        memcpy(ret_bytes + FP_BYTES - 8 * (i + 1), &limb, sizeof limb);
    }
}

/* c1 comes first. */
static bool fp2_read(const uint8_t *bytes, bool has_flags, bls12_381_fp2 *ret)
{
    return fp_read(bytes, has_flags, &ret->c1) && fp_read(bytes + FP_BYTES, false, &ret->c0);
}

static void fp2_write(const bls12_381_fp2 *value, uint8_t *ret_bytes)
{
    fp_write(&value->c1, ret_bytes);
    fp_write(&value->c0, ret_bytes + FP_BYTES);
}

/* Whether y is larger than -y, as numbers. */
static bool fp_is_large(const bls12_381_fp *y)
{
    bls12_381_fp plain, opposite;

    bls12_381_fp_neg(&opposite, y);
    bls12_381_fp_to_plain(&plain, y);
    bls12_381_fp_to_plain(&opposite, &opposite);
    return limbs_is_less(opposite.l, plain.l, LIMBS);
}

static bool fp2_is_large(const bls12_381_fp2 *y)
{
    return fp_is_large(bls12_381_fp_is_zero(&y->c1) ? &y->c0 : &y->c1);
}

/* ---- roots ---- */

static bool fp_root(const bls12_381_fp *a, bls12_381_fp *ret)
{
    bls12_381_fp square;

    bls12_381_fp_pow(ret, a, bls12_381_fp_sqrt_exponent, LIMBS);
    bls12_381_fp_sqr(&square, ret);
    return bls12_381_fp_is_equal(&square, a);
}

static void fp_halve(bls12_381_fp *r)
{
    bls12_381_fp two;

    bls12_381_fp_set_one(&two);
    bls12_381_fp_dbl(&two, &two);
    bls12_381_fp_inv(&two, &two);
    bls12_381_fp_mul(r, r, &two);
}

/* With n a root of the norm of a = a0 + a1 u, u^2 = -1: (a0 + n) / 2 or (a0 - n) / 2 is a square
 * x0^2, and x0 + a1 / (2 x0) u is a root of a. Where a1 = 0, a0 or -a0 is a square. */
static bool fp2_root(const bls12_381_fp2 *a, bls12_381_fp2 *ret)
{
    bls12_381_fp norm, term, root;
    bls12_381_fp2 square;

    if (bls12_381_fp_is_zero(&a->c1)) {
        bls12_381_fp2_set_zero(ret);
        bls12_381_fp_neg(&term, &a->c0);
        return fp_root(&a->c0, &ret->c0) ||
               (bls12_381_fp_set_zero(&ret->c0), fp_root(&term, &ret->c1));
    }
    bls12_381_fp_sqr(&norm, &a->c0);
    bls12_381_fp_sqr(&term, &a->c1);
    bls12_381_fp_add(&norm, &norm, &term);
    if (!fp_root(&norm, &root))
        return false;
    bls12_381_fp_add(&term, &a->c0, &root);
    fp_halve(&term);
    if (!fp_root(&term, &ret->c0)) {
        bls12_381_fp_sub(&term, &a->c0, &root);
        fp_halve(&term);
        if (!fp_root(&term, &ret->c0))
            return false;
    }
    bls12_381_fp_dbl(&term, &ret->c0);
    bls12_381_fp_inv(&term, &term);
    bls12_381_fp_mul(&ret->c1, &a->c1, &term);
    bls12_381_fp2_sqr(&square, ret);
    return bls12_381_fp2_is_equal(&square, a);
}

/* ---- points ---- */

/* Looks at the flags alone; of a point at infinity, at all bytes. */
static enum point_fault check_flags(const uint8_t *bytes, size_t count, bool is_compressed)
{
    const uint8_t flags = bytes[0] & FLAGS;
    uint8_t rest = bytes[0] & ~(FLAG_COMPRESSED | FLAG_INFINITY);

    if (((flags & FLAG_COMPRESSED) != 0) != is_compressed)
        return POINT_BAD_FLAGS;
    if (flags & FLAG_INFINITY) {
        for (size_t i = 1; i < count; i++)
            rest |= bytes[i];
        return rest == 0 ? POINT_IS_INFINITY : POINT_BAD_FLAGS;
    }
    return !is_compressed && flags != 0 ? POINT_BAD_FLAGS : POINT_OK;
}

static enum point_fault from_curve(enum curve_point_fault fault)
{
    switch (fault) {
    case CURVE_POINT_OK:
        return POINT_OK;
    case CURVE_POINT_NOT_REDUCED:
        return POINT_NOT_REDUCED;
    case CURVE_POINT_NOT_ON_CURVE:
        return POINT_NOT_ON_CURVE;
    case CURVE_POINT_NOT_IN_SUBGROUP:
        break;
    }
    return POINT_NOT_IN_SUBGROUP;
}

/* (0, 0) is infinity in memory and no point of the file: not on the curve, since b is not 0. */
static bool is_zero(const void *point, size_t bytes)
{
    return curve_point_is_infinity(point, bytes);
}

enum point_fault point_g1_read(const uint8_t *bytes, bool subgroup, void *ret_point)
{
    struct g1 *point = ret_point;
    const enum point_fault fault = check_flags(bytes, POINT_G1_BYTES, false);

    memset(point, 0, sizeof *point);
    if (fault)
        return fault;
    if (!fp_read(bytes, true, &point->x) || !fp_read(bytes + FP_BYTES, false, &point->y))
        return POINT_NOT_REDUCED;
    if (is_zero(point, sizeof *point))
        return POINT_NOT_ON_CURVE;
    return from_curve(curve_bls12_381.g1_check(point, subgroup));
}

enum point_fault point_g2_read(const uint8_t *bytes, bool subgroup, void *ret_point)
{
    struct g2 *point = ret_point;
    const enum point_fault fault = check_flags(bytes, POINT_G2_BYTES, false);

    memset(point, 0, sizeof *point);
    if (fault)
        return fault;
    if (!fp2_read(bytes, true, &point->x) || !fp2_read(bytes + 2 * FP_BYTES, false, &point->y))
        return POINT_NOT_REDUCED;
    if (is_zero(point, sizeof *point))
        return POINT_NOT_ON_CURVE;
    return from_curve(curve_bls12_381.g2_check(point, subgroup));
}

enum point_fault point_g1_read_compressed(const uint8_t *bytes, void *ret_point)
{
    struct g1 *point = ret_point;
    const enum point_fault fault = check_flags(bytes, POINT_G1_COMPRESSED_BYTES, true);
    bls12_381_fp four, right;

    memset(point, 0, sizeof *point);
    if (fault)
        return fault;
    if (!fp_read(bytes, true, &point->x))
        return POINT_NOT_REDUCED;
    /* y^2 = x^3 + 4 */
    bls12_381_fp_set_one(&four);
    bls12_381_fp_dbl(&four, &four);
    bls12_381_fp_dbl(&four, &four);
    bls12_381_fp_sqr(&right, &point->x);
    bls12_381_fp_mul(&right, &right, &point->x);
    bls12_381_fp_add(&right, &right, &four);
    if (!fp_root(&right, &point->y))
        return POINT_NOT_ON_CURVE;
    if (fp_is_large(&point->y) != ((bytes[0] & FLAG_SIGN) != 0))
        bls12_381_fp_neg(&point->y, &point->y);
    return from_curve(curve_bls12_381.g1_check(point, true));
}

enum point_fault point_g2_read_compressed(const uint8_t *bytes, void *ret_point)
{
    struct g2 *point = ret_point;
    const enum point_fault fault = check_flags(bytes, POINT_G2_COMPRESSED_BYTES, true);
    bls12_381_fp2 four, right;

    memset(point, 0, sizeof *point);
    if (fault)
        return fault;
    if (!fp2_read(bytes, true, &point->x))
        return POINT_NOT_REDUCED;
    /* y^2 = x^3 + 4 (1 + u) */
    bls12_381_fp_set_one(&four.c0);
    bls12_381_fp_dbl(&four.c0, &four.c0);
    bls12_381_fp_dbl(&four.c0, &four.c0);
    four.c1 = four.c0;
    bls12_381_fp2_sqr(&right, &point->x);
    bls12_381_fp2_mul(&right, &right, &point->x);
    bls12_381_fp2_add(&right, &right, &four);
    if (!fp2_root(&right, &point->y))
        return POINT_NOT_ON_CURVE;
    if (fp2_is_large(&point->y) != ((bytes[0] & FLAG_SIGN) != 0))
        bls12_381_fp2_neg(&point->y, &point->y);
    return from_curve(curve_bls12_381.g2_check(point, true));
}

void point_g1_write(const void *bytes, uint8_t ret_bytes[POINT_G1_BYTES])
{
    const struct g1 *point = bytes;

    fp_write(&point->x, ret_bytes);
    fp_write(&point->y, ret_bytes + FP_BYTES);
    if (is_zero(point, sizeof *point))
        ret_bytes[0] |= FLAG_INFINITY;
}

void point_g2_write(const void *bytes, uint8_t ret_bytes[POINT_G2_BYTES])
{
    const struct g2 *point = bytes;

    fp2_write(&point->x, ret_bytes);
    fp2_write(&point->y, ret_bytes + 2 * FP_BYTES);
    if (is_zero(point, sizeof *point))
        ret_bytes[0] |= FLAG_INFINITY;
}

void point_g1_write_compressed(const void *bytes, uint8_t ret_bytes[POINT_G1_COMPRESSED_BYTES])
{
    const struct g1 *point = bytes;

    fp_write(&point->x, ret_bytes);
    ret_bytes[0] |= FLAG_COMPRESSED;
    if (is_zero(point, sizeof *point))
        ret_bytes[0] |= FLAG_INFINITY;
    else if (fp_is_large(&point->y))
        ret_bytes[0] |= FLAG_SIGN;
}

void point_g2_write_compressed(const void *bytes, uint8_t ret_bytes[POINT_G2_COMPRESSED_BYTES])
{
    const struct g2 *point = bytes;

    fp2_write(&point->x, ret_bytes);
    ret_bytes[0] |= FLAG_COMPRESSED;
    if (is_zero(point, sizeof *point))
        ret_bytes[0] |= FLAG_INFINITY;
    else if (fp2_is_large(&point->y))
        ret_bytes[0] |= FLAG_SIGN;
}

bool point_scalar_read(const uint8_t bytes[POINT_SCALAR_BYTES], uint64_t ret[4])
{
    memcpy(ret, bytes, POINT_SCALAR_BYTES); /* little-endian, as the machine is */
    return curve_bls12_381.scalar_is_reduced(ret);
}
