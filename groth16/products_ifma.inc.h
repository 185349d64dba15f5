/* Template: products.h for one curve. Set PRODUCTS_CURVE (e.g. bn254) and FIELD (its scalar field,
 * with its vectors by ifma.inc.h) before the include; both are undefined at the end.
 *
 * a b - c is 0 modulo p if and only if its Montgomery reduction is; what is reduced is a b + (p -
 * c) k, with k = 1, or R^2 (R = 2^256) where a and b are in Montgomery form. The result is below (2
 * p / R' + 1) p < 1.1 p, so it is 0 or p itself. */

#include "groth16/products.h"

#define PRODUCTS_JOIN2(a, b) a##b
#define PRODUCTS_JOIN(a, b)  PRODUCTS_JOIN2(a, b)
#define FIELD_FN(name)       PRODUCTS_JOIN(FIELD, name)
#define X8_FN(name)          PRODUCTS_JOIN(FIELD, _x8##name)
#define X8                   PRODUCTS_JOIN(FIELD, _x8)

enum { PRODUCTS_LANES = 8, PRODUCTS_LIMBS = 5 };

/* Lanes that do not hold. */
IFMA_INLINE unsigned X8_FN(_products_broken)(const struct product *products, bool is_mont)
{
    __m512i ab[PRODUCTS_LANES], rest[PRODUCTS_LANES];
    X8_FN(_wide) t;
    X8 a, b, c;

#pragma GCC unroll 8
    for (int i = 0; i < PRODUCTS_LANES; i++) {
        ab[i] = _mm512_loadu_si512(products[i].a);
        rest[i] = _mm512_loadu_si512(products[i].c);
    }
    ifma_transpose(ab);
    ifma_transpose(rest);
    X8_FN(_unpack)(&a, ab);
    X8_FN(_unpack)(&b, ab + 4);
    X8_FN(_unpack)(&c, rest);
#pragma GCC unroll 8
    for (int j = 0; j < PRODUCTS_LIMBS; j++)
        c.l[j] = _mm512_sub_epi64(X8_FN(_modulus)(j, 1), c.l[j]);
    X8_FN(_carry)(&c);

    X8_FN(_wide_clear)(&t);
    X8_FN(_wide_add)(&t, &a, &b);
    if (is_mont) {
        X8 scale;

#pragma GCC unroll 8
        for (int j = 0; j < PRODUCTS_LIMBS; j++)
            scale.l[j] = ifma_set(ifma_limb(FIELD_FN(_r2), 4, j, 1));
        X8_FN(_wide_add)(&t, &c, &scale);
    } else {
#pragma GCC unroll 8
        for (int j = 0; j < PRODUCTS_LIMBS; j++)
            t.l[j] = _mm512_add_epi64(t.l[j], c.l[j]);
    }
    X8_FN(_wide_reduce)(&a, &t);
    return 0xffu & ~(unsigned)(X8_FN(_is_multiple)(&a, 0) | X8_FN(_is_multiple)(&a, 1));
}

size_t PRODUCTS_JOIN(PRODUCTS_CURVE, _products_check_ifma)(const struct product *products,
                                                           size_t count, bool is_mont)
{
    for (size_t i = 0; i < count; i += PRODUCTS_LANES) {
        const unsigned broken = is_mont ? X8_FN(_products_broken)(products + i, true)
                                        : X8_FN(_products_broken)(products + i, false);

        if (broken)
            return i + (size_t)__builtin_ctz(broken);
    }
    return count;
}

#undef X8
#undef X8_FN
#undef FIELD_FN
#undef PRODUCTS_JOIN
#undef PRODUCTS_JOIN2
#undef PRODUCTS_CURVE
#undef FIELD
