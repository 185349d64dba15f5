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
#include "supervisor/memory_plan.h"
#include "supervisor/slots.h"

static_assert((int)CONFIG_HUGE_PAGES_REQUIRE == (int)SLAB_PAGES_REQUIRE &&
                  (int)CONFIG_HUGE_PAGES_PREFER == (int)SLAB_PAGES_PREFER &&
                  (int)CONFIG_HUGE_PAGES_OFF == (int)SLAB_PAGES_OFF,
              "the configuration's values are the slab's");

enum {
    MEMORY_SLAB_S_MAX = 120, /* to touch one slab; more is no progress */
    MEMORY_ORDINARY_PAGE_BYTES = 4096,
};

/* sign: 1 for memory that comes, -1 for memory that goes. */
static void note_pages(struct memory *memory, const struct slab *slab, int sign)
{
    if (!slab->is_hugepage)
        memory->ordinary_count += (uint32_t)sign;
    memory->is_hugepage = memory->ordinary_count == 0;
    memory->page_bytes = memory->is_hugepage ? memory->hugepage_bytes : MEMORY_ORDINARY_PAGE_BYTES;
}

static void change(struct memory *memory, uint32_t slab, enum memory_slab_state state)
{
    memory->places[slab].state = state;
    memory->revision++;
}

int memory_ring_add(struct memory *memory, const char *name, uint64_t slab_bytes,
                    uint32_t *ret_ring)
{
    uint32_t index = 0;
    while (index < RINGS_MAX && memory->rings[index].ring.table)
        index++;
    *ret_ring = index;
    if (index == RINGS_MAX)
        return 0;
    struct memory_ring *ring = &memory->rings[index];
    *ring = (struct memory_ring){.slab_bytes = slab_bytes, .plan_bytes = slab_bytes, .ring.fd = -1};
    snprintf(ring->name, sizeof ring->name, "%s", name);
    int r = slab_ring_create(name, 0, slab_bytes, &ring->ring);
    if (r == 0 && index >= memory->ring_count)
        memory->ring_count = index + 1;
    return r;
}

void memory_ring_free(struct memory *memory, uint32_t index)
{
    struct memory_ring *ring = &memory->rings[index];
    CHECK(ring->count == 0 && ring->leaving == 0);
    slab_ring_destroy(&ring->ring);
    *ring = (struct memory_ring){.ring.fd = -1};
    while (memory->ring_count > 0 && !memory->rings[memory->ring_count - 1].ring.table)
        memory->ring_count--;
}

int memory_slab_add(struct memory *memory, uint32_t ring, const struct slab *slab)
{
    uint32_t index = 0;
    while (index < SLABS_MAX && memory->places[index].state != MEMORY_SLAB_NONE)
        index++;
    if (index == SLABS_MAX)
        return -ENOSPC;
    memory->slabs[index] = *slab;
    memory->stale_bytes[index] = 0;
    memory->places[index] = (struct memory_place){.ring = ring};
    if (index >= memory->slab_count)
        memory->slab_count = index + 1;
    memory->rings[ring].count++;
    memory->rings[ring].slab_bytes = slab->bytes;
    memory->slab_bytes_total += slab->bytes;
    note_pages(memory, slab, 1);
    change(memory, index, MEMORY_SLAB_SHARING);
    return (int)index;
}

/* For a later process, which finds the slab by its index. */
static void describe_entry(const struct memory *memory, uint32_t slab)
{
    const struct memory_place *place = &memory->places[slab];
    struct slab_ring_entry *at = &memory->rings[place->ring].ring.table->entries[place->entry];
    atomic_store_explicit(&at->slab, slab, memory_order_relaxed);
    atomic_store_explicit(&at->stale_bytes, memory->stale_bytes[slab], memory_order_relaxed);
}

void memory_slab_enter(struct memory *memory, uint32_t slab)
{
    struct memory_place *place = &memory->places[slab];
    struct memory_ring *ring = &memory->rings[place->ring];
    CHECK(place->state == MEMORY_SLAB_SHARING);
    int entry = slab_ring_add(&ring->ring);
    CHECK(entry >= 0);
    place->entry = (uint32_t)entry;
    ring->entries[entry] = slab;
    change(memory, slab, MEMORY_SLAB_RINGED);
    describe_entry(memory, slab);
}

int memory_slab_retire(struct memory *memory, uint32_t slab)
{
    struct memory_place *place = &memory->places[slab];
    struct memory_ring *ring = &memory->rings[place->ring];
    CHECK(place->state == MEMORY_SLAB_SHARING || place->state == MEMORY_SLAB_RINGED);
    if (place->state == MEMORY_SLAB_RINGED) {
        int r = slab_ring_remove(&ring->ring, place->entry);
        if (r < 0)
            return r;
        adoption_forget_slab(slab);
    }
    CHECK(ring->count > 0);
    ring->count--;
    ring->leaving++;
    change(memory, slab, MEMORY_SLAB_LEAVING);
    return 0;
}

void memory_slab_free(struct memory *memory, uint32_t index)
{
    struct memory_place *place = &memory->places[index];
    struct slab *slab = &memory->slabs[index];
    CHECK(place->state == MEMORY_SLAB_LEAVING && memory->rings[place->ring].leaving > 0);
    memory->rings[place->ring].leaving--;
    memory->slab_bytes_total -= slab->bytes;
    note_pages(memory, slab, -1);
    slab_destroy(slab);
    change(memory, index, MEMORY_SLAB_NONE);
    while (memory->slab_count > 0 &&
           memory->places[memory->slab_count - 1].state == MEMORY_SLAB_NONE)
        memory->slab_count--;
}

/* What nobody waits for first: slabs that are not issued yet, then the youngest. */
bool memory_ring_trim(struct memory *memory, uint32_t index)
{
    const struct memory_ring *ring = &memory->rings[index];
    for (int pass = 0; pass < 2; pass++) {
        enum memory_slab_state state = pass == 0 ? MEMORY_SLAB_SHARING : MEMORY_SLAB_RINGED;
        for (uint32_t slab = memory->slab_count; slab-- > 0 && ring->count > ring->target;) {
            if (memory->places[slab].state == state && memory->places[slab].ring == index)
                memory_slab_retire(memory, slab);
        }
    }
    return ring->count > ring->target;
}

uint32_t memory_slabs_there(const struct memory *memory)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < memory->slab_count; i++)
        count += memory->places[i].state != MEMORY_SLAB_NONE;
    return count;
}

uint32_t memory_slabs_ringed(const struct memory *memory, uint32_t ring)
{
    return atomic_load_explicit(&memory->rings[ring].ring.table->slab_count, memory_order_relaxed);
}

static int make_slab(const struct memory *memory, const struct config_ring *plan, uint32_t i,
                     struct slab *ret, struct slab_fault *ret_fault)
{
    char name[96];
    snprintf(name, sizeof name, "cuzkd-slab-%s-%u", plan->name, i);
    notify_extend_timeout(MEMORY_SLAB_S_MAX * UINT64_C(1000000000));
    return slab_create(name, plan->slab_bytes, memory->pages, memory->hugepage_bytes, ret,
                       ret_fault);
}

static int ring_init(struct memory *memory, const struct config_ring *plan,
                     struct adoption *adoption, struct slab_fault *ret_fault)
{
    uint32_t index;
    int r = memory_ring_add(memory, plan->name, plan->slab_bytes, &index);
    if (r < 0) {
        snprintf(ret_fault->text, sizeof ret_fault->text, "cannot make the table of ring %s",
                 plan->name);
        return r;
    }
    struct memory_ring *ring = &memory->rings[index];
    ring->wanted = ring->target = plan->slab_count;
    for (uint32_t i = 0; i < plan->slab_count; i++) {
        struct slab slab;
        uint64_t stale_bytes = 0;
        if (!adoption_pass_on(adoption, index, memory->slab_count, &slab, &stale_bytes))
            r = make_slab(memory, plan, i, &slab, ret_fault);
        if (r < 0)
            return r;
        r = memory_slab_add(memory, index, &slab);
        if (r < 0) {
            slab_destroy(&slab);
            snprintf(ret_fault->text, sizeof ret_fault->text,
                     "the rings have more than %d slabs together", SLABS_MAX);
            return -E2BIG;
        }
        memory->stale_bytes[r] = stale_bytes;
        memory_slab_enter(memory, (uint32_t)r); /* there is no worker yet */
        r = 0;
    }
    return 0;
}

int memory_check_room(const struct config *config, uint64_t bytes, struct slab_fault *ret_fault)
{
    int r = slab_check_room(bytes, (enum slab_pages)config->huge_pages, config->huge_page_bytes,
                            ret_fault);
    size_t used = strlen(ret_fault->text);
    if (r < 0 && config->huge_pages == CONFIG_HUGE_PAGES_REQUIRE)
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
        .page_bytes = config->huge_page_bytes,
    };
    for (uint32_t i = 0; i < SLABS_MAX; i++)
        memory->slabs[i].fd = -1;
    for (uint32_t i = 0; i < config->ring_count; i++) {
        sum += config->rings[i].slab_bytes * config->rings[i].slab_count;
        log_info("memory plan: ring %s has %u slabs of %s", config->rings[i].name,
                 config->rings[i].slab_count, units_print_size(config->rings[i].slab_bytes, size));
    }
    log_info("memory plan: %s of slabs in all (HugePages=%s); keys come on top as they are loaded",
             units_print_size(sum, total), config_huge_pages_to_string(config->huge_pages));
    memory_plan_log(config);
    uint64_t adopted = adoption_bytes(adoption);
    int r = memory_check_room(config, sum > adopted ? sum - adopted : 0, ret_fault);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < config->ring_count; i++) {
        r = ring_init(memory, &config->rings[i], adoption, ret_fault);
        if (r < 0) {
            memory_destroy(memory);
            return r;
        }
    }
    return 0;
}

void memory_destroy(struct memory *memory)
{
    for (uint32_t i = 0; i < memory->slab_count; i++) {
        if (memory->places[i].state != MEMORY_SLAB_NONE)
            slab_destroy(&memory->slabs[i]);
    }
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
        if (ring->ring.table && !ring->is_removed && ring->slab_bytes >= bytes &&
            (best == RINGS_MAX || ring->slab_bytes < memory->rings[best].slab_bytes))
            best = i;
    }
    return best;
}

uint64_t memory_slab_bytes_max(const struct memory *memory)
{
    uint64_t max = 0;
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        const struct memory_ring *ring = &memory->rings[i];
        if (ring->ring.table && !ring->is_removed && ring->slab_bytes > max)
            max = ring->slab_bytes;
    }
    return max;
}

uint32_t memory_slabs_free(const struct memory *memory, uint32_t ring)
{
    const struct slab_ring_table *table = memory->rings[ring].ring.table;
    if (!table)
        return 0;
    uint32_t held = atomic_load_explicit(&table->occupancy, memory_order_relaxed);
    uint32_t count = memory_slabs_ringed(memory, ring);
    CHECK(held <= count);
    return count - held;
}

int memory_bind(struct memory *memory, uint32_t ring, const struct slot *slot, uint64_t generation)
{
    uint64_t ticket;
    int entry =
        slab_ring_issue(&memory->rings[ring].ring, slot->job, slot->partition, generation, &ticket);
    return entry < 0 ? entry : (int)memory->rings[ring].entries[entry];
}

/* The place of a slab that is issued. */
static const struct memory_place *ringed(const struct memory *memory, uint32_t slab)
{
    CHECK(slab < memory->slab_count && memory->places[slab].state == MEMORY_SLAB_RINGED);
    return &memory->places[slab];
}

void memory_rebind(struct memory *memory, uint32_t slab, uint64_t generation)
{
    const struct memory_place *place = ringed(memory, slab);
    slab_ring_rebind(&memory->rings[place->ring].ring, place->entry, generation);
}

void memory_hold(struct memory *memory, uint32_t slab, const struct slot *slot)
{
    const struct memory_place *place = ringed(memory, slab);
    slab_ring_hold(&memory->rings[place->ring].ring, place->entry, slot->job, slot->partition,
                   slot->generation);
}

void memory_mark_ready(struct memory *memory, uint32_t slab,
                       const struct slab_ring_content *content)
{
    const struct memory_place *place = ringed(memory, slab);
    slab_ring_mark_ready(&memory->rings[place->ring].ring, place->entry, content);
}

void memory_release(struct memory *memory, uint32_t slab)
{
    const struct memory_place *place = ringed(memory, slab);
    struct memory_ring *ring = &memory->rings[place->ring];
    slab_ring_release(&ring->ring, place->entry);
    if (ring->count > ring->target)
        CHECK(memory_slab_retire(memory, slab) == 0);
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
    const struct memory_place *place = ringed(memory, slab);
    memory->stale_bytes[slab] = bytes;
    atomic_store_explicit(&memory->rings[place->ring].ring.table->entries[place->entry].stale_bytes,
                          bytes, memory_order_relaxed);
}

int memory_key_create(struct memory *memory, const char *name, size_t bytes, enum slab_pages pages,
                      struct slab *ret, struct slab_fault *ret_fault)
{
    int r = slab_create_key(name, bytes, pages, memory->hugepage_bytes, ret, ret_fault);
    if (r < 0)
        return r;
    memory->key_bytes_total += ret->bytes;
    note_pages(memory, ret, 1);
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
    note_pages(memory, key, -1);
    slab_destroy(key);
    *key = (struct slab){.fd = -1};
}
