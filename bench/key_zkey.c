/* The .zkey of a key, front to back. */
#include "bench/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groth16/key/zkey.h"

enum {
    POINTS_PER_PIECE = 1 << 18,
    SECTION_COUNT = 10,
    TEXT_BYTES = 64, /* of the circuit hash in section 10 */
};

struct zkey_output {
    const struct key *key;
    const char *path;
    FILE *out;
    struct reason *reason;
    int error; /* of the first write that failed */
};

static void put(struct zkey_output *o, const void *bytes, size_t count)
{
    if (count > 0 && o->error == 0 && fwrite(bytes, count, 1, o->out) != 1)
        o->error = reason_set(o->reason, -errno, "writing %s failed: %m", o->path);
}

static void put_u32(struct zkey_output *o, uint32_t value)
{
    put(o, &value, sizeof value);
}

static void put_section(struct zkey_output *o, uint32_t id, uint64_t bytes)
{
    put_u32(o, id);
    put(o, &bytes, sizeof bytes);
}

static void put_header(struct zkey_output *o)
{
    const struct setup *setup = o->key->setup;
    const struct curve *curve = setup->curve;
    struct setup_points points;

    setup_points_make(setup, &points);
    put(o, "zkey", 4);
    put_u32(o, 1);
    put_u32(o, SECTION_COUNT);
    put_section(o, ZKEY_PROTOCOL, 4);
    put_u32(o, 1);
    put_section(o, ZKEY_HEADER, 52 + curve->fp_bytes + 3 * curve->g1_bytes + 3 * curve->g2_bytes);
    put_u32(o, (uint32_t)curve->fp_bytes);
    put(o, curve->fp_modulus, curve->fp_bytes);
    put_u32(o, CURVE_FR_BYTES);
    put(o, curve->fr_modulus, CURVE_FR_BYTES);
    put_u32(o, (uint32_t)setup->variables);
    put_u32(o, (uint32_t)setup->publics);
    put_u32(o, (uint32_t)setup->domain);
    put(o, points.alpha_g1, curve->g1_bytes);
    put(o, points.beta_g1, curve->g1_bytes);
    put(o, points.beta_g2, curve->g2_bytes);
    put(o, points.gamma_g2, curve->g2_bytes);
    put(o, points.delta_g1, curve->g1_bytes);
    put(o, points.delta_g2, curve->g2_bytes);
}

static void put_row(struct zkey_output *o, uint32_t matrix, uint32_t row)
{
    const struct constraints *constraints = o->key->constraints;
    const struct matrix_rows *rows = matrix == 0 ? &constraints->a : &constraints->b;

    for (uint64_t i = rows->row_begin[row]; i < rows->row_begin[row + 1]; i++) {
        uint8_t bytes[ZKEY_COEFFICIENT_BYTES];

        memcpy(bytes, &matrix, 4);
        memcpy(bytes + 4, &row, 4);
        memcpy(bytes + 8, &rows->column[i], 4);
        memcpy(bytes + 12, constraints->dictionary.values + 4 * (size_t)rows->coefficient[i], 32);
        put(o, bytes, sizeof bytes);
    }
}

static int write_coefficients(struct zkey_output *o)
{
    const struct constraints *constraints = o->key->constraints;
    uint64_t count = constraints->a.entry_count + constraints->b.entry_count;

    if (count > UINT32_MAX)
        return reason_set(o->reason, -EOVERFLOW,
                          "more than 2^32 coefficients do not fit a .zkey: use --prepared");
    put_section(o, ZKEY_COEFFICIENTS, 4 + count * ZKEY_COEFFICIENT_BYTES);
    put_u32(o, (uint32_t)count);
    for (uint32_t row = 0; row < constraints_row_count(constraints); row++) {
        put_row(o, 0, row);
        put_row(o, 1, row);
    }
    return o->error;
}

/* A section of scalars[i] * generator. */
static int write_points(struct zkey_output *o, enum zkey_section id, const struct scalar *scalars,
                        size_t count)
{
    const struct curve *curve = o->key->setup->curve;
    bool is_g2 = id == ZKEY_B2;
    size_t point_bytes = is_g2 ? curve->g2_bytes : curve->g1_bytes;
    uint8_t *piece = malloc(POINTS_PER_PIECE * point_bytes);

    if (!piece)
        return reason_set(o->reason, -ENOMEM, "no memory for points");
    put_section(o, id, (uint64_t)count * point_bytes);
    for (size_t done = 0; done < count && o->error == 0;) {
        size_t part = count - done < POINTS_PER_PIECE ? count - done : POINTS_PER_PIECE;

        o->error = o->key->maker->multiply(o->key->maker_state, is_g2, scalars + done, part, piece,
                                           o->reason);
        put(o, piece, part * point_bytes);
        done += part;
    }
    free(piece);
    return o->error;
}

/* Sections in the order that snarkjs gives them after a contribution: 1 to 10. */
static int write_all(struct zkey_output *o)
{
    static const char text[TEXT_BYTES] = "UNSAFE: made from a known seed, for tests only";
    const struct setup *setup = o->key->setup;
    const size_t publics = setup->publics, variables = setup->variables;
    int error;

    put_header(o);
    if ((error = write_points(o, ZKEY_IC, setup->c, publics + 1)) != 0 ||
        (error = write_coefficients(o)) != 0 ||
        (error = write_points(o, ZKEY_A, setup->a, variables)) != 0 ||
        (error = write_points(o, ZKEY_B1, setup->b, variables)) != 0 ||
        (error = write_points(o, ZKEY_B2, setup->b, variables)) != 0 ||
        (error = write_points(o, ZKEY_L, setup->c + publics + 1, variables - publics - 1)) != 0 ||
        (error = write_points(o, ZKEY_H, setup->h, setup->domain)) != 0)
        return error;
    put_section(o, ZKEY_CONTRIBUTIONS, TEXT_BYTES + 4);
    put(o, text, TEXT_BYTES);
    put_u32(o, 0);
    return o->error;
}

int key_zkey_write(const struct key *key, const char *path, struct reason *reason)
{
    struct zkey_output o = {.key = key, .path = path, .reason = reason};
    int error;

    o.out = fopen(path, "we");
    if (!o.out)
        return reason_set(reason, -errno, "cannot write %s: %m", path);
    error = write_all(&o);
    if (fclose(o.out) != 0 && error == 0)
        error = reason_set(reason, -errno, "writing %s failed: %m", path);
    if (error)
        unlink(path);
    return error;
}
