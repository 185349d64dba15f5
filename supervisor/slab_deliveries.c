/* Slabs on their way to workers and back: see slab_deliveries.h. */
#include "supervisor/slab_deliveries.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/log.h"
#include "shm/courier.h"
#include "supervisor/deliveries.h"
#include "supervisor/supervisor.h"

static bool takes_part(const struct worker *worker)
{
    return worker->kind != WORKER_FINALIZER;
}

/* Workers are to have it. */
static bool is_there(const struct memory *memory, uint32_t slab)
{
    return memory->places[slab].state == MEMORY_SLAB_SHARING ||
           memory->places[slab].state == MEMORY_SLAB_RINGED;
}

uint32_t slab_deliveries_begin(struct worker *worker)
{
    const struct memory *memory = &worker->supervisor->memory;
    uint32_t count = 0;
    slab_deliveries_forget(worker);
    for (uint32_t i = 0; takes_part(worker) && i < memory->slab_count; i++) {
        if (!is_there(memory, i))
            continue;
        worker->slabs[i] = WORKER_SLAB_WANTED;
        count++;
    }
    return count;
}

void slab_deliveries_forget(struct worker *worker)
{
    memset(worker->slabs, WORKER_SLAB_ABSENT, sizeof worker->slabs);
    memset(worker->slab_generations, 0, sizeof worker->slab_generations);
    worker->slab_calls = 0;
    worker->slabs_revision = UINT64_MAX;
}

static int push_call(struct worker *worker, const struct message *grant)
{
    int r = workers_push(worker, grant);
    if (r == 0)
        worker->slab_calls++;
    else
        deliveries_delay(worker);
    return r;
}

/* is_call: the worker answers; else what comes next in its ring counts on the slab being there. */
static int add(struct worker *worker, uint32_t slab, bool is_call)
{
    struct supervisor *supervisor = worker->supervisor;
    const uint64_t bytes = supervisor->memory.slabs[slab].bytes;
    const uint64_t generation = slots_next_generation(&supervisor->slots);
    const struct courier_tag tag = {
        .kind = COURIER_SLAB, .index = slab, .generation = generation, .bytes = bytes};
    if (is_call && worker->slab_calls >= SLAB_CALLS_HELD_MAX)
        return -EBUSY;
    int r = deliveries_send(worker, &tag, supervisor->memory.slabs[slab].fd);
    if (r < 0)
        return r;
    worker->slabs[slab] = WORKER_SLAB_HELD;
    if (!is_call)
        return 0;
    const struct message grant = {
        .operation = OPERATION_ADD_SLAB,
        .generation = generation,
        .numbers = {[SLAB_CALL_INDEX] = slab, [SLAB_CALL_BYTES] = bytes},
    };
    r = push_call(worker, &grant);
    if (r < 0)
        return r; /* the ring has room for all its calls: only a corrupt one, whose worker ends */
    worker->slab_generations[slab] = generation;
    worker->slabs[slab] = WORKER_SLAB_ASKED;
    return 0;
}

static int drop(struct worker *worker, uint32_t slab)
{
    const struct message grant = {
        .operation = OPERATION_DROP_SLAB,
        .generation = slots_next_generation(&worker->supervisor->slots),
        .numbers = {[SLAB_CALL_INDEX] = slab},
    };
    if (worker->slab_calls >= SLAB_CALLS_HELD_MAX)
        return -EBUSY;
    int r = push_call(worker, &grant);
    if (r < 0)
        return r;
    worker->slab_generations[slab] = grant.generation;
    worker->slabs[slab] = WORKER_SLAB_GOING;
    return 0;
}

/* One step for one slab. */
static int reconcile(struct worker *worker, uint32_t slab)
{
    const bool is_wanted = is_there(&worker->supervisor->memory, slab);
    switch ((enum worker_slab_state)worker->slabs[slab]) {
    case WORKER_SLAB_WANTED: /* sent all the same: a GPU worker counts them */
        return add(worker, slab, false);
    case WORKER_SLAB_ABSENT:
        return is_wanted && worker->state == WORKER_RUNNING ? add(worker, slab, true) : 0;
    case WORKER_SLAB_HELD:
    case WORKER_SLAB_REFUSED:
        return is_wanted || worker->state != WORKER_RUNNING ? 0 : drop(worker, slab);
    case WORKER_SLAB_ASKED:
    case WORKER_SLAB_GOING:
        break; /* its answer brings us back */
    }
    return 0;
}

int slab_deliveries_flush(struct worker *worker)
{
    const struct memory *memory = &worker->supervisor->memory;
    if (!takes_part(worker) || worker->slabs_revision == memory->revision)
        return 0;
    for (uint32_t i = 0; i < memory->slab_count; i++) {
        int r = reconcile(worker, i);
        if (r < 0)
            return r;
    }
    if (worker->state == WORKER_RUNNING)
        worker->slabs_revision = memory->revision;
    return 0;
}

bool slab_deliveries_are_done(const struct worker *worker)
{
    return !takes_part(worker) || (worker->slabs_revision == worker->supervisor->memory.revision &&
                                   worker->slab_calls == 0);
}

const char *slab_deliveries_answered(struct worker *worker, const struct message *message,
                                     const char *text)
{
    const uint64_t slab = message->numbers[SLAB_CALL_INDEX];
    const bool is_add = message->operation == OPERATION_ADD_SLAB;
    if (slab >= SLABS_MAX || worker->slab_calls == 0 ||
        worker->slab_generations[slab] != message->generation ||
        worker->slabs[slab] != (is_add ? WORKER_SLAB_ASKED : WORKER_SLAB_GOING))
        return "it answered a slab call that it was not asked for";
    if (!is_add && message->result < 0)
        return "it cannot let go of a slab";
    worker->slab_calls--;
    worker->slabs_revision = UINT64_MAX; /* what became of the slab meanwhile is looked at anew */
    if (!is_add) {
        worker->slabs[slab] = WORKER_SLAB_ABSENT;
        return NULL;
    }
    worker->slabs[slab] = message->result < 0 ? WORKER_SLAB_REFUSED : WORKER_SLAB_HELD;
    if (message->result < 0)
        snprintf(worker->last_error, sizeof worker->last_error, "%s", text);
    return NULL;
}

bool slab_deliveries_is_held(const struct supervisor *supervisor, uint32_t slab,
                             const struct worker **ret_refused)
{
    bool is_held = true;
    *ret_refused = NULL;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        /* One that is not caught up gets the slab before its first grant. */
        if (!takes_part(worker) || worker->state != WORKER_RUNNING)
            continue;
        if (worker->slabs[slab] == WORKER_SLAB_REFUSED)
            *ret_refused = worker;
        else if (worker->is_caught_up && worker->slabs[slab] != WORKER_SLAB_HELD)
            is_held = false;
    }
    return is_held && !*ret_refused;
}

bool slab_deliveries_is_gone(const struct supervisor *supervisor, uint32_t slab)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        if (supervisor->workers.entries[i].slabs[slab] != WORKER_SLAB_ABSENT)
            return false;
    }
    return true;
}
