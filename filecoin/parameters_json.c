/* Below: json_text (depth, number of values, duplicate keys), params_digest. */
#include "filecoin/parameters_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "groth16/key/json_text.h"

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly 2 * PARAMS_DIGEST_BYTES small digits. */
static bool read_digest(const json_t *value, uint8_t *ret)
{
    const char *text = json_string_value(value);

    if (!text || json_string_length(value) != 2 * PARAMS_DIGEST_BYTES)
        return false;
    for (int i = 0; i < PARAMS_DIGEST_BYTES; i++) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static int read_entry(const json_t *value, const char *name, struct parameters_json_entry *ret,
                      struct reason *reason)
{
    const json_t *size = json_object_get(value, "sector_size");

    if (!json_is_object(value) || !read_digest(json_object_get(value, "digest"), ret->digest) ||
        !json_is_integer(size) || json_integer_value(size) <= 0)
        return reason_set(reason, -EBADMSG,
                          "parameters.json: %s has no digest of %d hexadecimal digits or no "
                          "sector_size: take the list from where the key came from",
                          name, 2 * PARAMS_DIGEST_BYTES);
    ret->sector_bytes = (uint64_t)json_integer_value(size);
    return 0;
}

int parameters_json_find(const char *text, size_t bytes, const char *name,
                         struct parameters_json_entry *ret, struct reason *reason)
{
    struct parameters_json_entry entry;
    json_t *list;
    const json_t *value;
    int error = json_text_parse(text, bytes, "parameters.json", &list, reason);

    if (error)
        return error;
    value = json_object_get(list, name);
    if (!json_is_object(list))
        error = reason_set(reason, -EBADMSG, "parameters.json: an object of files is wanted");
    else if (!value)
        error = reason_set(reason, -ENOENT,
                           "parameters.json does not list %s: it is of another network or version",
                           name);
    else
        error = read_entry(value, name, &entry, reason);
    if (error == 0)
        *ret = entry;
    json_decref(list);
    return error;
}

int parameters_json_check(const struct parameters_json_entry *entry, const struct params *params,
                          const struct prepared_progress *progress, struct reason *reason)
{
    uint8_t digest[PARAMS_DIGEST_BYTES];
    char ours[2 * PARAMS_DIGEST_BYTES + 1], theirs[2 * PARAMS_DIGEST_BYTES + 1];
    int error = params_digest(params, progress, digest, reason);

    if (error || memcmp(digest, entry->digest, sizeof digest) == 0)
        return error;
    for (int i = 0; i < PARAMS_DIGEST_BYTES; i++) {
        snprintf(ours + 2 * i, 3, "%02x", digest[i]);
        snprintf(theirs + 2 * i, 3, "%02x", entry->digest[i]);
    }
    return reason_set(reason, -EBADMSG,
                      "params: their BLAKE2b digest is %s, parameters.json has %s: the file is "
                      "damaged or is another key, download it again",
                      ours, theirs);
}
