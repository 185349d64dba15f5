/* Scalars of BLS12-381 as Filecoin's files hold them: 32 bytes, little-endian, below r. Called
 * everywhere in filecoin/. A value is either plain or in Montgomery form (groth16/field); names of
 * Montgomery variables end in _mont. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "groth16/field/bls12_381.h"

typedef bls12_381_fr fr;

enum {
    FR_BYTES = 32,
    FR_BITS = 255,
    FR_CAPACITY = 254, /* bits that always fit */
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "limbs are the bytes of the files");

/* False, and nothing written, for a value of r or more. */
static inline bool fr_read(fr *ret, const uint8_t bytes[FR_BYTES])
{
    fr value;

    memcpy(&value, bytes, sizeof value);
    if (!bls12_381_fr_is_canonical(value.l))
        return false;
    *ret = value;
    return true;
}

static inline fr fr_word(uint64_t word)
{
    return (fr){{word}};
}

static inline bool fr_bit(const fr *plain, unsigned index)
{
    return index < 256 && (plain->l[index / 64] >> (index % 64) & 1);
}

static inline void fr_set_bit(fr *plain, unsigned index)
{
    plain->l[index / 64] |= UINT64_C(1) << (index % 64);
}

/* Of plain values. */
static inline void fr_product(fr *ret, const fr *a, const fr *b)
{
    fr a_mont;

    bls12_381_fr_from_plain(&a_mont, a);
    bls12_381_fr_mul(ret, &a_mont, b);
}
