/* cuzk-bench-pipeline baseline: the design that cuzkd replaces, on the same device code, as a
 * yardstick. One process; synthesis threads write a, b and c of each partition into vectors fresh
 * from the heap; one thread at a time has the device: it copies them there from that pageable
 * memory, proves, frees them and trims the heap, all under one lock, before the next partition may
 * begin.
 *
 * Kinder to the old design than it was: the witness lies in registered memory and is uploaded by
 * the backend, which evaluates a and b itself, and reading witnesses costs nothing. */
#include "bench/pipeline/parts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/pipeline/device.h"
#include "bench/pipeline/heap.h"
#include "bench/pipeline/load.h"
#include "runtime/clock.h"

enum {
    PARTITIONS_MAX = 4096,
    VECTOR_COUNT = 3, /* a, b, c */
    SYNTHESIS_MAX = 64,
    STAGING_BYTES = 256 << 20, /* of the device, where every copy ends */
    AHEAD = 2, /* synthesised partitions that may wait for the device, beside those in synthesis */
};

struct vectors {
    uint64_t *values[VECTOR_COUNT];
};

/* When one partition had the device. */
struct turn {
    uint64_t begin_ns, uploaded_ns, proved_ns, freed_ns, trimmed_ns;
};

struct baseline {
    struct load load;
    struct load_memory slab; /* the witness; the same for every partition */
    struct device *device;   /* NULL: no CUDA driver, copies go to `copy` */
    uint64_t staging;
    void *copy;
    size_t vector_bytes, rows;
    struct fragmented_heap heap;
    size_t heap_bytes;
    unsigned partition_count, warm_count, synthesis_count;
    struct turn turns[PARTITIONS_MAX];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vectors queue[SYNTHESIS_MAX + AHEAD];
    unsigned queued, taken, begun; /* counts since the start */
    bool is_short;                 /* of memory: a thread gave up */
};

static unsigned all_count(const struct baseline *b)
{
    return b->warm_count + b->partition_count;
}

static int synthesise(const struct baseline *b, struct vectors *ret)
{
    const struct prepared *key = &b->load.prepared;
    const uint64_t *witness = b->load.witness.memory;
    for (int i = 0; i < VECTOR_COUNT; i++) {
        ret->values[i] = malloc(b->vector_bytes);
        if (!ret->values[i])
            return -ENOMEM;
    }
    key->curve->evaluate(&key->matrix_a, witness, ret->values[0], 0, b->rows);
    key->curve->evaluate(&key->matrix_b, witness, ret->values[1], 0, b->rows);
    memcpy(ret->values[2], ret->values[0], b->vector_bytes); /* of c's size; nobody looks at it */
    return 0;
}

static void *synthesis_thread(void *context)
{
    struct baseline *b = context;
    const unsigned places = b->synthesis_count + AHEAD;
    struct vectors vectors;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (b->begun < all_count(b) && b->begun - b->taken >= places)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->begun >= all_count(b))
            break;
        b->begun++;
        pthread_mutex_unlock(&b->lock);
        const int error = synthesise(b, &vectors);
        pthread_mutex_lock(&b->lock);
        if (error < 0) {
            b->is_short = true;
            pthread_cond_broadcast(&b->changed);
            break;
        }
        b->queue[b->queued++ % places] = vectors;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static int take(struct baseline *b, struct vectors *ret)
{
    pthread_mutex_lock(&b->lock);
    while (b->queued == b->taken && !b->is_short)
        pthread_cond_wait(&b->changed, &b->lock);
    const bool is_there = b->queued != b->taken;
    if (is_there)
        *ret = b->queue[b->taken++ % (b->synthesis_count + AHEAD)];
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return is_there ? 0 : -ENOMEM;
}

static int upload(struct baseline *b, const struct vectors *vectors)
{
    uint64_t took_ns;
    int error = 0;
    for (int i = 0; i < VECTOR_COUNT; i++) {
        const uint8_t *from = (const uint8_t *)vectors->values[i];
        for (size_t at = 0; at < b->vector_bytes && error == 0; at += STAGING_BYTES) {
            const size_t left = b->vector_bytes - at;
            const size_t bytes = left < STAGING_BYTES ? left : STAGING_BYTES;
            if (b->device)
                error = device_copy(b->device, b->staging, from + at, bytes, &took_ns);
            else
                memcpy(b->copy, from + at, bytes);
        }
    }
    return error;
}

static int prove(struct baseline *b, unsigned index)
{
    const struct backend_partition partition = {
        .id = index,
        .order_key = index,
        .key = LOAD_KEY_ID,
        .slab_index = 0,
        .slab = b->slab.memory,
        .slab_bytes = b->slab.bytes,
    };
    struct backend_event event;
    struct backend_partition evaluated = partition;
    int error = b->load.ops->start(b->load.backend, &partition);
    if (error == -ENOTSUP) { /* a backend that wants a and b: they lie in the slab as well */
        evaluated.has_evaluations = true;
        error = b->load.ops->start(b->load.backend, &evaluated);
    }
    while (error >= 0) {
        error = load_next_event(&b->load, &event);
        if (error < 0 || event.kind == BACKEND_PROVED)
            break;
        if (event.kind == BACKEND_FAILED) {
            snprintf(b->load.fault, sizeof b->load.fault, "a partition failed: %s", event.text);
            error = -EIO;
        }
    }
    return error;
}

static int device_turn(struct baseline *b, unsigned index)
{
    struct turn *turn = &b->turns[index];
    struct vectors vectors;
    int error = take(b, &vectors);
    if (error < 0)
        return error;
    turn->begin_ns = clock_now_ns();
    error = upload(b, &vectors);
    turn->uploaded_ns = clock_now_ns();
    if (error == 0)
        error = prove(b, index);
    turn->proved_ns = clock_now_ns();
    for (int i = 0; i < VECTOR_COUNT; i++)
        free(vectors.values[i]);
    turn->freed_ns = clock_now_ns();
    malloc_trim(0);
    turn->trimmed_ns = clock_now_ns();
    return error;
}

static int run(struct baseline *b)
{
    pthread_t threads[SYNTHESIS_MAX];
    unsigned thread_count = 0;
    int error = 0;
    for (; thread_count < b->synthesis_count; thread_count++)
        if (pthread_create(&threads[thread_count], NULL, synthesis_thread, b) != 0)
            break;
    if (thread_count < b->synthesis_count)
        error = -EAGAIN;
    for (unsigned i = 0; i < all_count(b) && error >= 0; i++)
        error = device_turn(b, i);
    pthread_mutex_lock(&b->lock);
    b->begun = all_count(b);
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    return error;
}

/* Before the backend takes all of the device's memory. */
static int open_device(struct baseline *b)
{
    char text[256];
    int error = device_open(&b->device, text, sizeof text);
    if (error == 0)
        return device_malloc(b->device, STAGING_BYTES, &b->staging);
    fprintf(stderr, "baseline: %s: copies go to host memory and say nothing\n", text);
    b->device = NULL;
    b->copy = malloc(STAGING_BYTES);
    return b->copy ? 0 : -ENOMEM;
}

static int prepare(struct baseline *b)
{
    b->rows = (size_t)1 << b->load.prepared.shape.domain_log2;
    b->vector_bytes = b->rows * CURVE_FR_BYTES;
    int error = load_slab_create(&b->load, 0, true, &b->slab);
    if (error == 0)
        error = fragmented_heap_create(b->heap_bytes, &b->heap);
    return error;
}

static void print_json(const struct baseline *b)
{
    printf("{\"backend\": \"%s\", \"device\": \"%s\", \"real_copies\": %s, \"synthesis\": %u, "
           "\"heap_mib\": %zu, \"vector_bytes\": %zu,\n \"turns\": [\n",
           b->load.ops->name, b->load.device.name, b->device ? "true" : "false", b->synthesis_count,
           b->heap_bytes >> 20, b->vector_bytes);
    for (unsigned i = b->warm_count; i < all_count(b); i++) {
        const struct turn *turn = &b->turns[i];
        printf("  [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]%s\n",
               turn->begin_ns, turn->uploaded_ns, turn->proved_ns, turn->freed_ns, turn->trimmed_ns,
               i + 1 == all_count(b) ? "" : ",");
    }
    printf(" ]}\n");
}

static void print_usage(FILE *out)
{
    fputs(
        "Usage: cuzk-bench-pipeline baseline --key FILE --witness FILE [OPTION...]\n\n"
        "Measures the design that cuzkd replaces with cuzkd's own device code: one process, fresh\n"
        "pageable vectors, and a lock held from upload to malloc_trim. Prints JSON: a row a\n"
        "partition with the times (ns) when its turn began, and when it was uploaded, proved,\n"
        "freed and trimmed.\n\n"
        "  --key FILE, --witness FILE, --backend NAME, --plugin FILE, --partitions N, --warm N\n"
        "                    as in cuzk-bench-pipeline backend\n"
        "  --synthesis N     threads, default: half the processors\n"
        "  --heap MIB        of long-lived fragmented heap beside the vectors, default 0\n",
        out);
}

static bool take_option(int option, const char *value, struct load_options *load,
                        struct baseline *b)
{
    char *end = "";
    switch (option) {
    case 'k':
        load->key = value;
        break;
    case 'w':
        load->witness = value;
        break;
    case 'b':
        load->backend = value;
        break;
    case 'p':
        load->plugin = value;
        break;
    case 'n':
        b->partition_count = (unsigned)strtoul(value, &end, 10);
        break;
    case 'W':
        b->warm_count = (unsigned)strtoul(value, &end, 10);
        break;
    case 's':
        b->synthesis_count = (unsigned)strtoul(value, &end, 10);
        break;
    case 'H':
        b->heap_bytes = strtoull(value, &end, 10) << 20;
        break;
    default:
        return false;
    }
    return *end == '\0';
}

/* 0, or an exit status + 1. */
static int parse_options(int argc, char **argv, struct load_options *load, struct baseline *b)
{
    static const struct option longs[] = {
        {"key", required_argument, NULL, 'k'},
        {"witness", required_argument, NULL, 'w'},
        {"backend", required_argument, NULL, 'b'},
        {"plugin", required_argument, NULL, 'p'},
        {"partitions", required_argument, NULL, 'n'},
        {"warm", required_argument, NULL, 'W'},
        {"synthesis", required_argument, NULL, 's'},
        {"heap", required_argument, NULL, 'H'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 1;
        }
        if (!take_option(option, optarg, load, b)) {
            print_usage(stderr);
            return 3;
        }
    }
    if (!load->key || !load->witness || optind != argc || b->partition_count == 0 ||
        b->partition_count > PARTITIONS_MAX / 2 || b->warm_count > PARTITIONS_MAX / 2 ||
        b->synthesis_count == 0 || b->synthesis_count > SYNTHESIS_MAX) {
        print_usage(stderr);
        return 3;
    }
    return 0;
}

int parts_baseline(int argc, char **argv)
{
    static struct baseline b = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER};
    const unsigned processors = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    struct load_options load = {.backend = "cuda", .threads = processors};
    b.partition_count = 16;
    b.warm_count = 2;
    b.synthesis_count = processors > 1 ? processors / 2 : 1;
    int error = parse_options(argc, argv, &load, &b);
    if (error)
        return error - 1;
    error = open_device(&b);
    if (error >= 0)
        error = load_init(&b.load, &load);
    if (error >= 0)
        error = prepare(&b);
    if (error >= 0)
        error = run(&b);
    if (error < 0)
        fprintf(stderr, "baseline: %s\n", b.load.fault[0] ? b.load.fault : strerror(-error));
    else
        print_json(&b);
    if (b.load.ops)
        load_slab_destroy(&b.load, 0, &b.slab);
    load_destroy(&b.load);
    if (b.device)
        device_close(b.device);
    fragmented_heap_destroy(&b.heap);
    free(b.copy);
    return error < 0;
}
