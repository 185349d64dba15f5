/* A process's own heap: how malloc is set up so that it does not grow by itself, when it is
 * trimmed, and the figures a worker publishes about it. Used by the worker programs.
 *
 * glibc makes up to 8 arenas a core and raises its mmap threshold as big blocks are freed; both
 * look like a leak in a long-lived server. Here arenas are bounded and the threshold is fixed:
 * every vector lies in a mapping of its own and goes back to the kernel when it is freed. */
#pragma once

#include <stdint.h>

/* [...] MallocTrim= */
enum heap_trim {
    HEAP_TRIM_ALWAYS, /* after every partition */
    HEAP_TRIM_IDLE,   /* after a partition when no other is held */
    HEAP_TRIM_OFF,
};

const char *heap_trim_to_string(enum heap_trim trim);
int heap_trim_from_string(const char *text, enum heap_trim *ret);

struct heap {
    int smaps_fd; /* /proc/self/smaps_rollup, opened at start: a sandboxed worker cannot later */
};

struct heap_figures {
    uint64_t used_bytes; /* in blocks handed out, mapped ones included */
    uint64_t free_bytes; /* kept by malloc */
    uint64_t pss_bytes;  /* of the whole process, 0 where the kernel does not tell */
};

/* Before the first thread and the first large allocation. */
void heap_init(struct heap *ret);
void heap_destroy(struct heap *heap);
/* Gives free heap memory back to the kernel. Blocking: milliseconds on a large heap. */
void heap_trim_now(void);
/* Walks the arenas and reads the kernel's figure: for once a second, not for every turn. */
void heap_sample(const struct heap *heap, struct heap_figures *ret);
