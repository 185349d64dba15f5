/* See shm/slab_ring.h. One writer; all stores are relaxed, for a reader of figures needs no order.
 * The caller's own records, not this table, decide who may touch a slab. */
#include "shm/slab_ring.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/check.h"
#include "shm/segment.h"

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

int slab_ring_create(const char *name, uint32_t entry_count, uint64_t slab_bytes,
                     struct slab_ring *ret)
{
    char segment_name[NAME_BYTES_MAX + 16];
    void *memory;
    int fd, error;

    if (entry_count > SLABS_MAX)
        return -EINVAL;
    snprintf(segment_name, sizeof segment_name, "slab-ring-%s", name);
    error = segment_create(segment_name, sizeof(struct slab_ring_table), &fd, &memory);
    if (error < 0)
        return error;
    *ret = (struct slab_ring){.table = memory, .fd = fd};
    ret->table->slab_bytes = slab_bytes;
    for (uint32_t i = 0; i < entry_count; i++)
        slab_ring_add(ret);
    return 0;
}

int slab_ring_add(struct slab_ring *ring)
{
    struct slab_ring_table *table = ring->table;
    uint32_t entry = 0;

    while (entry < SLABS_MAX && LOAD(table->entries[entry].state) != SLAB_ABSENT)
        entry++;
    if (entry == SLABS_MAX)
        return -ENOSPC;
    STORE(table->entries[entry].state, SLAB_FREE);
    STORE(table->slab_count, LOAD(table->slab_count) + 1);
    if (entry >= LOAD(table->entry_count))
        STORE(table->entry_count, entry + 1);
    return (int)entry;
}

int slab_ring_remove(struct slab_ring *ring, uint32_t entry)
{
    struct slab_ring_table *table = ring->table;
    uint32_t count = LOAD(table->entry_count);

    CHECK(entry < count && LOAD(table->entries[entry].state) != SLAB_ABSENT);
    if (LOAD(table->entries[entry].state) == SLAB_HELD)
        return -EBUSY;
    STORE(table->entries[entry].state, SLAB_ABSENT);
    STORE(table->slab_count, LOAD(table->slab_count) - 1);
    while (count > 0 && LOAD(table->entries[count - 1].state) == SLAB_ABSENT)
        count--;
    STORE(table->entry_count, count);
    return 0;
}

void slab_ring_destroy(struct slab_ring *ring)
{
    if (!ring->table)
        return;
    segment_unmap(ring->table, sizeof(struct slab_ring_table));
    close(ring->fd);
    *ring = (struct slab_ring){.table = NULL, .fd = -1};
}

int slab_ring_issue(struct slab_ring *ring, uint64_t job, uint32_t partition, uint64_t generation,
                    uint64_t *ret_ticket)
{
    struct slab_ring_table *table = ring->table;
    uint32_t count = LOAD(table->entry_count), occupancy = LOAD(table->occupancy);
    uint64_t ticket = LOAD(table->head);

    uint32_t state;

    if (occupancy == LOAD(table->slab_count))
        return -EAGAIN;
    while ((state = LOAD(table->entries[ticket % count].state)) != SLAB_FREE) {
        ticket++;
        if (state == SLAB_HELD)
            STORE(table->tickets_spent, LOAD(table->tickets_spent) + 1);
    }
    struct slab_ring_entry *entry = &table->entries[ticket % count];
    STORE(entry->ticket, ticket);
    STORE(entry->job, job);
    STORE(entry->partition, partition);
    STORE(entry->generation, generation);
    STORE(entry->state, SLAB_HELD);
    if (occupancy == 0)
        STORE(table->tail, ticket);
    STORE(table->occupancy, occupancy + 1);
    STORE(table->head, ticket + 1);
    *ret_ticket = ticket;
    return (int)(ticket % count);
}

void slab_ring_rebind(struct slab_ring *ring, uint32_t entry, uint64_t generation)
{
    CHECK(entry < LOAD(ring->table->entry_count));
    CHECK(LOAD(ring->table->entries[entry].state) == SLAB_HELD);
    STORE(ring->table->entries[entry].generation, generation);
}

static uint64_t oldest_held(const struct slab_ring_table *table)
{
    uint64_t oldest = LOAD(table->head);

    for (uint32_t i = 0; i < LOAD(table->entry_count); i++) {
        const struct slab_ring_entry *entry = &table->entries[i];
        if (LOAD(entry->state) == SLAB_HELD && LOAD(entry->ticket) < oldest)
            oldest = LOAD(entry->ticket);
    }
    return oldest;
}

void slab_ring_release(struct slab_ring *ring, uint32_t entry)
{
    struct slab_ring_table *table = ring->table;

    CHECK(entry < LOAD(table->entry_count));
    CHECK(LOAD(table->entries[entry].state) == SLAB_HELD);
    STORE(table->entries[entry].state, SLAB_FREE);
    STORE(table->occupancy, LOAD(table->occupancy) - 1);
    STORE(table->tail, oldest_held(table));
}
