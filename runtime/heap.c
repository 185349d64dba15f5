/* Malloc settings, trimming and figures of the own process. Downstream: the progress words of the
 * channel (shm/worker.c), from there status and metrics. */
#include "runtime/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* The loop's thread, and one more for a computing thread that allocates. */
    HEAP_ARENAS_MAX = 2,
    /* Buckets and vectors go above it, bookkeeping below. */
    HEAP_MMAP_THRESHOLD_BYTES = 1 << 20,
};

static const char *const heap_trim_names[] = {"always", "idle", "off"};

const char *heap_trim_to_string(enum heap_trim trim)
{
    return (unsigned)trim <= HEAP_TRIM_OFF ? heap_trim_names[trim] : "?";
}

int heap_trim_from_string(const char *text, enum heap_trim *ret)
{
    for (unsigned i = 0; i <= HEAP_TRIM_OFF; i++) {
        if (strcmp(text, heap_trim_names[i]) == 0) {
            *ret = (enum heap_trim)i;
            return 0;
        }
    }
    return -EINVAL;
}

void heap_init(struct heap *ret)
{
    mallopt(M_ARENA_MAX, HEAP_ARENAS_MAX);
    mallopt(M_MMAP_THRESHOLD, HEAP_MMAP_THRESHOLD_BYTES);
    ret->smaps_fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
}

void heap_destroy(struct heap *heap)
{
    if (heap->smaps_fd > 0)
        close(heap->smaps_fd);
    heap->smaps_fd = -1;
}

void heap_trim_now(void)
{
    malloc_trim(0);
}

static uint64_t heap_pss_bytes(int smaps_fd)
{
    char text[2048];
    const ssize_t count = smaps_fd < 0 ? -1 : pread(smaps_fd, text, sizeof text - 1, 0);
    if (count <= 0)
        return 0;
    text[count] = 0;
    const char *line = strstr(text, "\nPss:");
    return line ? strtoull(line + 5, NULL, 10) * 1024 : 0;
}

void heap_sample(const struct heap *heap, struct heap_figures *ret)
{
    const struct mallinfo2 info = mallinfo2();
    ret->used_bytes = info.uordblks + info.hblkhd;
    ret->free_bytes = info.fordblks;
    ret->pss_bytes = heap_pss_bytes(heap->smaps_fd);
}
