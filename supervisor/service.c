/* The supervisor and the service manager: see service.h. Upstream: supervisor.c's turn. */
#include "supervisor/service.h"

#include <stdio.h>
#include <string.h>

#include "runtime/log.h"
#include "runtime/notify.h"
#include "supervisor/supervisor.h"

void service_init(struct supervisor *supervisor)
{
    supervisor->service.watchdog_ns = notify_watchdog_ns();
}

void service_turn(struct supervisor *supervisor)
{
    struct service *service = &supervisor->service;
    notify_flush();
    if (service->watchdog_ns == 0 || supervisor->now_ns < service->watchdog_next_ns)
        return;
    notify_watchdog();
    service->watchdog_next_ns = supervisor->now_ns + service->watchdog_ns / 3;
}

uint64_t service_deadline(const struct supervisor *supervisor)
{
    return supervisor->service.watchdog_ns ? supervisor->service.watchdog_next_ns : UINT64_MAX;
}

static void say(struct supervisor *supervisor, const char *text)
{
    struct service *service = &supervisor->service;
    service->status_next_ns = supervisor->now_ns + SERVICE_STATUS_S * UINT64_C(1000000000);
    if (strcmp(service->status, text) == 0)
        return;
    snprintf(service->status, sizeof service->status, "%s", text);
    notify_status(text);
}

static uint32_t slabs_registered(const struct worker *worker)
{
    const struct channel_progress *progress = &worker->channel.layout->progress;
    return atomic_load_explicit(&progress->slabs_pinned, memory_order_relaxed) +
           atomic_load_explicit(&progress->slabs_unpinned, memory_order_relaxed);
}

/* A figure that is another one when something has moved on: a slab registered, a worker or key come
 * up, a unit of a partition's work or a whole job done. A worker that only turns its loop moves
 * nothing. */
static uint64_t progress_of(const struct supervisor *supervisor)
{
    const struct jobs *jobs = &supervisor->jobs;
    uint64_t sum = jobs->totals[REQUEST_JOB_DONE] + jobs->totals[REQUEST_JOB_FAILED] +
                   jobs->totals[REQUEST_JOB_CANCELLED] + supervisor->circuits.loads;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        sum += worker->state == WORKER_RUNNING;
        sum += worker->partitions_done_before;
        if (!worker->channel.layout)
            continue;
        const struct channel_progress *progress = &worker->channel.layout->progress;
        sum += slabs_registered(worker);
        sum += atomic_load_explicit(&progress->steps, memory_order_relaxed);
        sum += atomic_load_explicit(&progress->partitions_done, memory_order_relaxed);
        sum += atomic_load_explicit(&progress->keys, memory_order_relaxed);
    }
    return sum;
}

static void describe_start(const struct supervisor *supervisor, char *ret, size_t room)
{
    const struct workers *workers = &supervisor->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->entries[i];
        if (worker->start_failures >= WORKER_START_FAILURES_MAX && worker->kind == WORKER_GPU) {
            snprintf(ret, room, "not ready: %s %.100s", worker->name, worker->last_error);
            return;
        }
        if (worker->state != WORKER_STARTING || !worker->channel.layout)
            continue;
        uint32_t done = slabs_registered(worker);
        if (done > 0) {
            snprintf(ret, room, "starting: %s has registered %u of %u slabs", worker->name, done,
                     memory_slabs_there(&supervisor->memory));
            return;
        }
    }
    snprintf(ret, room, "starting: %u of %u workers are up", workers_running_count(workers),
             workers_present_count(workers));
}

static void describe(const struct supervisor *supervisor, char *ret, size_t room)
{
    uint32_t active = supervisor->jobs.active.count;
    switch (supervisor->phase) {
    case SUPERVISOR_PREPARING:
        preparation_describe(supervisor, ret, room);
        break;
    case SUPERVISOR_STARTING:
        describe_start(supervisor, ret, room);
        break;
    case SUPERVISOR_SERVING:
        snprintf(ret, room, "serving: %u of %u workers, %u jobs in hand",
                 workers_running_count(&supervisor->workers),
                 workers_present_count(&supervisor->workers), active);
        break;
    case SUPERVISOR_FINISHING:
        snprintf(ret, room, "stopping: %u jobs are finished first", active);
        break;
    case SUPERVISOR_STOPPING:
    case SUPERVISOR_STOPPED:
        snprintf(ret, room, "stopping: workers end");
        break;
    }
}

void service_tick(struct supervisor *supervisor)
{
    struct service *service = &supervisor->service;
    char text[sizeof service->status];
    bool is_timed = supervisor->phase != SUPERVISOR_SERVING; /* by TimeoutStartSec=, ...StopSec= */
    uint64_t progress = progress_of(supervisor);
    if (is_timed && progress != service->progress)
        notify_extend_timeout(SERVICE_MORE_S * UINT64_C(1000000000));
    service->progress = progress;
    if (!is_timed && supervisor->now_ns < service->status_next_ns)
        return;
    describe(supervisor, text, sizeof text);
    say(supervisor, text);
}

void service_ready(struct supervisor *supervisor)
{
    const struct workers *workers = &supervisor->workers;
    char text[sizeof supervisor->service.status];
    snprintf(text, sizeof text, "ready: %u of %u workers, %u slabs, %u circuits",
             workers_running_count(workers), workers_present_count(workers),
             memory_slabs_there(&supervisor->memory), supervisor->circuits.count);
    log_info("%s; listening on %s", text, supervisor->config.socket_path);
    notify_ready(text);
    snprintf(supervisor->service.status, sizeof supervisor->service.status, "%s", text);
    supervisor->service.status_next_ns =
        supervisor->now_ns + SERVICE_STATUS_S * UINT64_C(1000000000);
}

void service_stopping(struct supervisor *supervisor)
{
    char text[sizeof supervisor->service.status];
    describe(supervisor, text, sizeof text);
    notify_stopping(text);
    snprintf(supervisor->service.status, sizeof supervisor->service.status, "%s", text);
    /* StopTimeout= may be longer than the manager's patience: it is asked for at once what
     * finishing jobs may take at first, and more as they move on. */
    notify_extend_timeout(SERVICE_MORE_S * UINT64_C(1000000000));
}
