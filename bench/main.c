/* cuzk-bench: measurements and the key maker that they, the tests and the demo need. Whole-proof
 * measurements drive a real daemon and live in bench/prove.py. */

#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/circuit_digest.h"
#include "bench/gpu.h"
#include "bench/make_key.h"

struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

/* `make-key --gpu ...` becomes `cuzk-bench-gpu make-key ...`. */
static int run_make_key(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--gpu") == 0) {
            memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof argv[0]);
            argv[1] = argv[0];
            return gpu_exec(argv);
        }
    return make_key_main(argc, argv, &key_points_cpu);
}

static int run_gpu(int argc, char **argv)
{
    (void)argc;
    return gpu_exec(argv);
}

static const struct subcommand subcommands[] = {
    {"circuit-digest", circuit_digest_main, "rows and witnesses of Filecoin's circuits in digests"},
    {"gpu", run_gpu, "the device arithmetic by size (cuzk-bench-gpu)"},
    {"make-key", run_make_key, "make a proving key with known toxic waste (tests only)"},
    {"math", bench_math, "number-theoretic transforms and multi-scalar multiplications by size"},
    {"ring", bench_ring, "ring operations, hand-off between processes, slab-fill bandwidth"},
    {"spool", bench_spool, "a file into the spool, beside a plain copy and a bare digest"},
    {"pipeline", bench_pipeline, "whether a daemon under load keeps its GPU busy, and why not"},
};

enum { SUBCOMMAND_COUNT = sizeof subcommands / sizeof subcommands[0] };

static void print_usage(FILE *out)
{
    fputs("Usage: cuzk-bench SUBCOMMAND [OPTION...]\n\n", out);
    for (int i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(out, "  %-14s %s\n", subcommands[i].name, subcommands[i].help);
    fputs("\ncuzk-bench SUBCOMMAND --help says more.\n", out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    for (int i = 0; i < SUBCOMMAND_COUNT; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "cuzk-bench: no subcommand \"%s\"\n\n", argv[1]);
    print_usage(stderr);
    return 2;
}
