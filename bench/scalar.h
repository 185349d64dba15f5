/* Arithmetic on plain scalars through the curve's table: for set-up code, where a product may cost
 * twice what a Montgomery one does. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "groth16/curve/curve.h"
#include "groth16/field/limbs.h"

struct scalar {
    uint64_t l[4]; /* < r */
};

static inline struct scalar scalar_mul(const struct curve *curve, struct scalar a, struct scalar b)
{
    struct scalar r;

    curve->scalar_mul(r.l, a.l, b.l);
    return r;
}

static inline struct scalar scalar_add(const struct curve *curve, struct scalar a, struct scalar b)
{
    struct scalar r;

    limbs_mod_add(r.l, a.l, b.l, curve->fr_modulus, 4);
    return r;
}

static inline struct scalar scalar_sub(const struct curve *curve, struct scalar a, struct scalar b)
{
    struct scalar r;

    limbs_mod_sub(r.l, a.l, b.l, curve->fr_modulus, 4);
    return r;
}

static inline struct scalar scalar_power(const struct curve *curve, struct scalar base,
                                         struct scalar exponent)
{
    struct scalar r = {{1}};

    for (int bit = 255; bit >= 0; bit--) {
        r = scalar_mul(curve, r, r);
        if (exponent.l[bit / 64] >> (bit % 64) & 1)
            r = scalar_mul(curve, r, base);
    }
    return r;
}

static inline struct scalar scalar_power_u64(const struct curve *curve, struct scalar base,
                                             uint64_t exponent)
{
    struct scalar r = {{1}};

    for (; exponent != 0; exponent >>= 1, base = scalar_mul(curve, base, base))
        if (exponent & 1)
            r = scalar_mul(curve, r, base);
    return r;
}

static inline struct scalar scalar_inverse(const struct curve *curve, struct scalar a)
{
    struct scalar exponent;
    uint64_t borrow = 0;

    for (int i = 0; i < 4; i++)
        exponent.l[i] = limbs_sub_borrow(curve->fr_modulus[i], i == 0 ? 2 : 0, &borrow);
    return scalar_power(curve, a, exponent);
}

/* base^((r - 1) / 2^log2): of order 2^log2, for a base that is no square. snarkjs takes 5 for both
 * curves, bellman 7. */
static inline struct scalar scalar_root_of_unity(const struct curve *curve, unsigned log2,
                                                 uint64_t base)
{
    struct scalar exponent;

    memcpy(exponent.l, curve->fr_modulus, sizeof exponent.l);
    exponent.l[0]--;
    for (unsigned i = 0; i < log2; i++)
        for (int j = 0; j < 4; j++)
            exponent.l[j] = exponent.l[j] >> 1 | (j < 3 ? exponent.l[j + 1] << 63 : 0);
    return scalar_power(curve, (struct scalar){{base}}, exponent);
}
