/* Characters to values; every refusal has place and offset. */
#include "filecoin/json_pull.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/check.h"

/* Where the pointers are while there is no piece. */
static const uint8_t nothing[1];

void json_pull_init(struct json_pull *in, json_fill *fill, void *context, struct reason *reason)
{
    *in = (struct json_pull){.fill = fill,
                             .context = context,
                             .begin = nothing,
                             .at = nothing,
                             .end = nothing,
                             .reason = reason};
}

void json_pull_place(struct json_pull *in, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (vsnprintf(in->place, sizeof in->place, format, args) < 0)
        in->place[0] = '\0';
    va_end(args);
}

void json_pull_refuse(struct json_pull *in, const char *format, ...)
{
    char text[200];
    va_list args;

    if (in->error != 0)
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    in->error =
        reason_set(in->reason, -EBADMSG, "%s%s%s (byte %" PRIu64 " of the JSON text)", in->place,
                   in->place[0] ? ": " : "", text, in->before + (uint64_t)(in->at - in->begin));
}

static bool refill(struct json_pull *in)
{
    size_t size = 0;
    int error;

    if (in->error != 0)
        return false;
    in->before += (uint64_t)(in->end - in->begin);
    in->begin = nothing;
    error = in->fill(in->context, &in->begin, &size);
    if (error < 0)
        in->error = error;
    if (error < 0 || size == 0) {
        in->begin = nothing;
        size = 0;
    }
    in->at = in->begin;
    in->end = in->begin + size;
    return size > 0;
}

/* The next byte as it is; 0 at the end, which no valid text holds. */
static inline uint8_t raw_peek(struct json_pull *in)
{
    if (in->at == in->end && !refill(in))
        return 0;
    return in->error == 0 ? *in->at : 0;
}

uint8_t json_pull_peek(struct json_pull *in)
{
    uint8_t c = raw_peek(in);

    while (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        in->at++;
        c = raw_peek(in);
    }
    return c;
}

uint8_t json_pull_next(struct json_pull *in)
{
    const uint8_t c = json_pull_peek(in);

    if (c != 0)
        in->at++;
    return c;
}

void json_pull_take(struct json_pull *in, char wanted)
{
    const uint8_t c = json_pull_peek(in);

    if (c == (uint8_t)wanted)
        in->at++;
    else if (c == 0)
        json_pull_refuse(in, "the text ends where \"%c\" belongs", wanted);
    else
        json_pull_refuse(in, "\"%c\" where \"%c\" belongs", c, wanted);
}

void json_pull_string(struct json_pull *in, char *ret, size_t size)
{
    size_t length = 0;
    uint8_t c;

    json_pull_take(in, '"');
    while ((c = raw_peek(in)) != '"' && in->error == 0) {
        if (c < 0x20 || c > 0x7e || c == '\\' || length + 1 >= size) {
            json_pull_refuse(in, c == 0 ? "the text ends in a string"
                                        : "a string that has no place "
                                          "here");
            break;
        }
        ret[length++] = (char)c;
        in->at++;
    }
    ret[in->error == 0 ? length : 0] = '\0';
    if (in->error == 0)
        in->at++;
}

uint64_t json_pull_number(struct json_pull *in, uint64_t max)
{
    uint8_t c = json_pull_peek(in);
    unsigned digits = 0;
    uint64_t value = 0;

    for (; c >= '0' && c <= '9'; c = raw_peek(in), digits++) {
        const uint8_t digit = c - '0';

        if ((digits == 1 && value == 0) || value > (max - digit) / 10 || digit > max) {
            json_pull_refuse(in, "a number above %" PRIu64 " or with leading zeros", max);
            return 0;
        }
        value = 10 * value + digit;
        in->at++;
    }
    if (digits == 0 || c == '.' || c == 'e' || c == 'E')
        json_pull_refuse(in, "no whole number where one belongs");
    return in->error == 0 ? value : 0;
}

void json_pull_null(struct json_pull *in)
{
    json_pull_take(in, 'n');
    for (const char *c = "ull"; *c; c++)
        if (raw_peek(in) == (uint8_t)*c)
            in->at++;
        else
            json_pull_refuse(in, "no null where one belongs");
}

void json_pull_element(struct json_pull *in, unsigned index)
{
    json_pull_take(in, index == 0 ? '[' : ',');
}

void json_pull_array_end(struct json_pull *in, unsigned count)
{
    if (in->error == 0 && json_pull_peek(in) == ',')
        json_pull_refuse(in, "an array is longer than %u", count);
    json_pull_take(in, ']');
}

void json_pull_bytes(struct json_pull *in, uint8_t ret[FR_BYTES])
{
    for (unsigned i = 0; i < FR_BYTES; i++) {
        json_pull_element(in, i);
        ret[i] = (uint8_t)json_pull_number(in, 255);
    }
    json_pull_array_end(in, FR_BYTES);
}

void json_pull_fr(struct json_pull *in, const char *what, fr *ret)
{
    uint8_t bytes[FR_BYTES];

    json_pull_bytes(in, bytes);
    *ret = fr_word(0);
    if (in->error == 0 && !fr_read(ret, bytes))
        json_pull_refuse(in, "%s is not below the modulus of the field", what);
}

int json_pull_finish(struct json_pull *in)
{
    if (json_pull_peek(in) != 0 || in->at != in->end) /* a byte of 0 is no end either */
        json_pull_refuse(in, "bytes are left over");
    return in->error;
}

void json_pull_object(struct json_pull *in, const struct json_member *members, unsigned count,
                      void *object)
{
    uint32_t seen = 0;

    CHECK(count >= 1 && count <= 32);
    for (unsigned n = 0; n < count && in->error == 0; n++) {
        unsigned member = 0;
        char name[64];

        json_pull_take(in, n == 0 ? '{' : ',');
        json_pull_string(in, name, sizeof name);
        json_pull_take(in, ':');
        while (member < count && strcmp(members[member].name, name) != 0)
            member++;
        if (member == count || seen >> member & 1)
            json_pull_refuse(in, "member \"%s\" is unknown here or comes twice", name);
        if (in->error != 0)
            return;
        seen |= UINT32_C(1) << member;
        members[member].read(in, object);
    }
    json_pull_take(in, '}');
}
