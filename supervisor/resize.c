/* Rings of another size: see resize.h. */
#include "supervisor/resize.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "config/units.h"
#include "runtime/check.h"
#include "runtime/log.h"
#include "supervisor/adoption.h"
#include "supervisor/circuit_helpers.h"
#include "supervisor/deliveries.h"
#include "supervisor/slab_deliveries.h"
#include "supervisor/supervisor.h"

static void set_targets(struct supervisor *supervisor);
static void place_circuits(struct supervisor *supervisor);
static void move_slabs(struct supervisor *supervisor);
static void make_next(struct supervisor *supervisor);
static void settle(struct supervisor *supervisor);

void resize_tick(struct supervisor *supervisor)
{
    struct resize *resize = &supervisor->resize;
    if (!resize->is_open || supervisor->phase >= SUPERVISOR_STOPPING)
        return;
    place_circuits(supervisor);
    set_targets(supervisor);
    move_slabs(supervisor);
    make_next(supervisor);
    settle(supervisor);
    if (resize->revision_sent == supervisor->memory.revision)
        return;
    resize->revision_sent = supervisor->memory.revision;
    for (uint32_t i = 0; i < supervisor->workers.count; i++)
        deliveries_flush(&supervisor->workers.entries[i]);
}

uint64_t resize_deadline(const struct supervisor *supervisor)
{
    const struct resize *resize = &supervisor->resize;
    bool waits = resize->is_open && !resize->is_making && resize->retry_at_ns > 0;
    return waits ? resize->retry_at_ns : UINT64_MAX;
}

void resize_stop(struct supervisor *supervisor)
{
    struct resize *resize = &supervisor->resize;
    if (resize->watch.on_ready)
        loop_remove(supervisor->loop, &resize->watch);
    resize->watch = (struct loop_watch){0};
    if (resize->is_making)
        slab_make_abort(&resize->making);
    resize->is_making = resize->is_open = false;
}

const char *resize_waits_for(const struct supervisor *supervisor, uint32_t ring)
{
    const struct resize *resize = &supervisor->resize;
    bool waits = (resize->is_short || resize->is_refused) && resize->short_ring == ring;
    return waits ? resize->waits_for : NULL;
}

/* ---- the goal ---- */

/* The ring of memory that is this one of the configuration; RINGS_MAX: none is. */
static uint32_t find_ring(const struct memory *memory, const struct config_ring *plan)
{
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        const struct memory_ring *ring = &memory->rings[i];
        if (ring->ring.table && strcmp(ring->name, plan->name) == 0 &&
            ring->plan_bytes == plan->slab_bytes)
            return i;
    }
    return RINGS_MAX;
}

int resize_check(const struct supervisor *supervisor, const struct config *config, char *ret_why,
                 size_t room)
{
    const struct memory *memory = &supervisor->memory;
    uint32_t places = 0, needed = 0;
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        places += memory->rings[i].ring.table == NULL;
    for (uint32_t i = 0; i < config->ring_count; i++)
        needed += find_ring(memory, &config->rings[i]) == RINGS_MAX;
    if (needed <= places)
        return 0;
    snprintf(ret_why, room,
             "%u rings are new or of another slab size, and only %u of %d places are free: rings "
             "that were removed are still in use; try again when they are gone, or change fewer",
             needed, places, RINGS_MAX);
    return -EBUSY;
}

static void open_ring(struct supervisor *supervisor, uint32_t index)
{
    struct resize_ring *ring = &supervisor->resize.rings[index];
    if (!ring->is_open)
        *ring = (struct resize_ring){
            .is_open = true,
            .began_ns = supervisor->now_ns,
            .slabs_before = supervisor->memory.rings[index].count,
        };
}

/* What is not in the configuration any more comes first: its name may be a new ring's. */
static void remove_rings(struct supervisor *supervisor, const struct config *config)
{
    struct memory *memory = &supervisor->memory;
    bool is_wanted[RINGS_MAX + 1] = {false};
    for (uint32_t i = 0; i < config->ring_count; i++)
        is_wanted[find_ring(memory, &config->rings[i])] = true;
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        struct memory_ring *ring = &memory->rings[i];
        if (!ring->ring.table || is_wanted[i] || ring->is_removed)
            continue;
        ring->is_removed = true;
        adoption_forget_ring(ring->name);
        open_ring(supervisor, i);
    }
}

static int set_ring(struct supervisor *supervisor, const struct config_ring *plan)
{
    struct memory *memory = &supervisor->memory;
    uint32_t index = find_ring(memory, plan);
    bool is_new = index == RINGS_MAX;
    if (is_new) {
        int r = memory_ring_add(memory, plan->name, plan->slab_bytes, &index);
        if (r < 0)
            return r;
        CHECK(index < RINGS_MAX); /* resize_check */
    }
    struct memory_ring *ring = &memory->rings[index];
    if (is_new || ring->is_removed)
        adoption_store_ring(memory, index);
    if (is_new || ring->is_removed || ring->wanted != plan->slab_count)
        open_ring(supervisor, index);
    ring->is_removed = false;
    ring->wanted = ring->target = plan->slab_count;
    return 0;
}

int resize_begin(struct supervisor *supervisor, const struct config *config)
{
    struct resize *resize = &supervisor->resize;
    int r = 0;
    supervisor->memory.pages = (enum slab_pages)config->huge_pages;
    remove_rings(supervisor, config);
    for (uint32_t i = 0; i < config->ring_count && r == 0; i++)
        r = set_ring(supervisor, &config->rings[i]);
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        resize->is_open |= resize->rings[i].is_open;
    resize->supervisor = supervisor;
    resize->retry_at_ns = supervisor->now_ns;
    resize->is_short = resize->is_refused = resize->is_told = false;
    return r;
}

/* ---- circuits ---- */

/* Fits nothing that the configuration has. Its partitions in flight are finished in the ring they
 * are in; after that the circuit cannot be used. */
static void close_circuit(struct circuit *circuit)
{
    if (!circuit->is_too_large)
        log_warn("circuit %s fits no slab of the configuration any more: new jobs are refused%s",
                 circuit->name, circuit->slot_count ? ", those there are finished first" : "");
    circuit->is_too_large = true;
    bool is_at_rest = circuit->state == CIRCUIT_PREPARED || circuit->state == CIRCUIT_LOADED;
    if (circuit->slot_count == 0 && is_at_rest)
        circuit_settle_prepared(circuit);
}

static void place(struct supervisor *supervisor, struct circuit *circuit)
{
    const struct memory *memory = &supervisor->memory;
    uint32_t best = memory_ring_for(memory, circuit_slab_bytes(circuit));
    if (circuit->state == CIRCUIT_FAILED) {
        if (circuit->is_too_large && best < RINGS_MAX && circuit->memory.fd < 0) {
            circuit_settle_prepared(circuit);
            log_info("circuit %s fits a slab again", circuit->name);
        }
        return;
    }
    if (best == RINGS_MAX) {
        close_circuit(circuit);
        return;
    }
    circuit->is_too_large = false;
    /* Its jobs go on where there are slabs, until the new ring has its first. */
    if (best != circuit->ring &&
        !(circuit->slot_count > 0 && memory_slabs_ringed(memory, best) == 0 &&
          memory_slabs_ringed(memory, circuit->ring) > 0))
        slots_move(&supervisor->slots, circuit, best);
}

static void place_circuits(struct supervisor *supervisor)
{
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        struct circuit *circuit = supervisor->circuits.entries[key];
        if (circuit && circuit_has_facts(circuit) && circuit->state != CIRCUIT_PREPARING)
            place(supervisor, circuit);
    }
}

/* ---- slabs that go ---- */

/* Some partition still needs slabs of a ring that is removed; is_only: it fits no other. */
static bool is_needed(const struct supervisor *supervisor, uint32_t ring, bool *ret_is_only)
{
    bool is_needed = false;
    *ret_is_only = false;
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (!circuit || circuit->ring != ring || circuit->slot_count == 0)
            continue;
        is_needed = true;
        *ret_is_only |= circuit->is_too_large;
    }
    return is_needed;
}

static void set_targets(struct supervisor *supervisor)
{
    struct memory *memory = &supervisor->memory;
    bool is_giving_back = false;
    for (uint32_t i = 0; i < memory->ring_count; i++)
        is_giving_back |= memory->rings[i].leaving > 0;
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        struct memory_ring *ring = &memory->rings[i];
        bool is_only;
        if (!ring->ring.table || !ring->is_removed)
            continue;
        ring->target = is_needed(supervisor, i, &is_only) ? ring->count : 0;
        if (ring->target > is_only && supervisor->resize.is_short && !is_giving_back)
            ring->target--;
    }
}

/* Retires what is too many, gives back what nobody has any more, issues what everybody has. */
static void move_slabs(struct supervisor *supervisor)
{
    struct memory *memory = &supervisor->memory;
    struct resize *resize = &supervisor->resize;
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        if (memory->rings[i].ring.table)
            memory_ring_trim(memory, i);
    }
    for (uint32_t i = memory->slab_count; i-- > 0;) {
        const struct worker *refused;
        if (memory->places[i].state == MEMORY_SLAB_LEAVING &&
            slab_deliveries_is_gone(supervisor, i)) {
            memory_slab_free(memory, i);
            if (resize->is_short)
                resize->retry_at_ns = supervisor->now_ns;
            resize->is_short = false;
        } else if (memory->places[i].state == MEMORY_SLAB_SHARING) {
            if (slab_deliveries_is_held(supervisor, i, &refused)) {
                resize->is_refused = false;
                memory_slab_enter(memory, i);
                adoption_store_slab(memory, i);
            } else if (refused) {
                resize->is_refused = true;
                resize->short_ring = memory->places[i].ring;
                resize->retry_at_ns =
                    supervisor->now_ns + RESIZE_REFUSED_RETRY_MS * UINT64_C(1000000);
                snprintf(resize->waits_for, sizeof resize->waits_for, "%s refuses a slab: %s",
                         refused->name, refused->last_error);
                log_warn("ring %s cannot grow: %s; it is tried again every %d s",
                         memory->rings[resize->short_ring].name, resize->waits_for,
                         RESIZE_REFUSED_RETRY_MS / 1000);
                memory_slab_retire(memory, i);
            }
        }
    }
}

/* ---- slabs that come ---- */

static void wait_for_pages(struct resize *resize, uint32_t index, const char *why)
{
    struct supervisor *supervisor = resize->supervisor;
    const struct memory_ring *ring = &supervisor->memory.rings[index];
    bool is_told = resize->is_told && resize->short_ring == index;
    resize->is_short = resize->is_told = true;
    resize->is_refused = false;
    resize->short_ring = index;
    resize->retry_at_ns = supervisor->now_ns + RESIZE_RETRY_MS * UINT64_C(1000000);
    snprintf(resize->waits_for, sizeof resize->waits_for, "%s", why);
    if (!is_told)
        log_warn("ring %s has %u of %u slabs and waits for pages: %s", ring->name, ring->count,
                 ring->wanted, why);
}

static void on_made(struct loop_watch *watch, uint32_t events)
{
    struct resize *resize = (struct resize *)((char *)watch - offsetof(struct resize, watch));
    struct supervisor *supervisor = resize->supervisor;
    struct memory *memory = &supervisor->memory;
    struct slab_fault fault;
    struct slab slab;
    bool was_huge = resize->making.slab.is_hugepage;
    (void)events;
    supervisor_take_time(supervisor);
    loop_remove(supervisor->loop, watch);
    *watch = (struct loop_watch){0};
    resize->is_making = false;
    int r = slab_make_end(&resize->making, &slab, &fault);
    if (r == 0) {
        r = memory_slab_add(memory, resize->making_ring, &slab);
        if (r < 0)
            slab_destroy(&slab); /* no index is free until a retired slab is given back */
        else if (resize->short_ring == resize->making_ring)
            resize->is_short = resize->is_told = false;
        resize->makes_ordinary = false;
        resize->retry_at_ns = supervisor->now_ns;
        return;
    }
    resize->makes_ordinary = memory->pages == SLAB_PAGES_PREFER && was_huge;
    if (resize->makes_ordinary)
        resize->retry_at_ns = supervisor->now_ns;
    else
        wait_for_pages(resize, resize->making_ring, fault.text);
}

static bool has_index(const struct memory *memory)
{
    return memory_slabs_there(memory) < SLABS_MAX;
}

/* The ring that has the smallest part of its slabs comes first, so that a new one soon has one. */
static uint32_t ring_to_grow(const struct memory *memory)
{
    uint32_t best = RINGS_MAX;
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        const struct memory_ring *ring = &memory->rings[i];
        if (!ring->ring.table || ring->is_removed || ring->count >= ring->wanted)
            continue;
        if (best == RINGS_MAX || ring->count < memory->rings[best].count)
            best = i;
    }
    return best;
}

static void make_next(struct supervisor *supervisor)
{
    struct resize *resize = &supervisor->resize;
    struct memory *memory = &supervisor->memory;
    struct slab_fault fault;
    char name[96];
    uint32_t index = ring_to_grow(memory);
    if (index == RINGS_MAX)
        resize->is_short = resize->is_refused = false;
    if (index == RINGS_MAX || resize->is_making || supervisor->now_ns < resize->retry_at_ns ||
        !has_index(memory)) {
        if (index == RINGS_MAX || !has_index(memory))
            resize->retry_at_ns = 0;
        return;
    }
    const struct memory_ring *ring = &memory->rings[index];
    snprintf(name, sizeof name, "cuzkd-slab-%s", ring->name);
    int r = slab_make_begin(name, ring->slab_bytes,
                            resize->makes_ordinary ? SLAB_PAGES_OFF : memory->pages,
                            memory->hugepage_bytes, &resize->making, &fault);
    if (r == 0) {
        resize->making_ring = index;
        resize->is_making = true;
        resize->watch = (struct loop_watch){
            .fd = resize->making.child.pidfd, .events = POLLIN, .on_ready = on_made};
        r = loop_add(supervisor->loop, &resize->watch);
        if (r == 0)
            return;
        resize->watch.on_ready = NULL;
        resize->is_making = false;
        slab_make_abort(&resize->making);
        snprintf(fault.text, sizeof fault.text, "the kernel is short of memory");
    }
    wait_for_pages(resize, index, fault.text);
}

/* ---- the end ---- */

static void report(const struct supervisor *supervisor, uint32_t index)
{
    const struct resize_ring *open = &supervisor->resize.rings[index];
    const struct memory_ring *ring = &supervisor->memory.rings[index];
    char size[UNITS_TEXT_BYTES];
    log_info("SUP_TIMING ring_resize ring=%s slab_bytes=%llu slabs_before=%u slabs_after=%u "
             "outcome=ok total_ms=%.3f",
             ring->name, (unsigned long long)ring->slab_bytes, open->slabs_before, ring->count,
             (double)(supervisor->now_ns - open->began_ns) / 1e6);
    if (ring->is_removed)
        log_info("ring %s with slabs of %s is gone", ring->name,
                 units_print_size(ring->slab_bytes, size));
    else
        log_info("ring %s has %u slabs of %s, as configured", ring->name, ring->count,
                 units_print_size(ring->slab_bytes, size));
}

static bool is_used(const struct supervisor *supervisor, uint32_t ring)
{
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (circuit && circuit->ring == ring && circuit->slot_count > 0)
            return true;
    }
    return supervisor->resize.is_making && supervisor->resize.making_ring == ring;
}

/* A circuit that fits nothing is at rest once it has FAILED. */
static bool circuits_are_placed(const struct supervisor *supervisor)
{
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (!circuit || !circuit->is_too_large)
            continue;
        bool fits = memory_ring_for(&supervisor->memory, circuit_slab_bytes(circuit)) < RINGS_MAX;
        if (circuit->state != CIRCUIT_FAILED || fits)
            return false;
    }
    return true;
}

static void settle(struct supervisor *supervisor)
{
    struct memory *memory = &supervisor->memory;
    bool is_open = false;
    for (uint32_t i = 0; i < RINGS_MAX; i++) {
        struct memory_ring *ring = &memory->rings[i];
        struct resize_ring *open = &supervisor->resize.rings[i];
        if (!open->is_open)
            continue;
        bool is_done = ring->leaving == 0 && memory_slabs_ringed(memory, i) == ring->count &&
                       (ring->is_removed ? ring->count == 0 && !is_used(supervisor, i)
                                         : ring->count == ring->wanted);
        is_open |= !is_done;
        if (!is_done)
            continue;
        report(supervisor, i);
        open->is_open = false;
        if (ring->is_removed)
            memory_ring_free(memory, i);
    }
    supervisor->resize.is_open = is_open || !circuits_are_placed(supervisor);
}
