/* cuzk-bench-pipeline copy: what the link to the device does with a plain copy of the size of a
 * partition's upload, from registered hugepages and from ordinary heap memory. */
#include "bench/pipeline/parts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/pipeline/device.h"
#include "bench/pipeline/load.h"
#include "runtime/clock.h"

enum {
    COPIES = 9, /* the median counts */
};

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Median ns of a copy, or 0 with an error said. */
static uint64_t median_copy(struct device *device, uint64_t to, const void *from, size_t bytes)
{
    uint64_t took_ns[COPIES], unused_ns;
    int error = device_copy(device, to, from, bytes, &unused_ns);
    for (int i = 0; i < COPIES && error == 0; i++)
        error = device_copy(device, to, from, bytes, &took_ns[i]);
    if (error < 0) {
        fprintf(stderr, "copy: %s\n", strerror(-error));
        return 0;
    }
    qsort(took_ns, COPIES, sizeof took_ns[0], by_value);
    return took_ns[COPIES / 2];
}

struct copy_options {
    size_t bytes, piece_bytes;
    bool is_read_only;
};

/* The whole in pieces, as a key goes up: ns on the host's clock, 0 with an error said. */
static uint64_t in_pieces(struct device *device, uint64_t to, const uint8_t *from,
                          const struct copy_options *options)
{
    const uint64_t begin_ns = clock_now_ns();
    uint64_t unused_ns;
    int error = 0;
    for (size_t at = 0; at < options->bytes && error == 0; at += options->piece_bytes) {
        const size_t left = options->bytes - at;
        error = device_copy(device, to + at, from + at,
                            left < options->piece_bytes ? left : options->piece_bytes, &unused_ns);
    }
    if (error < 0)
        fprintf(stderr, "copy: %s\n", strerror(-error));
    return error < 0 ? 0 : clock_now_ns() - begin_ns;
}

static double rate(size_t bytes, uint64_t took_ns)
{
    return took_ns ? (double)bytes / (double)took_ns : 0;
}

static int measure(struct device *device, const struct copy_options *options)
{
    const size_t bytes = options->bytes;
    struct load_memory pinned = {0};
    uint64_t memory = 0, pinned_ns = 0, pageable_ns = 0, pieces_ns = 0;
    void *heap = malloc(options->piece_bytes ? 1 : bytes);
    int error = heap ? load_memory_create(bytes, &pinned) : -ENOMEM;
    if (error == 0)
        error = device_malloc(device, bytes, &memory);
    if (error == 0) {
        memset(pinned.memory, 1, pinned.bytes);
        memset(heap, 1, options->piece_bytes ? 1 : bytes);
        if (options->is_read_only && mprotect(pinned.memory, pinned.bytes, PROT_READ) < 0)
            error = -errno;
    }
    if (error == 0)
        error = device_register(device, pinned.memory, pinned.bytes, options->is_read_only);
    if (error == 0) {
        pinned_ns = median_copy(device, memory, pinned.memory, bytes);
        if (options->piece_bytes)
            pieces_ns = in_pieces(device, memory, pinned.memory, options);
        device_unregister(device, pinned.memory);
        if (!options->piece_bytes)
            pageable_ns = median_copy(device, memory, heap, bytes);
    }
    if (error < 0)
        fprintf(stderr, "copy: %s\n", strerror(-error));
    if (memory)
        device_free(device, memory);
    free(heap);
    if (pinned_ns)
        printf("{\"bytes\": %zu, \"hugepages\": %s, \"pinned_ms\": %.3f, \"pinned_gb_s\": %.2f, "
               "\"pageable_ms\": %.3f, \"pageable_gb_s\": %.2f, \"pieces_ms\": %.3f, "
               "\"pieces_gb_s\": %.2f}\n",
               bytes, pinned.is_hugepage ? "true" : "false", (double)pinned_ns / 1e6,
               rate(bytes, pinned_ns), (double)pageable_ns / 1e6, rate(bytes, pageable_ns),
               (double)pieces_ns / 1e6, rate(bytes, pieces_ns));
    load_memory_destroy(&pinned);
    return pinned_ns && (pageable_ns || pieces_ns) ? 0 : 1;
}

static void print_usage(FILE *out)
{
    fputs("Usage: cuzk-bench-pipeline copy --bytes N [--pieces N] [--read-only]\n\n"
          "Copies N bytes from host to device 0 through the bare CUDA driver, from registered\n"
          "hugepages and from the heap; prints the medians by device events as JSON.\n\n"
          "  --pieces N     then in pieces of N bytes, by the host's clock, instead of from the "
          "heap\n"
          "  --read-only    registered memory is mapped and registered for reading only\n",
          out);
}

/* 0, or an exit status + 1. */
static int parse_options(int argc, char **argv, struct copy_options *ret)
{
    static const struct option longs[] = {
        {"bytes", required_argument, NULL, 'b'},
        {"pieces", required_argument, NULL, 'p'},
        {"read-only", no_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 1;
        } else if (option == 'b') {
            ret->bytes = strtoull(optarg, NULL, 10);
        } else if (option == 'p') {
            ret->piece_bytes = strtoull(optarg, NULL, 10);
        } else if (option == 'r') {
            ret->is_read_only = true;
        } else {
            print_usage(stderr);
            return 3;
        }
    }
    if (ret->bytes == 0 || optind != argc) {
        print_usage(stderr);
        return 3;
    }
    return 0;
}

int parts_copy(int argc, char **argv)
{
    struct copy_options options = {0};
    struct device *device;
    char text[256];
    int status = parse_options(argc, argv, &options);
    if (status)
        return status - 1;
    if (device_open(&device, text, sizeof text) < 0) {
        fprintf(stderr, "copy: %s\n", text);
        return 1;
    }
    status = measure(device, &options);
    device_close(device);
    return status;
}
