/* A heap in the state that long-lived services get it into: many pieces, every other one free. Used
 * by the measurement of the design with one process (baseline.c) and by libcuzk-heap.so,
 * which puts such a heap into a synthesis worker (heap_preload.c). */
#pragma once

#include <stddef.h>

enum {
    HEAP_PIECE_BYTES = 64 << 10, /* below every threshold for mappings of their own */
};

struct fragmented_heap {
    void **pieces;
    size_t count;
};

/* Allocates `bytes` in pieces, writes to each, and frees every other one. -ENOMEM. */
int fragmented_heap_create(size_t bytes, struct fragmented_heap *ret);
/* Takes the free pieces [begin, end) again, writes to them and frees them: a malloc_trim finds
 * pages to return once more. */
void fragmented_heap_stir(struct fragmented_heap *heap, size_t begin, size_t end);
void fragmented_heap_destroy(struct fragmented_heap *heap);
