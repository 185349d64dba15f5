/* Slabs of an earlier process: see adoption.h. Upstream: the descriptor store (activation.h);
 * downstream: memory.c and the journal's loader. */
#include "supervisor/adoption.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/log.h"
#include "runtime/notify.h"
#include "shm/hugepages.h"
#include "supervisor/supervisor.h"

static void take_ring(struct adoption *adoption, struct activation *activation,
                      const struct config *config, uint32_t ring);
static void drop_rest(struct activation *activation);

static_assert(SLAB_RING_DIGEST_BYTES == FACTS_DIGEST_TEXT_BYTES - 1, "digests are the facts'");

int adoption_init(struct adoption *adoption, struct activation *activation,
                  const struct config *config)
{
    *adoption = (struct adoption){.slabs = calloc(SLABS_MAX, sizeof adoption->slabs[0])};
    if (!adoption->slabs)
        return -ENOMEM;
    for (uint32_t ring = 0; ring < config->ring_count; ring++)
        take_ring(adoption, activation, config, ring);
    drop_rest(activation);
    if (adoption->count > 0)
        log_info("%u slabs of an earlier process are taken over, %u of them with a finished "
                 "synthesis",
                 adoption->count, adoption->ready_count);
    return 0;
}

void adoption_destroy(struct adoption *adoption)
{
    for (uint32_t i = 0; i < adoption->count; i++) {
        if (adoption->slabs[i].slab.fd >= 0)
            close(adoption->slabs[i].slab.fd);
    }
    free(adoption->slabs);
    *adoption = (struct adoption){0};
}

static void slab_name(char ret[32], uint32_t index)
{
    snprintf(ret, 32, "slab-%u", index);
}

static void ring_name(char ret[NAME_BYTES_MAX + 8], const char *name)
{
    snprintf(ret, NAME_BYTES_MAX + 8, "ring-%s", name);
}

/* ---- what was handed over ---- */

/* Whether a slab of the configuration may lie on such pages. Under PREFER ordinary ones had to do
 * for an earlier process, and do again unless the pool has come to hold enough for a slab. */
static bool fits(const struct config *config, const struct slab *slab)
{
    struct hugepages pool;
    if (slab->is_hugepage)
        return config->huge_pages != CONFIG_HUGE_PAGES_OFF &&
               slab->page_bytes == config->huge_page_bytes;
    if (config->huge_pages != CONFIG_HUGE_PAGES_PREFER)
        return config->huge_pages == CONFIG_HUGE_PAGES_OFF;
    return hugepages_read(config->huge_page_bytes, &pool) < 0 ||
           hugepages_available(&pool) < slab->bytes / config->huge_page_bytes;
}

static void note_entry(struct adoption *adoption, const struct slab_ring_entry *entry,
                       const struct slab *slab, uint32_t ring)
{
    struct adoption_slab *kept = &adoption->slabs[adoption->count++];
    uint32_t state = atomic_load_explicit(&entry->state, memory_order_relaxed);
    uint64_t stale_bytes = atomic_load_explicit(&entry->stale_bytes, memory_order_relaxed);
    *kept = (struct adoption_slab){
        .slab = *slab,
        .ring = ring,
        .index = -1,
        .is_stored = true,
        .index_store = atomic_load_explicit(&entry->slab, memory_order_relaxed),
        /* Of one that was being written nobody knows how far. */
        .stale_bytes = state == SLAB_HELD || stale_bytes > slab->bytes ? slab->bytes : stale_bytes,
        .is_ready = state == SLAB_READY && entry->content.bytes <= slab->bytes,
        .job = atomic_load_explicit(&entry->job, memory_order_relaxed),
        .partition = atomic_load_explicit(&entry->partition, memory_order_relaxed),
        .content = entry->content,
    };
    adoption->ready_count += kept->is_ready;
    adoption->bytes += slab->bytes;
}

/* One slab of a table: kept, or closed and out of the store. */
static void take_slab(struct adoption *adoption, struct activation *activation,
                      const struct config *config, uint32_t ring,
                      const struct slab_ring_entry *entry)
{
    char name[32], why[128] = "the configuration wants other pages";
    struct slab slab;
    slab_name(name, atomic_load_explicit(&entry->slab, memory_order_relaxed));
    int fd = activation_take(activation, name);
    if (fd < 0)
        return;
    int r = adoption->count < SLABS_MAX ? slab_adopt(fd, &slab, why, sizeof why) : -ENOSPC;
    uint64_t page_bytes = r == 0 ? slab.page_bytes : 1;
    uint64_t wanted = (config->rings[ring].slab_bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (r == 0 && fits(config, &slab) && slab.bytes == wanted) {
        note_entry(adoption, entry, &slab, ring);
        return;
    }
    if (r == 0 && slab.bytes != wanted)
        snprintf(why, sizeof why, "the configuration wants another size");
    log_info("%s of an earlier process is not taken over: %s", name, why);
    close(fd);
    notify_unstore(name);
}

/* READY ones come first, so that they are kept where the configuration has fewer slabs now. */
static void take_ring(struct adoption *adoption, struct activation *activation,
                      const struct config *config, uint32_t ring)
{
    static struct slab_ring_table table; /* some 150 KiB, and there is one thread */
    char name[NAME_BYTES_MAX + 8], why[128];
    uint32_t before = adoption->count;
    ring_name(name, config->rings[ring].name);
    int fd = activation_take(activation, name);
    if (fd < 0)
        return;
    int r = slab_ring_inspect(fd, &table, why, sizeof why);
    /* The manager may hear late, or never, that it is to be forgotten. */
    if (r == 0 && (r = slab_ring_retract(fd)) < 0)
        snprintf(why, sizeof why, "it cannot be retracted: %s", strerror(-r));
    close(fd);
    notify_unstore(name); /* this process has a table of its own */
    if (r < 0) {
        log_warn("the table %s of an earlier process is not believed (%s): its slabs are made anew",
                 name, why);
        return;
    }
    uint32_t count = atomic_load_explicit(&table.entry_count, memory_order_relaxed);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t state = atomic_load_explicit(&table.entries[i].state, memory_order_relaxed);
            bool is_wanted =
                pass == 0 ? state == SLAB_READY : state == SLAB_FREE || state == SLAB_HELD;
            if (is_wanted && adoption->count - before < config->rings[ring].slab_count)
                take_slab(adoption, activation, config, ring, &table.entries[i]);
        }
    }
}

/* Slabs of no table, of rings that are gone, or beyond their ring's count. Their pages come back as
 * the manager closes its copies. */
static void drop_rest(struct activation *activation)
{
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < activation->count; i++) {
        struct activation_fd *entry = &activation->fds[i];
        if (entry->fd < 0 ||
            (strncmp(entry->name, "slab-", 5) != 0 && strncmp(entry->name, "ring-", 5) != 0))
            continue;
        notify_unstore(entry->name);
        close(entry->fd);
        entry->fd = -1;
        dropped++;
    }
    if (dropped > 0)
        log_info("%u descriptors of an earlier process have no use now and are let go of", dropped);
}

void adoption_add(struct adoption *adoption, uint32_t ring, const struct slab *slab)
{
    CHECK(adoption->count < SLABS_MAX);
    adoption->slabs[adoption->count++] =
        (struct adoption_slab){.slab = *slab, .ring = ring, .index = -1};
    adoption->bytes += slab->bytes;
}

uint32_t adoption_count(const struct adoption *adoption, uint32_t ring)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < adoption->count; i++)
        count += adoption->slabs[i].ring == ring;
    return count;
}

uint64_t adoption_bytes(const struct adoption *adoption)
{
    return adoption ? adoption->bytes : 0;
}

bool adoption_pass_on(struct adoption *adoption, uint32_t ring, uint32_t index, struct slab *ret,
                      uint64_t *ret_stale_bytes)
{
    for (uint32_t i = 0; adoption && i < adoption->count; i++) {
        struct adoption_slab *kept = &adoption->slabs[i];
        if (kept->ring != ring || kept->slab.fd < 0)
            continue;
        *ret = kept->slab;
        *ret_stale_bytes = kept->stale_bytes;
        kept->slab.fd = -1;
        kept->index = (int)index;
        return true;
    }
    return false;
}

/* ---- the store ---- */

/* What a store refuses (it is full, the manager is too old) costs only what would have survived. */
static void store(const char *name, int fd)
{
    int r = notify_store(name, fd);
    if (r < 0 && r != -ENOTCONN)
        log_warn("%s cannot be put into the manager's store: %s", name, strerror(-r));
}

void adoption_store_slab(const struct memory *memory, uint32_t index)
{
    char name[32];
    slab_name(name, index);
    store(name, memory->slabs[index].fd);
}

void adoption_store_ring(const struct memory *memory, uint32_t ring)
{
    char name[NAME_BYTES_MAX + 8];
    ring_name(name, memory->rings[ring].name);
    store(name, memory->rings[ring].ring.fd);
}

void adoption_forget_slab(uint32_t index)
{
    char name[32];
    slab_name(name, index);
    notify_unstore(name);
}

void adoption_forget_ring(const char *name)
{
    char text[NAME_BYTES_MAX + 8];
    ring_name(text, name);
    notify_unstore(text);
}

/* The store takes no descriptor twice: one whose name changes leaves it first, and all of those
 * before any comes back, for its new name may be another's old one. */
void adoption_store(struct supervisor *supervisor)
{
    const struct adoption *adoption = &supervisor->adoption;
    const struct memory *memory = &supervisor->memory;
    bool is_stored[SLABS_MAX] = {false};
    for (uint32_t i = 0; i < adoption->count; i++) {
        const struct adoption_slab *kept = &adoption->slabs[i];
        if (!kept->is_stored)
            continue;
        if (kept->index >= 0 && (uint32_t)kept->index == kept->index_store)
            is_stored[kept->index] = true;
        else
            adoption_forget_slab(kept->index_store);
    }
    for (uint32_t i = 0; i < memory->slab_count; i++) {
        if (!is_stored[i] && memory->slabs[i].fd >= 0)
            adoption_store_slab(memory, i);
    }
    for (uint32_t i = 0; i < memory->ring_count; i++)
        adoption_store_ring(memory, i);
}

/* ---- partitions ---- */

int adoption_take(struct supervisor *supervisor, const struct slot *slot)
{
    struct adoption *adoption = &supervisor->adoption;
    const struct circuit *circuit = slot->circuit;
    bool has_evaluations = !supervisor->config.device_evaluates;
    for (uint32_t i = 0; i < adoption->count; i++) {
        struct adoption_slab *kept = &adoption->slabs[i];
        if (!kept->is_ready || kept->index < 0 || kept->job != slot->job ||
            kept->partition != slot->partition)
            continue;
        kept->is_ready = false;
        if (!circuit_has_facts(circuit) ||
            memcmp(kept->content.key_digest, circuit->facts.key_digest, SLAB_RING_DIGEST_BYTES) !=
                0 ||
            kept->content.bytes != circuit_slab_bytes(circuit) ||
            (kept->content.has_evaluations != 0) != has_evaluations ||
            kept->ring != circuit->ring) {
            log_info("job %" PRIu64 " partition %u: its synthesis is of another key or way of "
                     "evaluation, and starts over",
                     slot->job, slot->partition);
            return -1;
        }
        memory_hold(&supervisor->memory, (uint32_t)kept->index, slot);
        memory_mark_ready(&supervisor->memory, (uint32_t)kept->index, &kept->content);
        adoption->taken_count++;
        return kept->index;
    }
    return -1;
}

void adoption_finish(struct supervisor *supervisor)
{
    struct adoption *adoption = &supervisor->adoption;
    if (adoption->ready_count > 0)
        log_info("%u of %u finished syntheses of an earlier process are used%s",
                 adoption->taken_count, adoption->ready_count,
                 adoption->taken_count < adoption->ready_count
                     ? "; the others are of no unfinished partition"
                     : "");
    adoption_destroy(adoption);
}
