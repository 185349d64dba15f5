/* A strict pull reader of JSON for shapes that are known beforehand: no tree is built and nothing
 * is allocated, so a file of any size costs its buffer. Strings without escapes, numbers without
 * sign, fraction or exponent: all that serde and Go write here. Input may be hostile. Called by
 * porep_c1.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "filecoin/fr.h"
#include "groth16/key/reason.h"

/* More bytes: the next piece in *ret_data, which lasts until the next call, or 0 at the end.
 * Negative errno: ends the reading. */
typedef int json_fill(void *context, const uint8_t **ret_data, size_t *ret_size);

struct json_pull {
    json_fill *fill;
    void *context;
    const uint8_t *at, *end;
    uint64_t before; /* bytes before `end` that were handed over in earlier pieces */
    const uint8_t *begin;
    int error; /* after the first refusal all reads give 0 */
    struct reason *reason;
    char place[128];
};

void json_pull_init(struct json_pull *in, json_fill *fill, void *context, struct reason *reason);
void json_pull_place(struct json_pull *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void json_pull_refuse(struct json_pull *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The next byte that is not white space, taken or only looked at; 0 at the end. */
uint8_t json_pull_next(struct json_pull *in);
uint8_t json_pull_peek(struct json_pull *in);
/* Takes exactly this character. */
void json_pull_take(struct json_pull *in, char wanted);
/* A string of at most size - 1 bytes of printable ASCII. */
void json_pull_string(struct json_pull *in, char *ret, size_t size);
uint64_t json_pull_number(struct json_pull *in, uint64_t max);
void json_pull_null(struct json_pull *in);
/* An array of 32 numbers below 256; the second also below r. */
void json_pull_bytes(struct json_pull *in, uint8_t ret[FR_BYTES]);
void json_pull_fr(struct json_pull *in, const char *what, fr *ret);
/* Before element `index` of an array of exactly `count`: takes "[" or ","; after the last,
 * json_pull_array_end takes "]". */
void json_pull_element(struct json_pull *in, unsigned index);
void json_pull_array_end(struct json_pull *in, unsigned count);
/* Nothing but white space is left. Returns the error, if any. */
int json_pull_finish(struct json_pull *in);

/* One member of an object; read takes its value. */
struct json_member {
    const char *name;
    void (*read)(struct json_pull *in, void *object);
};
/* An object with exactly these members (at most 32), in any order. */
void json_pull_object(struct json_pull *in, const struct json_member *members, unsigned count,
                      void *object);
