/* The memory plan: see memory.h. */
#include "supervisor/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/units.h"
#include "runtime/check.h"
#include "runtime/log.h"
#include "runtime/notify.h"
#include "supervisor/adoption.h"
#include "supervisor/slots.h"

static_assert((int)CONFIG_HUGE_PAGES_REQUIRE == (int)SLAB_PAGES_REQUIRE &&
                  (int)CONFIG_HUGE_PAGES_PREFER == (int)SLAB_PAGES_PREFER &&
                  (int)CONFIG_HUGE_PAGES_OFF == (int)SLAB_PAGES_OFF,
              "the configuration's values are the slab's");

enum {
    MEMORY_SLAB_S_MAX = 120, /* to touch one slab; more is no progress */
};

static void note_pages(struct memory *memory, const struct slab *slab)
{
    memory->is_hugepage &= slab->is_hugepage;
    if (memory->page_bytes == 0 || slab->page_bytes < memory->page_bytes)
        memory->page_bytes = slab->page_bytes;
}

/* For a later process, which finds the slab by its index. */
static void describe_entry(struct memory *memory, struct memory_ring *ring, uint32_t entry)
{
    uint32_t slab = ring->first + entry;
    struct slab_ring_entry *at = &ring->ring.table->entries[entry];
    atomic_store_explicit(&at->slab, slab, memory_order_relaxed);
    atomic_store_explicit(&at->stale_bytes, memory->stale_bytes[slab], memory_order_relaxed);
}

static int make_slab(struct memory *memory, const struct config_ring *plan, uint32_t i,
                     struct slab *ret, struct slab_fault *ret_fault)
{
    char name[96];
    snprintf(name, sizeof name, "cuzkd-slab-%s-%u", plan->name, i);
    notify_extend_timeout(MEMORY_SLAB_S_MAX * UINT64_C(1000000000));
    return slab_create(name, plan->slab_bytes, memory->pages, memory->hugepage_bytes, ret,
                       ret_fault);
}

static int ring_init(struct memory *memory, const struct config_ring *plan,
                     struct memory_ring *ring, struct adoption *adoption,
                     struct slab_fault *ret_fault)
{
    uint32_t number = memory->ring_count - 1;
    snprintf(ring->name, sizeof ring->name, "%s", plan->name);
    if (memory->slab_count + plan->slab_count > SLABS_MAX) {
        snprintf(ret_fault->text, sizeof ret_fault->text,
                 "the rings have more than %d slabs together", SLABS_MAX);
        return -E2BIG;
    }
    ring->first = memory->slab_count;
    for (uint32_t i = 0; i < plan->slab_count; i++) {
        struct slab *slab = &memory->slabs[memory->slab_count];
        int r = 0;
        if (!adoption_pass_on(adoption, number, memory->slab_count, slab,
                              &memory->stale_bytes[memory->slab_count]))
            r = make_slab(memory, plan, i, slab, ret_fault);
        if (r < 0)
            return r;
        memory->slab_count++;
        ring->count++;
        ring->slab_bytes = slab->bytes;
        memory->slab_bytes_total += slab->bytes;
        note_pages(memory, slab);
    }
    int r = slab_ring_create(plan->name, ring->count, ring->slab_bytes, &ring->ring);
    if (r < 0)
        snprintf(ret_fault->text, sizeof ret_fault->text, "cannot make the table of ring %s",
                 plan->name);
    for (uint32_t i = 0; r == 0 && i < ring->count; i++)
        describe_entry(memory, ring, i);
    return r;
}

static int check_room(const struct memory *memory, uint64_t bytes, struct slab_fault *ret_fault)
{
    int r = slab_check_room(bytes, memory->pages, memory->hugepage_bytes, ret_fault);
    size_t used = strlen(ret_fault->text);
    if (r < 0 && memory->pages == SLAB_PAGES_REQUIRE)
        snprintf(ret_fault->text + used, sizeof ret_fault->text - used,
                 " (and more for keys); or [Ring] HugePages=prefer, to do with ordinary pages");
    return r;
}

int memory_init(struct memory *memory, const struct config *config, struct adoption *adoption,
                struct slab_fault *ret_fault)
{
    char size[UNITS_TEXT_BYTES], total[UNITS_TEXT_BYTES];
    uint64_t sum = 0;
    *memory = (struct memory){
        .pages = (enum slab_pages)config->huge_pages,
        .hugepage_bytes = config->huge_page_bytes,
        .is_hugepage = true,
    };
    for (uint32_t i = 0; i < config->ring_count; i++) {
        sum += config->rings[i].slab_bytes * config->rings[i].slab_count;
        log_info("memory plan: ring %s has %u slabs of %s", config->rings[i].name,
                 config->rings[i].slab_count, units_print_size(config->rings[i].slab_bytes, size));
    }
    log_info("memory plan: %s of slabs in all (HugePages=%s); keys come on top as they are loaded",
             units_print_size(sum, total), config_huge_pages_to_string(config->huge_pages));
    uint64_t adopted = adoption_bytes(adoption);
    int r = check_room(memory, sum > adopted ? sum - adopted : 0, ret_fault);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < config->ring_count; i++) {
        memory->rings[i].ring.fd = -1;
        memory->ring_count++;
        r = ring_init(memory, &config->rings[i], &memory->rings[i], adoption, ret_fault);
        if (r < 0) {
            memory_destroy(memory);
            return r;
        }
    }
    return 0;
}

void memory_destroy(struct memory *memory)
{
    for (uint32_t i = 0; i < memory->slab_count; i++)
        slab_destroy(&memory->slabs[i]);
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        if (memory->rings[i].ring.table)
            slab_ring_destroy(&memory->rings[i].ring);
    }
    *memory = (struct memory){0};
}

uint32_t memory_ring_for(const struct memory *memory, uint64_t bytes)
{
    uint32_t best = RINGS_MAX;
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        const struct memory_ring *ring = &memory->rings[i];
        if (ring->slab_bytes >= bytes &&
            (best == RINGS_MAX || ring->slab_bytes < memory->rings[best].slab_bytes))
            best = i;
    }
    return best;
}

uint64_t memory_slab_bytes_max(const struct memory *memory)
{
    uint64_t max = 0;
    for (uint32_t i = 0; i < memory->ring_count; i++)
        max = memory->rings[i].slab_bytes > max ? memory->rings[i].slab_bytes : max;
    return max;
}

uint32_t memory_slabs_free(const struct memory *memory, uint32_t ring)
{
    const struct memory_ring *entry = &memory->rings[ring];
    uint32_t held = atomic_load_explicit(&entry->ring.table->occupancy, memory_order_relaxed);
    CHECK(held <= entry->count);
    return entry->count - held;
}

int memory_bind(struct memory *memory, uint32_t ring, const struct slot *slot, uint64_t generation)
{
    uint64_t ticket;
    int entry =
        slab_ring_issue(&memory->rings[ring].ring, slot->job, slot->partition, generation, &ticket);
    return entry < 0 ? entry : (int)memory->rings[ring].first + entry;
}

static struct memory_ring *ring_of(struct memory *memory, uint32_t slab)
{
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        struct memory_ring *ring = &memory->rings[i];
        if (slab >= ring->first && slab - ring->first < ring->count)
            return ring;
    }
    CHECK(!"a slab belongs to a ring");
    return NULL;
}

void memory_rebind(struct memory *memory, uint32_t slab, uint64_t generation)
{
    struct memory_ring *ring = ring_of(memory, slab);
    slab_ring_rebind(&ring->ring, slab - ring->first, generation);
}

void memory_hold(struct memory *memory, uint32_t slab, const struct slot *slot)
{
    struct memory_ring *ring = ring_of(memory, slab);
    slab_ring_hold(&ring->ring, slab - ring->first, slot->job, slot->partition, slot->generation);
}

void memory_mark_ready(struct memory *memory, uint32_t slab,
                       const struct slab_ring_content *content)
{
    struct memory_ring *ring = ring_of(memory, slab);
    slab_ring_mark_ready(&ring->ring, slab - ring->first, content);
}

void memory_release(struct memory *memory, uint32_t slab)
{
    struct memory_ring *ring = ring_of(memory, slab);
    slab_ring_release(&ring->ring, slab - ring->first);
}

uint64_t memory_stale_bytes(const struct memory *memory, uint32_t slab)
{
    return memory->stale_bytes[slab];
}

void memory_mark_begun(struct memory *memory, uint32_t slab, uint64_t bytes)
{
    if (memory->stale_bytes[slab] < bytes)
        memory_mark_written(memory, slab, bytes);
}

void memory_mark_written(struct memory *memory, uint32_t slab, uint64_t bytes)
{
    struct memory_ring *ring = ring_of(memory, slab);
    memory->stale_bytes[slab] = bytes;
    atomic_store_explicit(&ring->ring.table->entries[slab - ring->first].stale_bytes, bytes,
                          memory_order_relaxed);
}

int memory_key_create(struct memory *memory, const char *name, size_t bytes, enum slab_pages pages,
                      struct slab *ret, struct slab_fault *ret_fault)
{
    int r = slab_create_key(name, bytes, pages, memory->hugepage_bytes, ret, ret_fault);
    if (r < 0)
        return r;
    memory->key_bytes_total += ret->bytes;
    note_pages(memory, ret);
    return 0;
}

int memory_key_seal(struct slab *key)
{
    return slab_seal_key(key);
}

void memory_key_destroy(struct memory *memory, struct slab *key)
{
    CHECK(memory->key_bytes_total >= key->bytes);
    memory->key_bytes_total -= key->bytes;
    slab_destroy(key);
    *key = (struct slab){.fd = -1};
}
