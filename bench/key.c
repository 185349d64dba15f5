/* What the files of a key share, and its verification key. */
#include "bench/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "groth16/key/vkey_json.h"
#include "runtime/clock.h"

int key_multiply(const struct key *key, const char *what, bool is_g2, const struct scalar *scalars,
                 size_t count, void *ret_points, struct reason *reason)
{
    uint64_t begin_ns = clock_now_ns();
    int error = key->maker->multiply(key->maker_state, is_g2, scalars, count, ret_points, reason);

    if (error == 0)
        fprintf(stderr, "%8.2f s  %s: %zu points by the %s\n",
                (double)(clock_now_ns() - begin_ns) * 1e-9, what, count, key->maker->name);
    return error;
}

static int write_text(const char *path, const char *text, size_t bytes, struct reason *reason)
{
    FILE *out = fopen(path, "we");
    bool is_written = out && fwrite(text, bytes, 1, out) == 1;
    int error = is_written ? 0 : -errno;

    if (out && fclose(out) != 0 && error == 0)
        error = -errno;
    if (error && out)
        unlink(path);
    errno = -error;
    return error ? reason_set(reason, error, "writing %s failed: %m", path) : 0;
}

int key_vkey_write(const struct key *key, const char *path, struct reason *reason)
{
    const struct setup *setup = key->setup;
    const size_t ic_count = setup->publics + 1;
    struct setup_points points;
    uint8_t *ic = malloc(ic_count * setup->curve->g1_bytes);
    char *text = NULL;
    size_t bytes;
    int error = ic ? 0 : reason_set(reason, -ENOMEM, "no memory for the verification key");

    if (error == 0)
        error = key->maker->multiply(key->maker_state, false, setup->c, ic_count, ic, reason);
    if (error == 0) {
        const struct verify_key verify_key = {
            points.alpha_g1, points.beta_g2, points.gamma_g2, points.delta_g2, ic, ic_count};

        setup_points_make(setup, &points);
        error = vkey_json_write(setup->curve, &verify_key, KEY_UNSAFE_TEXT, &text, &bytes);
        error = error ? reason_set(reason, error, "no memory for the verification key")
                      : write_text(path, text, bytes, reason);
    }
    free(text);
    free(ic);
    return error;
}
