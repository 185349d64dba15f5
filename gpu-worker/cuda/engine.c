/* The driver thread: decides what the device does next. Upstream: what the owner noted (cuda.c);
 * downstream: flight.c, pass.c and key.c, which enqueue it. A turn takes what has happened, then
 * starts what can be started. Nothing in it waits for the device but, for a moment, its clock
 * (timeline.c).
 *
 * Ahead of the partitions whose kernels are enqueued one more is uploaded; a second one only if its
 * order key is lower. The next kernels are enqueued when those before are in their last phase:
 * early enough to leave no gap, and an urgent partition waits for one partition and a phase. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gpu-worker/cuda/cuda.h"
#include "gpu-worker/cuda/errors.h"
#include "runtime/clock.h"

enum {
    ENGINE_LAUNCHES_MAX = 2,
    /* Turns in a row with an event that answers with an odd error, before the device counts as
     * lost. */
    ENGINE_ODD_TURNS_MAX = 20,
    /* Longer than any key takes to fill its tables. */
    ENGINE_STOP_S_MAX = 60,
};

static bool engine_turn(struct backend *backend);
static bool engine_is_busy(struct backend *backend);
static void note_move(struct backend *backend);

void engine_ring(void *context)
{
    struct backend *backend = context;
    pthread_mutex_lock(&backend->mutex);
    backend->is_rung = true;
    pthread_cond_signal(&backend->wake);
    pthread_mutex_unlock(&backend->mutex);
}

/* Mutex held; a while at most. */
static void engine_sleep(struct backend *backend)
{
    struct timespec until;
    if (!engine_is_busy(backend)) {
        pthread_cond_wait(&backend->wake, &backend->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ENGINE_WAKE_MS * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&backend->wake, &backend->mutex, &until);
}

void *engine_run(void *context)
{
    struct backend *backend = context;
    pthread_setname_np(pthread_self(), "cuda-driver");
    pthread_mutex_lock(&backend->mutex);
    /* When it stops, what is enqueued still ends: the memory under it goes away next. */
    uint64_t stop_ns = 0;
    while (!backend->is_stopping || (engine_is_busy(backend) && !backend->is_lost)) {
        if (backend->is_stopping && stop_ns == 0)
            stop_ns = clock_now_ns();
        if (stop_ns && clock_now_ns() - stop_ns > ENGINE_STOP_S_MAX * (uint64_t)1000000000) {
            /* It hangs: nothing may be taken from under it, nor does the registrar wait for it. */
            backend->is_lost = true;
            registrar_abandon(backend->registrar, DRIVER_ERROR_NOT_READY);
        }
        backend->is_rung = false;
        bool did = false;
        if (!backend->is_lost) {
            pthread_mutex_unlock(&backend->mutex);
            did = engine_turn(backend);
            if (did)
                note_move(backend);
            pthread_mutex_lock(&backend->mutex);
        }
        if (!did && !backend->is_rung)
            engine_sleep(backend);
    }
    pthread_mutex_unlock(&backend->mutex);
    return NULL;
}

/* Whether the device is at work for us. Mutex held. */
static bool engine_is_busy(struct backend *backend)
{
    bool is_busy = false;
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        const enum flight_state state = backend->flights[i].state;
        is_busy |= state == FLIGHT_UPLOADING || state == FLIGHT_RUNNING ||
                   (state == FLIGHT_UPLOADED && !backend->is_stopping);
    }
    for (unsigned i = 0; i < backend->key_queue_count; i++) {
        const struct key *key = backend->key_queue[i];
        is_busy |= key->state == KEY_LOADING &&
                   (key->step == KEY_STEP_COPY || key->step == KEY_STEP_FILL ||
                    (key->step == KEY_STEP_UNDO && key->memory));
    }
    return is_busy;
}

/* Errors. */

void engine_lose(struct backend *backend, int error, const char *what)
{
    registrar_abandon(backend->registrar, error);
    pthread_mutex_lock(&backend->mutex);
    if (!backend->is_lost) {
        backend->is_lost = true;
        errors_explain(backend->lost_text, error, what, backend->device.info.name);
        outbox_ring(&backend->outbox);
        pthread_cond_broadcast(&backend->slab_changed);
        pthread_cond_signal(&backend->wake);
    }
    pthread_mutex_unlock(&backend->mutex);
}

enum backend_fault engine_fault(struct backend *backend, const struct work *work, char *ret_text)
{
    const enum backend_fault fault = errors_fault(work->error);
    errors_explain(ret_text, work->error, work->what, backend->device.info.name);
    if (fault == BACKEND_FAULT_STICKY)
        engine_lose(backend, work->error, work->what);
    return fault;
}

static bool engine_is_lost(struct backend *backend)
{
    pthread_mutex_lock(&backend->mutex);
    const bool is_lost = backend->is_lost;
    pthread_mutex_unlock(&backend->mutex);
    return is_lost;
}

bool engine_has_happened(struct backend *backend, void *event)
{
    if (engine_is_lost(backend))
        return false;
    const int error = driver_event_query(event);
    if (error == DRIVER_OK || error == DRIVER_ERROR_NOT_READY)
        return error == DRIVER_OK;
    /* Counted by turns: good answers of other events say nothing about this one. */
    backend->odd_turns += !backend->is_odd;
    backend->is_odd = true;
    if (errors_fault(error) == BACKEND_FAULT_STICKY || backend->odd_turns > ENGINE_ODD_TURNS_MAX)
        engine_lose(backend, error, "waiting for the device");
    return false;
}

/* Flights. */

static void flight_set_state(struct backend *backend, struct flight *flight,
                             enum flight_state state)
{
    pthread_mutex_lock(&backend->mutex);
    flight->state = state;
    pthread_mutex_unlock(&backend->mutex);
}

static enum flight_state flight_get_state(struct backend *backend, const struct flight *flight)
{
    pthread_mutex_lock(&backend->mutex);
    const enum flight_state state = flight->state;
    pthread_mutex_unlock(&backend->mutex);
    return state;
}

static bool flight_is_cancelled(struct backend *backend, const struct flight *flight)
{
    pthread_mutex_lock(&backend->mutex);
    const bool is_cancelled = flight->is_cancelled || backend->is_stopping;
    pthread_mutex_unlock(&backend->mutex);
    return is_cancelled;
}

static void flight_free_witness(struct backend *backend, struct flight *flight)
{
    if (flight->witness >= 0)
        backend->witness_holders[flight->witness] = NULL;
    flight->witness = -1;
}

/* The last event. */
static void flight_end(struct backend *backend, struct flight *flight, bool is_cancelled)
{
    struct backend_event event = {.kind = BACKEND_PROVED, .id = flight->partition.id};
    const struct curve *curve = flight->key->prepared->curve;
    flight_free_witness(backend, flight);
    if (flight->fault != BACKEND_FAULT_NONE) {
        event.kind = BACKEND_FAILED;
        event.fault = flight->fault;
        memcpy(event.text, flight->text, sizeof event.text);
    } else if (is_cancelled) {
        event.kind = BACKEND_FAILED;
        event.fault = BACKEND_FAULT_CANCELLED;
        snprintf(event.text, sizeof event.text, "cancelled %s",
                 flight->state == FLIGHT_RUNNING ? "while it was computed" : "before it began");
    } else if (flight_collect(backend, flight) < 0) {
        event.kind = BACKEND_FAILED;
        event.fault = BACKEND_FAULT_MEMORY;
        snprintf(event.text, sizeof event.text,
                 "adding the sums of a streamed key: host memory is short; give the service more");
    } else {
        event.sums = flight->sums;
        event.sums_bytes = sums_bytes(curve);
    }
    pthread_mutex_lock(&backend->mutex);
    flight->state = FLIGHT_ENDED;
    outbox_post(&backend->outbox, &event);
    pthread_mutex_unlock(&backend->mutex);
}

static bool reap_running(struct backend *backend, struct flight *flight)
{
    bool did = false;
    if (!flight->is_upload_told && flight->fault == BACKEND_FAULT_NONE &&
        flight_is_uploaded(backend, flight)) {
        flight_tell_upload(backend, flight);
        did = true;
    }
    if (flight->witness >= 0 && flight_has_consumed(backend, flight)) {
        flight_free_witness(backend, flight);
        did = true;
    }
    if (!flight_has_ended(backend, flight))
        return did;
    const bool is_cancelled = flight_is_cancelled(backend, flight);
    if (flight->fault == BACKEND_FAULT_NONE && !is_cancelled)
        flight_tell_phases(backend, flight);
    if (!engine_is_lost(backend))
        flight_end(backend, flight, is_cancelled);
    return true;
}

static void note_move(struct backend *backend)
{
    atomic_fetch_add_explicit(&backend->moves, 1, memory_order_relaxed);
}

static bool reap(struct backend *backend, struct flight *flight)
{
    bool did = false;
    const enum flight_state state = flight_get_state(backend, flight);
    if ((state == FLIGHT_UPLOADING || state == FLIGHT_RUNNING) && flight_moves(backend, flight))
        note_move(backend);
    switch (state) {
    case FLIGHT_UPLOADING:
        if (!flight_has_witness(backend, flight))
            return false;
        flight_set_state(backend, flight, FLIGHT_UPLOADED);
        did = true;
        /* fall through */
    case FLIGHT_UPLOADED:
        if (flight->fault != BACKEND_FAULT_NONE || flight_is_cancelled(backend, flight)) {
            flight_end(backend, flight, true);
            return true;
        }
        if (!flight->is_upload_told && !flight->partition.has_evaluations)
            flight_tell_upload(backend, flight);
        return did;
    case FLIGHT_RUNNING:
        return reap_running(backend, flight);
    case FLIGHT_FREE:
    case FLIGHT_QUEUED:
    case FLIGHT_ENDED:
        break;
    }
    return false;
}

static bool is_before(const struct flight *a, const struct flight *b)
{
    if (a->partition.order_key != b->partition.order_key)
        return a->partition.order_key < b->partition.order_key;
    return a->partition.id < b->partition.id;
}

/* What the flights are about, as one look sees it. */
struct engine_view {
    struct flight *running;                       /* one of those whose kernels are enqueued */
    unsigned launch_count;                        /* how many launches (passes) they belong to */
    struct flight *ahead[BACKEND_PARTITIONS_MAX]; /* uploaded or on their way, in order */
    unsigned ahead_count;
    struct flight *queued; /* the first of those not begun */
    bool wants_quiet;      /* a key's load waits until nothing is on the device */
};

static void view_add_ahead(struct engine_view *view, struct flight *flight)
{
    unsigned i = view->ahead_count++;
    for (; i > 0 && is_before(flight, view->ahead[i - 1]); i--)
        view->ahead[i] = view->ahead[i - 1];
    view->ahead[i] = flight;
}

static void engine_look(struct backend *backend, struct engine_view *ret)
{
    *ret = (struct engine_view){0};
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct flight *flight = &backend->flights[i];
        const bool is_ahead = flight->state == FLIGHT_UPLOADING || flight->state == FLIGHT_UPLOADED;
        if (flight->state == FLIGHT_RUNNING) {
            ret->launch_count += !ret->running || ret->running->launch != flight->launch;
            ret->running = flight;
        }
        if (is_ahead && !flight->is_cancelled && flight->fault == BACKEND_FAULT_NONE)
            view_add_ahead(ret, flight);
        if (flight->state == FLIGHT_QUEUED && (!ret->queued || is_before(flight, ret->queued)))
            ret->queued = flight;
    }
    for (unsigned i = 0; i < backend->key_queue_count; i++)
        ret->wants_quiet |=
            backend->key_queue[i]->state == KEY_LOADING && key_wants_quiet(backend->key_queue[i]);
    if (backend->is_stopping) {
        ret->queued = NULL;
        ret->ahead_count = 0;
    }
    pthread_mutex_unlock(&backend->mutex);
}

/* The first one ahead; of a streamed key with those that can share its pass. */
static bool engine_launch(struct backend *backend, const struct engine_view *view)
{
    struct flight *flights[PLAN_PASS_MAX];
    unsigned count = 0;
    if (view->ahead_count == 0 || view->launch_count >= ENGINE_LAUNCHES_MAX ||
        (view->running && !flight_is_in_last_phase(backend, view->running)))
        return false;
    const struct key *key = view->ahead[0]->key;
    backend->launches++;
    for (unsigned i = 0; i < view->ahead_count && count < key->plan.pass_count; i++) {
        if (view->ahead[i]->key != key)
            continue;
        flights[count++] = view->ahead[i];
        view->ahead[i]->launch = backend->launches;
        flight_set_state(backend, view->ahead[i], FLIGHT_RUNNING);
    }
    if (plan_has_passes(&key->plan))
        pass_begin(backend, flights, count);
    else
        flight_launch(backend, flights[0]);
    return true;
}

/* Takes a queued flight, unless its owner ends it just now. */
static bool engine_begin(struct backend *backend, struct flight *flight)
{
    pthread_mutex_lock(&backend->mutex);
    const bool is_taken = flight->state == FLIGHT_QUEUED;
    if (is_taken)
        flight->state = FLIGHT_UPLOADING;
    pthread_mutex_unlock(&backend->mutex);
    return is_taken;
}

/* One ahead, or a whole pass over a streamed key; more only for what comes before them. */
static bool engine_may_upload(const struct engine_view *view)
{
    const struct flight *flight = view->queued;
    if (view->ahead_count == 0 || is_before(flight, view->ahead[0]))
        return true;
    return view->ahead[0]->key == flight->key && view->ahead_count < flight->key->plan.pass_count;
}

static bool engine_upload(struct backend *backend, const struct engine_view *view)
{
    struct work work = {0};
    struct flight *flight = view->queued;
    unsigned witness = 0;
    if (!flight || view->wants_quiet || !engine_may_upload(view))
        return false;
    while (witness < backend->workspace.witness_count && backend->witness_holders[witness])
        witness++;
    if (witness == backend->workspace.witness_count || !engine_begin(backend, flight))
        return false;
    work_on(&work, "reading the device's clock");
    work.error = timeline_refresh(&backend->timeline, !view->ahead_count && !view->running);
    backend->witness_holders[witness] = flight;
    flight->is_upload_told = false;
    flight->fault = BACKEND_FAULT_NONE;
    flight_upload(backend, flight, (int)witness, &work);
    return true;
}

/* Keys: the first load in the queue, and all drops. */

static bool engine_step_keys(struct backend *backend)
{
    bool did = false, has_load = false;
    for (unsigned i = 0;;) {
        bool is_over;
        pthread_mutex_lock(&backend->mutex);
        struct key *key = i < backend->key_queue_count ? backend->key_queue[i] : NULL;
        const bool is_load = key && key->state == KEY_LOADING;
        pthread_mutex_unlock(&backend->mutex);
        if (!key || engine_is_lost(backend))
            return did;
        if (is_load && has_load) {
            i++;
            continue;
        }
        has_load |= is_load;
        did |= is_load ? key_load(backend, key, &is_over) : key_drop(backend, key, &is_over);
        if (!is_over) {
            i++;
            continue;
        }
        pthread_mutex_lock(&backend->mutex);
        backend->key_queue_count--;
        memmove(&backend->key_queue[i], &backend->key_queue[i + 1],
                (backend->key_queue_count - i) * sizeof backend->key_queue[0]);
        pthread_mutex_unlock(&backend->mutex);
    }
}

static bool engine_turn(struct backend *backend)
{
    struct engine_view view;
    bool did = false;
    backend->is_odd = false;
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        did |= reap(backend, &backend->flights[i]);
    engine_look(backend, &view);
    did |= engine_launch(backend, &view);
    did |= pass_step(backend);
    engine_look(backend, &view);
    did |= engine_upload(backend, &view);
    did |= engine_step_keys(backend);
    if (!backend->is_odd)
        backend->odd_turns = 0;
    return did && !engine_is_lost(backend);
}
