/* The configuration read again: see reload.h. */
#include "supervisor/reload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/log.h"
#include "supervisor/answers.h"
#include "supervisor/circuit_config.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_calls.h"
#include "supervisor/worker_orders.h"

static int read_next(struct supervisor *supervisor, struct config *ret_next,
                     struct reload_report *report);
static void apply(struct supervisor *supervisor, struct config *next, struct reload_report *report);
static void say(const struct reload_report *report);

int reload_run(struct supervisor *supervisor, struct reload_report *ret)
{
    struct config next = {0};
    *ret = (struct reload_report){0};
    int r = read_next(supervisor, &next, ret);
    if (r == 0)
        r = config_changes_find(&supervisor->config, &next, &ret->changes);
    if (r == -ENOMEM)
        snprintf(ret->why, sizeof ret->why, "memory is short");
    if (r == 0)
        r = resize_check(supervisor, &next, ret->why, sizeof ret->why);
    if (r < 0) {
        log_error("reload refused, nothing changes: %s", ret->why);
        config_destroy(&next);
        return r;
    }
    apply(supervisor, &next, ret);
    say(ret);
    return 0;
}

void reload_report_free(struct reload_report *report)
{
    config_changes_free(&report->changes);
}

static int refuse(struct reload_report *report, int error, const char *why)
{
    snprintf(report->why, sizeof report->why, "%s", why);
    return error;
}

static int read_next(struct supervisor *supervisor, struct config *ret_next,
                     struct reload_report *report)
{
    struct config_fault fault = {""};
    const char *path = supervisor->config_path;
    if (supervisor->phase < SUPERVISOR_SERVING)
        return refuse(report, -EBUSY, "the daemon is starting");
    if (supervisor->phase != SUPERVISOR_SERVING)
        return refuse(report, -ESHUTDOWN, "the daemon is stopping");
    int r = path ? config_load(path, ret_next, &fault)
                 : config_load_optional(CONFIG_PATH_DEFAULT, ret_next, &fault);
    if (r == 0 || r == -ENOMEM)
        return r;
    return refuse(report, -EBADMSG, fault.text);
}

static void note(struct reload_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct reload_report *report, const char *format, ...)
{
    va_list arguments;
    if (report->note_count == RELOAD_NOTES_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(report->notes[report->note_count++], RELOAD_NOTE_BYTES, format, arguments);
    va_end(arguments);
}

/* ---- what changes ---- */

static bool has_effect(const struct reload_report *report, enum config_effect effect)
{
    for (uint32_t i = 0; i < report->changes.count; i++) {
        if (report->changes.entries[i].effect == effect)
            return true;
    }
    return false;
}

/* "Ring.Slabs", or with a name of its own: "Ring \"large\"". */
static bool has_change(const struct reload_report *report, const char *prefix)
{
    for (uint32_t i = 0; i < report->changes.count; i++) {
        if (strncmp(report->changes.entries[i].key, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

static void apply_rings(struct supervisor *supervisor, struct reload_report *report)
{
    const struct memory *memory = &supervisor->memory;
    if (!has_change(report, "Ring"))
        return;
    int r = resize_begin(supervisor, &supervisor->config);
    if (r < 0)
        note(report, "a ring cannot be made: %s; read the configuration again when there is memory",
             strerror(-r));
    for (uint32_t i = 0; i < memory->ring_count; i++) {
        const struct memory_ring *ring = &memory->rings[i];
        if (!ring->ring.table || !supervisor->resize.rings[i].is_open)
            continue;
        if (ring->is_removed)
            note(report, "ring %s with %u slabs of %llu bytes goes as its partitions end",
                 ring->name, ring->count, (unsigned long long)ring->slab_bytes);
        else
            note(report,
                 "ring %s goes from %u to %u slabs of %llu bytes, as they come free and "
                 "pages are there",
                 ring->name, ring->count, ring->wanted, (unsigned long long)ring->slab_bytes);
    }
}

static void replace_workers(struct supervisor *supervisor, enum worker_kind kind,
                            struct reload_report *report)
{
    char why[WORKER_ORDERS_WHY_BYTES];
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        /* One that does not run is started with what counts then. */
        if (worker->kind != kind || worker->state == WORKER_DOWN || !worker_orders_wants(worker))
            continue;
        if (worker_orders_restart(worker, false, why) < 0)
            note(report, "%s goes on with what it was started with: %s", worker->name, why);
        else
            memcpy(report->restarts[report->restart_count++], worker->name, sizeof worker->name);
    }
}

static void apply_workers(struct supervisor *supervisor, struct reload_report *report)
{
    static const struct {
        enum config_effect effect;
        enum worker_kind kind;
    } kinds[] = {
        {CONFIG_EFFECT_SYNTH, WORKER_SYNTH},
        {CONFIG_EFFECT_GPU, WORKER_GPU},
        {CONFIG_EFFECT_FINALIZER, WORKER_FINALIZER},
    };
    const struct config *config = &supervisor->config;
    if (has_change(report, "Synthesis.Workers"))
        workers_set_count(supervisor, WORKER_SYNTH, config->synth_workers);
    if (has_change(report, "Finalizer.Workers"))
        workers_set_count(supervisor, WORKER_FINALIZER, config->finalizer_workers);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (has_effect(report, kinds[i].effect))
            replace_workers(supervisor, kinds[i].kind, report);
    }
}

static void apply_circuits(struct supervisor *supervisor, struct reload_report *report)
{
    struct circuits *circuits = &supervisor->circuits;
    if (!has_change(report, "Circuit"))
        return;
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        struct circuit *circuit = circuits->entries[key];
        if (!circuit || !circuit->is_configured ||
            circuit_config_names(&supervisor->config, circuit->name))
            continue;
        if (circuits_remove(supervisor, circuit) < 0)
            note(report, "circuit %s is in use and stays until the daemon starts anew",
                 circuit->name);
    }
    circuit_config_add(supervisor);
}

static void apply(struct supervisor *supervisor, struct config *next, struct reload_report *report)
{
    /* One that an operator has set at run time is the file's again. */
    enum log_level level = supervisor->config.log_level;
    config_changes_defer(&supervisor->config, next);
    config_destroy(&supervisor->config);
    supervisor->config = *next;
    *next = (struct config){0};
    if (level != supervisor->config.log_level)
        worker_calls_log_level_all(supervisor, supervisor->config.log_level);
    apply_rings(supervisor, report);
    apply_workers(supervisor, report);
    apply_circuits(supervisor, report);
}

/* ---- what is said ---- */

static void say(const struct reload_report *report)
{
    if (report->changes.count == 0)
        log_info("the configuration was read again: nothing has changed");
    for (uint32_t i = 0; i < report->changes.count; i++) {
        const struct config_change *change = &report->changes.entries[i];
        const char *effect = config_effect_to_string(change->effect);
        if (change->effect == CONFIG_EFFECT_DAEMON)
            log_warn("reload: %s %s -> %s needs the daemon restarted, and waits for that",
                     change->key, change->before, change->after);
        else if (change->effect == CONFIG_EFFECT_NOW)
            log_info("reload: %s %s -> %s, from now on", change->key, change->before,
                     change->after);
        else
            log_info("reload: %s %s -> %s, as %s workers are replaced", change->key, change->before,
                     change->after, effect);
    }
    for (uint32_t i = 0; i < report->note_count; i++)
        log_info("reload: %s", report->notes[i]);
}

void reload_on_signal(struct supervisor *supervisor)
{
    static struct reload_report report; /* some KiB, and there is one thread */
    if (supervisor->phase < SUPERVISOR_SERVING) {
        log_info("SIGHUP: the configuration is read again when the start is over");
        supervisor->is_reload_wanted = true;
        return;
    }
    supervisor->is_reload_wanted = false;
    log_info("SIGHUP: the configuration is read again");
    reload_run(supervisor, &report);
    reload_report_free(&report);
}

void reload_tick(struct supervisor *supervisor)
{
    if (supervisor->is_reload_wanted && supervisor->phase >= SUPERVISOR_SERVING)
        reload_on_signal(supervisor);
}

static void write_changes(struct reply *reply, const struct reload_report *report)
{
    reply_array(reply, "changed");
    for (uint32_t i = 0; i < report->changes.count; i++) {
        const struct config_change *change = &report->changes.entries[i];
        reply_map(reply, NULL);
        reply_string(reply, "key", change->key);
        reply_string(reply, "old", change->before);
        reply_string(reply, "new", change->after);
        reply_string(reply, "effect", config_effect_to_string(change->effect));
        reply_close(reply);
    }
    reply_close(reply);
}

static void write_keys(struct reply *reply, const char *name, const struct reload_report *report,
                       enum config_effect effect)
{
    reply_array(reply, name);
    for (uint32_t i = 0; i < report->changes.count; i++) {
        if (report->changes.entries[i].effect == effect)
            reply_string(reply, NULL, report->changes.entries[i].key);
    }
    reply_close(reply);
}

void reload_answer(const struct answers_caller *caller, const struct request *request,
                   struct reply *reply)
{
    static struct reload_report report;
    int r = reload_run(caller->supervisor, &report);
    if (r < 0) {
        enum reply_code code = r == -EBUSY       ? REPLY_BUSY
                               : r == -ESHUTDOWN ? REPLY_SHUTTING_DOWN
                               : r == -EBADMSG   ? REPLY_BAD_INPUT
                                                 : REPLY_FAILED;
        reply_error(reply, request->message_id, code, report.why, r == -EBUSY ? 1000 : 0);
        reload_report_free(&report);
        return;
    }
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    write_changes(reply, &report);
    write_keys(reply, "now", &report, CONFIG_EFFECT_NOW);
    reply_array(reply, "restarts");
    for (uint32_t i = 0; i < report.restart_count; i++)
        reply_string(reply, NULL, report.restarts[i]);
    reply_close(reply);
    write_keys(reply, "refused", &report, CONFIG_EFFECT_DAEMON);
    reply_array(reply, "notes");
    for (uint32_t i = 0; i < report.note_count; i++)
        reply_string(reply, NULL, report.notes[i]);
    reply_close(reply);
    reply_close(reply);
    reload_report_free(&report);
}
