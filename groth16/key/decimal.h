/* Decimal text <-> little-endian limbs, for the numbers in snarkjs's JSON files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    DECIMAL_LIMBS_MAX = 6,
    DECIMAL_TEXT_BYTES = 117, /* 384 bits have up to 116 digits, and the NUL */
};

/* `length` bytes of text, canonical: digits only, no sign, no leading zero (except "0" itself).
 * -EBADMSG if it is not; -ERANGE if the number is not below `modulus` (limb_count limbs, at most
 * DECIMAL_LIMBS_MAX). */
int decimal_parse(const char *text, size_t length, const uint64_t *modulus, unsigned limb_count,
                  uint64_t *ret_limbs);

/* Writes digits and a NUL; returns the number of digits. */
size_t decimal_print(const uint64_t *limbs, unsigned limb_count, char ret_text[DECIMAL_TEXT_BYTES]);
