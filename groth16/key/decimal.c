/* Decimal text <-> limbs, 19 digits at a time (10^19 < 2^64). Numbers of at most 384 bits: the
 * quadratic methods are the right ones. */
#include "groth16/key/decimal.h"

#include <errno.h>
#include <string.h>

typedef unsigned __int128 wide;

enum {
    CHUNK_DIGITS = 19,
};
static const uint64_t chunk_base = 10000000000000000000u;

/* limbs = limbs * factor + addend; returns what overflows. */
static uint64_t mul_add(uint64_t *limbs, unsigned count, uint64_t factor, uint64_t addend)
{
    for (unsigned i = 0; i < count; i++) {
        wide t = (wide)limbs[i] * factor + addend;

        limbs[i] = (uint64_t)t;
        addend = (uint64_t)(t >> 64);
    }
    return addend;
}

int decimal_parse(const char *text, size_t length, const uint64_t *modulus, unsigned limb_count,
                  uint64_t *ret_limbs)
{
    uint64_t limbs[DECIMAL_LIMBS_MAX] = {0};
    unsigned i;

    if (length == 0 || (length > 1 && text[0] == '0'))
        return -EBADMSG;
    for (size_t k = 0; k < length; k++)
        if (text[k] < '0' || text[k] > '9')
            return -EBADMSG;
    if (length >= DECIMAL_TEXT_BYTES)
        return -ERANGE;
    for (size_t k = 0; k < length;) {
        uint64_t chunk = 0, factor = 1;

        for (int digit = 0; digit < CHUNK_DIGITS && k < length; digit++, k++) {
            chunk = chunk * 10 + (uint64_t)(text[k] - '0');
            factor *= 10;
        }
        if (mul_add(limbs, limb_count, factor, chunk) != 0)
            return -ERANGE;
    }
    for (i = limb_count; i-- > 0;)
        if (limbs[i] != modulus[i])
            break;
    if (i == (unsigned)-1 || limbs[i] > modulus[i])
        return -ERANGE;
    memcpy(ret_limbs, limbs, limb_count * sizeof limbs[0]);
    return 0;
}

size_t decimal_print(const uint64_t *limbs, unsigned limb_count, char ret_text[DECIMAL_TEXT_BYTES])
{
    uint64_t rest[DECIMAL_LIMBS_MAX];
    char digits[8 * CHUNK_DIGITS]; /* backwards */
    size_t count = 0;
    unsigned top = limb_count;

    memcpy(rest, limbs, limb_count * sizeof rest[0]);
    while (top > 0) {
        uint64_t remainder = 0;

        for (unsigned i = top; i-- > 0;) {
            wide t = (wide)remainder << 64 | rest[i];

            rest[i] = (uint64_t)(t / chunk_base);
            remainder = (uint64_t)(t % chunk_base);
        }
        for (int i = 0; i < CHUNK_DIGITS; i++, remainder /= 10)
            digits[count++] = (char)('0' + remainder % 10);
        while (top > 0 && rest[top - 1] == 0)
            top--;
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    for (size_t i = 0; i < count; i++)
        ret_text[i] = digits[count - 1 - i];
    ret_text[count] = '\0';
    return count;
}
