/* The children: see workers.h. Upstream: supervisor.c's turn; sideways: deliveries.c brings them
 * what they need, completions.c reads what they say, recovery.c cleans up after their death. */
#include "supervisor/workers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/log.h"
#include "shm/bell.h"
#include "shm/courier.h"
#include "shm/port.h"
#include "supervisor/completions.h"
#include "supervisor/deliveries.h"
#include "supervisor/programs.h"
#include "supervisor/recovery.h"
#include "supervisor/slab_deliveries.h"
#include "supervisor/stalls.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_orders.h"

static void bury(struct worker *worker);
static void on_bell(struct loop_watch *watch, uint32_t events);
static void on_death(struct loop_watch *watch, uint32_t events);

static void worker_init(struct supervisor *supervisor, enum worker_kind kind, uint32_t index)
{
    struct workers *workers = &supervisor->workers;
    struct worker *worker = &workers->entries[workers->count++];
    worker->supervisor = supervisor;
    worker->kind = kind;
    worker->index = index;
    worker->child.pidfd = worker->bell_in = worker->bell_out = worker->courier = -1;
    worker->channel.fd = -1;
    snprintf(worker->name, sizeof worker->name, "%s-%u", worker_kind_to_string(kind), index);
}

int workers_init(struct supervisor *supervisor)
{
    struct workers *workers = &supervisor->workers;
    const struct config *config = &supervisor->config;
    workers->entries = calloc(WORKERS_MAX, sizeof workers->entries[0]);
    if (!workers->entries)
        return -ENOMEM;
    int r = programs_find(workers->paths);
    if (r < 0)
        return r;
    workers->environment = programs_environment();
    if (!workers->environment)
        return -ENOMEM;
    for (uint32_t i = 0; i < config->synth_workers; i++)
        worker_init(supervisor, WORKER_SYNTH, i);
    /* One a card; without a list the one worker looks for a card itself. */
    uint32_t gpus = config->gpu_devices.count ? config->gpu_devices.count : 1;
    for (uint32_t i = 0; i < gpus; i++)
        worker_init(supervisor, WORKER_GPU, i);
    for (uint32_t i = 0; i < config->finalizer_workers; i++)
        worker_init(supervisor, WORKER_FINALIZER, i);
    return 0;
}

/* Lets go of everything that belonged to the process that is gone (or never came to be). */
static void take_apart(struct worker *worker)
{
    struct loop *loop = worker->supervisor->loop;
    if (worker->death_watch.on_ready)
        loop_remove(loop, &worker->death_watch);
    if (worker->bell_watch.on_ready)
        loop_remove(loop, &worker->bell_watch);
    worker->death_watch = worker->bell_watch = (struct loop_watch){0};
    if (worker->state == WORKER_WRITTEN_OFF)
        child_abandon(&worker->child); /* waiting for it would be for ever */
    child_destroy(&worker->child);
    cgroup_close(&worker->cgroup);
    worker->bury_at_ns = 0;
    int *fds[] = {&worker->bell_in, &worker->bell_out, &worker->courier};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    if (worker->channel.layout)
        channel_destroy(&worker->channel);
    worker->channel = (struct channel){.fd = -1};
    memset(worker->keys, WORKER_KEY_ABSENT, sizeof worker->keys);
    memset(worker->key_generations, 0, sizeof worker->key_generations);
    worker->keys_open = worker->key_calls = 0;
    worker->loads_alone = false;
    slab_deliveries_forget(worker);
    worker->is_caught_up = worker->has_untold = worker->has_untold_level = false;
    worker->delayed_until_ns = worker->killed_ns = 0;
    worker->killed_why[0] = '\0';
    worker->liveness = (struct liveness){0};
    worker->state = WORKER_DOWN;
}

void workers_destroy(struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        worker_check_destroy(&workers->entries[i]);
        take_apart(&workers->entries[i]);
    }
    for (int kind = 0; kind < WORKER_KIND_COUNT; kind++)
        free(workers->paths[kind]);
    free(workers->environment);
    free(workers->entries);
    *workers = (struct workers){0};
}

static int spawn(struct worker *worker, int courier_of_child)
{
    struct supervisor *supervisor = worker->supervisor;
    struct programs_arguments arguments;
    programs_worker_arguments(&supervisor->config, worker->kind, worker->index,
                              slab_deliveries_begin(worker), worker_calls_level_of(worker),
                              &arguments);
    const struct child_fd fds[] = {
        {worker->channel.fd, PORT_FD_CHANNEL},     {worker->bell_in, PORT_FD_BELL_IN},
        {worker->bell_out, PORT_FD_BELL_OUT},      {courier_of_child, PORT_FD_COURIER},
        {supervisor->members_fd, PORT_FD_MEMBERS},
    };
    int r = cgroup_open(&supervisor->cgroups, worker->name, &worker->cgroup);
    if (r < 0)
        log_warn("%s has no cgroup of its own: %s", worker->name, strerror(-r));
    const struct child_spec spec = {
        .path = supervisor->workers.paths[worker->kind],
        .argv = arguments.argv,
        .envp = supervisor->workers.environment,
        .fds = fds,
        .fd_count = sizeof fds / sizeof fds[0],
        /* Memory short: synthesis goes first, the supervisor last. */
        .oom_score_adj = worker->kind == WORKER_SYNTH ? 500 : 200,
        .cgroup_fd = worker->cgroup.procs_fd,
        .no_core = true,
    };
    return child_spawn(&spec, &worker->child);
}

static int start(struct worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    int courier[2] = {-1, -1};
    int r = channel_create(worker->kind, worker->index, &worker->channel);
    if (r < 0)
        return r;
    worker->bell_in = bell_create();
    worker->bell_out = bell_create();
    if (worker->bell_in < 0 || worker->bell_out < 0)
        return worker->bell_in < 0 ? worker->bell_in : worker->bell_out;
    r = courier_create(courier);
    if (r < 0)
        return r;
    worker->courier = courier[0];
    r = spawn(worker, courier[1]);
    close(courier[1]);
    if (r < 0)
        return r;
    worker->bell_watch =
        (struct loop_watch){.fd = worker->bell_out, .events = POLLIN, .on_ready = on_bell};
    worker->death_watch =
        (struct loop_watch){.fd = worker->child.pidfd, .events = POLLIN, .on_ready = on_death};
    r = loop_add(supervisor->loop, &worker->bell_watch);
    if (r < 0)
        worker->bell_watch.on_ready = NULL;
    else
        r = loop_add(supervisor->loop, &worker->death_watch);
    if (r < 0)
        worker->death_watch.on_ready = NULL;
    return r;
}

static void start_later(struct worker *worker)
{
    uint64_t now_ns = worker->supervisor->now_ns;
    worker->restart_at_ns = now_ns + worker->backoff_ms * 1000000u;
    if (worker->backoff_ms == 0)
        worker->backoff_ms = WORKER_BACKOFF_FIRST_MS;
    else
        worker->backoff_ms *= 2;
    if (worker->backoff_ms > WORKER_BACKOFF_MAX_MS)
        worker->backoff_ms = WORKER_BACKOFF_MAX_MS;
}

static void start_due(struct worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    int r = start(worker);
    if (r < 0) {
        snprintf(worker->last_error, sizeof worker->last_error, "cannot start %s: %s",
                 supervisor->workers.paths[worker->kind], strerror(-r));
        log_error("%s: %s; trying again in %u ms", worker->name, worker->last_error,
                  (unsigned)worker->backoff_ms);
        take_apart(worker);
        worker->start_failures++;
        worker_orders_start_failed(worker, worker->last_error);
        start_later(worker);
        return;
    }
    worker->state = WORKER_STARTING;
    worker->ready_ns = 0;
    busy_start(&worker->busy, supervisor->now_ns);
    deliveries_flush(worker); /* what it is to have before it is ready */
}

uint64_t workers_busy_ns(const struct worker *worker)
{
    if (!worker->channel.layout)
        return 0;
    const struct channel_progress *progress = &worker->channel.layout->progress;
    return busy_sum(atomic_load_explicit(&progress->busy_ns, memory_order_relaxed),
                    atomic_load_explicit(&progress->busy_since_ns, memory_order_relaxed),
                    worker->supervisor->now_ns);
}

static bool may_start(const struct worker *worker)
{
    return worker->state == WORKER_DOWN && worker_orders_wants(worker) &&
           worker->supervisor->phase < SUPERVISOR_STOPPING;
}

void workers_tick(struct supervisor *supervisor)
{
    worker_orders_tick(supervisor);
    stalls_tick(supervisor);
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (may_start(worker) && supervisor->now_ns >= worker->restart_at_ns)
            start_due(worker);
        if (worker->bury_at_ns && supervisor->now_ns >= worker->bury_at_ns)
            bury(worker);
        worker_check_tick(worker);
        worker_calls_tick(worker);
        if (worker->delayed_until_ns && supervisor->now_ns >= worker->delayed_until_ns)
            deliveries_flush(worker);
        if (worker->channel.layout)
            busy_sample(&worker->busy, supervisor->now_ns, workers_busy_ns(worker));
    }
}

uint64_t workers_deadline(const struct supervisor *supervisor)
{
    uint64_t deadline_ns = stalls_deadline(supervisor);
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        if (may_start(worker) && worker->restart_at_ns < deadline_ns)
            deadline_ns = worker->restart_at_ns;
        if (worker->bury_at_ns && worker->bury_at_ns < deadline_ns)
            deadline_ns = worker->bury_at_ns;
        if (worker_check_deadline(worker) < deadline_ns)
            deadline_ns = worker_check_deadline(worker);
        if (worker->delayed_until_ns && worker->delayed_until_ns < deadline_ns)
            deadline_ns = worker->delayed_until_ns;
    }
    return deadline_ns;
}

void workers_ready(struct worker *worker, const struct message *ready,
                   const struct ready_device *device)
{
    worker->state = WORKER_RUNNING;
    worker->uses_cpu = worker->kind == WORKER_GPU && ready->numbers[2] == READY_BACKEND_CPU;
    worker->ready_ns = worker->supervisor->now_ns;
    worker->start_failures = 0;
    worker->device = *device;
    deliveries_begin(worker);
}

static void on_bell(struct loop_watch *watch, uint32_t events)
{
    struct worker *worker = (struct worker *)((char *)watch - offsetof(struct worker, bell_watch));
    (void)events;
    supervisor_take_time(worker->supervisor);
    bell_read(watch->fd);
    completions_drain(worker);
}

static void kill_process(struct worker *worker)
{
    child_kill(&worker->child, SIGKILL);
    cgroup_kill(&worker->cgroup);
    if (worker->killed_ns == 0)
        worker->killed_ns = worker->supervisor->now_ns;
}

/* Its process is dead. Where it has a cgroup, that must be empty too before the death is certain:
 * then nothing of it writes any more. */
static void bury(struct worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    int status;
    worker->bury_at_ns = 0;
    if (!cgroup_is_empty(&worker->cgroup)) {
        unsigned retry_ms =
            worker->state == WORKER_WRITTEN_OFF ? WORKER_BURY_RETRY_MS_MAX : WORKER_BURY_RETRY_MS;
        kill_process(worker);
        worker->bury_at_ns = supervisor->now_ns + retry_ms * UINT64_C(1000000);
        return;
    }
    if (child_reap(&worker->child, &status) != 1)
        return;
    recovery_run(worker, status);

    const struct channel_progress *progress = &worker->channel.layout->progress;
    worker->partitions_done_before +=
        atomic_load_explicit(&progress->partitions_done, memory_order_relaxed);
    bool was_ready = worker->ready_ns != 0, was_wanted = worker->is_wanted_end;
    if (!was_ready && !was_wanted)
        worker->start_failures++;
    else if (was_ready &&
             supervisor->now_ns - worker->ready_ns >= (uint64_t)WORKER_STEADY_MS * 1000000u)
        worker->backoff_ms = 0;
    worker_calls_ended(worker);
    take_apart(worker);
    worker->restarts++;
    worker->died_ns = supervisor->now_ns;
    if (!was_ready && !was_wanted)
        worker_orders_start_failed(worker, worker->last_error);
    if (worker_orders_ended(worker)) {
        worker->backoff_ms = 0;
        worker->restart_at_ns = supervisor->now_ns;
    } else {
        start_later(worker);
    }
}

/* The pidfd is readable, and stays so: heard once. */
static void on_death(struct loop_watch *watch, uint32_t events)
{
    struct worker *worker = (struct worker *)((char *)watch - offsetof(struct worker, death_watch));
    (void)events;
    supervisor_take_time(worker->supervisor);
    loop_modify(worker->supervisor->loop, watch, 0);
    bury(worker);
}

void workers_doom(struct worker *worker, const char *why)
{
    if (worker->state == WORKER_DOOMED || worker->state == WORKER_DOWN ||
        worker->state == WORKER_WRITTEN_OFF)
        return;
    snprintf(worker->last_error, sizeof worker->last_error, "%s", why);
    log_error("%s (process %d) broke the contract: %s; it is killed and replaced", worker->name,
              (int)worker->child.pid, why);
    worker->state = WORKER_DOOMED;
    kill_process(worker);
}

void workers_kill_one(struct worker *worker, const char *why)
{
    if (worker->state != WORKER_STARTING && worker->state != WORKER_RUNNING &&
        worker->state != WORKER_STOPPING)
        return;
    snprintf(worker->last_error, sizeof worker->last_error, "%s", why);
    worker->state = WORKER_KILLED;
    kill_process(worker);
}

static bool tell_stop(struct worker *worker)
{
    const struct message stop = {.operation = OPERATION_STOP};
    if (worker->state != WORKER_RUNNING || workers_push(worker, &stop) < 0)
        return false;
    worker->state = WORKER_STOPPING;
    return true;
}

void workers_end(struct worker *worker)
{
    if (worker->state != WORKER_STARTING && worker->state != WORKER_RUNNING &&
        worker->state != WORKER_STOPPING)
        return; /* it is down, or dies of something else, which counts */
    worker->is_wanted_end = true;
    if (worker_holds_nothing(worker) && tell_stop(worker))
        return;
    worker->state = WORKER_KILLED;
    kill_process(worker);
}

void workers_stop(struct supervisor *supervisor)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        worker->is_wanted_end = true;
        if (worker->state == WORKER_STARTING ||
            (worker->state == WORKER_RUNNING && !tell_stop(worker)))
            kill_process(worker);
    }
}

struct worker *workers_find(struct supervisor *supervisor, const char *name)
{
    struct workers *workers = &supervisor->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        if (worker_is_present(&workers->entries[i]) && strcmp(workers->entries[i].name, name) == 0)
            return &workers->entries[i];
    }
    return NULL;
}

static struct worker *find_entry(struct supervisor *supervisor, enum worker_kind kind,
                                 uint32_t index)
{
    struct workers *workers = &supervisor->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        if (workers->entries[i].kind == kind && workers->entries[i].index == index)
            return &workers->entries[i];
    }
    return NULL;
}

void workers_set_count(struct supervisor *supervisor, enum worker_kind kind, uint32_t count)
{
    struct workers *workers = &supervisor->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        if (workers->entries[i].kind == kind && workers->entries[i].index >= count)
            worker_orders_remove(&workers->entries[i]);
    }
    /* Every kind has an entry for each index that it may have: the table never overflows. */
    for (uint32_t index = 0; index < count; index++) {
        struct worker *worker = find_entry(supervisor, kind, index);
        if (worker)
            worker_orders_keep(worker);
        else
            worker_init(supervisor, kind, index);
    }
}

void workers_kill(struct supervisor *supervisor)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (worker->state == WORKER_DOWN || worker->state == WORKER_WRITTEN_OFF)
            continue;
        log_warn("%s (process %d) did not stop in time and is killed", worker->name,
                 (int)worker->child.pid);
        kill_process(worker);
    }
}

bool workers_are_gone(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        enum worker_state state = workers->entries[i].state;
        if (state != WORKER_DOWN && state != WORKER_WRITTEN_OFF)
            return false;
    }
    return true;
}

uint32_t workers_running_count(const struct workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++)
        count += workers->entries[i].state == WORKER_RUNNING;
    return count;
}

uint32_t workers_present_count(const struct workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < workers->count; i++)
        count += worker_is_present(&workers->entries[i]);
    return count;
}

bool worker_is_present(const struct worker *worker)
{
    return !worker->is_removed || worker->state != WORKER_DOWN;
}

bool worker_holds_nothing(const struct worker *worker)
{
    return worker->held_count == 0 && worker->key_calls == 0 && worker->slab_calls == 0 &&
           worker->trim.state != WORKER_TRIM_OPEN;
}

bool workers_have_settled(const struct workers *workers)
{
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->entries[i];
        bool is_up = worker->state == WORKER_RUNNING && worker->is_caught_up;
        if (!is_up && worker_orders_wants(worker) &&
            worker->start_failures < WORKER_START_FAILURES_MAX)
            return false;
    }
    return true;
}

bool workers_can_prove(const struct workers *workers)
{
    bool is_up[WORKER_KIND_COUNT] = {false};
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->entries[i];
        is_up[worker->kind] |= worker->state == WORKER_RUNNING && worker->is_caught_up;
    }
    for (int kind = 0; kind < WORKER_KIND_COUNT; kind++) {
        if (!is_up[kind])
            return false;
    }
    return true;
}

bool worker_is_available(const struct worker *worker, uint64_t now_ns)
{
    return worker->state == WORKER_RUNNING && worker->is_caught_up && !worker->is_draining &&
           worker->delayed_until_ns <= now_ns && worker->held_count < GRANTS_HELD_MAX;
}

bool worker_has_suspect(const struct worker *worker)
{
    for (uint32_t i = 0; i < worker->held_count; i++) {
        if (worker->supervisor->slots.entries[worker->held[i]].is_suspect)
            return true;
    }
    return false;
}

/* With work waiting the difference is what a death costs the service beside the work lost. */
static void tell_first_grant(struct worker *worker)
{
    uint64_t now_ns = worker->supervisor->now_ns;
    log_info("SUP_TIMING successor worker=%s ready_ms=%.3f first_grant_ms=%.3f", worker->name,
             (double)(worker->ready_ns - worker->died_ns) / 1e6,
             (double)(now_ns - worker->died_ns) / 1e6);
    worker->died_ns = 0;
}

void workers_own(struct worker *worker, struct slot *slot)
{
    CHECK(worker->held_count < GRANTS_HELD_MAX && !slot->owner);
    worker->held[worker->held_count++] = slot->index;
    slot->owner = worker;
    if (worker->died_ns)
        tell_first_grant(worker);
}

void workers_disown(struct worker *worker, struct slot *slot)
{
    for (uint32_t i = 0; i < worker->held_count; i++) {
        if (worker->held[i] != slot->index)
            continue;
        worker->held[i] = worker->held[--worker->held_count];
        slot->owner = NULL;
        return;
    }
    CHECK(!"a worker holds what it owns");
}

void workers_tell_cancel(struct worker *worker, struct slot *slot)
{
    if (worker->state != WORKER_RUNNING)
        return; /* its death or its end answers for it */
    const struct message cancel = {
        .operation = OPERATION_CANCEL,
        .slot = slot->index,
        .generation = slot->generation,
        .numbers = {0, 0, slot->job, slot->partition},
    };
    slot->is_told = workers_push(worker, &cancel) == 0;
    if (!slot->is_told) {
        worker->has_untold = true;
        if (!worker->delayed_until_ns)
            worker->delayed_until_ns = worker->supervisor->now_ns + 1;
    }
}

int workers_push(struct worker *worker, const struct message *grant)
{
    int r = channel_grant(&worker->channel, grant);
    if (r == -EPROTO)
        workers_doom(worker, "its submission ring is corrupt");
    if (r < 0)
        return r;
    return bell_ring(worker->bell_in);
}

void workers_ring_again(struct worker *worker)
{
    bell_ring(worker->bell_out);
}
