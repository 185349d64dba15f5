/* Recovery after a worker's death: see recovery.h. Upstream: the pidfd of a worker (workers.c);
 * downstream: pipeline.c. */
#include "supervisor/recovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/log.h"
#include "shm/port.h"
#include "supervisor/completions.h"
#include "supervisor/key_loads.h"
#include "supervisor/pipeline.h"
#include "supervisor/supervisor.h"

static void explain(struct worker *worker, int status, char *ret, size_t room);
static void put_back(struct worker *worker, const char *how);
static void note_failed_start(struct worker *worker, int status);

/* The slab of a partition that a worker may still write stays with the worker. */
static void keep_slab(struct worker *worker, struct slot *slot)
{
    if (slot->slab < 0 || worker->kind == WORKER_FINALIZER) /* maps none */
        return;
    slots_reclaimable_remove(&worker->supervisor->slots, slot);
    worker->slabs_left[worker->slabs_left_count++] = slot->slab;
    slot->slab = -1;
}

void recovery_write_off(struct worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    char how[SLOT_FAULT_BYTES];
    bool was_killed_for_breach = worker->state == WORKER_DOOMED;
    if (!was_killed_for_breach)
        completions_drain(worker);
    snprintf(how, sizeof how, "%.160s, and cannot be ended",
             worker->killed_why[0] ? worker->killed_why : worker->name);
    log_error("%s (process %d) was killed %d s ago and is not gone: it is written off with %u "
              "partitions, which start over; its index, device and slabs stay with it until it is "
              "gone",
              worker->name, (int)worker->child.pid, WORKER_KILL_S_MAX, worker->held_count);
    worker->state = WORKER_WRITTEN_OFF;
    for (uint32_t i = 0; i < worker->held_count; i++)
        keep_slab(worker, &supervisor->slots.entries[worker->held[i]]);
    put_back(worker, how);
}

static void release_left(struct worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    for (uint32_t i = 0; i < worker->slabs_left_count; i++)
        memory_release(&supervisor->memory, (uint32_t)worker->slabs_left[i]);
    log_info("%s, which was written off, is gone at last, and its %u slabs are free again",
             worker->name, worker->slabs_left_count);
    worker->slabs_left_count = 0;
}

void recovery_run(struct worker *worker, int status)
{
    if (worker->state == WORKER_WRITTEN_OFF) {
        release_left(worker);
        return;
    }
    struct supervisor *supervisor = worker->supervisor;
    char how[SLOT_FAULT_BYTES];

    /* What it had finished before it died counts. Nothing that we killed for a breach said does. */
    if (worker->state != WORKER_DOOMED)
        completions_drain(worker);
    explain(worker, status, how, sizeof how);
    bool is_wanted = worker->is_wanted_end || supervisor->phase >= SUPERVISOR_STOPPING;
    if (is_wanted) {
        log_debug("%s has stopped (%s)", worker->name, how);
    } else if (worker->ready_ns == 0) {
        note_failed_start(worker, status);
    } else {
        if (worker->state != WORKER_DOOMED && worker->state != WORKER_KILLED)
            snprintf(worker->last_error, sizeof worker->last_error, "%s", how);
        log_warn("%s (%s) is gone with %u partitions in hand; they are put back and it is "
                 "replaced",
                 worker->name, how, worker->held_count);
    }
    put_back(worker, how);
}

/* What it left behind, as it may be shown; "" when nothing. */
static void copy_last_words(const struct worker *worker, char ret[CHANNEL_LAST_WORDS_BYTES])
{
    const char *words = worker->channel.layout->last_words;
    size_t bytes = 0;
    for (; bytes < CHANNEL_LAST_WORDS_BYTES - 1 && words[bytes]; bytes++)
        ret[bytes] = words[bytes] >= 0x20 && words[bytes] < 0x7f ? words[bytes] : '?';
    ret[bytes] = '\0';
}

/* "killed by SIGKILL in msm_a", "sticky device error: ...". Progress words and last words are the
 * dead worker's: read with care. */
static void explain(struct worker *worker, int status, char *ret, size_t room)
{
    char text[64], words[CHANNEL_LAST_WORDS_BYTES];
    uint32_t stage =
        atomic_load_explicit(&worker->channel.layout->progress.stage, memory_order_relaxed);
    child_status_to_string(status, text, sizeof text);
    if (worker->killed_why[0]) {
        snprintf(ret, room, "%s", worker->killed_why);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_DEVICE) {
        copy_last_words(worker, words);
        snprintf(ret, room, "%.224s, %s", words[0] ? words : "a sticky device error", worker->name);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_SANDBOX) {
        copy_last_words(worker, words);
        snprintf(ret, room, "%.224s, %s", words[0] ? words : "a forbidden system call",
                 worker->name);
    } else if (worker->held_count > 0 && stage < PHASE_WAIT) {
        snprintf(ret, room, "%s in %s of %s", text, phase_to_string((enum phase)stage),
                 worker->name);
    } else {
        snprintf(ret, room, "%s, %s", text, worker->name);
    }
}

static void put_back(struct worker *worker, const char *how)
{
    struct supervisor *supervisor = worker->supervisor;
    /* The only partition in its hands, or the only key that it was loading, is the likely cause; of
     * several, each is a suspect and comes alone next. Nothing counts when the end was our own
     * wish. */
    bool is_wanted = worker->is_wanted_end || supervisor->phase >= SUPERVISOR_STOPPING;
    bool is_alone = worker->held_count == 1 && worker->key_calls == 0;
    if (!is_wanted)
        key_loads_worker_died(worker, how);
    while (worker->held_count > 0) {
        struct slot *slot = &supervisor->slots.entries[worker->held[0]];
        if (slot->state != SLOT_ENDING)
            log_info("job %" PRIu64 " partition %u was %s in %s: put back", slot->job,
                     slot->partition, slot_state_to_string(slot->state), worker->name);
        pipeline_lost(supervisor, slot, pipeline_loss_of(is_wanted, is_alone), how);
    }
}

static void note_failed_start(struct worker *worker, int status)
{
    struct supervisor *supervisor = worker->supervisor;
    char text[CHANNEL_LAST_WORDS_BYTES];
    copy_last_words(worker, text);
    if (worker->killed_why[0])
        snprintf(text, sizeof text, "%s", worker->killed_why);
    if (!text[0])
        child_status_to_string(status, text, sizeof text);
    snprintf(worker->last_error, sizeof worker->last_error, "cannot start: %.400s", text);

    bool has_said_why = WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_START;
    /* With auto too: no card would have been said, and been fallen back from. */
    bool wants_cuda = supervisor->config.gpu_backend != CONFIG_GPU_BACKEND_CPU;
    if (worker->kind == WORKER_GPU && has_said_why && wants_cuda &&
        supervisor->phase == SUPERVISOR_STARTING) {
        log_error("no proofs can be made: %s cannot use the CUDA backend (%s); mend that, or set "
                  "[GPU] Backend=cpu to prove on the CPU",
                  worker->name, text);
        supervisor_fail(supervisor);
        return;
    }
    if (worker->start_failures + 1 == WORKER_START_FAILURES_MAX)
        log_error("%s has failed to start %d times (%s); the service stays up without it and goes "
                  "on trying",
                  worker->name, WORKER_START_FAILURES_MAX, text);
    else
        log_warn("%s failed to start (%s); trying again", worker->name, text);
}
