/* See heap.h. */
#include "bench/pipeline/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fragmented_heap_create(size_t bytes, struct fragmented_heap *ret)
{
    struct fragmented_heap heap = {.count = bytes / HEAP_PIECE_BYTES};
    if (heap.count == 0) {
        *ret = heap;
        return 0;
    }
    heap.pieces = calloc(heap.count, sizeof heap.pieces[0]);
    if (!heap.pieces)
        return -ENOMEM;
    for (size_t i = 0; i < heap.count; i++) {
        heap.pieces[i] = malloc(HEAP_PIECE_BYTES - 16);
        if (!heap.pieces[i]) {
            fragmented_heap_destroy(&heap);
            return -ENOMEM;
        }
        memset(heap.pieces[i], 1, HEAP_PIECE_BYTES - 16);
    }
    *ret = heap;
    for (size_t i = 1; i < heap.count; i += 2) {
        free(ret->pieces[i]);
        ret->pieces[i] = NULL;
    }
    return 0;
}

void fragmented_heap_stir(struct fragmented_heap *heap, size_t begin, size_t end)
{
    for (size_t i = begin | 1; i < end && i < heap->count; i += 2) {
        heap->pieces[i] = malloc(HEAP_PIECE_BYTES - 16);
        if (heap->pieces[i])
            memset(heap->pieces[i], 1, HEAP_PIECE_BYTES - 16);
    }
    for (size_t i = begin | 1; i < end && i < heap->count; i += 2) {
        free(heap->pieces[i]);
        heap->pieces[i] = NULL;
    }
}

void fragmented_heap_destroy(struct fragmented_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        free(heap->pieces[i]);
    free(heap->pieces);
    *heap = (struct fragmented_heap){0};
}
