/* Reading: scan, parse, numbers, points. Writing: the layout of snarkjs's command line, which is
 * one space a level and an empty array over two lines. Above: proof_json, public_json, vkey_json.
 */
#include "groth16/key/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/decimal.h"

int json_text_read(int fd, char **ret_text, size_t *ret_bytes, struct reason *reason)
{
    struct stat st;
    size_t bytes, done = 0;
    char *text;

    if (fstat(fd, &st) < 0)
        return reason_set(reason, -errno, "cannot stat the JSON file: %m");
    if (S_ISDIR(st.st_mode))
        return reason_set(reason, -EISDIR, "this is a directory: a JSON file is wanted");
    if (!S_ISREG(st.st_mode))
        return reason_set(reason, -EINVAL, "not a regular file: write the JSON to a file first");
    if (st.st_size > JSON_TEXT_BYTES_MAX)
        return reason_set(reason, -EFBIG, "the JSON file has %" PRIdMAX " bytes, more than %d",
                          (intmax_t)st.st_size, JSON_TEXT_BYTES_MAX);
    bytes = (size_t)st.st_size;
    text = malloc(bytes + 1);
    if (!text)
        return reason_set(reason, -ENOMEM, "no memory for %zu bytes of JSON", bytes);
    while (done < bytes) {
        ssize_t n = pread(fd, text + done, bytes - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int error = n < 0 ? -errno : -EBADMSG;

            free(text);
            return reason_set(reason, error, "reading the JSON file failed at byte %zu: %s", done,
                              n < 0 ? strerror(-error) : "the file became shorter");
        }
        done += (size_t)n;
    }
    text[bytes] = '\0';
    *ret_text = text;
    *ret_bytes = bytes;
    return 0;
}

/* Nesting and number of values, before anything is allocated for them. */
static int scan(const char *text, size_t bytes, const char *what, struct reason *reason)
{
    size_t values = 0;
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
            continue;
        }
        if (c == '"')
            in_string = true;
        else if (c == '[' || c == '{')
            depth++, values++;
        else if (c == ']' || c == '}')
            depth--;
        else if (c == ',')
            values++;
        if (depth > JSON_TEXT_DEPTH_MAX || values > JSON_TEXT_VALUES_MAX)
            return reason_set(reason, -EBADMSG,
                              "%s: too deep or too many values at byte %zu (at most %d levels and "
                              "%d values)",
                              what, i, JSON_TEXT_DEPTH_MAX, JSON_TEXT_VALUES_MAX);
    }
    return 0;
}

int json_text_parse(const char *text, size_t bytes, const char *what, json_t **ret,
                    struct reason *reason)
{
    json_error_t json_error;
    json_t *root;
    int error;

    if (bytes > JSON_TEXT_BYTES_MAX)
        return reason_set(reason, -EFBIG, "%s: %zu bytes, more than %d", what, bytes,
                          JSON_TEXT_BYTES_MAX);
    error = scan(text, bytes, what, reason);
    if (error)
        return error;
    root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &json_error);
    if (!root)
        return reason_set(
            reason, json_error_code(&json_error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG,
            "%s: not valid JSON, line %d column %d: %s", what, json_error.line, json_error.column,
            json_error.text);
    *ret = root;
    return 0;
}

int json_text_number(const json_t *value, const char *where, const uint64_t *modulus,
                     unsigned limb_count, uint64_t *ret, struct reason *reason)
{
    char integer[24];
    const char *text = integer;
    size_t length;
    int error;

    if (json_is_string(value)) {
        text = json_string_value(value);
        length = json_string_length(value);
    } else if (json_is_integer(value) && json_integer_value(value) >= 0) {
        length = (size_t)snprintf(integer, sizeof integer, "%" JSON_INTEGER_FORMAT,
                                  json_integer_value(value));
    } else {
        return reason_set(reason, -EBADMSG, "%s is not a string of decimal digits", where);
    }
    error = decimal_parse(text, length, modulus, limb_count, ret);
    if (error == -ERANGE)
        return reason_set(reason, -EBADMSG,
                          "%s is not below the prime of its field: is it of another curve, or not "
                          "reduced?",
                          where);
    if (error)
        return reason_set(reason, -EBADMSG,
                          "%s is \"%.40s\": digits are wanted, without sign or leading zeros",
                          where, text);
    return 0;
}

/* A coordinate, in Montgomery form. */
static int read_fp(const struct curve *curve, const json_t *array, size_t index, const char *where,
                   uint64_t *ret, struct reason *reason)
{
    uint64_t plain[CURVE_FP_LIMBS_MAX];
    char path[64];
    int error;

    snprintf(path, sizeof path, "%s[%zu]", where, index);
    error = json_text_number(json_array_get(array, index), path, curve->fp_modulus, curve->fp_limbs,
                             plain, reason);
    if (error == 0)
        curve->fp_from_plain(ret, plain);
    return error;
}

static bool is_digit(const json_t *value, char digit)
{
    if (json_is_integer(value))
        return json_integer_value(value) == digit - '0';
    return json_is_string(value) && json_string_length(value) == 1 &&
           json_string_value(value)[0] == digit;
}

int json_text_g1(const struct curve *curve, const json_t *value, const char *where, void *ret_point,
                 struct reason *reason)
{
    uint64_t point[2 * CURVE_FP_LIMBS_MAX] = {0};
    const json_t *z;

    if (!json_is_array(value) || json_array_size(value) != 3)
        return reason_set(reason, -EBADMSG, "%s is not a point [x, y, \"1\"]", where);
    z = json_array_get(value, 2);
    if (is_digit(z, '0')) {
        if (!is_digit(json_array_get(value, 0), '0') || !is_digit(json_array_get(value, 1), '1'))
            return reason_set(reason, -EBADMSG,
                              "%s has z = 0 but is not the infinity [\"0\", \"1\", \"0\"]", where);
    } else {
        int error = 0;

        if (!is_digit(z, '1'))
            return reason_set(reason, -EBADMSG, "%s[2] is not \"1\": affine points are wanted",
                              where);
        for (size_t i = 0; i < 2 && error == 0; i++)
            error = read_fp(curve, value, i, where, point + i * curve->fp_limbs, reason);
        if (error)
            return error;
    }
    memcpy(ret_point, point, curve->g1_bytes);
    return 0;
}

static bool is_pair(const json_t *value, char first, char second)
{
    return json_is_array(value) && json_array_size(value) == 2 &&
           is_digit(json_array_get(value, 0), first) && is_digit(json_array_get(value, 1), second);
}

int json_text_g2(const struct curve *curve, const json_t *value, const char *where, void *ret_point,
                 struct reason *reason)
{
    uint64_t point[4 * CURVE_FP_LIMBS_MAX] = {0};
    const json_t *z;

    if (!json_is_array(value) || json_array_size(value) != 3)
        return reason_set(reason, -EBADMSG,
                          "%s is not a point [[x0, x1], [y0, y1], [\"1\", \"0\"]]", where);
    z = json_array_get(value, 2);
    if (is_pair(z, '0', '0')) {
        if (!is_pair(json_array_get(value, 0), '0', '0') ||
            !is_pair(json_array_get(value, 1), '1', '0'))
            return reason_set(reason, -EBADMSG, "%s has z = 0 but is not the infinity", where);
        memcpy(ret_point, point, curve->g2_bytes);
        return 0;
    }
    if (!is_pair(z, '1', '0'))
        return reason_set(reason, -EBADMSG, "%s[2] is not [\"1\", \"0\"]: affine points are wanted",
                          where);
    for (size_t i = 0; i < 2; i++) {
        const json_t *pair = json_array_get(value, i);
        char path[48];
        int error = 0;

        snprintf(path, sizeof path, "%s[%zu]", where, i);
        if (!json_is_array(pair) || json_array_size(pair) != 2)
            return reason_set(reason, -EBADMSG, "%s is not a pair of numbers", path);
        for (size_t j = 0; j < 2 && error == 0; j++)
            error = read_fp(curve, pair, j, path, point + (2 * i + j) * curve->fp_limbs, reason);
        if (error)
            return error;
    }
    memcpy(ret_point, point, curve->g2_bytes);
    return 0;
}

static void append(struct json_text *out, const char *text, size_t bytes)
{
    if (out->has_failed)
        return;
    if (out->capacity - out->bytes < bytes + 1) {
        size_t capacity = 2 * out->capacity + bytes + 1024;
        char *grown = realloc(out->text, capacity);

        if (!grown) {
            out->has_failed = true;
            return;
        }
        out->text = grown;
        out->capacity = capacity;
    }
    memcpy(out->text + out->bytes, text, bytes);
    out->bytes += bytes;
    out->text[out->bytes] = '\0';
}

static void new_line(struct json_text *out)
{
    append(out, "\n                ", 1 + out->depth);
}

static void begin_item(struct json_text *out, const char *key)
{
    if (out->depth > 0) {
        if (!out->is_first)
            append(out, ",", 1);
        new_line(out);
    }
    out->is_first = false;
    if (key) {
        append(out, "\"", 1);
        append(out, key, strlen(key));
        append(out, "\": ", 3);
    }
}

void json_text_open(struct json_text *out, const char *key, char bracket)
{
    begin_item(out, key);
    append(out, &bracket, 1);
    out->depth++;
    out->is_first = true;
}

void json_text_close(struct json_text *out, char bracket)
{
    out->depth--;
    new_line(out);
    append(out, &bracket, 1);
    out->is_first = false;
}

void json_text_string(struct json_text *out, const char *key, const char *value)
{
    begin_item(out, key);
    append(out, "\"", 1);
    append(out, value, strlen(value));
    append(out, "\"", 1);
}

void json_text_integer(struct json_text *out, const char *key, uint64_t value)
{
    char text[24];

    begin_item(out, key);
    append(out, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

void json_text_scalar(struct json_text *out, const uint64_t *scalar)
{
    char text[DECIMAL_TEXT_BYTES];

    decimal_print(scalar, 4, text);
    json_text_string(out, NULL, text);
}

static void write_fp(struct json_text *out, const struct curve *curve, const uint64_t *mont)
{
    uint64_t plain[CURVE_FP_LIMBS_MAX];
    char text[DECIMAL_TEXT_BYTES];

    curve->fp_to_plain(plain, mont);
    decimal_print(plain, curve->fp_limbs, text);
    json_text_string(out, NULL, text);
}

void json_text_write_g1(struct json_text *out, const char *key, const struct curve *curve,
                        const void *point)
{
    const uint64_t *limbs = point;
    bool infinity = curve_point_is_infinity(point, curve->g1_bytes);

    json_text_open(out, key, '[');
    if (infinity) {
        json_text_string(out, NULL, "0");
        json_text_string(out, NULL, "1");
    } else {
        write_fp(out, curve, limbs);
        write_fp(out, curve, limbs + curve->fp_limbs);
    }
    json_text_string(out, NULL, infinity ? "0" : "1");
    json_text_close(out, ']');
}

static void write_pair(struct json_text *out, const char *first, const char *second)
{
    json_text_open(out, NULL, '[');
    json_text_string(out, NULL, first);
    json_text_string(out, NULL, second);
    json_text_close(out, ']');
}

void json_text_write_g2(struct json_text *out, const char *key, const struct curve *curve,
                        const void *point)
{
    const uint64_t *limbs = point;
    bool infinity = curve_point_is_infinity(point, curve->g2_bytes);

    json_text_open(out, key, '[');
    if (infinity) {
        write_pair(out, "0", "0");
        write_pair(out, "1", "0");
    } else {
        for (size_t i = 0; i < 2; i++) {
            json_text_open(out, NULL, '[');
            write_fp(out, curve, limbs + 2 * i * curve->fp_limbs);
            write_fp(out, curve, limbs + (2 * i + 1) * curve->fp_limbs);
            json_text_close(out, ']');
        }
    }
    write_pair(out, infinity ? "0" : "1", "0");
    json_text_close(out, ']');
}

int json_text_finish(struct json_text *out, char **ret_text, size_t *ret_bytes)
{
    if (out->has_failed) {
        free(out->text);
        return -ENOMEM;
    }
    *ret_text = out->text;
    *ret_bytes = out->bytes;
    return 0;
}
