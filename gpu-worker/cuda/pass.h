/* A pass of several partitions over a streamed key. The bases pass by in chunks, in one of two
 * buffers while the other is computed with; each chunk is used for every partition of the pass
 * before the next replaces it, so that the link carries the key once for all of them:
 *
 *   chunk       c+1 goes up on a stream of its own
 *   compute     plan and sums of chunk c, partition after partition, the two streams in turn
 *
 * Steps: the chunks of the witness, then the quotients of all partitions, then the chunks of H. Two
 * steps are enqueued at a time; the next pass begins when the last ones of this are. The sums of
 * the chunks are added by the host at the end. */
#pragma once

#include "gpu-worker/cuda/flight.h"
#include "gpu-worker/cuda/plan.h"

enum {
    PASS_LANES = 2,   /* the two compute streams */
    PASS_BUFFERS = 2, /* of chunks; and steps enqueued */
};

struct pass {
    /* The one whose steps are being enqueued; key NULL: none. */
    struct key *key;
    struct flight *flights[PLAN_PASS_MAX];
    unsigned count, step;
    uint64_t units; /* of work, the streams in turn */
    /* Of all passes. */
    uint64_t steps_begun, steps_done, uploads;
    void *done[PASS_BUFFERS][PASS_LANES]; /* events: a step has ended in that stream */
    void *free[PASS_BUFFERS][PASS_LANES]; /* the buffer's chunk is used no more */
    void *uploaded[PASS_BUFFERS];
    void *turns[PASS_LANES];
    void *uploads_end; /* of a pass that is given up */
};

/* The events, at open. A driver error. */
int pass_init(struct pass *pass);
void pass_destroy(struct pass *pass);
/* Begins a pass of flights of one streamed key. No other is being enqueued. */
void pass_begin(struct backend *backend, struct flight *const *flights, unsigned count);
/* Enqueues the next step when it is time. Returns whether anything was done. */
bool pass_step(struct backend *backend);
/* Whether all steps are enqueued and the last ones are under way. */
bool pass_is_in_last_steps(const struct pass *pass);
