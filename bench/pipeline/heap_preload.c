/* libcuzk-heap.so: preloaded (LD_PRELOAD) into a daemon under measurement, it gives the first
 * synthesis worker a fragmented heap of CUZK_HEAP_MIB and keeps stirring it, so that the worker's
 * own [Synthesis] MallocTrim=always has as much to return as a service of one process would. All
 * other programs are left alone. Never installed. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/pipeline/heap.h"

enum {
    STIR_PIECES = 8192, /* 256 MiB of free ones a round */
    STIR_PAUSE_MS = 20,
};

/* Not the programs that prepare or load a key: those have no --index. */
static bool is_first_synthesis_worker(void)
{
    char text[4096];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    bool is_first = false;
    if (file)
        fclose(file);
    text[bytes] = '\0';
    for (const char *word = text; word < text + bytes; word += strlen(word) + 1)
        is_first |= strcmp(word, "--index") == 0 && strcmp(word + strlen(word) + 1, "0") == 0;
    return is_first && strcmp(program_invocation_short_name, "cuzk-synth") == 0;
}

static void *heap_thread(void *context)
{
    const size_t bytes = (size_t)(uintptr_t)context << 20;
    const struct timespec pause = {.tv_nsec = STIR_PAUSE_MS * 1000000};
    struct fragmented_heap heap;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (fragmented_heap_create(bytes, &heap) < 0) {
        fprintf(stderr, "libcuzk-heap: no memory for a heap of %zu MiB\n", bytes >> 20);
        return NULL;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "libcuzk-heap: heap of %zu MiB, every other piece free, after %.1f s\n",
            bytes >> 20,
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    for (size_t at = 0;; at = (at + STIR_PIECES) % (heap.count ? heap.count : 1)) {
        fragmented_heap_stir(&heap, at, at + STIR_PIECES);
        nanosleep(&pause, NULL);
    }
}

__attribute__((constructor)) static void heap_begin(void)
{
    const char *text = getenv("CUZK_HEAP_MIB");
    const size_t mib = text ? strtoull(text, NULL, 10) : 0;
    sigset_t all, before;
    pthread_t thread;
    if (mib == 0 || !is_first_synthesis_worker())
        return;
    sigfillset(&all); /* signals are the worker's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, heap_thread, (void *)(uintptr_t)mib) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
