/* The text side shared by the three JSON formats: reading a bounded file, refusing hostile JSON
 * before it is parsed, numbers and points in and out, and a growing buffer with snarkjs's layout.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "groth16/curve/curve.h"
#include "groth16/key/reason.h"

enum {
    JSON_TEXT_BYTES_MAX = 64 << 20,
    JSON_TEXT_DEPTH_MAX = 16,       /* snarkjs's files nest 4 deep */
    JSON_TEXT_VALUES_MAX = 1 << 20, /* 65,537 IC points have 262,148 */
};

/* Reads a regular file of at most JSON_TEXT_BYTES_MAX. *ret_text is malloc'd, NUL-terminated, the
 * caller's to free. -EFBIG, -EISDIR, -EINVAL (not regular), -EIO, -ENOMEM. Blocking. */
int json_text_read(int fd, char **ret_text, size_t *ret_bytes, struct reason *reason);

/* Parses after a scan for depth and number of values; duplicate keys are refused. `what` names the
 * file in messages. The result is the caller's (json_decref). */
int json_text_parse(const char *text, size_t bytes, const char *what, json_t **ret,
                    struct reason *reason);

/* A number as snarkjs writes it: a string of decimal digits (small JSON integers are accepted),
 * below the modulus. `where` is the path in messages, "pi_a[0]". */
int json_text_number(const json_t *value, const char *where, const uint64_t *modulus,
                     unsigned limb_count, uint64_t *ret, struct reason *reason);
/* [x, y, "1"] or ["0", "1", "0"]; [[x0, x1], [y0, y1], ["1", "0"]] or infinity. Coordinates are
 * reduced; whether the point is on the curve is for the caller. */
int json_text_g1(const struct curve *curve, const json_t *value, const char *where, void *ret_point,
                 struct reason *reason);
int json_text_g2(const struct curve *curve, const json_t *value, const char *where, void *ret_point,
                 struct reason *reason);

/* JSON.stringify(value, null, 1): one space a level, no newline at the end. Allocation failures
 * are remembered and reported by json_text_finish. */
struct json_text {
    char *text;
    size_t bytes, capacity;
    unsigned depth;
    bool is_first; /* in the innermost array or object */
    bool has_failed;
};

void json_text_open(struct json_text *out, const char *key, char bracket);
void json_text_close(struct json_text *out, char bracket);
void json_text_string(struct json_text *out, const char *key, const char *value);
void json_text_integer(struct json_text *out, const char *key, uint64_t value);
void json_text_scalar(struct json_text *out, const uint64_t *scalar);
void json_text_write_g1(struct json_text *out, const char *key, const struct curve *curve,
                        const void *point);
void json_text_write_g2(struct json_text *out, const char *key, const struct curve *curve,
                        const void *point);
/* Hands the NUL-terminated text over (caller frees) or frees it and returns -ENOMEM. */
int json_text_finish(struct json_text *out, char **ret_text, size_t *ret_bytes);
