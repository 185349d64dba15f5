/* Whether a worker's program, as it is installed now, could start: asked of the program itself
 * (`--check`) in a process that touches no device, while the worker that is to be replaced goes on.
 * Finds a file that cannot be executed, missing libraries, a missing or wrong plug-in and a program
 * of another build. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/child.h"
#include "runtime/loop.h"

struct worker;

enum {
    WORKER_CHECK_S_MAX = 10,
};

struct worker_check {
    struct child child;
    struct loop_watch watch; /* of its end; on_ready NULL: none is under way */
    int text_fd;             /* what it says */
    uint64_t deadline_ns;    /* for what it says */
    bool is_given_up;        /* it is killed, and what it says counts no more */
    bool is_wanted_again;    /* another one begins when it is gone */
};

/* 0 (worker_orders_checked tells the result; where there is no program, in tests, none is under way
 * then), or negative errno with the reason in ret_why (WORKER_ORDERS_WHY_BYTES). One that is under
 * way is given up, and this one begins when its process is gone. Does not wait. */
int worker_check_start(struct worker *worker, char *ret_why);
/* Its process is there, be it one that was given up and does not die. */
bool worker_check_is_open(const struct worker *worker);
/* When worker_check_tick has something to do; UINT64_MAX: nothing. */
uint64_t worker_check_deadline(const struct worker *worker);
/* Gives one up that does not answer. */
void worker_check_tick(struct worker *worker);
/* At the end of the daemon: without a result, and without waiting for its process. */
void worker_check_destroy(struct worker *worker);
