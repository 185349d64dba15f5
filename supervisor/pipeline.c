/* One step of one partition: see pipeline.h. Upstream: admission.c, grants.c, completions.c,
 * recovery.c; downstream: the queues (slots.c), the slab rings (memory.c), jobs.c. */
#include "supervisor/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "runtime/check.h"
#include "supervisor/report.h"
#include "supervisor/supervisor.h"

static void settle(struct supervisor *supervisor, struct slot *slot);
static void release(struct supervisor *supervisor, struct slot *slot);

int pipeline_apply(struct supervisor *supervisor, struct slot *slot, enum slot_event event)
{
    struct slots *slots = &supervisor->slots;
    struct slot_step step;
    int r = slot_state_step(slot->state, event, &step);
    if (r < 0)
        return r;

    if (step.actions & SLOT_ACTION_DEQUEUE)
        slots_dequeue(slots, slot);
    if (step.actions & SLOT_ACTION_DISOWN) {
        workers_disown(slot->owner, slot);
        durable_attempt(supervisor, slot, OPERATION_NONE);
    }
    if (step.actions & SLOT_ACTION_UNBIND && slot->slab >= 0) {
        slots_reclaimable_remove(slots, slot);
        memory_release(&supervisor->memory, slot->slab);
        slot->slab = -1;
    }
    slots_set_state(slots, slot, step.next);
    if (step.actions & SLOT_ACTION_RECLAIMABLE)
        slots_reclaimable_add(slots, slot);
    if (step.actions & SLOT_ACTION_PROTECT)
        slots_reclaimable_remove(slots, slot);
    if (step.actions & SLOT_ACTION_ENQUEUE)
        slots_enqueue(slots, slot);
    if (step.actions & SLOT_ACTION_TELL)
        workers_tell_cancel(slot->owner, slot);
    if (step.actions & SLOT_ACTION_SETTLE)
        settle(supervisor, slot);
    return 0;
}

void pipeline_grant(struct supervisor *supervisor, struct slot *slot, enum slot_event event,
                    struct worker *worker, enum operation operation, uint64_t generation)
{
    int r = pipeline_apply(supervisor, slot, event);
    CHECK(r == 0);
    slot->granted = operation;
    slot->generation = generation;
    slot->granted_ns = supervisor->now_ns;
    slot->is_told = false;
    workers_own(worker, slot);
    if (slot->first_granted_ns == 0)
        slot->first_granted_ns = supervisor->now_ns;
    struct job *job = jobs_find(&supervisor->jobs, slot->job);
    if (job)
        jobs_start(&supervisor->jobs, job, supervisor->now_ns);
}

enum pipeline_loss pipeline_loss_of(bool is_wanted, bool is_alone)
{
    if (is_wanted)
        return PIPELINE_LOSS_WANTED;
    return is_alone ? PIPELINE_LOSS_ALONE : PIPELINE_LOSS_TOGETHER;
}

void pipeline_lost(struct supervisor *supervisor, struct slot *slot, enum pipeline_loss loss,
                   const char *how)
{
    const bool counts = loss == PIPELINE_LOSS_ALONE;
    bool is_dropped = slot->state == SLOT_ENDING;
    if (!is_dropped && loss != PIPELINE_LOSS_WANTED) {
        slot->is_suspect = true;
        if (slot->suspected_in < slot->granted)
            slot->suspected_in = slot->granted;
    }
    if (counts) {
        slot->attempts++;
        snprintf(slot->last_fault, sizeof slot->last_fault, "%s", how);
    }
    enum slot_event event = slot->slab >= 0 ? SLOT_EVENT_LOST : SLOT_EVENT_LOST_SLABLESS;
    if (counts && !is_dropped && slot->attempts >= supervisor->config.attempts_max) {
        event = SLOT_EVENT_LOST_SPENT;
        slot->error_code = REPLY_FAILED;
        bool is_death = slot->owner->child.pid == 0 || slot->owner->state == WORKER_WRITTEN_OFF;
        snprintf(slot->error_text, sizeof slot->error_text, "it %s %u times (%s)",
                 is_death ? "killed its worker" : "failed on its device", slot->attempts,
                 slot->last_fault);
    }
    int r = pipeline_apply(supervisor, slot, event);
    CHECK(r == 0);
}

int pipeline_refuse(struct supervisor *supervisor, struct slot *slot, enum reply_code code,
                    const char *text)
{
    slot->error_code = code;
    snprintf(slot->error_text, sizeof slot->error_text, "%s", text);
    return pipeline_apply(supervisor, slot, SLOT_EVENT_REFUSED);
}

void pipeline_drop_job(struct supervisor *supervisor, struct job *job)
{
    CHECK(job_is_terminal(job));
    for (uint32_t i = 0; i < job->partition_count; i++) {
        if (job->slots[i] == SLOT_NONE)
            continue;
        struct slot *slot = &supervisor->slots.entries[job->slots[i]];
        bool is_settling = slot->state == SLOT_DONE || slot->state == SLOT_FAILED;
        if (!is_settling)
            CHECK(pipeline_apply(supervisor, slot, SLOT_EVENT_CANCEL) == 0);
    }
}

/* The job takes note of the slot's terminal state; then the slot is free. */
static void settle(struct supervisor *supervisor, struct slot *slot)
{
    struct job *job = jobs_find(&supervisor->jobs, slot->job);
    report_partition(supervisor, slot);
    if (job && slot->state == SLOT_DONE) {
        if (!job_is_terminal(job))
            durable_proved(supervisor, job, slot->partition);
        if (jobs_partition_done(&supervisor->jobs, job, supervisor->now_ns))
            report_job(job);
    } else if (job && slot->state == SLOT_FAILED) {
        if (jobs_fail(&supervisor->jobs, job, slot->error_code, slot->partition, slot->error_text,
                      supervisor->now_ns)) {
            report_job(job);
            pipeline_drop_job(supervisor, job);
        }
    }
    release(supervisor, slot);
}

static void release(struct supervisor *supervisor, struct slot *slot)
{
    struct job *job = jobs_find(&supervisor->jobs, slot->job);
    if (job)
        job_slot_released(job, slot->partition);
    CHECK(slot->circuit->slot_count > 0);
    slot->circuit->slot_count--;
    if (slot->input.fd >= 0)
        supervisor->inputs_open--;
    supervisor->inline_bytes -= slot->input.inline_count;
    int r = pipeline_apply(supervisor, slot, SLOT_EVENT_SETTLED);
    CHECK(r == 0);
    slots_put_back(&supervisor->slots, slot);
}
