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
    uint64_t deadline_ns;
};

/* 0 (worker_orders_checked tells the result; where there is no program, in tests, none is under way
 * then), or negative errno with the reason in ret_why (WORKER_ORDERS_WHY_BYTES). */
int worker_check_start(struct worker *worker, char *ret_why);
bool worker_check_is_open(const struct worker *worker);
/* Ends one that does not answer. */
void worker_check_tick(struct worker *worker);
/* Without a result. */
void worker_check_stop(struct worker *worker);
