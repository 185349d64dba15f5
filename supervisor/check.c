/* The checker of invariants: see check.h. Upstream: answers.c; downstream: check_records.c (the
 * supervisor's own records), check_system.c (what the kernel says). */
#include "supervisor/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/close_later.h"
#include "runtime/errands.h"
#include "supervisor/supervisor.h"

static const struct {
    const char *name;
    void (*run)(const struct supervisor *supervisor, struct check_finding *finding);
    bool is_for_idle; /* it tells something only when nothing is on its way */
} items[CHECK_ITEM_COUNT] = {
    [CHECK_SLOTS] = {"slots", check_slots, false},
    [CHECK_QUEUES] = {"queues", check_queues, false},
    [CHECK_SLABS] = {"slabs", check_slabs, false},
    [CHECK_OWNERS] = {"owners", check_owners, false},
    [CHECK_JOBS] = {"jobs", check_jobs, false},
    [CHECK_CIRCUITS] = {"circuits", check_circuits, false},
    [CHECK_COUNTERS] = {"counters", check_counters, false},
    [CHECK_PROCESSES] = {"processes", check_processes, false},
    [CHECK_DESCRIPTORS] = {"descriptors", check_descriptors, true},
    [CHECK_MEMORY] = {"memory", check_memory, false},
    [CHECK_SPOOL] = {"spool", check_spool, true},
    [CHECK_JOURNAL] = {"journal", check_journal, true},
};

const char *check_item_to_string(enum check_item item)
{
    return (unsigned)item < CHECK_ITEM_COUNT ? items[item].name : "?";
}

const char *check_outcome_to_string(enum check_outcome outcome)
{
    switch (outcome) {
    case CHECK_FINE:
        return "fine";
    case CHECK_BROKEN:
        return "broken";
    case CHECK_SKIPPED:
        return "skipped";
    }
    return "?";
}

void check_fault(struct check_finding *finding, const char *format, ...)
{
    va_list arguments;
    finding->outcome = CHECK_BROKEN;
    if (finding->faults++ > 0)
        return;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

void check_note(struct check_finding *finding, const char *format, ...)
{
    va_list arguments;
    if (finding->faults > 0)
        return;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

void check_skip(struct check_finding *finding, const char *why)
{
    finding->outcome = CHECK_SKIPPED;
    snprintf(finding->text, sizeof finding->text, "%s", why);
}

static bool worker_rests(const struct worker *worker)
{
    if (worker->state == WORKER_DOWN)
        return !worker_orders_wants(worker);
    return worker->state == WORKER_RUNNING && worker->is_caught_up && !worker->is_draining &&
           worker_holds_nothing(worker);
}

static bool intake_rests(const struct supervisor *supervisor)
{
    const struct intake *intake = &supervisor->intake;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        enum intake_worker_state state = intake->workers[i].state;
        if (state != INTAKE_DOWN && state != INTAKE_IDLE)
            return false;
    }
    return true;
}

static bool journal_rests(const struct supervisor *supervisor)
{
    const struct durable *durable = &supervisor->durable;
    struct journal_figures figures;
    if (!durable->journal)
        return true;
    journal_figures(durable->journal, &figures);
    return figures.queued == 0 && durable->fetches == 0 && !durable->is_expiring;
}

/* No thread opens or closes a descriptor now, and none is on its way to a request: what is open is
 * what the records name and what was there all along. A record lets go of its descriptor before a
 * thread closes it (close_later), a client's connection too. */
static bool descriptors_rest(const struct supervisor *supervisor)
{
    if (supervisor->admission.ticket_count > 0 || supervisor->intake.first ||
        supervisor->resize.is_open || !journal_rests(supervisor) ||
        !errands_are_done(supervisor->spool.errands) || !close_later_is_done())
        return false;
    for (const struct control_client *client = supervisor->control.clients; client;
         client = client->next) {
        if (client->stream.descriptor_count > 0)
            return false;
    }
    return true;
}

/* No partition is anywhere, and nobody comes or goes. */
static bool is_idle(const struct supervisor *supervisor)
{
    if (supervisor->phase != SUPERVISOR_SERVING || supervisor->slots.free_count != SLOTS_MAX ||
        supervisor->jobs.active.count > 0 || supervisor->jobs.settling_count > 0 ||
        !intake_rests(supervisor) || !descriptors_rest(supervisor))
        return false;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        if (!worker_rests(&supervisor->workers.entries[i]))
            return false;
    }
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = supervisor->circuits.entries[key];
        if (circuit && (circuit->helper || circuit->state == CIRCUIT_PREPARING ||
                        circuit->state == CIRCUIT_LOADING || circuit->state == CIRCUIT_SHARING))
            return false;
    }
    return true;
}

void check_tick(struct supervisor *supervisor)
{
    struct check_baseline *baseline = &supervisor->check_baseline;
    uint32_t open_count;
    if (baseline->is_there || supervisor->phase != SUPERVISOR_SERVING ||
        !descriptors_rest(supervisor))
        return;
    baseline->is_there = check_unexplained(supervisor, baseline->unexplained, &open_count);
}

void check_run(const struct supervisor *supervisor, struct check_report *ret)
{
    *ret = (struct check_report){.is_fine = true, .is_idle = is_idle(supervisor)};
    for (int item = 0; item < CHECK_ITEM_COUNT; item++) {
        struct check_finding *finding = &ret->findings[item];
        if (items[item].is_for_idle && !ret->is_idle)
            check_skip(finding, "only while nothing is in flight");
        else
            items[item].run(supervisor, finding);
        ret->is_fine &= finding->outcome != CHECK_BROKEN;
    }
}

void check_write(struct reply *reply, const struct supervisor *supervisor)
{
    struct check_report report;
    check_run(supervisor, &report);
    reply_map(reply, NULL);
    reply_bool(reply, "fine", report.is_fine);
    reply_bool(reply, "idle", report.is_idle);
    reply_array(reply, "checks");
    for (int item = 0; item < CHECK_ITEM_COUNT; item++) {
        const struct check_finding *finding = &report.findings[item];
        reply_map(reply, NULL);
        reply_string(reply, "name", items[item].name);
        reply_string(reply, "outcome", check_outcome_to_string(finding->outcome));
        reply_integer(reply, "faults", finding->faults);
        reply_string(reply, "text", finding->text);
        reply_close(reply);
    }
    reply_close(reply);
    reply_close(reply);
}
