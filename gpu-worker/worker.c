/* The GPU worker's loop. Upstream: grants of the supervisor, slabs that synthesis has written;
 * downstream: the backend, then the supervisor, which passes the five sums to a finalizer. Every
 * held partition is handed to the backend at once: it picks the lowest order key itself. */
#include "gpu-worker/worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu-worker/keys.h"
#include "gpu-worker/slabs.h"
#include "groth16/verify/sums.h"
#include "runtime/clock.h"
#include "shm/timing.h"

static const enum phase gpu_phases[BACKEND_PHASE_COUNT] = {
    [BACKEND_PHASE_UPLOAD] = PHASE_UPLOAD, [BACKEND_PHASE_NTT] = PHASE_NTT,
    [BACKEND_PHASE_MSM_A] = PHASE_MSM_A,   [BACKEND_PHASE_MSM_B1] = PHASE_MSM_B1,
    [BACKEND_PHASE_MSM_B2] = PHASE_MSM_B2, [BACKEND_PHASE_MSM_L] = PHASE_MSM_L,
    [BACKEND_PHASE_MSM_H] = PHASE_MSM_H,
};

enum {
    GPU_PROGRESS_NS = 250000000, /* how often a long computation is looked at */
};

static_assert((int)SUMS_BYTES_MAX <= (int)MESSAGE_PAYLOAD_BYTES, "the five sums fit an answer");

static unsigned gpu_reap(struct gpu_worker *worker);
static int gpu_take(struct gpu_worker *worker);
static unsigned gpu_start(struct gpu_worker *worker);
static unsigned gpu_held_count(const struct gpu_worker *worker);
static uint64_t gpu_deadline_ns(const struct gpu_worker *worker);
static void gpu_show_progress(struct gpu_worker *worker);
static void gpu_on_events(struct loop_watch *watch, uint32_t events);

int gpu_worker_start(struct gpu_worker *worker, char *ret_text)
{
    worker->events = (struct loop_watch){
        .fd = worker->ops->event_fd(worker->backend), .events = POLLIN, .on_ready = gpu_on_events};
    const int error = loop_add(worker->frame.loop, &worker->events);
    if (error < 0) {
        snprintf(ret_text, GPU_TEXT_BYTES, "cannot watch the backend: %s", strerror(-error));
        return error;
    }
    return gpu_slabs_wait(worker, ret_text);
}

int gpu_worker_run(struct gpu_worker *worker)
{
    int error = 0;
    worker->is_ready = true;
    while (error >= 0 && !worker->is_lost) {
        worker_turn(&worker->frame);
        unsigned work = gpu_reap(worker);
        error = gpu_take(worker);
        if (error < 0)
            break;
        work += (unsigned)error;
        work += gpu_start(worker);
        gpu_show_progress(worker);
        worker_publish(&worker->frame);
        if (worker->frame.is_stopping && gpu_held_count(worker) == 0)
            return WORKER_EXIT_STOPPED;
        if (work == 0)
            error = worker_wait(&worker->frame, gpu_deadline_ns(worker));
    }
    if (worker->is_lost)
        return WORKER_EXIT_DEVICE;
    log_error("the channel to the supervisor broke: %s; this worker ends", strerror(-error));
    return WORKER_EXIT_PROTOCOL;
}

static void gpu_on_events(struct loop_watch *watch, uint32_t events)
{
    uint64_t count;
    (void)events;
    (void)!read(watch->fd, &count, sizeof count); /* a bell: gpu_reap polls for the truth */
}

static unsigned gpu_held_count(const struct gpu_worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        count += worker->held[i].is_held;
    for (unsigned i = 0; i < BACKEND_KEY_CALLS_MAX; i++)
        count += worker->key_calls[i].is_open;
    for (unsigned i = 0; i < SLAB_CALLS_HELD_MAX; i++)
        count += worker->slab_calls[i].is_open;
    return count;
}

static uint64_t gpu_deadline_ns(const struct gpu_worker *worker)
{
    uint64_t interval_ns = worker->device.poll_interval_ns;
    if (gpu_held_count(worker) == 0)
        return UINT64_MAX;
    if (worker->ops->progress && (interval_ns == 0 || interval_ns > GPU_PROGRESS_NS))
        interval_ns = GPU_PROGRESS_NS;
    return interval_ns ? worker->frame.turn_ns + interval_ns : UINT64_MAX;
}

/* What the backend has done without an event of its own. */
static void gpu_show_progress(struct gpu_worker *worker)
{
    struct channel_progress *progress = &worker->frame.port.channel.layout->progress;
    if (worker->ops->progress)
        atomic_store_explicit(&progress->compute_steps, worker->ops->progress(worker->backend),
                              memory_order_relaxed);
}

/* Answers: to the supervisor, once for each grant. */

static void gpu_answer(struct gpu_worker *worker, struct gpu_held *held)
{
    bool is_computing = false;
    worker_trim(&worker->frame, gpu_held_count(worker) == 1, &held->grant, &held->answer);
    worker_answer(&worker->frame, &held->grant, &held->answer, held->taken_ns);
    held->is_held = false;
    held->is_started = false;
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        is_computing |= worker->held[i].is_started;
    if (!is_computing)
        worker_stage(&worker->frame, PHASE_COUNT, 0);
}

enum blame gpu_worker_blame(enum backend_fault fault)
{
    switch (fault) {
    case BACKEND_FAULT_NONE:
        return BLAME_NONE;
    case BACKEND_FAULT_CANCELLED:
        return BLAME_CANCELLED;
    case BACKEND_FAULT_INPUT:
        return BLAME_INPUT;
    case BACKEND_FAULT_MEMORY:
    case BACKEND_FAULT_DEVICE:
    case BACKEND_FAULT_STICKY:
        break;
    }
    return BLAME_DEVICE;
}

static void gpu_answer_failed(struct gpu_worker *worker, struct gpu_held *held,
                              enum backend_fault fault, const char *text)
{
    port_answer_fail(&held->answer, gpu_worker_blame(fault),
                     fault == BACKEND_FAULT_CANCELLED ? -ECANCELED : -EIO, text);
    gpu_answer(worker, held);
}

static void gpu_answer_proved(struct gpu_worker *worker, struct gpu_held *held,
                              const struct backend_event *event)
{
    if (event->sums_bytes > sizeof held->answer.payload) {
        gpu_answer_failed(worker, held, BACKEND_FAULT_DEVICE, "an answer of impossible size");
        return;
    }
    memcpy(held->answer.payload, event->sums, event->sums_bytes);
    held->answer.payload_bytes = (uint16_t)event->sums_bytes;
    gpu_answer(worker, held);
}

/* Reap: the backend's events. */

static struct gpu_held *gpu_find_held(struct gpu_worker *worker, uint64_t generation)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        if (worker->held[i].is_held && worker->held[i].grant.generation == generation)
            return &worker->held[i];
    return NULL;
}

static void gpu_on_partition(struct gpu_worker *worker, const struct backend_event *event)
{
    struct gpu_held *held = gpu_find_held(worker, event->id);
    struct message uploaded;
    if (!held)
        return;
    switch (event->kind) {
    case BACKEND_PHASE_BEGAN:
        worker_stage(&worker->frame, gpu_phases[event->phase], held->grant.slot);
        break;
    case BACKEND_PHASE_ENDED:
        worker_phase(&worker->frame, gpu_phases[event->phase], event->begin_ns, event->end_ns,
                     event->bytes, &held->grant, &held->answer);
        break;
    case BACKEND_UPLOADED:
        uploaded = held->answer;
        uploaded.operation = OPERATION_UPLOADED;
        port_complete(&worker->frame.port, &uploaded);
        break;
    case BACKEND_PROVED:
        gpu_answer_proved(worker, held, event);
        break;
    case BACKEND_FAILED:
        gpu_answer_failed(worker, held, event->fault, event->text);
        break;
    default:
        break;
    }
}

static void gpu_on_event(struct gpu_worker *worker, const struct backend_event *event)
{
    char text[GPU_TEXT_BYTES];
    switch (event->kind) {
    case BACKEND_KEY_LOADED:
    case BACKEND_KEY_REFUSED:
    case BACKEND_KEY_DROPPED:
        gpu_keys_on_event(worker, event);
        break;
    case BACKEND_SLAB_ATTACHED:
    case BACKEND_SLAB_REFUSED:
        gpu_slabs_on_event(worker, event);
        break;
    case BACKEND_LOST:
        log_error("the device is lost: %s; this worker ends and is replaced", event->text);
        snprintf(text, sizeof text, "sticky device error: %s", event->text);
        worker_last_words(&worker->frame, text);
        worker->is_lost = true;
        break;
    default:
        gpu_on_partition(worker, event);
        break;
    }
}

static unsigned gpu_reap(struct gpu_worker *worker)
{
    /* A turn is bounded by what the backend can have posted for everything it may hold. */
    enum { GPU_EVENTS_A_TURN = 256 };
    struct backend_event event;
    unsigned count = 0;
    while (count < GPU_EVENTS_A_TURN && !worker->is_lost &&
           worker->ops->poll(worker->backend, &event)) {
        gpu_on_event(worker, &event);
        count++;
    }
    return count;
}

/* Grants. */

static int gpu_on_prove(struct gpu_worker *worker, const struct message *grant,
                        const struct message *answer)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct gpu_held *held = &worker->held[i];
        if (held->is_held)
            continue;
        held->is_held = true;
        held->is_started = false;
        held->grant = *grant;
        held->answer = *answer;
        held->taken_ns = worker->frame.turn_ns;
        return 0;
    }
    return -EPROTO; /* more grants than the contract allows */
}

static void gpu_on_cancel(struct gpu_worker *worker, const struct message *grant)
{
    struct gpu_held *held = gpu_find_held(worker, grant->generation);
    if (!held || held->grant.slot != grant->slot)
        return; /* answered already */
    if (held->is_started)
        worker->ops->cancel(worker->backend, grant->generation);
    else
        gpu_answer_failed(worker, held, BACKEND_FAULT_CANCELLED, "cancelled before it began");
}

static int gpu_take(struct gpu_worker *worker)
{
    struct message grant, answer;
    int count = 0, error;
    while ((error = worker_take_grant(&worker->frame, &grant, &answer)) > 0) {
        switch (grant.operation) {
        case OPERATION_PROVE:
            error = gpu_on_prove(worker, &grant, &answer);
            break;
        case OPERATION_CANCEL:
            gpu_on_cancel(worker, &grant);
            break;
        case OPERATION_LOAD_KEY:
        case OPERATION_DROP_KEY:
            error = gpu_keys_on_grant(worker, &grant, &answer);
            break;
        case OPERATION_ADD_SLAB:
            error = gpu_slabs_on_add(worker, &grant, &answer);
            break;
        case OPERATION_DROP_SLAB:
            error = gpu_slabs_on_drop(worker, &grant, &answer);
            break;
        default:
            error = -EPROTO;
        }
        if (error < 0)
            return error;
        count++;
    }
    return error < 0 ? error : count;
}

/* Work: everything held goes to the backend as soon as its key and slab are there. */

static bool gpu_start_one(struct gpu_worker *worker, struct gpu_held *held)
{
    const uint64_t key = held->grant.numbers[GRANT_KEY], slab = held->grant.numbers[GRANT_SLAB];
    char text[BACKEND_TEXT_BYTES];
    if (key >= CIRCUITS_MAX || !worker->keys[key].is_attached) {
        snprintf(text, sizeof text, "key %u is not loaded in this worker", (unsigned)key);
        gpu_answer_failed(worker, held, BACKEND_FAULT_DEVICE, text);
        return true;
    }
    if (slab >= SLABS_MAX || !worker->frame.port.slabs[slab].memory) {
        snprintf(text, sizeof text, "slab %u did not arrive in this worker", (unsigned)slab);
        gpu_answer_failed(worker, held, BACKEND_FAULT_DEVICE, text);
        return true;
    }
    if (worker->slabs[slab].is_refused) {
        snprintf(text, sizeof text, "the device cannot read slab %u; this worker's log says why",
                 (unsigned)slab);
        gpu_answer_failed(worker, held, BACKEND_FAULT_MEMORY, text);
        return true;
    }
    if (!worker->keys[key].is_loaded || !worker->slabs[slab].is_attached)
        return false; /* an event will tell */
    const struct backend_partition partition = {
        .id = held->grant.generation,
        .order_key = held->grant.order_key,
        .key = (uint32_t)key,
        .slab_index = (uint32_t)slab,
        .slab = worker->frame.port.slabs[slab].memory,
        .slab_bytes = worker->frame.port.slabs[slab].bytes,
        .has_evaluations = held->grant.flags & MESSAGE_HAS_EVALUATIONS,
    };
    const int error = worker->ops->start(worker->backend, &partition);
    if (error == -EAGAIN)
        return false; /* full: the next PROVED makes room */
    if (error < 0) {
        snprintf(text, sizeof text, "the %s backend refused the partition: %s", worker->ops->name,
                 strerror(-error));
        gpu_answer_failed(worker, held, BACKEND_FAULT_DEVICE, text);
        return true;
    }
    held->is_started = true;
    return true;
}

static unsigned gpu_start(struct gpu_worker *worker)
{
    unsigned count = gpu_slabs_attach(worker);
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        if (worker->held[i].is_held && !worker->held[i].is_started)
            count += gpu_start_one(worker, &worker->held[i]);
    return count;
}
