/* See stalls.h. Upstream: workers_tick; downstream: liveness.c decides, recovery.c puts back. */
#include "supervisor/stalls.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/units.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "supervisor/recovery.h"
#include "supervisor/supervisor.h"

enum {
    STALLS_THREADS_MAX = 8, /* shown of one process */
    STALLS_TRACE_MAX = 4,
    STALLS_PROC_BYTES = 4096,
};

static uint64_t word(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

static const struct channel_progress *progress_of(const struct worker *worker)
{
    return &worker->channel.layout->progress;
}

static enum liveness_stage stage_of(const struct worker *worker)
{
    if (!worker->channel.layout)
        return LIVENESS_RESTING;
    uint32_t phase = atomic_load_explicit(&progress_of(worker)->stage, memory_order_relaxed);
    switch (worker->state) {
    case WORKER_STARTING:
        return LIVENESS_STARTING;
    case WORKER_RUNNING:
        if (phase == PHASE_MALLOC_TRIM || worker->trim.state == WORKER_TRIM_OPEN)
            return LIVENESS_TRIMMING;
        if (!worker_holds_nothing(worker))
            return LIVENESS_WORKING;
        return worker->is_caught_up ? LIVENESS_RESTING : LIVENESS_CATCHING_UP;
    case WORKER_STOPPING:
        return LIVENESS_STOPPING;
    case WORKER_DOWN:
    case WORKER_KILLED:
    case WORKER_DOOMED:
    case WORKER_WRITTEN_OFF:
        break;
    }
    return LIVENESS_RESTING;
}

/* Changes with every unit of work. The beat of the loop does not belong to it, or a worker that
 * waits for a hung device would look alive; it stands in where receiving is all there is to do. */
static uint64_t figure_of(const struct worker *worker, enum liveness_stage stage)
{
    const struct channel_progress *progress = progress_of(worker);
    uint64_t sum = word(&progress->steps) + word(&progress->compute_steps) +
                   word(&progress->bytes_read) + word(&progress->malloc_trims);
    sum += atomic_load_explicit(&progress->slabs_pinned, memory_order_relaxed);
    sum += atomic_load_explicit(&progress->slabs_unpinned, memory_order_relaxed);
    sum += atomic_load_explicit(&progress->keys, memory_order_relaxed);
    if (stage == LIVENESS_CATCHING_UP)
        sum += word(&progress->beat_ns);
    return sum;
}

/* One word of a file of /proc, "" when it cannot be read. */
static void read_word(const char *path, char *ret, size_t room)
{
    char *text;
    size_t bytes;
    ret[0] = '\0';
    if (files_read(path, STALLS_PROC_BYTES, &text, &bytes) < 0)
        return;
    snprintf(ret, room, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
}

/* "D (disk sleep)" of a process or thread. */
static void read_state(const char *folder, char *ret, size_t room)
{
    char path[128], *text, *line;
    size_t bytes;
    snprintf(ret, room, "unknown");
    snprintf(path, sizeof path, "%.100s/status", folder);
    if (files_read(path, STALLS_PROC_BYTES, &text, &bytes) < 0)
        return;
    line = strstr(text, "\nState:");
    if (line)
        snprintf(ret, room, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
    free(text);
}

/* Where the kernel has it: the whole stack where we may read it, the innermost function else. */
static void log_place(const struct worker *worker, const char *folder, const char *what)
{
    char path[128], state[64], wchan[64], *stack = NULL;
    size_t bytes = 0;
    read_state(folder, state, sizeof state);
    snprintf(path, sizeof path, "%.100s/wchan", folder);
    read_word(path, wchan, sizeof wchan);
    snprintf(path, sizeof path, "%.100s/stack", folder);
    if (files_read(path, STALLS_PROC_BYTES, &stack, &bytes) < 0)
        stack = NULL;
    for (char *c = stack; c && *c; c++)
        *c = *c == '\n' ? ';' : *c;
    log_warn("%s: %s is in state %s, in the kernel at %s%s%.600s", worker->name, what, state,
             wchan[0] ? wchan : "?", stack && stack[0] ? ", stack " : "", stack ? stack : "");
    free(stack);
}

static void log_threads(const struct worker *worker)
{
    char path[80], folder[128], what[64];
    int shown = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)worker->child.pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return;
    for (struct dirent *task; (task = readdir(tasks)) && shown < STALLS_THREADS_MAX;) {
        int number = atoi(task->d_name);
        if (number <= 0)
            continue;
        snprintf(folder, sizeof folder, "%s/%d", path, number);
        snprintf(what, sizeof what, "thread %d", number);
        log_place(worker, folder, what);
        shown++;
    }
    closedir(tasks);
}

static void log_trace(const struct worker *worker, uint64_t now_ns)
{
    struct trace_event events[STALLS_TRACE_MAX];
    uint32_t count = trace_read(&worker->channel.layout->trace, events, STALLS_TRACE_MAX);
    for (uint32_t i = 0; i < count; i++)
        log_warn("%s: its trace, %u of the last %u: %s of job %" PRIu64
                 " partition %u took %.3f ms and ended %.1f s ago",
                 worker->name, i + 1, count, phase_to_string((enum phase)events[i].phase),
                 events[i].job, events[i].partition,
                 (double)(events[i].end_ns - events[i].begin_ns) / 1e6,
                 now_ns > events[i].end_ns ? (double)(now_ns - events[i].end_ns) / 1e9 : 0.0);
}

/* "msm_a" where the worker says so, else what we know of it. */
static const char *place_of(const struct worker *worker, enum liveness_stage stage)
{
    uint32_t phase = atomic_load_explicit(&progress_of(worker)->stage, memory_order_relaxed);
    if (stage == LIVENESS_WORKING && worker->held_count > 0 && phase < PHASE_TOTAL)
        return phase_to_string((enum phase)phase);
    if (stage == LIVENESS_WORKING && worker->held_count == 0)
        return "loading a key";
    return liveness_stage_to_string(stage);
}

static void on_stall(struct worker *worker, enum liveness_stage stage)
{
    struct supervisor *supervisor = worker->supervisor;
    char folder[64], state[64], time[UNITS_TEXT_BYTES], why[384];
    uint64_t still_ns = worker->liveness.still_ns;
    snprintf(folder, sizeof folder, "/proc/%d", (int)worker->child.pid);
    read_state(folder, state, sizeof state);
    units_print_time(still_ns / 1000000 * 1000000, time);
    snprintf(worker->killed_why, sizeof worker->killed_why, "no progress for %s in %s of %s", time,
             place_of(worker, stage), worker->name);
    snprintf(why, sizeof why, "%s; process %d was in state %s and was killed", worker->killed_why,
             (int)worker->child.pid, state);
    log_error("%s (process %d) makes no progress for %s in %s, with %u partitions in hand: it is "
              "killed and replaced (StallTimeout=)",
              worker->name, (int)worker->child.pid, time, place_of(worker, stage),
              worker->held_count);
    log_threads(worker);
    log_trace(worker, supervisor->now_ns);
    workers_kill_one(worker, why);
}

static bool is_unkillable(const struct worker *worker)
{
    uint64_t room_ns = WORKER_KILL_S_MAX * UINT64_C(1000000000);
    return worker->killed_ns > 0 && worker->state != WORKER_WRITTEN_OFF &&
           worker->state != WORKER_DOWN &&
           worker->supervisor->now_ns - worker->killed_ns >= room_ns;
}

static uint64_t interval_ns(const struct supervisor *supervisor)
{
    uint64_t timeout_ns = supervisor->config.stall_timeout_ns;
    return timeout_ns ? liveness_interval_ns(timeout_ns) : UINT64_C(1000000000);
}

void stalls_tick(struct supervisor *supervisor)
{
    struct workers *workers = &supervisor->workers;
    if (supervisor->now_ns < workers->looked_ns + interval_ns(supervisor))
        return;
    workers->looked_ns = supervisor->now_ns;
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->entries[i];
        if (is_unkillable(worker))
            recovery_write_off(worker);
        /* At the end there is one deadline for all. */
        enum liveness_stage stage =
            supervisor->phase < SUPERVISOR_STOPPING ? stage_of(worker) : LIVENESS_RESTING;
        uint64_t figure = stage == LIVENESS_RESTING ? 0 : figure_of(worker, stage);
        if (liveness_look(&worker->liveness, stage, figure, supervisor->config.stall_timeout_ns,
                          supervisor->now_ns))
            on_stall(worker, stage);
    }
}

uint64_t stalls_deadline(const struct supervisor *supervisor)
{
    const struct workers *workers = &supervisor->workers;
    bool is_watching = false;
    for (uint32_t i = 0; i < workers->count && !is_watching; i++) {
        const struct worker *worker = &workers->entries[i];
        is_watching = (supervisor->config.stall_timeout_ns && stage_of(worker)) ||
                      (worker->killed_ns && worker->state != WORKER_WRITTEN_OFF);
    }
    return is_watching ? workers->looked_ns + interval_ns(supervisor) : UINT64_MAX;
}
