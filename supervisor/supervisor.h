/* The whole supervisor as one object: each member is owned by the module of its name, and all run
 * on one thread. Members point back here where their callbacks need the others. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "runtime/activation.h"
#include "runtime/cgroup.h"
#include "runtime/loop.h"
#include "supervisor/admission.h"
#include "supervisor/adoption.h"
#include "supervisor/check.h"
#include "supervisor/circuits.h"
#include "supervisor/control.h"
#include "supervisor/durable.h"
#include "supervisor/intake.h"
#include "supervisor/job_numbers.h"
#include "supervisor/jobs.h"
#include "supervisor/memory.h"
#include "supervisor/order.h"
#include "supervisor/resize.h"
#include "supervisor/preparation.h"
#include "supervisor/service.h"
#include "supervisor/slots.h"
#include "supervisor/spool.h"
#include "supervisor/workers.h"

enum supervisor_phase {
    SUPERVISOR_PREPARING, /* slabs are being made; sockets are open, `status` alone is answered */
    SUPERVISOR_STARTING,  /* workers are coming up; jobs queue */
    SUPERVISOR_SERVING,
    SUPERVISOR_FINISHING, /* asked to stop: no new jobs, those there go on until deadline_ns */
    SUPERVISOR_STOPPING,  /* workers have been told to stop, and are killed at deadline_ns */
    SUPERVISOR_STOPPED,
};

enum {
    SUPERVISOR_STOP_GRACE_MS = 5000, /* for workers to drop what they hold, after StopTimeout= */
    SUPERVISOR_TICK_MS = 1000,       /* figures, retention, watchdog */
};

struct supervisor {
    struct config config;
    const char *config_path; /* NULL: the default one, which may be absent */
    bool is_reload_wanted;   /* SIGHUP came during the start */
    struct loop *loop;
    struct loop_watch signal_watch;
    enum supervisor_phase phase;
    int exit_status;
    uint64_t now_ns; /* of this callback or step of the turn */
    uint64_t started_ns, deadline_ns, next_tick_ns;
    struct service service;
    int lock_fd, members_fd; /* see leftovers.h */
    struct cgroup_tree cgroups;
    struct activation activation; /* descriptors of the service manager, not yet taken */
    uint32_t descriptors_max;
    struct adoption adoption; /* while starting */
    struct preparation preparation;
    struct memory memory;
    struct resize resize;
    struct slots slots;
    struct jobs jobs;
    struct job_numbers job_numbers;
    struct durable durable;
    struct admission admission;
    struct order order;
    struct circuits circuits;
    struct workers workers;
    struct spool spool;
    struct intake intake;
    struct control control;
    uint64_t inline_bytes;            /* of witnesses that came inline and wait */
    uint32_t inputs_open;             /* descriptors of witnesses that wait */
    uint64_t grants_delayed_until_ns; /* 0: none is delayed */
    struct check_baseline check_baseline;
};

/* Takes the configuration over. Logs what failed; then supervisor_destroy all the same.
 * -ECANCELED: asked to stop before there was anything to stop. */
int supervisor_start(struct supervisor *supervisor, const struct config *config);
/* The main loop, until stopped. Returns the exit status. */
int supervisor_run(struct supervisor *supervisor);
void supervisor_destroy(struct supervisor *supervisor);
/* The first time: no new jobs, finish those there, stop. Again: stop at once. */
void supervisor_stop(struct supervisor *supervisor);
/* "starting", "serving" or "stopping": as clients see it. */
const char *supervisor_phase_to_string(enum supervisor_phase phase);
/* Start-up cannot succeed (logged by the caller): stop at once with exit status 1. */
void supervisor_fail(struct supervisor *supervisor);
/* Callbacks of the loop begin with it: now_ns is the time of what they do. */
void supervisor_take_time(struct supervisor *supervisor);
