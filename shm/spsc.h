/* Single-producer single-consumer ring of fixed-size entries in shared memory. Each side keeps its
 * index on its own cache line beside a cached copy of the other's. Indices run freely (mod 2^32);
 * the entry count is a power of two fixed at compile time by the caller.
 *
 * Either side may die between any two stores: an entry is visible only after the release store of
 * `tail`, so a half-written entry is never seen. The surviving side must not trust the other's
 * index: spsc_pop and spsc_push return -EPROTO when it lies outside what is possible. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct spsc {
    _Alignas(64) _Atomic uint32_t tail; /* producer writes */
    uint32_t cached_head;               /* producer's private copy */
    _Alignas(64) _Atomic uint32_t head; /* consumer writes */
    uint32_t cached_tail;               /* consumer's private copy */
};

/* Copies `bytes` (<= entry_bytes) into the next entry. 0, -EAGAIN full, -EPROTO corrupt peer. */
int spsc_push(struct spsc *ring, void *entries, uint32_t entry_count, uint32_t entry_bytes,
              const void *entry, uint32_t bytes);
/* Copies the oldest entry out. 1, 0 when empty, -EPROTO corrupt peer. */
int spsc_pop(struct spsc *ring, const void *entries, uint32_t entry_count, uint32_t entry_bytes,
             void *ret_entry);
/* The same in two steps, for a consumer that copies only what it needs: the oldest entry stays in
 * the ring until spsc_advance. The producer may be hostile and change it meanwhile: a field that is
 * checked is read once. */
int spsc_peek(struct spsc *ring, const void *entries, uint32_t entry_count, uint32_t entry_bytes,
              const void **ret_entry);
void spsc_advance(struct spsc *ring);
