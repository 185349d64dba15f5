/* cuzk-bench make-key: keys and witnesses for tests, demonstrations and measurements.
 *
 *   .r1cs, or a made circuit ──► constraints ──► setup ──► key ──► .zkey, prepared key, JSON
 *   a circuit of Filecoin's  ──┘                             └──► .params, prepared key, .vk
 *
 * Whoever knows the seed can forge proofs. */
#include "bench/make_key.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/filecoin_constraints.h"
#include "bench/key.h"
#include "bench/make_key_options.h"
#include "bench/params_write.h"
#include "bench/synthetic.h"
#include "groth16/pool.h"
#include "runtime/clock.h"

struct maker {
    const struct make_key_options *options;
    const struct key_points_maker *points;
    struct pool *pool;
    struct constraints constraints;
    struct setup setup;
    struct key key;
    uint64_t step_ns; /* when the last step ended */
    struct reason reason;
};

static void step_done(struct maker *m, const char *what)
{
    uint64_t now_ns = clock_now_ns();

    fprintf(stderr, "%8.2f s  %s\n", (double)(now_ns - m->step_ns) * 1e-9, what);
    m->step_ns = now_ns;
}

static int make_filecoin_constraints(struct maker *m)
{
    const struct make_key_options *options = m->options;
    struct circuit circuit;
    int error = circuit_find(options->filecoin, options->sector, &circuit, &m->reason);

    if (error)
        return error;
    if (options->sectors || options->challenges) {
        if (circuit.kind != CIRCUIT_WINNING && circuit.kind != CIRCUIT_WINDOW)
            return reason_set(&m->reason, -EINVAL,
                              "--sectors and --challenges are for winning and window");
        if (options->sectors)
            circuit.post.sector_count = options->sectors;
        if (options->challenges)
            circuit.post.challenge_count = options->challenges;
    }
    return filecoin_constraints(&circuit, &m->constraints, &m->reason);
}

static int make_constraints(struct maker *m)
{
    int fd, error;

    if (m->options->filecoin)
        return make_filecoin_constraints(m);
    if (m->options->is_synthetic)
        return synthetic_constraints(&m->options->synthetic, m->pool, &m->constraints, &m->reason);
    fd = open(m->options->r1cs, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return reason_set(&m->reason, -errno, "cannot open %s: %m", m->options->r1cs);
    error = constraints_read(fd, &m->constraints, &m->reason);
    close(fd);
    return error;
}

static int create_file(struct maker *m, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    return fd >= 0 ? fd : reason_set(&m->reason, -errno, "cannot write %s: %m", path);
}

static int finish_file(struct maker *m, const char *path, int fd, int error)
{
    if (close(fd) < 0 && error == 0)
        error = reason_set(&m->reason, -errno, "writing %s failed: %m", path);
    if (error)
        unlink(path);
    return error;
}

static int write_r1cs(struct maker *m)
{
    const char *path = m->options->write_r1cs;
    int fd = create_file(m, path);

    if (fd < 0)
        return fd;
    return finish_file(m, path, fd, constraints_write_r1cs(&m->constraints, fd, &m->reason));
}

static int write_witnesses(struct maker *m)
{
    const struct make_key_options *options = m->options;
    int error = 0;

    for (uint64_t i = 1; i <= options->witness_count && error == 0; i++) {
        char path[4096];
        int fd;

        snprintf(path, sizeof path, "%s/w%" PRIu64 ".wtns", options->witness_folder, i);
        fd = create_file(m, path);
        if (fd < 0)
            return fd;
        error = finish_file(
            m, path, fd, synthetic_write_witness(&options->synthetic, i, m->pool, fd, &m->reason));
    }
    return error;
}

static int make_setup(struct maker *m)
{
    const struct constraints *constraints = &m->constraints;
    const bool is_filecoin = m->options->filecoin;
    const struct setup_secrets secrets =
        is_filecoin ? params_secrets()
                    : setup_secrets_from_seed(constraints->curve, m->options->seed);
    int error = setup_make(constraints, &secrets, is_filecoin ? SETUP_BELLMAN : SETUP_SNARKJS,
                           m->pool, &m->setup, &m->reason);
    if (error)
        return error;
    step_done(m, "scalars");
    m->key =
        (struct key){constraints, &m->setup, m->points, NULL, m->pool, m->options->leaves_out_c};
    error = m->points->create(constraints->curve, 3 * m->setup.variables + m->setup.domain,
                              m->setup.variables, m->pool, &m->key.maker_state, &m->reason);
    if (error == 0)
        step_done(m, "tables of the generators");
    return error;
}

static int write_filecoin(struct maker *m, const char *path,
                          int (*write)(const struct key *key, FILE *out, struct reason *reason))
{
    FILE *out = fopen(path, "we");
    int error = out ? write(&m->key, out, &m->reason)
                    : reason_set(&m->reason, -errno, "cannot write %s: %m", path);

    if (out && fclose(out) != 0 && error == 0)
        error = reason_set(&m->reason, -errno, "writing %s failed: %m", path);
    if (error && out)
        unlink(path);
    step_done(m, path);
    return error;
}

static int write_key(struct maker *m)
{
    const struct make_key_options *options = m->options;
    int error = make_setup(m);

    if (error == 0 && options->zkey) {
        error = key_zkey_write(&m->key, options->zkey, &m->reason);
        step_done(m, options->zkey);
    }
    if (error == 0 && options->prepared) {
        error = key_image_write(&m->key, options->prepared, &m->reason);
        step_done(m, options->prepared);
    }
    if (error == 0 && options->params)
        error = write_filecoin(m, options->params, params_write);
    if (error == 0 && options->vk)
        error = write_filecoin(m, options->vk, params_write_vk);
    if (error == 0 && options->vkey)
        error = key_vkey_write(&m->key, options->vkey, &m->reason);
    return error;
}

static int make_key(struct maker *m)
{
    const struct make_key_options *options = m->options;
    const struct constraints *constraints = &m->constraints;
    int error;

    m->step_ns = clock_now_ns();
    error = make_constraints(m);
    if (error)
        return error;
    fprintf(stderr,
            "%s, %" PRIu32 " constraints, %" PRIu32 " wires, %" PRIu32 " public, domain 2^%u\n",
            constraints->curve->name, constraints->constraint_count, constraints->variable_count,
            constraints->public_count, constraints->domain_log2);
    step_done(m, "constraints");
    if (options->write_r1cs)
        error = write_r1cs(m);
    if (error == 0 && options->witness_count > 0) {
        error = write_witnesses(m);
        step_done(m, "witnesses");
    }
    if (error == 0 &&
        (options->zkey || options->prepared || options->vkey || options->params || options->vk)) {
        error = write_key(m);
        if (error == 0)
            fprintf(stderr, "the key is " KEY_UNSAFE_TEXT "\n");
    }
    return error;
}

int make_key_main(int argc, char **argv, const struct key_points_maker *points)
{
    struct make_key_options options;
    struct maker m = {.options = &options, .points = points};
    uint64_t begin_ns = clock_now_ns();
    int error = make_key_options_parse(argc, argv, &options);

    if (error)
        return error - 1;
    error = pool_create(options.threads, &m.pool);
    if (error) {
        fprintf(stderr, "cannot start %u threads: %s\n", options.threads, strerror(-error));
        return 1;
    }
    error = make_key(&m);
    if (error)
        fprintf(stderr, "make-key: %s\n", m.reason.text);
    else
        fprintf(stderr, "%8.2f s  in all\n", (double)(clock_now_ns() - begin_ns) * 1e-9);
    points->destroy(m.key.maker_state);
    setup_destroy(&m.setup);
    constraints_destroy(&m.constraints);
    pool_free(m.pool);
    return error ? 1 : 0;
}
