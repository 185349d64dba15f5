/* Sizes and times as people write them: 64M, 10G; 5s, 2min, 500ms, "1min 30s". Used by the
 * configuration and by cuzkctl. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    UNITS_TEXT_BYTES = 32,
};

/* Digits, then nothing or one of K M G T (powers of 1024). -EINVAL, -ERANGE beyond 64 bits. */
int units_parse_size(const char *text, uint64_t *ret_bytes);
/* Terms of digits and a unit (us, ms, s, min, h, d), summed, spaces between allowed; "0" needs no
 * unit. -EINVAL, -ERANGE. */
int units_parse_time(const char *text, uint64_t *ret_ns);
/* Decimal digits only. -EINVAL, -ERANGE. */
int units_parse_integer(const char *text, uint64_t *ret_value);
/* The shortest exact form: 268435456 is "256M". */
const char *units_print_size(uint64_t bytes, char ret[UNITS_TEXT_BYTES]);
const char *units_print_time(uint64_t ns, char ret[UNITS_TEXT_BYTES]);
