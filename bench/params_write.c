/* Points a few thousand at a time, encoded and written in file order. */
#include "bench/params_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "filecoin/point.h"

enum {
    BATCH = 1 << 14,
};

struct scalar params_secret(const char *name)
{
    char text[64];
    uint8_t digest[32];
    struct scalar r;
    int length = snprintf(text, sizeof text, "oracle-toxic-%s", name);

    if (!EVP_Digest(text, (size_t)length, digest, NULL, EVP_sha256(), NULL))
        abort();
    digest[31] &= 0x3f;
    memcpy(r.l, digest, sizeof r.l);
    return r;
}

struct setup_secrets params_secrets(void)
{
    return (struct setup_secrets){
        .tau = params_secret("tau"),
        .alpha = params_secret("alpha"),
        .beta = params_secret("beta"),
        .gamma = params_secret("gamma"),
        .delta = params_secret("delta"),
    };
}

struct params_writing {
    const struct key *key;
    FILE *out;
    uint8_t *points; /* BATCH, 8-byte aligned */
    struct scalar *kept;
    struct reason *reason;
};

static int write_bytes(const struct params_writing *w, const void *bytes, size_t count)
{
    if (fwrite(bytes, 1, count, w->out) == count)
        return 0;
    return reason_set(w->reason, -EIO, "writing the params failed: %m");
}

static int write_point(const struct params_writing *w, bool is_g2, const void *point)
{
    uint8_t bytes[POINT_G2_BYTES];

    if (is_g2)
        point_g2_write(point, bytes);
    else
        point_g1_write(point, bytes);
    return write_bytes(w, bytes, is_g2 ? POINT_G2_BYTES : POINT_G1_BYTES);
}

/* A count, then that many points. */
static int write_section(const struct params_writing *w, bool is_g2, const struct scalar *scalars,
                         size_t count)
{
    const uint32_t big_endian = __builtin_bswap32((uint32_t)count);
    int error = write_bytes(w, &big_endian, sizeof big_endian);

    for (size_t done = 0; done < count && error == 0; done += BATCH) {
        const size_t now = count - done < BATCH ? count - done : BATCH;

        error = w->key->maker->multiply(w->key->maker_state, is_g2, scalars + done, now, w->points,
                                        w->reason);
        for (size_t i = 0; i < now && error == 0; i++)
            error =
                write_point(w, is_g2, w->points + i * (is_g2 ? POINT_G2_BYTES : POINT_G1_BYTES));
    }
    return error;
}

static int write_head(const struct params_writing *w)
{
    const struct setup *setup = w->key->setup;
    struct setup_points points;
    int error;

    setup_points_make(setup, &points);
    error = write_point(w, false, points.alpha_g1);
    if (error == 0)
        error = write_point(w, false, points.beta_g1);
    if (error == 0)
        error = write_point(w, true, points.beta_g2);
    if (error == 0)
        error = write_point(w, true, points.gamma_g2);
    if (error == 0)
        error = write_point(w, false, points.delta_g1);
    if (error == 0)
        error = write_point(w, true, points.delta_g2);
    return error ? error : write_section(w, false, setup->c, setup->publics + 1);
}

/* The scalars that are not 0: wires that occur nowhere have no point. */
static size_t keep_nonzero(const struct setup *setup, const struct scalar *scalars,
                           struct scalar *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < setup->variables; i++)
        if (scalars[i].l[0] | scalars[i].l[1] | scalars[i].l[2] | scalars[i].l[3])
            ret[count++] = scalars[i];
    return count;
}

static int write_all(const struct params_writing *w)
{
    const struct setup *setup = w->key->setup;
    const size_t inputs = setup->publics + 1;
    size_t count;
    int error = write_head(w);

    if (error == 0)
        error = write_section(w, false, setup->h, setup->domain - 1);
    if (error == 0)
        error = write_section(w, false, setup->c + inputs, setup->variables - inputs);
    count = keep_nonzero(setup, setup->a, w->kept);
    if (error == 0)
        error = write_section(w, false, w->kept, count);
    count = keep_nonzero(setup, setup->b, w->kept);
    if (error == 0)
        error = write_section(w, false, w->kept, count);
    if (error == 0)
        error = write_section(w, true, w->kept, count);
    return error;
}

static int write_with(const struct key *key, FILE *out,
                      int (*write)(const struct params_writing *w), struct reason *reason)
{
    struct params_writing w = {
        .key = key,
        .out = out,
        .points = malloc((size_t)BATCH * POINT_G2_BYTES),
        .kept = malloc(key->constraints->variable_count * sizeof(struct scalar)),
        .reason = reason,
    };
    int error =
        w.points && w.kept ? write(&w) : reason_set(reason, -ENOMEM, "no memory for the params");

    if (error == 0 && fflush(out) != 0)
        error = reason_set(reason, -errno, "writing the params failed: %m");
    free(w.points);
    free(w.kept);
    return error;
}

int params_write(const struct key *key, FILE *out, struct reason *reason)
{
    return write_with(key, out, write_all, reason);
}

int params_write_vk(const struct key *key, FILE *out, struct reason *reason)
{
    return write_with(key, out, write_head, reason);
}
