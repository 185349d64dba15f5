/* See shm/spsc.h. A message goes one way: producer fills entry, publishes `tail`; consumer copies
 * the entry out, publishes `head`.
 *
 * The pairs:
 *   [spsc.R1] tail, release ↔ [spsc.A1] tail, acquire: the entry's bytes before the index. Without
 *             it the consumer could read an entry that is not written yet.
 *   [spsc.R2] head, release ↔ [spsc.A2] head, acquire: the copy out before the entry is given back.
 *             Without it the producer could overwrite an entry that is still being copied.
 *
 * Entries are found by masking an index, so no value that a corrupt peer may leave in any field
 * leads outside `entries`. */
#include "shm/spsc.h"

#include <errno.h>
#include <string.h>

int spsc_push(struct spsc *ring, void *entries, uint32_t entry_count, uint32_t entry_bytes,
              const void *entry, uint32_t bytes)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    if (tail - ring->cached_head >= entry_count) {
        ring->cached_head = atomic_load_explicit(&ring->head, memory_order_acquire); /* [spsc.A2] */
        if (tail - ring->cached_head >= entry_count)
            return tail - ring->cached_head > entry_count ? -EPROTO : -EAGAIN;
    }
    memcpy((char *)entries + (size_t)(tail & (entry_count - 1)) * entry_bytes, entry, bytes);
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release); /* [spsc.R1] */
    return 0;
}

int spsc_peek(struct spsc *ring, const void *entries, uint32_t entry_count, uint32_t entry_bytes,
              const void **ret_entry)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (ring->cached_tail - head - 1 >= entry_count) { /* none known, or nonsense */
        ring->cached_tail = atomic_load_explicit(&ring->tail, memory_order_acquire); /* [spsc.A1] */
        if (ring->cached_tail == head)
            return 0;
        if (ring->cached_tail - head > entry_count)
            return -EPROTO;
    }
    *ret_entry = (const char *)entries + (size_t)(head & (entry_count - 1)) * entry_bytes;
    return 1;
}

void spsc_advance(struct spsc *ring)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    atomic_store_explicit(&ring->head, head + 1, memory_order_release); /* [spsc.R2] */
}

int spsc_pop(struct spsc *ring, const void *entries, uint32_t entry_count, uint32_t entry_bytes,
             void *ret_entry)
{
    const void *entry;
    int result = spsc_peek(ring, entries, entry_count, entry_bytes, &entry);

    if (result == 1) {
        memcpy(ret_entry, entry, entry_bytes);
        spsc_advance(ring);
    }
    return result;
}
