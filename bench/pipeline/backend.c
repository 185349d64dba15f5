/* cuzk-bench-pipeline backend: one circuit's partitions through a backend with no daemon around it.
 * With
 * --ahead 1 (the default) they run back to back and nothing overlaps: the yardstick beside which
 * `cuzk-bench pipeline` puts the daemon, and the source of times by phase. Every sum is compared
 * with the first one, and that is made into a proof and verified. */
#include "bench/pipeline/parts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/pipeline/load.h"
#include "groth16/verify/assemble.h"
#include "groth16/verify/sums.h"
#include "runtime/clock.h"

enum {
    PARTITIONS_MAX = 4096,
    PARTS_MAX = 2 * BACKEND_PHASE_COUNT, /* a phase may end in several parts */
    AHEAD_MAX = 4,
};

struct part {
    enum backend_phase phase;
    uint64_t begin_ns, end_ns, bytes;
};

struct partition {
    uint64_t begin_ns, end_ns; /* start called, PROVED taken */
    struct part parts[PARTS_MAX];
    unsigned part_count;
};

struct run {
    struct load load;
    unsigned partition_count, warm_count, ahead;
    bool has_evaluations;
    struct load_memory slabs[AHEAD_MAX];
    struct partition *partitions; /* those of the warm-up first */
    unsigned started, proved;
    uint8_t sums[SUMS_BYTES_MAX];
    bool sums_agree, is_verified;
};

static bool verify_first(struct run *run)
{
    static const uint64_t zero[4];
    const struct prepared *key = &run->load.prepared;
    const struct curve *curve = key->curve;
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
    const struct assemble_input input = {
        .sum_a = run->sums + sums_off(curve, SUMS_A),
        .sum_b1 = run->sums + sums_off(curve, SUMS_B1),
        .sum_b2 = run->sums + sums_off(curve, SUMS_B2),
        .sum_l = run->sums + sums_off(curve, SUMS_L),
        .sum_h = run->sums + sums_off(curve, SUMS_H),
        .alpha_g1 = key->alpha_g1,
        .beta_g1 = key->beta_g1,
        .beta_g2 = key->beta_g2,
        .delta_g1 = key->delta_g1,
        .delta_g2 = key->delta_g2,
        .r = zero,
        .s = zero,
    };
    curve->assemble(&input, proof);
    return curve->verify(&key->verify_key, (const uint64_t *)run->load.witness.memory + 4,
                         key->shape.public_count, proof) == VERIFY_OK;
}

static int start_one(struct run *run)
{
    const struct backend_partition partition = {
        .id = run->started,
        .order_key = run->started,
        .key = LOAD_KEY_ID,
        .slab_index = run->started % run->ahead,
        .slab = run->slabs[run->started % run->ahead].memory,
        .slab_bytes = run->slabs[run->started % run->ahead].bytes,
        .has_evaluations = run->has_evaluations,
    };
    run->partitions[run->started].begin_ns = clock_now_ns();
    const int error = run->load.ops->start(run->load.backend, &partition);
    if (error < 0) {
        snprintf(run->load.fault, sizeof run->load.fault, "the backend refused a partition: %s",
                 strerror(-error));
        return error;
    }
    run->started++;
    return 0;
}

static int on_event(struct run *run, const struct backend_event *event)
{
    if (event->id >= run->started)
        return 0;
    struct partition *partition = &run->partitions[event->id];
    if (event->kind == BACKEND_PHASE_ENDED && partition->part_count < PARTS_MAX) {
        partition->parts[partition->part_count++] =
            (struct part){event->phase, event->begin_ns, event->end_ns, event->bytes};
    } else if (event->kind == BACKEND_FAILED) {
        snprintf(run->load.fault, sizeof run->load.fault, "a partition failed: %s", event->text);
        return -EIO;
    } else if (event->kind == BACKEND_PROVED) {
        partition->end_ns = clock_now_ns();
        if (run->proved++ == 0) {
            memcpy(run->sums, event->sums, event->sums_bytes);
            run->sums_agree = true;
        }
        run->sums_agree &= memcmp(run->sums, event->sums, event->sums_bytes) == 0;
    }
    return 0;
}

static int run_partitions(struct run *run)
{
    const unsigned all = run->warm_count + run->partition_count;
    int error = 0;
    while (run->proved < all && error >= 0) {
        struct backend_event event;
        while (run->started < all && run->started < run->proved + run->ahead && error >= 0)
            error = start_one(run);
        if (error >= 0)
            error = load_next_event(&run->load, &event);
        if (error >= 0)
            error = on_event(run, &event);
    }
    return error;
}

static int measure(struct run *run)
{
    int error = 0;
    for (unsigned i = 0; i < run->ahead && error >= 0; i++)
        error = load_slab_create(&run->load, i, run->has_evaluations, &run->slabs[i]);
    run->partitions = calloc(run->warm_count + run->partition_count, sizeof *run->partitions);
    if (!run->partitions)
        return -ENOMEM;
    if (error >= 0)
        error = run_partitions(run);
    if (error >= 0)
        run->is_verified = verify_first(run);
    for (unsigned i = 0; i < run->ahead; i++)
        load_slab_destroy(&run->load, i, &run->slabs[i]);
    return error;
}

static void print_partition(const struct partition *partition, bool is_last)
{
    printf("  {\"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64 ", \"phases\": [",
           partition->begin_ns, partition->end_ns);
    for (unsigned i = 0; i < partition->part_count; i++) {
        const struct part *part = &partition->parts[i];
        printf("%s[\"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
               backend_phase_to_string(part->phase), part->begin_ns, part->end_ns, part->bytes);
    }
    printf("]}%s\n", is_last ? "" : ",");
}

static void print_json(const struct run *run)
{
    const struct load *load = &run->load;
    const struct prepared_shape *shape = &load->prepared.shape;
    printf("{\"backend\": \"%s\", \"device\": \"%s\", \"curve\": \"%s\", \"domain_log2\": %u, "
           "\"variables\": %u, \"constraints\": %u,\n",
           load->ops->name, load->device.name, load->prepared.curve->name, shape->domain_log2,
           shape->variable_count, shape->constraint_count);
    printf(" \"hugepages\": %s, \"open_ms\": %.3f, \"key_load_ms\": %.3f, \"register_ms\": %.3f, "
           "\"key_bytes\": %" PRIu64 ", \"slab_bytes\": %" PRIu64 ",\n",
           load->key.is_hugepage && run->load.witness.is_hugepage ? "true" : "false",
           (double)load->open_ns / 1e6, (double)load->load_ns / 1e6,
           (double)load->register_ns / 1e6, load->prepared.image_bytes, load->layout.bytes);
    printf(" \"key_loaded_ns\": %" PRIu64 ",\n", load->loaded_ns);
    printf(" \"key_text\": \"%s\", \"warm\": %u, \"ahead\": %u, \"evaluate\": \"%s\", "
           "\"sums_agree\": %s, \"verified\": %s,\n \"partitions\": [\n",
           load->key_text, run->warm_count, run->ahead, run->has_evaluations ? "cpu" : "gpu",
           run->sums_agree ? "true" : "false", run->is_verified ? "true" : "false");
    for (unsigned i = 0; i < run->partition_count; i++)
        print_partition(&run->partitions[run->warm_count + i], i + 1 == run->partition_count);
    printf(" ]}\n");
}

static void print_usage(FILE *out)
{
    fputs(
        "Usage: cuzk-bench-pipeline backend --key FILE --witness FILE [OPTION...]\n\n"
        "Proves the same witness again and again through a backend, without a daemon, and prints\n"
        "when each phase of each partition ran (JSON, ns of CLOCK_MONOTONIC).\n\n"
        "  --key FILE        prepared key, as make-key writes and the daemon keeps it\n"
        "  --witness FILE    .wtns\n"
        "  --backend NAME    cuda (default) or cpu\n"
        "  --plugin FILE     this plug-in instead of the installed one\n"
        "  --partitions N    default 16\n"
        "  --warm N          partitions before them that are not shown, default 2\n"
        "  --ahead N         partitions handed over at once, 1 (default: back to back) to 4\n"
        "  --evaluate WHERE  gpu (default) or cpu: who evaluates A w and B w\n"
        "  --vram-limit MIB  of device memory, default all\n"
        "  --threads N       default: all processors\n",
        out);
}

struct backend_arguments {
    struct load_options load;
    unsigned long partitions, warm, ahead;
    bool has_evaluations;
};

static bool take_option(int option, const char *value, struct backend_arguments *ret)
{
    char *end = "";
    switch (option) {
    case 'k':
        ret->load.key = value;
        break;
    case 'w':
        ret->load.witness = value;
        break;
    case 'b':
        ret->load.backend = value;
        break;
    case 'p':
        ret->load.plugin = value;
        break;
    case 'n':
        ret->partitions = strtoul(value, &end, 10);
        break;
    case 'W':
        ret->warm = strtoul(value, &end, 10);
        break;
    case 'a':
        ret->ahead = strtoul(value, &end, 10);
        break;
    case 'e':
        ret->has_evaluations = strcmp(value, "cpu") == 0;
        return ret->has_evaluations || strcmp(value, "gpu") == 0;
    case 'v':
        ret->load.vram_limit = (uint64_t)strtoull(value, &end, 10) << 20;
        break;
    case 't':
        ret->load.threads = (unsigned)strtoul(value, &end, 10);
        break;
    default:
        return false;
    }
    return *end == '\0';
}

/* 0, or an exit status + 1. */
static int parse_arguments(int argc, char **argv, struct backend_arguments *ret)
{
    static const struct option longs[] = {
        {"key", required_argument, NULL, 'k'},
        {"witness", required_argument, NULL, 'w'},
        {"backend", required_argument, NULL, 'b'},
        {"plugin", required_argument, NULL, 'p'},
        {"partitions", required_argument, NULL, 'n'},
        {"warm", required_argument, NULL, 'W'},
        {"ahead", required_argument, NULL, 'a'},
        {"evaluate", required_argument, NULL, 'e'},
        {"vram-limit", required_argument, NULL, 'v'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *ret = (struct backend_arguments){
        .load = {.backend = "cuda", .threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)},
        .partitions = 16,
        .warm = 2,
        .ahead = 1,
    };
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 1;
        }
        if (!take_option(option, optarg, ret)) {
            print_usage(stderr);
            return 3;
        }
    }
    if (!ret->load.key || !ret->load.witness || optind != argc || ret->partitions == 0 ||
        ret->partitions > PARTITIONS_MAX || ret->warm > PARTITIONS_MAX || ret->ahead == 0 ||
        ret->ahead > AHEAD_MAX || ret->load.threads == 0) {
        print_usage(stderr);
        return 3;
    }
    return 0;
}

int parts_backend(int argc, char **argv)
{
    static struct run run;
    struct backend_arguments arguments;
    int error = parse_arguments(argc, argv, &arguments);
    if (error)
        return error - 1;
    run.partition_count = (unsigned)arguments.partitions;
    run.warm_count = (unsigned)arguments.warm;
    run.ahead = (unsigned)arguments.ahead;
    run.has_evaluations = arguments.has_evaluations;
    error = load_init(&run.load, &arguments.load);
    if (error >= 0)
        error = measure(&run);
    if (error < 0)
        fprintf(stderr, "backend: %s\n", run.load.fault);
    else
        print_json(&run);
    load_destroy(&run.load);
    free(run.partitions);
    return error < 0 || !run.sums_agree || !run.is_verified;
}
