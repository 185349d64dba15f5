/* Parsing and printing; what is printed reads as the same value. */
#include "config/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Reads digits at *text and moves it behind them. */
static int parse_digits(const char **text, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *at = *text;

    if (*at < '0' || *at > '9')
        return -EINVAL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return -ERANGE;
    *text = at;
    *ret_value = value;
    return 0;
}

int units_parse_integer(const char *text, uint64_t *ret_value)
{
    uint64_t value;
    int r = parse_digits(&text, &value);

    if (r < 0)
        return r;
    if (*text != '\0')
        return -EINVAL;
    *ret_value = value;
    return 0;
}

static const char size_units[] = "KMGT";

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
    uint64_t value;
    unsigned shift = 0;
    int r = parse_digits(&text, &value);

    if (r < 0)
        return r;
    if (*text != '\0') {
        const char *unit = strchr(size_units, *text);
        if (!unit || text[1] != '\0')
            return -EINVAL;
        shift = 10 * (unsigned)(unit - size_units + 1);
    }
    if (value > UINT64_MAX >> shift)
        return -ERANGE;
    *ret_bytes = value << shift;
    return 0;
}

const char *units_print_size(uint64_t bytes, char ret[UNITS_TEXT_BYTES])
{
    unsigned step = 0;

    while (step < 4 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        step++;
    }
    char unit[2] = {step ? size_units[step - 1] : '\0', '\0'};
    snprintf(ret, UNITS_TEXT_BYTES, "%llu%s", (unsigned long long)bytes, unit);
    return ret;
}

/* Largest first: printing takes the first that divides. */
static const struct {
    const char *name;
    uint64_t ns;
} time_units[] = {
    {"d", 86400000000000u}, {"h", 3600000000000u}, {"min", 60000000000u},
    {"s", 1000000000u},     {"ms", 1000000u},      {"us", 1000u},
};

static uint64_t time_unit(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof time_units / sizeof time_units[0]; i++)
        if (strlen(time_units[i].name) == bytes && memcmp(time_units[i].name, name, bytes) == 0)
            return time_units[i].ns;
    return 0;
}

int units_parse_time(const char *text, uint64_t *ret_ns)
{
    uint64_t total = 0;

    if (strcmp(text, "0") == 0) {
        *ret_ns = 0;
        return 0;
    }
    do {
        uint64_t value;
        int r = parse_digits(&text, &value);
        if (r < 0)
            return r;
        size_t bytes = strspn(text, "abcdefghijklmnopqrstuvwxyz");
        uint64_t unit = time_unit(text, bytes);
        if (unit == 0)
            return -EINVAL;
        text += bytes;
        text += strspn(text, " ");
        if (__builtin_mul_overflow(value, unit, &value) ||
            __builtin_add_overflow(total, value, &total))
            return -ERANGE;
    } while (*text != '\0');
    *ret_ns = total;
    return 0;
}

const char *units_print_time(uint64_t ns, char ret[UNITS_TEXT_BYTES])
{
    if (ns == 0)
        return strcpy(ret, "0");
    for (size_t i = 0; i < sizeof time_units / sizeof time_units[0]; i++)
        if (ns % time_units[i].ns == 0) {
            snprintf(ret, UNITS_TEXT_BYTES, "%llu%s", (unsigned long long)(ns / time_units[i].ns),
                     time_units[i].name);
            return ret;
        }
    /* Finer than a microsecond cannot be written; parsing never makes it. */
    snprintf(ret, UNITS_TEXT_BYTES, "%lluus", (unsigned long long)(ns / 1000));
    return ret;
}
