/* cuzk-bench math: how long transforms, multi-scalar multiplications and (bench_check.c) the checks
 * of synthesis take, by size, on both curves, with uniform and witness-like scalars. Prints one
 * line a size: best wall time of several runs, and the processor time (all threads) of the
 * cheapest: on a busy machine the latter still tells.
 *
 *   cuzk-bench math [--threads N] [--min LOG2] [--max LOG2] [--curve bn254|bls12-381]
 *                   [--only ntt|g1|g2|check] */

#include "bench/bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench_check.h"
#include "groth16/curve/curve.h"
#include "groth16/pool.h"

enum mix {
    MIX_UNIFORM,
    MIX_D2, /* like a hash circuit's witness: 60 % zero, 35 % one, 5 % uniform */
    MIX_D1, /* like an application's: 40 % zero, 35 % one, 15 % 32-bit, 10 % uniform */
    MIX_COUNT,
};

static const char *const mix_names[MIX_COUNT] = {"uniform", "D2", "D1"};

struct options {
    unsigned threads, log2_min, log2_max;
    const char *curve, *only;
};

struct bench {
    const struct curve *curve;
    struct pool *pool;
    const struct options *options;
    size_t count; /* the largest size */
    uint64_t *scalars[MIX_COUNT];
    uint8_t *points[2]; /* G1, G2 */
    uint64_t seed;
};

static uint64_t random_word(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double now_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void random_scalar(struct bench *bench, uint64_t *scalar)
{
    do {
        for (int i = 0; i < 4; i++)
            scalar[i] = random_word(&bench->seed);
        scalar[3] >>= 1;
    } while (!bench->curve->scalar_is_reduced(scalar));
}

static void mixed_scalar(struct bench *bench, enum mix mix, uint64_t *scalar)
{
    uint64_t dice = random_word(&bench->seed) % 100;
    unsigned zeros = mix == MIX_D2 ? 60 : 40, ones = zeros + 35;

    memset(scalar, 0, 32);
    if (mix == MIX_UNIFORM || dice >= (mix == MIX_D2 ? 95 : 90))
        random_scalar(bench, scalar);
    else if (dice >= ones)
        scalar[0] = random_word(&bench->seed) & UINT32_MAX;
    else
        scalar[0] = dice >= zeros;
}

/* Distinct points without a scalar multiplication each: 2^16 random multiples of the generator, and
 * the larger sizes repeat them. */
struct fill {
    struct bench *bench;
    uint8_t *points;
    size_t bytes;
    void (*mul)(const void *, const uint64_t *, void *);
    const void *generator;
};

static void fill_range(void *context, size_t begin, size_t end)
{
    struct fill *fill = context;
    uint64_t state = begin;

    for (size_t i = begin; i < end; i++) {
        uint64_t scalar[4] = {random_word(&state), 0, 0, 0};

        fill->mul(fill->generator, scalar, fill->points + i * fill->bytes);
    }
}

static uint8_t *make_points(struct bench *bench, bool is_g2)
{
    const struct curve *curve = bench->curve;
    struct fill fill = {bench, NULL, is_g2 ? curve->g2_bytes : curve->g1_bytes,
                        is_g2 ? curve->g2_mul : curve->g1_mul,
                        is_g2 ? curve->g2_generator : curve->g1_generator};
    size_t made = bench->count < 1 << 16 ? bench->count : 1 << 16;

    fill.points = aligned_alloc(64, bench->count * fill.bytes);
    if (!fill.points)
        return NULL;
    pool_run_range(bench->pool, made, 64, fill_range, &fill);
    for (size_t i = made; i < bench->count; i++)
        memcpy(fill.points + i * fill.bytes, fill.points + (i - made) * fill.bytes, fill.bytes);
    return fill.points;
}

static bool is_wanted(const struct bench *bench, const char *what)
{
    return !bench->options->only || strcmp(bench->options->only, what) == 0;
}

static int bench_make(struct bench *bench)
{
    bench->count = (size_t)1 << bench->options->log2_max;
    for (int mix = 0; mix < MIX_COUNT; mix++) {
        bench->scalars[mix] = malloc(32 * bench->count);
        if (!bench->scalars[mix])
            return -ENOMEM;
        for (size_t i = 0; i < bench->count; i++)
            mixed_scalar(bench, (enum mix)mix, bench->scalars[mix] + 4 * i);
    }
    for (int g = 0; g < 2; g++) {
        if (!is_wanted(bench, g == 0 ? "g1" : "g2"))
            continue;
        bench->points[g] = make_points(bench, g == 1);
        if (!bench->points[g])
            return -ENOMEM;
    }
    return 0;
}

static void bench_destroy(struct bench *bench)
{
    for (int mix = 0; mix < MIX_COUNT; mix++)
        free(bench->scalars[mix]);
    free(bench->points[0]);
    free(bench->points[1]);
}

struct timing {
    double wall_ms, cpu_ms;
};

/* Runs until 0.3 s and 3 runs have passed. */
static struct timing best_of(void (*run)(struct bench *, unsigned, int), struct bench *bench,
                             unsigned log2, int variant)
{
    struct timing best = {1e9, 1e9};
    double begin = now_ms(CLOCK_MONOTONIC);

    run(bench, log2, variant); /* warms tables and caches */
    for (int i = 0; i < 3 || now_ms(CLOCK_MONOTONIC) - begin < 300; i++) {
        double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);

        run(bench, log2, variant);
        wall = now_ms(CLOCK_MONOTONIC) - wall;
        cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        best.wall_ms = wall < best.wall_ms ? wall : best.wall_ms;
        best.cpu_ms = cpu < best.cpu_ms ? cpu : best.cpu_ms;
    }
    return best;
}

static uint64_t *work_memory;

static void run_ntt(struct bench *bench, unsigned log2, int inverse)
{
    bench->curve->ntt(bench->pool, work_memory, log2, inverse);
}

static void run_quotient(struct bench *bench, unsigned log2, int unused)
{
    (void)unused;
    bench->curve->quotient(bench->pool, bench->scalars[0], bench->scalars[0], log2, work_memory,
                           work_memory + ((size_t)4 << log2));
}

static void run_msm(struct bench *bench, unsigned log2, int variant)
{
    uint8_t result[CURVE_G2_BYTES_MAX];

    (void)(variant >= MIX_COUNT ? bench->curve->msm_g2 : bench->curve->msm_g1)(
        bench->pool, bench->points[variant >= MIX_COUNT], bench->scalars[variant % MIX_COUNT],
        (size_t)1 << log2, result);
}

static void print_line(const struct bench *bench, const char *what, const char *mix, unsigned log2,
                       struct timing timing)
{
    printf("%-10s %-9s %-8s 2^%-3u %10.3f ms %9.1f ns each %10.3f ms cpu\n", bench->curve->name,
           what, mix, log2, timing.wall_ms, timing.wall_ms * 1e6 / (double)((size_t)1 << log2),
           timing.cpu_ms);
    fflush(stdout);
}

static void run_sizes(struct bench *bench)
{
    const struct options *options = bench->options;

    for (unsigned log2 = options->log2_min; log2 <= options->log2_max; log2++) {
        if (!is_wanted(bench, "ntt"))
            break;
        memcpy(work_memory, bench->scalars[0], (size_t)32 << log2);
        print_line(bench, "ntt", "", log2, best_of(run_ntt, bench, log2, 0));
        print_line(bench, "quotient", "", log2, best_of(run_quotient, bench, log2, 0));
    }
    for (int variant = 0; variant < 2 * MIX_COUNT; variant++) {
        const char *what = variant < MIX_COUNT ? "g1" : "g2";

        for (unsigned log2 = options->log2_min; is_wanted(bench, what) && log2 <= options->log2_max;
             log2++)
            print_line(bench, variant < MIX_COUNT ? "msm-g1" : "msm-g2",
                       mix_names[variant % MIX_COUNT], log2,
                       best_of(run_msm, bench, log2, variant));
    }
}

static int run_checks(const struct bench *bench)
{
    int rc = 0;

    for (unsigned log2 = bench->options->log2_min;
         is_wanted(bench, "check") && rc == 0 && log2 <= bench->options->log2_max; log2++)
        for (int kind = 0; kind < SYNTHETIC_KIND_COUNT && rc == 0; kind++)
            rc = bench_check(bench->curve, bench->pool, (enum synthetic_kind)kind, log2);
    return rc;
}

static int run_curve(const struct curve *curve, const struct options *options)
{
    struct bench bench = {.curve = curve, .options = options};
    int rc = pool_create(options->threads, &bench.pool);

    if (rc < 0)
        return rc;
    rc = bench_make(&bench);
    work_memory = malloc((size_t)96 << options->log2_max);
    if (rc == 0 && work_memory)
        run_sizes(&bench);
    else
        rc = -ENOMEM;
    free(work_memory);
    if (rc == 0)
        rc = run_checks(&bench);
    bench_destroy(&bench);
    pool_free(bench.pool);
    return rc;
}

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"threads", required_argument, NULL, 't'}, {"min", required_argument, NULL, 'm'},
        {"max", required_argument, NULL, 'M'},     {"curve", required_argument, NULL, 'c'},
        {"only", required_argument, NULL, 'o'},    {0}};
    int option;

    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        unsigned number = option == '?' ? 0 : (unsigned)strtoul(optarg, NULL, 10);

        if (option == 't')
            options->threads = number;
        else if (option == 'm')
            options->log2_min = number;
        else if (option == 'M')
            options->log2_max = number;
        else if (option == 'c')
            options->curve = optarg;
        else if (option == 'o')
            options->only = optarg;
        else
            return -EINVAL;
    }
    return options->threads == 0 || options->log2_max > 24 || options->log2_min > options->log2_max
               ? -EINVAL
               : 0;
}

int bench_math(int argc, char **argv)
{
    static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};
    struct options options = {(unsigned)sysconf(_SC_NPROCESSORS_ONLN), 12, 18, NULL, NULL};

    if (parse(argc, argv, &options) < 0) {
        fprintf(stderr,
                "usage: %s [--threads N] [--min LOG2] [--max LOG2 <= 24] "
                "[--curve bn254|bls12-381] [--only ntt|g1|g2|check]\n",
                argv[0]);
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        if (options.curve && strcmp(options.curve, curves[i]->name) != 0)
            continue;
        int rc = run_curve(curves[i], &options);
        if (rc < 0) {
            fprintf(stderr, "math: %s\n", strerror(-rc));
            return 1;
        }
    }
    return 0;
}
