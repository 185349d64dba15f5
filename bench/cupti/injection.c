/* libcuzk-cupti.so: writes down when each kernel and copy of a process ran, by the device's own
 * timestamps. For measurements only; nothing installed links it. The CUDA driver loads it into
 * every process that has
 *
 *   CUDA_INJECTION64_PATH=/path/libcuzk-cupti.so CUZK_CUPTI_FILE=/tmp/gpu.%p
 *
 * in its environment (%p: the process id) when that process first uses CUDA, and calls
 * InitializeInjection. From then on CUPTI's own thread hands over full buffers, and every
 * FLUSH_INTERVAL_MS what there is; the end of the process flushes the rest. A process killed by
 * SIGKILL loses the last interval.
 * API: CUPTI Activity API, "Asynchronous Buffering" and "CUPTI as an injection library". */
#include <cupti.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/cupti/record.h"

enum {
    BUFFER_BYTES = 1 << 20,
    BUFFER_ALIGN = 8,
    FLUSH_INTERVAL_MS = 200,
    NAMES_MAX = 1024,
    PATH_BYTES = 4096,
};

static struct {
    pthread_mutex_t lock; /* buffers may complete on several threads */
    FILE *records, *names;
    const char *known[NAMES_MAX]; /* CUPTI keeps the strings for the process's life */
    uint32_t known_count;
} output = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put(const struct record *record)
{
    if (fwrite(record, sizeof *record, 1, output.records) != 1)
        perror("libcuzk-cupti: writing records");
}

/* Both clocks as close together as can be had: of several tries the one that took least. */
static void put_clocks(void)
{
    struct record best = {.kind = RECORD_CLOCKS};
    uint64_t best_took_ns = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        struct timespec before, after;
        uint64_t device_ns = 0;
        clock_gettime(CLOCK_MONOTONIC, &before);
        if (cuptiGetTimestamp(&device_ns) != CUPTI_SUCCESS)
            return;
        clock_gettime(CLOCK_MONOTONIC, &after);
        const uint64_t begin_ns = (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec;
        const uint64_t end_ns = (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec;
        if (end_ns - begin_ns >= best_took_ns)
            continue;
        best_took_ns = end_ns - begin_ns;
        best.begin_ns = begin_ns + best_took_ns / 2;
        best.end_ns = device_ns;
    }
    put(&best);
}

static uint32_t name_index(const char *name)
{
    if (!name)
        name = "?";
    for (uint32_t i = 0; i < output.known_count; i++)
        if (output.known[i] == name || strcmp(output.known[i], name) == 0)
            return i;
    if (output.known_count == NAMES_MAX)
        return NAMES_MAX;
    fprintf(output.names, "%u %s\n", output.known_count, name);
    output.known[output.known_count] = name;
    return output.known_count++;
}

static void put_activity(const CUpti_Activity *activity)
{
    struct record record = {0};
    if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *kernel = (const CUpti_ActivityKernel10 *)activity;
        record = (struct record){
            .begin_ns = kernel->start,
            .end_ns = kernel->end,
            .correlation = kernel->correlationId,
            .stream = kernel->streamId,
            .name = name_index(kernel->name),
            .kind = RECORD_KERNEL,
        };
    } else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *copy = (const CUpti_ActivityMemcpy6 *)activity;
        record = (struct record){
            .begin_ns = copy->start,
            .end_ns = copy->end,
            .bytes = copy->bytes,
            .correlation = copy->correlationId,
            .stream = copy->streamId,
            .kind = copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? RECORD_TO_DEVICE
                    : copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? RECORD_TO_HOST
                                                                        : RECORD_ON_DEVICE,
        };
    } else {
        return;
    }
    put(&record);
}

static void CUPTIAPI on_buffer_wanted(uint8_t **ret_buffer, size_t *ret_bytes,
                                      size_t *ret_records_max)
{
    *ret_buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
    *ret_bytes = *ret_buffer ? BUFFER_BYTES : 0;
    *ret_records_max = 0;
}

static void CUPTIAPI on_buffer_done(CUcontext context, uint32_t stream, uint8_t *buffer,
                                    size_t bytes, size_t valid_bytes)
{
    CUpti_Activity *activity = NULL;
    size_t dropped = 0;
    (void)bytes;
    pthread_mutex_lock(&output.lock);
    while (valid_bytes &&
           cuptiActivityGetNextRecord(buffer, valid_bytes, &activity) == CUPTI_SUCCESS)
        put_activity(activity);
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped)
        put(&(struct record){.bytes = dropped, .kind = RECORD_DROPPED});
    put_clocks();
    fflush(output.records);
    fflush(output.names);
    pthread_mutex_unlock(&output.lock);
    free(buffer);
}

static void on_exit_flush(void)
{
    cuptiActivityFlushAll(1);
}

/* CUZK_CUPTI_FILE with %p as the process id. */
static int open_output(void)
{
    const char *pattern = getenv("CUZK_CUPTI_FILE");
    const char *at = pattern ? strstr(pattern, "%p") : NULL;
    char path[PATH_BYTES], names[PATH_BYTES + 8];
    if (!pattern)
        pattern = "/tmp/cuzk-cupti";
    if (at)
        snprintf(path, sizeof path, "%.*s%d%s", (int)(at - pattern), pattern, (int)getpid(),
                 at + 2);
    else
        snprintf(path, sizeof path, "%s", pattern);
    snprintf(names, sizeof names, "%s.names", path);
    output.records = fopen(path, "wbe");
    output.names = fopen(names, "we");
    if (!output.records || !output.names) {
        fprintf(stderr, "libcuzk-cupti: cannot write %s: %m; nothing is recorded\n", path);
        return -1;
    }
    fwrite(RECORD_MAGIC, 8, 1, output.records);
    put_clocks();
    fflush(output.records);
    return 0;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const CUptiResult result_ = (call);                                                        \
        const char *text_ = "?";                                                                   \
        if (result_ != CUPTI_SUCCESS) {                                                            \
            cuptiGetResultString(result_, &text_);                                                 \
            fprintf(stderr, "libcuzk-cupti: %s: %s; nothing is recorded\n", #call, text_);         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* Called by the driver; 1 on success and on failure alike: measuring must not end the program. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
    if (open_output() < 0)
        return 1;
    TRY(cuptiActivityRegisterCallbacks(on_buffer_wanted, on_buffer_done));
    TRY(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    TRY(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
    TRY(cuptiActivityFlushPeriod(FLUSH_INTERVAL_MS));
    atexit(on_exit_flush);
    return 1;
}
