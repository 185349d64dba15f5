/* cuzk-bench-pipeline copy: what the link to the device does with a plain copy of the size of a
 * partition's upload, from registered hugepages and from ordinary heap memory. */
#include "bench/pipeline/parts.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pipeline/device.h"
#include "bench/pipeline/load.h"

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

static int measure(struct device *device, size_t bytes)
{
    struct load_memory pinned = {0};
    uint64_t memory = 0, pinned_ns = 0, pageable_ns = 0;
    void *heap = malloc(bytes);
    int error = load_memory_create(bytes, &pinned);
    if (error == 0)
        error = device_malloc(device, bytes, &memory);
    if (error == 0 && heap) {
        memset(pinned.memory, 1, pinned.bytes);
        memset(heap, 1, bytes);
        error = device_register(device, pinned.memory, pinned.bytes);
        if (error == 0) {
            pinned_ns = median_copy(device, memory, pinned.memory, bytes);
            device_unregister(device, pinned.memory);
        }
        pageable_ns = median_copy(device, memory, heap, bytes);
    }
    if (error < 0)
        fprintf(stderr, "copy: %s\n", strerror(-error));
    if (memory)
        device_free(device, memory);
    free(heap);
    if (pinned_ns && pageable_ns)
        printf("{\"bytes\": %zu, \"hugepages\": %s, \"pinned_ms\": %.3f, \"pinned_gb_s\": %.2f, "
               "\"pageable_ms\": %.3f, \"pageable_gb_s\": %.2f}\n",
               bytes, pinned.is_hugepage ? "true" : "false", (double)pinned_ns / 1e6,
               (double)bytes / (double)pinned_ns, (double)pageable_ns / 1e6,
               (double)bytes / (double)pageable_ns);
    load_memory_destroy(&pinned);
    return pinned_ns && pageable_ns ? 0 : 1;
}

static void print_usage(FILE *out)
{
    fputs("Usage: cuzk-bench-pipeline copy --bytes N\n\n"
          "Copies N bytes from host to device 0 through the bare CUDA driver, from registered\n"
          "hugepages and from the heap; prints the medians by device events as JSON.\n",
          out);
}

int parts_copy(int argc, char **argv)
{
    static const struct option longs[] = {{"bytes", required_argument, NULL, 'b'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct device *device;
    char text[256];
    size_t bytes = 0;
    int option;
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 0;
        }
        if (option != 'b') {
            print_usage(stderr);
            return 2;
        }
        bytes = strtoull(optarg, NULL, 10);
    }
    if (bytes == 0 || optind != argc) {
        print_usage(stderr);
        return 2;
    }
    if (device_open(&device, text, sizeof text) < 0) {
        fprintf(stderr, "copy: %s\n", text);
        return 1;
    }
    const int status = measure(device, bytes);
    device_close(device);
    return status;
}
