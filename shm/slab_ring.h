/* The table of one ring: N entries issued in turn. Ticket t is offered entry t mod N; if that slab
 * is held the ticket is spent and counted and t+1 tried, at most N times. Entries come and go at
 * run time: an absent one is passed over without a count, and N is one more than the last that is
 * there. Head = next ticket, tail = oldest ticket held (head if none), occupancy = slabs held,
 * slab_count = slabs there. Only the supervisor writes it; it lies in a memfd of its own so that a
 * monitor can map it read-only.
 *
 * The table outlives the supervisor in the service manager's descriptor store, beside its slabs,
 * and is then all that says what is in them. So at any moment, wherever its writer dies, it may
 * promise less than there is and never more: an entry says READY only while its slab holds the
 * finished synthesis that the entry describes, and has left READY before the slab is issued anew.
 * Whoever finds the table (slab_ring_inspect) believes nothing in it that is not checked. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"

enum slab_state {
    SLAB_ABSENT,
    SLAB_FREE,
    SLAB_HELD,
    SLAB_READY, /* held, and its synthesis is finished */
};

enum {
    SLAB_RING_ABI = 1, /* of the table, and of what lies in a slab */
    SLAB_RING_BOOT_ID_BYTES = 36,
    SLAB_RING_DIGEST_BYTES = 64, /* hexadecimal, of the circuit's prepared key */
};

#define SLAB_RING_MAGIC UINT64_C(0x31676e6972626c73)

/* What a READY entry holds. Constant while it says READY. */
struct slab_ring_content {
    uint64_t bytes; /* from the slab's start */
    uint32_t has_evaluations;
    char key_digest[SLAB_RING_DIGEST_BYTES];
};

struct slab_ring_entry {
    _Atomic uint64_t ticket;
    _Atomic uint64_t job;
    _Atomic uint64_t generation;
    _Atomic uint32_t partition;
    _Atomic uint32_t state; /* enum slab_state */
    _Atomic uint32_t slab;  /* its index among all, by which the store names it */
    /* From its start, what partitions may have written and nobody has zeroed. */
    _Atomic uint64_t stale_bytes;
    struct slab_ring_content content;
};

/* Written once, before the table is given to anybody. */
struct slab_ring_header {
    uint64_t magic;
    uint32_t abi, table_bytes, entry_bytes;
    uint32_t channel_abi; /* workers of another ABI fill slabs in another way */
    char boot_id[SLAB_RING_BOOT_ID_BYTES + 4];
};

struct slab_ring_table {
    struct slab_ring_header header;
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
/* The slab holds the finished synthesis of the partition that it was issued to. Held already. */
void slab_ring_mark_ready(struct slab_ring *ring, uint32_t entry,
                          const struct slab_ring_content *content);
/* As issuing, of one certain entry, which is free: a READY one of an earlier process found its
 * partition again. */
void slab_ring_hold(struct slab_ring *ring, uint32_t entry, uint64_t job, uint32_t partition,
                    uint64_t generation);

/* A copy of the table behind a descriptor of unknown worth: 0; or -EBADMSG and why it is not to be
 * believed: no table, of another boot or ABI, or damaged. */
int slab_ring_inspect(int fd, struct slab_ring_table *ret, char *ret_why, size_t why_bytes);
/* Of a table that was inspected and whose slabs are about to be used: from here on nobody believes
 * it any more, whatever becomes of its descriptors. */
int slab_ring_retract(int fd);
