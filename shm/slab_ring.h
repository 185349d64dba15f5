/* The table of one ring: N entries issued in turn. Ticket t is offered entry t mod N; if that slab
 * is held the ticket is spent and counted and t+1 tried, at most N times. Entries come and go at
 * run time: an absent one is passed over without a count, and N is one more than the last that is
 * there. Head = next ticket, tail = oldest ticket held (head if none), occupancy = slabs held,
 * slab_count = slabs there. Only the supervisor writes it; it lies in a memfd of its own so that a
 * monitor can map it read-only. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "config/limits.h"

enum slab_state {
    SLAB_ABSENT,
    SLAB_FREE,
    SLAB_HELD,
};

struct slab_ring_entry {
    _Atomic uint64_t ticket;
    _Atomic uint64_t job;
    _Atomic uint64_t generation;
    _Atomic uint32_t partition;
    _Atomic uint32_t state; /* enum slab_state */
};

struct slab_ring_table {
    _Atomic uint64_t head, tail;
    _Atomic uint64_t tickets_spent; /* offered to a held slab */
    _Atomic uint32_t occupancy, slab_count;
    _Atomic uint32_t entry_count; /* N */
    uint64_t slab_bytes;
    struct slab_ring_entry entries[SLABS_MAX];
};

struct slab_ring {
    struct slab_ring_table *table;
    int fd;
};

/* With this many entries, which may be none. */
int slab_ring_create(const char *name, uint32_t entry_count, uint64_t slab_bytes,
                     struct slab_ring *ret);
void slab_ring_destroy(struct slab_ring *ring);
/* A slab joins: its entry, the first that is absent, or -ENOSPC. */
int slab_ring_add(struct slab_ring *ring);
/* It leaves. -EBUSY while it is held. */
int slab_ring_remove(struct slab_ring *ring, uint32_t entry);
/* Issues a slab to (job, partition, generation). Entry index, or -EAGAIN when all are held: then no
 * ticket is spent, so that tickets_spent counts slabs held out of turn and not attempts. */
int slab_ring_issue(struct slab_ring *ring, uint64_t job, uint32_t partition, uint64_t generation,
                    uint64_t *ret_ticket);
/* The holder changes attempt: records the new generation. */
void slab_ring_rebind(struct slab_ring *ring, uint32_t entry, uint64_t generation);
void slab_ring_release(struct slab_ring *ring, uint32_t entry);
