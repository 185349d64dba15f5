/* What can be asked of a worker while it goes on: to give free heap back, to log more or less.
 * Called by answers.c and reload.c; completions.c brings the answer of a trim. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/log.h"

struct message;
struct supervisor;
struct worker;

enum worker_trim_state {
    WORKER_TRIM_NONE,
    WORKER_TRIM_OPEN,
    WORKER_TRIM_DONE,
    WORKER_TRIM_FAILED, /* the worker ended before it answered */
};

struct worker_trim {
    uint64_t number; /* of the counter of orders */
    enum worker_trim_state state;
    uint64_t generation;
    uint64_t free_before_bytes, free_after_bytes; /* inside the heap, by malloc's own account */
    uint64_t given_back_bytes;                    /* of the process, as the kernel sees it */
};

const char *worker_trim_state_to_string(enum worker_trim_state state);

/* 0, also when one is open already (it is the same); -ENOTCONN: it does not run; -EAGAIN. */
int worker_calls_trim(struct worker *worker);
/* NULL, or how the answer breaks the contract. */
const char *worker_calls_trimmed(struct worker *worker, const struct message *answer);
/* Once a turn: tells a level that had to wait. */
void worker_calls_tick(struct worker *worker);
/* The process is gone. */
void worker_calls_ended(struct worker *worker);

/* Of this worker and of the processes that come after it, until it is set again for all. */
void worker_calls_log_level(struct worker *worker, enum log_level level);
/* Of the supervisor, every worker and those that are started later. */
void worker_calls_log_level_all(struct supervisor *supervisor, enum log_level level);
/* What its next process is started with. */
enum log_level worker_calls_level_of(const struct worker *worker);
