/* The daemon at a glance: see status.h and PROTOCOL.md. Upstream: answers.c. */
#include "supervisor/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/files.h"
#include "supervisor/resize.h"
#include "supervisor/answers.h"
#include "supervisor/job_answers.h"
#include "supervisor/supervisor.h"

static uint64_t word(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

/* Slabs on ordinary pages can be swapped out unless the workers that map them have locked them. */
static bool slabs_are_locked(const struct supervisor *supervisor)
{
    if (supervisor->memory.is_hugepage)
        return true;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        char path[64], *text, *line;
        size_t bytes;
        if (worker->state != WORKER_RUNNING || worker->kind == WORKER_FINALIZER)
            continue;
        snprintf(path, sizeof path, "/proc/%d/status", (int)worker->child.pid);
        if (files_read(path, 64 << 10, &text, &bytes) < 0)
            continue;
        line = strstr(text, "\nVmLck:");
        uint64_t locked_bytes = line ? strtoull(line + 7, NULL, 10) << 10 : 0;
        free(text);
        if (locked_bytes < supervisor->memory.slab_bytes_total)
            return false;
    }
    return true;
}

static bool proves_on_cpu(const struct supervisor *supervisor)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        if (worker->kind == WORKER_GPU && worker->uses_cpu)
            return true;
    }
    return false;
}

static void write_flags(struct reply *reply, const struct supervisor *supervisor, bool is_locked)
{
    const struct config *config = &supervisor->config;
    reply_array(reply, "flags");
    if (proves_on_cpu(supervisor))
        reply_string(reply, NULL, "cpu_backend");
    bool has_slabs = supervisor->phase != SUPERVISOR_PREPARING;
    if (has_slabs && !supervisor->memory.is_hugepage)
        reply_string(reply, NULL, "ordinary_pages");
    if (has_slabs && !is_locked)
        reply_string(reply, NULL, "not_mlocked");
    if (config->event_loop == LOOP_AUTO && loop_kind(supervisor->loop) == LOOP_PPOLL)
        reply_string(reply, NULL, "io_uring_refused");
    if (durable_is_unwritable(supervisor))
        reply_string(reply, NULL, "journal_unwritable");
    if (supervisor->durable.journal && journal_health(supervisor->durable.journal) == JOURNAL_MOVED)
        reply_string(reply, NULL, "journal_moved");
    if (supervisor->durable.journal &&
        journal_health(supervisor->durable.journal) == JOURNAL_BROKEN)
        reply_string(reply, NULL, "journal_damaged");
    if (supervisor->durable.was_set_aside)
        reply_string(reply, NULL, "journal_set_aside");
    if (supervisor->spool.is_full)
        reply_string(reply, NULL, "spool_full");
    if (supervisor->intake.start_failures >= INTAKE_START_FAILURES_MAX)
        reply_string(reply, NULL, "cannot_start:intake");
    if (supervisor->phase >= SUPERVISOR_FINISHING)
        reply_string(reply, NULL, "stopping");
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        char text[64];
        if (worker->channel.layout && word(&worker->channel.layout->progress.unpinned_bytes) > 0) {
            snprintf(text, sizeof text, "not_pinned:%s", worker->name);
            reply_string(reply, NULL, text);
        }
        if (worker->state == WORKER_RUNNING && worker->sandbox != SANDBOX_ALL) {
            snprintf(text, sizeof text, "not_sandboxed:%s", worker->name);
            reply_string(reply, NULL, text);
        }
        if (worker->is_drained || worker->state == WORKER_WRITTEN_OFF) {
            snprintf(text, sizeof text, "%s:%s",
                     worker->state == WORKER_WRITTEN_OFF ? "written_off" : "drained", worker->name);
            reply_string(reply, NULL, text);
        }
        if (worker->start_failures < WORKER_START_FAILURES_MAX)
            continue;
        snprintf(text, sizeof text, "cannot_start:%s", worker->name);
        reply_string(reply, NULL, text);
    }
    reply_close(reply);
}

static void write_hugepages(struct reply *reply, const struct supervisor *supervisor,
                            bool is_locked)
{
    const struct memory *memory = &supervisor->memory;
    reply_map(reply, "hugepages");
    reply_string(reply, "policy", config_huge_pages_to_string(supervisor->config.huge_pages));
    reply_integer(reply, "page_bytes", memory->page_bytes);
    reply_bool(reply, "is_hugepage", memory->is_hugepage);
    reply_bool(reply, "mlocked", is_locked);
    reply_close(reply);
}

static void write_rings(struct reply *reply, const struct supervisor *supervisor)
{
    const struct memory *memory = &supervisor->memory;
    reply_array(reply, "rings");
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        const struct memory_ring *ring = &memory->rings[i];
        const struct slab_ring_table *table = ring->ring.table;
        if (!table)
            continue;
        reply_map(reply, NULL);
        reply_string(reply, "name", ring->name);
        reply_integer(reply, "slab_bytes", ring->slab_bytes);
        reply_integer(reply, "slabs", memory_slabs_ringed(memory, i));
        reply_integer(reply, "wanted", ring->is_removed ? 0 : ring->wanted);
        reply_integer(reply, "retiring", ring->leaving);
        if (resize_waits_for(supervisor, i))
            reply_string(reply, "waits_for", resize_waits_for(supervisor, i));
        reply_integer(reply, "head", word(&table->head));
        reply_integer(reply, "tail", word(&table->tail));
        reply_integer(reply, "occupancy",
                      atomic_load_explicit(&table->occupancy, memory_order_relaxed));
        reply_integer(reply, "tickets_spent", word(&table->tickets_spent));
        reply_close(reply);
    }
    reply_close(reply);
}

static const char *worker_state_of(const struct worker *worker)
{
    switch (worker->state) {
    case WORKER_DOWN:
        return worker->is_drained ? "drained" : "dead";
    case WORKER_STARTING:
        return "starting";
    case WORKER_RUNNING:
        if (!worker->is_caught_up)
            return "starting";
        if (worker->is_draining)
            return "draining";
        return worker->held_count > 0 ? "busy" : "idle";
    case WORKER_WRITTEN_OFF:
        return "written_off";
    case WORKER_STOPPING:
    case WORKER_KILLED:
    case WORKER_DOOMED:
        break;
    }
    return "stopping";
}

/* What it works on: its own word where that names a slot it holds, else the oldest it holds. */
static void write_work(struct reply *reply, const struct answers_caller *caller,
                       const struct worker *worker)
{
    const struct supervisor *supervisor = worker->supervisor;
    const struct channel_progress *progress = &worker->channel.layout->progress;
    uint32_t named = atomic_load_explicit(&progress->slot, memory_order_relaxed);
    uint32_t stage = atomic_load_explicit(&progress->stage, memory_order_relaxed);
    uint32_t index = worker->held[0];
    for (uint32_t i = 0; i < worker->held_count; i++) {
        if (worker->held[i] == named)
            index = named;
    }
    const struct slot *slot = &supervisor->slots.entries[index];
    if (job_answers_may_see(caller, slot->job)) {
        reply_integer(reply, "slot", index);
        reply_integer(reply, "job", slot->job);
        reply_integer(reply, "partition", slot->partition);
    }
    if (stage < PHASE_TOTAL)
        reply_string(reply, "stage", phase_to_string((enum phase)stage));
    reply_integer(reply, "age_ms", (supervisor->now_ns - slot->granted_ns) / 1000000);
}

static void write_orders(struct reply *reply, const struct worker *worker)
{
    const struct worker_order *order = &worker->order;
    const struct worker_trim *trim = &worker->trim;
    reply_string(reply, "log_level", log_level_to_string(worker_calls_level_of(worker)));
    if (order->number > 0) {
        reply_map(reply, "order");
        reply_integer(reply, "number", order->number);
        reply_string(reply, "kind", worker_order_kind_to_string(order->kind));
        reply_string(reply, "state", worker_order_state_to_string(order->state));
        reply_integer(reply, "age_ms", (worker->supervisor->now_ns - order->given_ns) / 1000000);
        if (order->text[0])
            reply_string(reply, "text", order->text);
        reply_close(reply);
    }
    if (trim->number > 0) {
        reply_map(reply, "trim");
        reply_integer(reply, "number", trim->number);
        reply_string(reply, "state", worker_trim_state_to_string(trim->state));
        reply_integer(reply, "given_back_bytes", trim->given_back_bytes);
        reply_integer(reply, "free_before_bytes", trim->free_before_bytes);
        reply_integer(reply, "free_after_bytes", trim->free_after_bytes);
        reply_close(reply);
    }
}

static void write_worker(struct reply *reply, const struct answers_caller *caller,
                         const struct worker *worker)
{
    const struct channel_progress *progress =
        worker->channel.layout ? &worker->channel.layout->progress : NULL;
    reply_map(reply, NULL);
    reply_string(reply, "name", worker->name);
    reply_string(reply, "kind", worker_kind_to_string(worker->kind));
    reply_integer(reply, "index", worker->index);
    reply_integer(reply, "pid", (uint64_t)worker->child.pid);
    reply_string(reply, "state", worker_state_of(worker));
    if (worker->ready_ns)
        reply_string(reply, "sandbox", sandbox_parts_to_string(worker->sandbox));
    if (worker->held_count > 0 && progress)
        write_work(reply, caller, worker);
    reply_integer(reply, "held", worker->held_count);
    reply_integer(reply, "restarts", worker->restarts);
    reply_integer(reply, "partitions_done",
                  worker->partitions_done_before +
                      (progress ? word(&progress->partitions_done) : 0));
    reply_string(reply, "last_error", worker->last_error[0] ? worker->last_error : NULL);
    write_orders(reply, worker);
    reply_integer(reply, "pss_bytes", progress ? word(&progress->pss_bytes) : 0);
    reply_integer(reply, "heap_bytes", progress ? word(&progress->heap_bytes) : 0);
    reply_integer(reply, "heap_free_bytes", progress ? word(&progress->heap_free_bytes) : 0);
    reply_close(reply);
}

static void write_workers(struct reply *reply, const struct answers_caller *caller)
{
    const struct supervisor *supervisor = caller->supervisor;
    reply_array(reply, "workers");
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        if (worker_is_present(&supervisor->workers.entries[i]))
            write_worker(reply, caller, &supervisor->workers.entries[i]);
    }
    reply_close(reply);
}

static void write_pinned(struct reply *reply, const struct worker *worker)
{
    static const struct channel_progress none;
    const struct channel_progress *progress =
        worker->channel.layout ? &worker->channel.layout->progress : &none;
    reply_integer(reply, "pinned_bytes", word(&progress->pinned_bytes));
    reply_integer(reply, "unpinned_bytes", word(&progress->unpinned_bytes));
    reply_integer(reply, "slabs_pinned",
                  atomic_load_explicit(&progress->slabs_pinned, memory_order_relaxed));
    reply_integer(reply, "slabs_unpinned",
                  atomic_load_explicit(&progress->slabs_unpinned, memory_order_relaxed));
    reply_integer(reply, "keys", atomic_load_explicit(&progress->keys, memory_order_relaxed));
}

static void write_gpus(struct reply *reply, const struct supervisor *supervisor)
{
    reply_array(reply, "gpu");
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        if (worker->kind != WORKER_GPU || !worker_is_present(worker))
            continue;
        uint64_t sum_ns = workers_busy_ns(worker);
        reply_map(reply, NULL);
        reply_integer(reply, "index", worker->index);
        reply_string(reply, "backend", worker->uses_cpu ? "cpu" : "cuda");
        reply_string(reply, "device", worker->device.name);
        reply_string(reply, "uuid", worker->device.uuid);
        reply_integer(reply, "memory_bytes", worker->device.memory_bytes);
        write_pinned(reply, worker);
        reply_real(reply, "busy_share",
                   busy_share_recent(&worker->busy, supervisor->now_ns, sum_ns));
        reply_real(reply, "busy_share_life",
                   busy_share_life(&worker->busy, supervisor->now_ns, sum_ns));
        reply_real(reply, "busy_ms", (double)sum_ns / 1e6);
        reply_close(reply);
    }
    reply_close(reply);
}

static void write_jobs(struct reply *reply, const struct supervisor *supervisor)
{
    const struct jobs *jobs = &supervisor->jobs;
    uint32_t running = 0;
    for (const struct job *job = jobs->active.first; job; job = job->next)
        running += job->state == REQUEST_JOB_RUNNING;
    reply_map(reply, "jobs");
    reply_integer(reply, "queued", jobs->active.count - running); /* also those being taken */
    reply_integer(reply, "running", running);
    reply_integer(reply, "done", jobs->totals[REQUEST_JOB_DONE]);
    reply_integer(reply, "failed", jobs->totals[REQUEST_JOB_FAILED]);
    reply_integer(reply, "cancelled", jobs->totals[REQUEST_JOB_CANCELLED]);
    reply_close(reply);
}

/* Where the GPU workers keep the key: "PLAN", with several "gpu-0: PLAN; gpu-1: PLAN". */
static void write_plan(struct reply *reply, const struct circuit *circuit)
{
    const struct workers *workers = &circuit->supervisor->workers;
    char text[2 * CIRCUITS_PLAN_BYTES];
    uint32_t count = 0, gpus = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < workers->count; i++)
        gpus += workers->entries[i].kind == WORKER_GPU && worker_is_present(&workers->entries[i]);
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->entries[i];
        const char *plan = circuit->plans[worker->index % GPU_WORKERS_MAX];
        if (worker->kind != WORKER_GPU || worker->keys[circuit->key] != WORKER_KEY_HELD || !*plan)
            continue;
        int more = snprintf(text + used, sizeof text - used, "%s%s%s%s", count ? "; " : "",
                            gpus > 1 ? worker->name : "", gpus > 1 ? ": " : "", plan);
        used += (size_t)more < sizeof text - used ? (size_t)more : sizeof text - used - 1;
        count++;
    }
    if (count > 0)
        reply_string(reply, "plan", text);
}

void status_write_circuit(struct reply *reply, const struct circuit *circuit)
{
    const struct facts *facts = &circuit->facts;
    reply_map(reply, NULL);
    reply_string(reply, "name", circuit->name);
    reply_string(reply, "state", circuit_state_to_string(circuit->state));
    if (circuit_has_facts(circuit)) {
        reply_string(reply, "curve", facts->curve->name);
        reply_integer(reply, "variables", facts->variable_count);
        reply_integer(reply, "public", facts->public_count);
        reply_integer(reply, "constraints", facts->constraint_count);
        reply_integer(reply, "domain", UINT64_C(1) << facts->domain_log2);
        reply_integer(reply, "slab_bytes", circuit_slab_bytes(circuit));
        reply_integer(reply, "key_bytes", facts->file_bytes);
        reply_bool(reply, "checks_constraints", facts->has_c);
        reply_string(reply, "key_digest", facts->key_digest);
        write_plan(reply, circuit);
    }
    if (circuit->error[0])
        reply_string(reply, "error", circuit->error);
    reply_close(reply);
}

static void write_circuits(struct reply *reply, const struct supervisor *supervisor)
{
    reply_array(reply, "circuits");
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        if (supervisor->circuits.entries[key])
            status_write_circuit(reply, supervisor->circuits.entries[key]);
    }
    reply_close(reply);
}

static void write_spool(struct reply *reply, const struct supervisor *supervisor)
{
    struct spool_figures spool;
    struct intake_figures intake;
    spool_figures(supervisor, &spool);
    intake_figures(supervisor, &intake);
    reply_map(reply, "spool");
    reply_integer(reply, "files", spool.files);
    reply_integer(reply, "bytes", spool.bytes);
    reply_integer(reply, "pending_bytes", spool.pending_bytes);
    reply_integer(reply, "free_bytes", spool.free_bytes);
    reply_bool(reply, "is_full", spool.is_full);
    reply_integer(reply, "processes", intake.processes);
    reply_integer(reply, "lost", intake.lost);
    reply_integer(reply, "deaths", intake.deaths);
    reply_integer(reply, "copying", intake.copying);
    reply_integer(reply, "waiting", intake.waiting);
    reply_integer(reply, "files_copied", intake.files_copied);
    reply_integer(reply, "bytes_copied", intake.bytes_copied);
    reply_close(reply);
}

static void write_slots_and_limits(struct reply *reply, const struct supervisor *supervisor)
{
    reply_map(reply, "slots");
    reply_integer(reply, "free", supervisor->slots.free_count);
    reply_integer(reply, "total", SLOTS_MAX);
    reply_close(reply);
    reply_map(reply, "memory");
    reply_integer(reply, "slab_bytes", supervisor->memory.slab_bytes_total);
    reply_integer(reply, "key_bytes", supervisor->memory.key_bytes_total);
    reply_integer(reply, "inline_bytes", supervisor->inline_bytes);
    reply_integer(reply, "result_bytes",
                  supervisor->jobs.active_bytes + supervisor->jobs.finished_bytes);
    reply_close(reply);
    reply_map(reply, "limits");
    reply_integer(reply, "frame_bytes", FRAME_BYTES_MAX);
    reply_integer(reply, "inline_bytes", INPUT_INLINE_BYTES_MAX);
    reply_integer(reply, "partitions", JOB_PARTITIONS_MAX);
    reply_integer(reply, "jobs_active", JOBS_ACTIVE_MAX);
    reply_integer(reply, "jobs_finished", JOBS_FINISHED_MAX);
    reply_integer(reply, "finished_age_ms", supervisor->config.results_age_ns / 1000000);
    reply_integer(reply, "results", supervisor->config.results_max);
    reply_integer(reply, "results_bytes", supervisor->config.results_bytes);
    reply_integer(reply, "wait_ms", WAIT_TIMEOUT_MS_MAX);
    reply_close(reply);
}

static void write_journal(struct reply *reply, const struct supervisor *supervisor)
{
    const struct durable *durable = &supervisor->durable;
    struct journal_figures figures;
    if (durable->waits_for_space) {
        reply_map(reply, "journal");
        reply_string(reply, "state", "closed");
        reply_close(reply);
    }
    if (!durable->journal)
        return;
    journal_figures(durable->journal, &figures);
    reply_map(reply, "journal");
    reply_string(reply, "state", journal_health_to_string(journal_health(durable->journal)));
    reply_integer(reply, "kept", durable->counts.finished_count);
    reply_integer(reply, "kept_bytes", durable->counts.finished_bytes);
    reply_integer(reply, "file_bytes", figures.bytes);
    reply_integer(reply, "operations", figures.operations);
    reply_integer(reply, "commits", figures.commits);
    reply_integer(reply, "queued", figures.queued);
    reply_integer(reply, "restored", durable->restored);
    reply_integer(reply, "submits", supervisor->admission.ticket_count);
    reply_close(reply);
}

static void write_everything(struct reply *reply, const struct answers_caller *caller)
{
    const struct supervisor *supervisor = caller->supervisor;
    bool is_locked = slabs_are_locked(supervisor);
    reply_map(reply, NULL);
    reply_string(reply, "version", CUZK_VERSION);
    reply_string(reply, "phase", supervisor_phase_to_string(supervisor->phase));
    reply_string(reply, "doing", supervisor->service.status);
    reply_integer(reply, "uptime_ms", (supervisor->now_ns - supervisor->started_ns) / 1000000);
    reply_string(reply, "event_loop", loop_kind_to_string(loop_kind(supervisor->loop)));
    write_flags(reply, supervisor, is_locked);
    write_hugepages(reply, supervisor, is_locked);
    write_rings(reply, supervisor);
    write_workers(reply, caller);
    write_gpus(reply, supervisor);
    write_jobs(reply, supervisor);
    write_circuits(reply, supervisor);
    write_slots_and_limits(reply, supervisor);
    write_journal(reply, supervisor);
    write_spool(reply, supervisor);
    reply_close(reply);
}

void status_write(struct reply *reply, const struct answers_caller *caller,
                  enum request_method method)
{
    if (method == REQUEST_STATUS) {
        write_everything(reply, caller);
        return;
    }
    reply_map(reply, NULL);
    if (method == REQUEST_WORKERS)
        write_workers(reply, caller);
    else
        write_circuits(reply, caller->supervisor);
    reply_close(reply);
}
