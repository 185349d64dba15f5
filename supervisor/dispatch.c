/* The policy: see dispatch.h. Later stages are served first, since they free what earlier ones
 * wait for; within a stage only the order key counts. */
#include "supervisor/dispatch.h"

#include "supervisor/order.h"

static bool choose_stage(const struct dispatch_view *view, const struct dispatch_queue *queue,
                         enum worker_kind kind, enum dispatch_kind action,
                         struct dispatch_action *ret);
static bool choose_synthesize(const struct dispatch_view *view, struct dispatch_action *ret);

struct dispatch_action dispatch_next(const struct dispatch_view *view)
{
    struct dispatch_action action = {.kind = DISPATCH_NONE};
    if (choose_stage(view, &view->proved, WORKER_FINALIZER, DISPATCH_FINALIZE, &action) ||
        choose_stage(view, &view->ready, WORKER_GPU, DISPATCH_PROVE, &action) ||
        choose_synthesize(view, &action))
        return action;
    if (view->has_load && view->loads_running < DISPATCH_LOADS_MAX)
        return (struct dispatch_action){.kind = DISPATCH_LOAD, .circuit = view->load_circuit};
    return action;
}

uint32_t dispatch_held_max(enum worker_kind kind)
{
    static const uint32_t held_max[WORKER_KIND_COUNT] = {
        [WORKER_SYNTH] = DISPATCH_HELD_SYNTH,
        [WORKER_GPU] = DISPATCH_HELD_GPU,
        [WORKER_FINALIZER] = DISPATCH_HELD_FINALIZER,
    };
    return held_max[kind];
}

/* The least loaded worker of the kind that is free of suspects, except one; WORKERS_MAX if none. */
static uint32_t least_loaded(const struct dispatch_view *view, enum worker_kind kind,
                             uint32_t except)
{
    uint32_t best = WORKERS_MAX;
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const struct dispatch_worker *worker = &view->workers[i];
        if (worker->kind != kind || !worker->is_available || worker->has_suspect || i == except)
            continue;
        if (best == WORKERS_MAX || worker->held < view->workers[best].held)
            best = i;
    }
    return best;
}

/* Which head of the queue goes to which worker now. A suspect that is first in order waits for a
 * worker to run empty: the least loaded one gets nothing more until then, the others go on. */
static bool choose(const struct dispatch_view *view, const struct dispatch_queue *queue,
                   enum worker_kind kind, uint32_t *ret_slot, uint32_t *ret_worker)
{
    const struct dispatch_head *ordinary = &queue->ordinary, *suspect = &queue->suspect;
    uint32_t draining = WORKERS_MAX;

    if (suspect->is_present &&
        (!ordinary->is_present || suspect->order_key < ordinary->order_key)) {
        uint32_t worker = least_loaded(view, kind, WORKERS_MAX);
        if (worker == WORKERS_MAX)
            return false;
        if (view->workers[worker].held == 0) {
            *ret_slot = suspect->slot;
            *ret_worker = worker;
            return true;
        }
        draining = worker;
    }
    if (!ordinary->is_present)
        return false;
    uint32_t worker = least_loaded(view, kind, draining);
    if (worker == WORKERS_MAX)
        return false;
    uint32_t held_max = dispatch_held_max(kind) + order_is_critical(ordinary->order_key);
    if (view->workers[worker].held >= held_max)
        return false;
    *ret_slot = ordinary->slot;
    *ret_worker = worker;
    return true;
}

static bool choose_stage(const struct dispatch_view *view, const struct dispatch_queue *queue,
                         enum worker_kind kind, enum dispatch_kind action,
                         struct dispatch_action *ret)
{
    uint32_t slot, worker;
    if (!choose(view, queue, kind, &slot, &worker))
        return false;
    *ret = (struct dispatch_action){.kind = action, .slot = slot, .worker = worker};
    return true;
}

static void take_lower(struct dispatch_head *head, const struct dispatch_head *other)
{
    if (other->is_present && (!head->is_present || other->order_key < head->order_key))
        *head = *other;
}

/* Rings do not share slabs, so a ring that is full holds up nobody else's head. */
static bool choose_synthesize(const struct dispatch_view *view, struct dispatch_action *ret)
{
    struct dispatch_queue merged = {0};
    for (uint32_t i = 0; i < view->ring_count; i++) {
        const struct dispatch_ring *ring = &view->rings[i];
        if (ring->slabs_free == 0 && !ring->has_reclaimable)
            continue;
        take_lower(&merged.ordinary, &ring->queued.ordinary);
        take_lower(&merged.suspect, &ring->queued.suspect);
    }
    uint32_t slot, worker;
    if (!choose(view, &merged, WORKER_SYNTH, &slot, &worker))
        return false;

    *ret = (struct dispatch_action){.kind = DISPATCH_SYNTHESIZE, .slot = slot, .worker = worker};
    for (uint32_t i = 0; i < view->ring_count; i++) {
        const struct dispatch_ring *ring = &view->rings[i];
        bool is_its_ring =
            (ring->queued.ordinary.is_present && ring->queued.ordinary.slot == slot) ||
            (ring->queued.suspect.is_present && ring->queued.suspect.slot == slot);
        if (is_its_ring && ring->slabs_free == 0) {
            ret->needs_reclaim = true;
            ret->reclaim_slot = ring->reclaimable_slot;
        }
    }
    return true;
}
