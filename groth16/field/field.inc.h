/* Template: a prime field of 64-bit limbs in Montgomery form.
 *
 * Set FIELD (the prefix and type name, e.g. bn254_fp) and FIELD_LIMBS before the include; both
 * are undefined at the end. The constants FIELD##_modulus, _one (R mod p), _r2 (R^2 mod p),
 * _inverse_exponent (p - 2) and _n0 (-1/p mod 2^64) come from constants.h, with R = 2^(64
 * FIELD_LIMBS).
 *
 * An element is always fully reduced and in Montgomery form, little-endian limbs: the bytes of
 * the struct are those of a .zkey coordinate. Only from_plain's input and to_plain's output hold
 * a plain value in the same type. Outputs come first and may be the same object as any input. No
 * function branches on the value of an element, except pow on its exponent. */

#include <stddef.h>

#include "groth16/field/limbs.h"
#include "groth16/field/mont.h"

#define FIELD_JOIN2(a, b) a##b
#define FIELD_JOIN(a, b)  FIELD_JOIN2(a, b)
#define FIELD_FN(name)    FIELD_JOIN(FIELD, name)

typedef struct {
    uint64_t l[FIELD_LIMBS];
} FIELD;

LIMBS_INLINE void FIELD_FN(_set_zero)(FIELD *r)
{
    for (int i = 0; i < FIELD_LIMBS; i++)
        r->l[i] = 0;
}

LIMBS_INLINE void FIELD_FN(_set_one)(FIELD *r)
{
    for (int i = 0; i < FIELD_LIMBS; i++)
        r->l[i] = FIELD_FN(_one)[i];
}

LIMBS_INLINE bool FIELD_FN(_is_zero)(const FIELD *a)
{
    return limbs_is_zero(a->l, FIELD_LIMBS);
}

LIMBS_INLINE bool FIELD_FN(_is_equal)(const FIELD *a, const FIELD *b)
{
    return limbs_is_equal(a->l, b->l, FIELD_LIMBS);
}

/* True when the value of FIELD_LIMBS limbs, plain or Montgomery, is below the modulus. */
LIMBS_INLINE bool FIELD_FN(_is_canonical)(const uint64_t *limbs)
{
    return limbs_is_less(limbs, FIELD_FN(_modulus), FIELD_LIMBS);
}

/* r = take_b ? b : a. */
LIMBS_INLINE void FIELD_FN(_select)(FIELD *r, const FIELD *a, const FIELD *b, bool take_b)
{
    limbs_select(r->l, a->l, b->l, take_b, FIELD_LIMBS);
}

LIMBS_INLINE void FIELD_FN(_add)(FIELD *r, const FIELD *a, const FIELD *b)
{
    mont_add(r->l, a->l, b->l, FIELD_FN(_modulus), FIELD_LIMBS);
}

LIMBS_INLINE void FIELD_FN(_sub)(FIELD *r, const FIELD *a, const FIELD *b)
{
    mont_sub(r->l, a->l, b->l, FIELD_FN(_modulus), FIELD_LIMBS);
}

LIMBS_INLINE void FIELD_FN(_dbl)(FIELD *r, const FIELD *a)
{
    mont_add(r->l, a->l, a->l, FIELD_FN(_modulus), FIELD_LIMBS);
}

LIMBS_INLINE void FIELD_FN(_neg)(FIELD *r, const FIELD *a)
{
    static const FIELD zero = {{0}};

    mont_sub(r->l, zero.l, a->l, FIELD_FN(_modulus), FIELD_LIMBS);
}

LIMBS_INLINE void FIELD_FN(_mul)(FIELD *r, const FIELD *a, const FIELD *b)
{
    mont_mul(r->l, a->l, b->l, FIELD_FN(_modulus), FIELD_FN(_n0), FIELD_LIMBS);
}

LIMBS_INLINE void FIELD_FN(_sqr)(FIELD *r, const FIELD *a)
{
    mont_sqr(r->l, a->l, FIELD_FN(_modulus), FIELD_FN(_n0), FIELD_LIMBS);
}

/* r = a R: a plain value below the modulus into Montgomery form. */
LIMBS_INLINE void FIELD_FN(_from_plain)(FIELD *r, const FIELD *a)
{
    mont_mul(r->l, a->l, FIELD_FN(_r2), FIELD_FN(_modulus), FIELD_FN(_n0), FIELD_LIMBS);
}

/* r = a / R: the plain value, below the modulus. */
LIMBS_INLINE void FIELD_FN(_to_plain)(FIELD *r, const FIELD *a)
{
    static const FIELD one = {{1}};

    mont_mul(r->l, a->l, one.l, FIELD_FN(_modulus), FIELD_FN(_n0), FIELD_LIMBS);
}

/* r = a^e for a plain exponent of `exponent_limbs` limbs. Windows of 4 bits: 64 squarings and at
 * most 16 products a limb, and 14 products for the table. */
static inline void FIELD_FN(_pow)(FIELD *r, const FIELD *a, const uint64_t *exponent,
                                  size_t exponent_limbs)
{
    FIELD table[16], acc;
    bool is_started = false;

    FIELD_FN(_set_one)(&table[0]);
    table[1] = *a;
    for (int i = 2; i < 16; i++)
        FIELD_FN(_mul)(&table[i], &table[i - 1], a);
    FIELD_FN(_set_one)(&acc);
    for (size_t nibble = 16 * exponent_limbs; nibble-- > 0;) {
        unsigned digit = (exponent[nibble / 16] >> (4 * (nibble % 16))) & 15;

        for (int i = 0; is_started && i < 4; i++)
            FIELD_FN(_sqr)(&acc, &acc);
        if (digit != 0)
            FIELD_FN(_mul)(&acc, &acc, &table[digit]);
        is_started = is_started || digit != 0;
    }
    *r = acc;
}

/* r = 1 / a, and 0 for a = 0, as a^(p-2) (Fermat). */
static inline void FIELD_FN(_inv)(FIELD *r, const FIELD *a)
{
    FIELD_FN(_pow)(r, a, FIELD_FN(_inverse_exponent), FIELD_LIMBS);
}

#undef FIELD_FN
#undef FIELD_JOIN
#undef FIELD_JOIN2
#undef FIELD_LIMBS
#undef FIELD
