/* cuzk-bench-pipeline: the parts of `cuzk-bench pipeline` (pipeline.py) that are C. */
#include <stdio.h>
#include <string.h>

#include "bench/pipeline/parts.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} parts[] = {
    {"backend", parts_backend, "a circuit's proofs by phase through a backend, without a daemon"},
    {"baseline", parts_baseline, "the same proofs in the design with one process and its heap"},
    {"copy", parts_copy, "bare copies to the device, pinned and pageable"},
    {"trace", parts_trace, "follow what the workers of a running daemon record"},
};

enum { PART_COUNT = sizeof parts / sizeof parts[0] };

static void print_usage(FILE *out)
{
    fputs("Usage: cuzk-bench-pipeline PART [OPTION...]\n\n", out);
    for (int i = 0; i < PART_COUNT; i++)
        fprintf(out, "  %-10s %s\n", parts[i].name, parts[i].help);
    fputs("\n`cuzk-bench pipeline` runs these as it needs them. PART --help says more.\n", out);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_usage(stdout);
        return 0;
    }
    for (int i = 0; argc > 1 && i < PART_COUNT; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].run(argc - 1, argv + 1);
    print_usage(stderr);
    return 2;
}
