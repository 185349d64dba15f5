/* The policy of the whole service as one pure function: given what waits at each stage and what
 * each worker holds, the next thing to do. The supervisor calls it until it answers NONE, carrying
 * each action out in between (supervisor/grants.c); there is nothing to race for.
 *
 * Rules, at every stage alike: the lowest order key first; grants go to the least loaded worker
 * and run ahead of it by a look-ahead, which a CRITICAL grant may exceed by one; suspects run
 * alone. The first stage also needs a slab, taken from a slot at UPLOADED or later only when none
 * is free. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "shm/channel.h"

enum {
    /* The partition in computation, and those granted ahead so that the next hop is hidden. */
    DISPATCH_HELD_SYNTH = 2,
    DISPATCH_HELD_GPU = 3,
    DISPATCH_HELD_FINALIZER = 2,
    DISPATCH_LOADS_MAX = 1, /* keys loaded at once: they compete for one disk */
};

static_assert(DISPATCH_HELD_GPU + 1 <= GRANTS_HELD_MAX, "an urgent grant still fits");

/* The first of one queue. */
struct dispatch_head {
    bool is_present;
    uint32_t slot;
    uint64_t order_key;
};

/* What waits for one stage: ordinary slots, and those that must run alone. */
struct dispatch_queue {
    struct dispatch_head ordinary, suspect;
};

struct dispatch_ring {
    struct dispatch_queue queued; /* slots whose circuit is loaded and lies in this ring */
    uint32_t slabs_free;
    bool has_reclaimable;
    uint32_t reclaimable_slot; /* the oldest at UPLOADED or later with its slab still bound */
};

struct dispatch_worker {
    enum worker_kind kind;
    bool is_available; /* ready, has its slabs and keys, is not being stopped */
    bool has_suspect;  /* holds one: nothing else goes to it */
    uint32_t held;     /* grants not yet answered */
};

struct dispatch_view {
    struct dispatch_ring rings[RINGS_MAX];
    uint32_t ring_count;
    struct dispatch_queue ready, proved;
    struct dispatch_worker workers[WORKERS_MAX];
    uint32_t worker_count;
    bool has_load; /* some circuit is wanted and not loaded */
    uint32_t load_circuit;
    uint32_t loads_running;
};

enum dispatch_kind {
    DISPATCH_NONE,
    DISPATCH_SYNTHESIZE,
    DISPATCH_PROVE,
    DISPATCH_FINALIZE,
    DISPATCH_LOAD, /* a circuit's key into memory */
};

struct dispatch_action {
    enum dispatch_kind kind;
    uint32_t slot, worker;
    bool needs_reclaim; /* SYNTHESIZE: take the slab of reclaim_slot first */
    uint32_t reclaim_slot;
    uint32_t circuit; /* LOAD */
};

struct dispatch_action dispatch_next(const struct dispatch_view *view);
/* Grants a worker of this kind may hold without urgency. */
uint32_t dispatch_held_max(enum worker_kind kind);
