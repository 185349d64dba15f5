/* Whether a worker that has something to do still moves: progress by stage, not a heartbeat. Pure:
 * the caller (stalls.c) brings the time, what the worker is at and one figure that changes with
 * every unit of work done. One that advances, however slowly, is never stalled.
 *
 * What counts as progress in each stage, and how many times StallTimeout= it may stand still, is
 * said with the stages below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum liveness_stage {
    LIVENESS_RESTING, /* nothing is expected of it */
    /* Slabs registered; but a driver's start, the first touch of a device and the proof of known
     * answer have no steps: twice. */
    LIVENESS_STARTING,
    /* Turns of its loop, each of which takes the descriptors sent: once. */
    LIVENESS_CATCHING_UP,
    /* Steps: every piece of a read, of checks, of evaluation (some ms each); tasks of the pool
     * behind the CPU backend; what a device has finished; pieces of keys: once. */
    LIVENESS_WORKING,
    /* malloc_trim is one call and takes minutes on a heap of hundreds of GiB: five times. */
    LIVENESS_TRIMMING,
    /* The process takes its mappings and registrations down, at some 20 ms a GiB, without a word:
     * once. */
    LIVENESS_STOPPING,
    LIVENESS_STAGE_COUNT,
};

struct liveness {
    enum liveness_stage stage;
    uint64_t progress;
    uint64_t looked_ns;
    uint64_t still_ns; /* time seen without progress */
};

enum {
    LIVENESS_LOOKS = 8, /* a timeout */
};

/* True when it stands still for too long. Only time between looks counts, and of each gap no more
 * than two looks' worth: a supervisor that itself was stopped has seen nothing meanwhile.
 * timeout_ns 0: never. */
bool liveness_look(struct liveness *liveness, enum liveness_stage stage, uint64_t progress,
                   uint64_t timeout_ns, uint64_t now_ns);
/* When to look next. */
uint64_t liveness_interval_ns(uint64_t timeout_ns);
const char *liveness_stage_to_string(enum liveness_stage stage);
