/* cuzk-bench-gpu: the device arithmetic by size, for developers and for docs/performance.md. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/make_key.h"
#include "gpu-worker/cuda/bench/bench.h"
#include "gpu-worker/cuda/bench/key_points_gpu.h"
#include "groth16/pool.h"

static const char usage[] =
    "Usage: cuzk-bench-gpu [OPTION]... [PART]...\n"
    "       cuzk-bench-gpu make-key ...  (cuzk-bench make-key --gpu)\n"
    "Parts: bn254-g1 bls12-381-g1 bn254-g2 bls12-381-g2 bn254-ntt bls12-381-ntt bn254-evaluate\n"
    "bls12-381-evaluate; all by default.\n"
    "  -m LOG2  smallest size (16)      -M LOG2  largest size (24)     -s STEP  of the log2 (2)\n"
    "  -w BITS  window                  -u       uniform scalars only\n"
    "  -b SLOTS affine additions that share an inversion, 0: none\n"
    "  -t       only with tables        -p       only without tables\n";

static int run_part(const char *part, const struct bench_options *options, struct pool *pool)
{
    const struct curve *curve = strncmp(part, "bn254-", 6) == 0 ? &curve_bn254 : &curve_bls12_381;

    if (strncmp(part, curve->name, strlen(curve->name)) != 0 || part[strlen(curve->name)] != '-')
        return -1;
    part += strlen(curve->name) + 1;
    if (strcmp(part, "ntt") == 0)
        return bench_ntt(options, curve);
    if (strcmp(part, "evaluate") == 0)
        return bench_evaluate(options, curve);
    if (strcmp(part, "g1") != 0 && strcmp(part, "g2") != 0)
        return -1;
    return bench_msm(options, curve, part[1] == '2', pool);
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"bn254-g1",       "bls12-381-g1",      "bn254-g2",
                                      "bls12-381-g2",   "bn254-ntt",         "bls12-381-ntt",
                                      "bn254-evaluate", "bls12-381-evaluate"};
    const int all_count = sizeof all / sizeof all[0];
    struct bench_options options = {
        .log2_min = 16, .log2_max = 24, .log2_step = 2, .batch_slots = -1};
    struct pool *pool;
    int option, status = 0;

    if (argc > 1 && strcmp(argv[1], "make-key") == 0)
        return make_key_main(argc - 1, argv + 1, &key_points_gpu);
    while ((option = getopt(argc, argv, "m:M:s:w:b:utp")) != -1) {
        unsigned value = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;

        switch (option) {
        case 'm':
            options.log2_min = value;
            break;
        case 'M':
            options.log2_max = value;
            break;
        case 's':
            options.log2_step = value;
            break;
        case 'w':
            options.window_bits = value;
            break;
        case 'b':
            options.batch_slots = (int)value;
            break;
        case 'u':
            options.is_single = true;
            break;
        case 't':
            options.no_plain = true;
            break;
        case 'p':
            options.no_tables = true;
            break;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options.log2_max > 27 || options.log2_step == 0 ||
        pool_create(cores > 0 ? (unsigned)cores : 1, &pool) != 0) {
        fputs(usage, stderr);
        return 2;
    }
    int parts = argc - optind;
    for (int i = 0; i < (parts ? parts : all_count); i++) {
        int result = run_part(parts ? argv[optind + i] : all[i], &options, pool);

        if (result < 0) {
            fputs(usage, stderr);
            status = 2;
            break;
        }
        status |= result;
    }
    pool_free(pool);
    return status;
}
