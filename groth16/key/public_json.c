/* public.json. Below: json_text. */
#include "groth16/key/public_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "groth16/key/json_text.h"

static void write_row(struct json_text *out, const uint64_t *scalars, size_t count)
{
    json_text_open(out, NULL, '[');
    for (size_t i = 0; i < count; i++)
        json_text_scalar(out, scalars + 4 * i);
    json_text_close(out, ']');
}

int public_json_write(const uint64_t *scalars, size_t count, char **ret_text, size_t *ret_bytes)
{
    struct json_text out = {0};

    write_row(&out, scalars, count);
    return json_text_finish(&out, ret_text, ret_bytes);
}

int public_json_write_array(const uint64_t *scalars, size_t row_count, size_t count,
                            char **ret_text, size_t *ret_bytes)
{
    struct json_text out = {0};

    json_text_open(&out, NULL, '[');
    for (size_t i = 0; i < row_count; i++)
        write_row(&out, scalars + 4 * count * i, count);
    json_text_close(&out, ']');
    return json_text_finish(&out, ret_text, ret_bytes);
}

int public_json_read(const char *text, size_t bytes, const struct curve *curve,
                     uint64_t **ret_scalars, size_t *ret_count, struct reason *reason)
{
    uint64_t *scalars = NULL;
    json_t *root;
    size_t count;
    int error = json_text_parse(text, bytes, "public inputs", &root, reason);

    if (error)
        return error;
    if (!json_is_array(root)) {
        error =
            reason_set(reason, -EBADMSG, "public inputs: an array of decimal strings is wanted");
        goto done;
    }
    count = json_array_size(root);
    scalars = malloc((count + 1) * CURVE_FR_BYTES);
    if (!scalars) {
        error = reason_set(reason, -ENOMEM, "no memory for %zu public inputs", count);
        goto done;
    }
    for (size_t i = 0; i < count && error == 0; i++) {
        char where[48];

        snprintf(where, sizeof where, "public input %zu", i);
        error = json_text_number(json_array_get(root, i), where, curve->fr_modulus, 4,
                                 scalars + 4 * i, reason);
    }
    if (error == 0) {
        *ret_scalars = scalars;
        *ret_count = count;
        scalars = NULL;
    }
done:
    free(scalars);
    json_decref(root);
    return error;
}
