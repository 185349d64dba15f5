/* See shm/slab_ring.h. One writer; its stores are relaxed, for a reader of figures needs no order.
 * Only where an entry becomes READY does one release: what it describes is stored before. Whoever
 * reads a table of a dead process sees all its stores, in this order as far as any got. The
 * caller's own records, not this table, decide who may touch a slab. */
#include "shm/slab_ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/files.h"
#include "shm/channel.h"
#include "shm/segment.h"

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

/* "" where the kernel does not say: then no table is believed. */
static void read_boot_id(char ret[SLAB_RING_BOOT_ID_BYTES + 4])
{
    char *text;
    size_t bytes;

    memset(ret, 0, SLAB_RING_BOOT_ID_BYTES + 4);
    if (files_read("/proc/sys/kernel/random/boot_id", 4096, &text, &bytes) < 0)
        return;
    if (bytes >= SLAB_RING_BOOT_ID_BYTES)
        memcpy(ret, text, SLAB_RING_BOOT_ID_BYTES);
    free(text);
}

static struct slab_ring_header header_here(void)
{
    struct slab_ring_header header = {
        .magic = SLAB_RING_MAGIC,
        .abi = SLAB_RING_ABI,
        .table_bytes = sizeof(struct slab_ring_table),
        .entry_bytes = sizeof(struct slab_ring_entry),
        .channel_abi = CHANNEL_ABI,
    };

    read_boot_id(header.boot_id);
    return header;
}

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
    ret->table->header = header_here();
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
    if (LOAD(table->entries[entry].state) != SLAB_FREE)
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

static bool is_held(const struct slab_ring_entry *entry)
{
    uint32_t state = LOAD(entry->state);

    return state == SLAB_HELD || state == SLAB_READY;
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
        if (state != SLAB_ABSENT)
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
    CHECK(is_held(&ring->table->entries[entry]));
    STORE(ring->table->entries[entry].generation, generation);
}

static uint64_t oldest_held(const struct slab_ring_table *table)
{
    uint64_t oldest = LOAD(table->head);

    for (uint32_t i = 0; i < LOAD(table->entry_count); i++) {
        const struct slab_ring_entry *entry = &table->entries[i];
        if (is_held(entry) && LOAD(entry->ticket) < oldest)
            oldest = LOAD(entry->ticket);
    }
    return oldest;
}

void slab_ring_release(struct slab_ring *ring, uint32_t entry)
{
    struct slab_ring_table *table = ring->table;

    CHECK(entry < LOAD(table->entry_count));
    CHECK(is_held(&table->entries[entry]));
    STORE(table->entries[entry].state, SLAB_FREE);
    STORE(table->occupancy, LOAD(table->occupancy) - 1);
    STORE(table->tail, oldest_held(table));
}

void slab_ring_mark_ready(struct slab_ring *ring, uint32_t entry,
                          const struct slab_ring_content *content)
{
    struct slab_ring_entry *at = &ring->table->entries[entry];

    CHECK(entry < LOAD(ring->table->entry_count) && LOAD(at->state) == SLAB_HELD);
    at->content = *content;
    atomic_store_explicit(&at->state, SLAB_READY, memory_order_release);
}

void slab_ring_hold(struct slab_ring *ring, uint32_t entry, uint64_t job, uint32_t partition,
                    uint64_t generation)
{
    struct slab_ring_table *table = ring->table;
    struct slab_ring_entry *at = &table->entries[entry];
    uint32_t count = LOAD(table->entry_count);
    uint64_t ticket = LOAD(table->head);

    CHECK(entry < count && LOAD(at->state) == SLAB_FREE);
    /* The ticket that would have been offered this entry next. */
    ticket += (entry + count - ticket % count) % count;
    STORE(at->ticket, ticket);
    STORE(at->job, job);
    STORE(at->partition, partition);
    STORE(at->generation, generation);
    STORE(at->state, SLAB_HELD);
    STORE(table->occupancy, LOAD(table->occupancy) + 1);
    STORE(table->head, ticket + 1);
    STORE(table->tail, oldest_held(table));
}

static int refuse(char *ret_why, size_t why_bytes, const char *why)
{
    snprintf(ret_why, why_bytes, "%s", why);
    return -EBADMSG;
}

int slab_ring_inspect(int fd, struct slab_ring_table *ret, char *ret_why, size_t why_bytes)
{
    const struct slab_ring_header here = header_here();
    const struct slab_ring_header *there = &ret->header;
    void *memory;

    if (segment_map(fd, sizeof *ret, false, &memory) < 0)
        return refuse(ret_why, why_bytes, "it is no table of this version");
    memcpy((void *)ret, memory, sizeof *ret);
    segment_unmap(memory, sizeof *ret);
    if (there->magic != here.magic)
        return refuse(ret_why, why_bytes, "it is no table");
    if (there->abi != here.abi || there->table_bytes != here.table_bytes ||
        there->entry_bytes != here.entry_bytes || there->channel_abi != here.channel_abi)
        return refuse(ret_why, why_bytes, "another version wrote it");
    if (here.boot_id[0] == '\0' || memcmp(there->boot_id, here.boot_id, sizeof here.boot_id) != 0)
        return refuse(ret_why, why_bytes, "it is of another boot");
    if (LOAD(ret->entry_count) > SLABS_MAX)
        return refuse(ret_why, why_bytes, "it is damaged");
    return 0;
}

int slab_ring_retract(int fd)
{
    void *memory;
    int error = segment_map(fd, sizeof(struct slab_ring_table), true, &memory);

    if (error < 0)
        return error;
    STORE(((struct slab_ring_table *)memory)->entry_count, 0);
    segment_unmap(memory, sizeof(struct slab_ring_table));
    return 0;
}
