/* cuzk-bench math --only check: how long synthesis takes to compute, by size, for the made circuits
 * of synthetic.h: its checks of values and constraints, with and without evaluated rows, and the
 * evaluation. Prints one line a step, with the processor time (all threads) a row and a term. */
#include "bench/bench_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/constraints.h"
#include "bench/synthetic.h"
#include "groth16/key/prepared.h"
#include "groth16/key/wtns.h"
#include "groth16/pool.h"

enum {
    BENCH_CHECK_GRAIN = 1 << 12,
    BENCH_CHECK_RUNS = 5,
};

struct bench_check {
    struct pool *pool;
    struct constraints constraints;
    struct prepared prepared;
    uint64_t *witness, *a, *b;
    bool has_rows; /* the check is given a and b */
    bool is_broken;
};

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct matrix matrix_of(const struct matrix_rows *rows, size_t row_count,
                               const struct dictionary *dictionary)
{
    return (struct matrix){
        .row_count = row_count,
        .entry_count = rows->entry_count,
        .row_begin = rows->row_begin,
        .column = rows->column,
        .coefficient = rows->coefficient,
        .dictionary = dictionary->values,
        .dictionary_count = dictionary->count,
    };
}

static void bench_check_view(struct bench_check *bench)
{
    const struct constraints *c = &bench->constraints;
    struct prepared *prepared = &bench->prepared;
    const size_t rows = constraints_row_count(c);

    prepared->curve = c->curve;
    prepared->shape.constraint_count = c->constraint_count;
    prepared->shape.variable_count = c->variable_count;
    prepared->matrix_a = matrix_of(&c->a, rows, &c->dictionary);
    prepared->matrix_b = matrix_of(&c->b, rows, &c->dictionary);
    prepared->matrix_c = matrix_of(&c->c, c->constraint_count, &c->dictionary);
    prepared->has_c = true;
    prepared_find_small(prepared);
}

static int bench_check_witness(struct bench_check *bench, const struct synthetic *synthetic,
                               struct reason *reason)
{
    const size_t bytes = (size_t)bench->constraints.variable_count * CURVE_FR_BYTES;
    const int fd = memfd_create("witness", MFD_CLOEXEC);
    struct wtns wtns;
    int error = fd < 0 ? -errno : synthetic_write_witness(synthetic, 1, bench->pool, fd, reason);

    if (error == 0)
        error = wtns_open(fd, &wtns, reason);
    if (error == 0 && pread(fd, bench->witness, bytes, (off_t)wtns.data_off) != (ssize_t)bytes)
        error = -EIO;
    if (fd >= 0)
        close(fd);
    return error;
}

static void values_range(void *context, size_t begin, size_t end)
{
    struct bench_check *bench = context;

    if (bench->prepared.curve->scalars_check(bench->witness + 4 * begin, end - begin) !=
        end - begin)
        __atomic_store_n(&bench->is_broken, true, __ATOMIC_RELAXED);
}

static void constraints_range(void *context, size_t begin, size_t end)
{
    struct bench_check *bench = context;

    if (prepared_check_constraints(&bench->prepared, bench->witness,
                                   bench->has_rows ? bench->a : NULL,
                                   bench->has_rows ? bench->b : NULL, begin, end) != end)
        __atomic_store_n(&bench->is_broken, true, __ATOMIC_RELAXED);
}

static void evaluate_range(void *context, size_t begin, size_t end)
{
    struct bench_check *bench = context;
    const struct prepared *p = &bench->prepared;

    p->curve->evaluate(&p->matrix_a, bench->witness, bench->a, begin, end);
    p->curve->evaluate(&p->matrix_b, bench->witness, bench->b, begin, end);
}

/* Cheapest of several runs. */
static void print_step(struct bench_check *bench, const struct synthetic *synthetic,
                       const char *name, void (*range)(void *, size_t, size_t), uint64_t terms)
{
    const size_t rows = bench->constraints.constraint_count;
    double best = 1e18;

    for (int i = 0; i < BENCH_CHECK_RUNS; i++) {
        double cpu = cpu_ns();

        pool_run_range(bench->pool, rows, BENCH_CHECK_GRAIN, range, bench);
        cpu = cpu_ns() - cpu;
        best = cpu < best ? cpu : best;
    }
    printf("%-10s %-6s 2^%-3u %-18s %8.1f ms cpu %7.2f ns a row", synthetic->curve->name,
           synthetic->kind == SYNTHETIC_SHA ? "sha" : "chain", synthetic->log2, name, best / 1e6,
           best / (double)rows);
    if (terms)
        printf(" %6.2f ns a term", best / (double)terms);
    printf("\n");
    fflush(stdout);
}

static int bench_check_make(struct bench_check *bench, const struct synthetic *synthetic,
                            struct reason *reason)
{
    const struct constraints *c = &bench->constraints;
    int error = synthetic_constraints(synthetic, bench->pool, &bench->constraints, reason);

    if (error)
        return error;
    const size_t bytes = (size_t)constraints_row_count(c) * CURVE_FR_BYTES;

    bench->witness = malloc((size_t)c->variable_count * CURVE_FR_BYTES);
    bench->a = malloc(bytes);
    bench->b = malloc(bytes);
    if (!bench->witness || !bench->a || !bench->b)
        return reason_set(reason, -ENOMEM, "no memory for %u rows", constraints_row_count(c));
    bench_check_view(bench);
    return bench_check_witness(bench, synthetic, reason);
}

int bench_check(const struct curve *curve, struct pool *pool, enum synthetic_kind kind,
                unsigned log2)
{
    const struct synthetic synthetic = {.kind = kind, .log2 = log2, .curve = curve};
    struct bench_check bench = {.pool = pool};
    const struct constraints *c = &bench.constraints;
    struct reason reason = {0};
    int error = bench_check_make(&bench, &synthetic, &reason);

    if (error == 0) {
        const uint64_t terms = c->a.entry_count + c->b.entry_count;

        print_step(&bench, &synthetic, "values", values_range, 0);
        print_step(&bench, &synthetic, "constraints", constraints_range, terms + c->c.entry_count);
        print_step(&bench, &synthetic, "evaluate", evaluate_range, terms);
        bench.has_rows = true;
        print_step(&bench, &synthetic, "constraints, a b", constraints_range, c->c.entry_count);
        if (bench.is_broken)
            error = reason_set(&reason, -EBADMSG, "a made witness does not hold: a fault of ours");
    }
    if (error)
        fprintf(stderr, "math: check: %s (%s)\n", reason.text, strerror(-error));
    free(bench.witness);
    free(bench.a);
    free(bench.b);
    constraints_destroy(&bench.constraints);
    return error;
}
