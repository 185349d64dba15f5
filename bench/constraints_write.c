/* Constraints as circom's .r1cs, so that a made circuit can go the way of all others. */
#include "bench/constraints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/scalar.h"

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    return put_bytes(at, &value, sizeof value);
}

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
    return put_bytes(at, &value, sizeof value);
}

static void put_terms(FILE *out, const struct matrix_rows *rows, uint32_t row,
                      const struct scalar *values)
{
    uint8_t bytes[4 + CURVE_FR_BYTES];
    uint32_t count = (uint32_t)(rows->row_begin[row + 1] - rows->row_begin[row]);

    fwrite(&count, sizeof count, 1, out);
    for (uint64_t i = rows->row_begin[row]; i < rows->row_begin[row + 1]; i++) {
        put_bytes(put_u32(bytes, rows->column[i]), values[rows->coefficient[i]].l, CURVE_FR_BYTES);
        fwrite(bytes, sizeof bytes, 1, out);
    }
}

static void put_r1cs(FILE *out, const struct constraints *constraints, const struct scalar *values)
{
    const uint32_t public_rows = constraints->public_count + 1;
    const uint64_t entries = constraints->a.entry_count - public_rows + constraints->b.entry_count +
                             constraints->c.entry_count;
    uint8_t head[12 + 12 + 64 + 12], *at = put_bytes(head, "r1cs", 4);

    at = put_u32(put_u32(at, 1), 2);
    at = put_u64(put_u32(at, 1), 64);
    at = put_u32(at, CURVE_FR_BYTES);
    at = put_bytes(at, constraints->curve->fr_modulus, CURVE_FR_BYTES);
    at = put_u32(at, constraints->variable_count);
    at = put_u32(at, 0);                                                           /* outputs */
    at = put_u32(at, constraints->public_count);                                   /* inputs */
    at = put_u32(at, constraints->variable_count - constraints->public_count - 1); /* private */
    at = put_u64(at, constraints->variable_count);                                 /* labels */
    at = put_u32(at, constraints->constraint_count);
    at = put_u64(put_u32(at, 2),
                 entries * (4 + CURVE_FR_BYTES) + 12 * (uint64_t)constraints->constraint_count);
    fwrite(head, (size_t)(at - head), 1, out);
    for (uint32_t row = 0; row < constraints->constraint_count; row++) {
        put_terms(out, &constraints->a, row, values);
        put_terms(out, &constraints->b, row, values);
        put_terms(out, &constraints->c, row, values);
    }
}

int constraints_write_r1cs(const struct constraints *constraints, int fd, struct reason *reason)
{
    struct scalar *values = constraints_plain_values(constraints);
    int own_fd = values ? dup(fd) : -1, error = 0;
    FILE *out = own_fd >= 0 ? fdopen(own_fd, "w") : NULL;

    if (out)
        put_r1cs(out, constraints, values);
    if (!out || ferror(out))
        error = -EIO;
    if (out && fclose(out) != 0)
        error = -errno;
    else if (!out && own_fd >= 0)
        close(own_fd);
    free(values);
    return error ? reason_set(reason, error, "writing the .r1cs failed: %s", strerror(-error)) : 0;
}
