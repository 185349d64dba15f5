/* The configuration read again while everything runs: what differs, what of it acts now, which
 * workers are replaced for it, and what waits for a restart of the daemon. A file with a fault
 * changes nothing. Upstream: SIGHUP (supervisor.c) and `reload` (answers.c); downstream: resize.c,
 * workers.c, worker_orders.c, circuit_config.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/changes.h"

struct supervisor;
struct answers_caller;
struct request;
struct reply;

enum {
    RELOAD_NOTES_MAX = 32,
    RELOAD_NOTE_BYTES = 400,
    RELOAD_WHY_BYTES = 1024,
};

struct reload_report {
    struct config_changes changes;
    /* Workers that are replaced, one of a kind at a time. */
    char restarts[WORKERS_MAX][24];
    uint32_t restart_count;
    char notes[RELOAD_NOTES_MAX][RELOAD_NOTE_BYTES]; /* what goes on from here, what is odd */
    uint32_t note_count;
    char why[RELOAD_WHY_BYTES]; /* of a refusal */
};

/* Reads the file and begins what it asks for; both are logged. 0; -EBADMSG: the file is at fault;
 * -EBUSY: not now; -ESHUTDOWN; -ENOMEM. Then nothing has changed. The report is freed in any case
 * with reload_report_free. */
int reload_run(struct supervisor *supervisor, struct reload_report *ret);
void reload_report_free(struct reload_report *report);
/* SIGHUP: reload_run, or once the start is over. */
void reload_on_signal(struct supervisor *supervisor);
/* Once a turn: what SIGHUP asked for during the start. */
void reload_tick(struct supervisor *supervisor);
void reload_answer(const struct answers_caller *caller, const struct request *request,
                   struct reply *reply);
