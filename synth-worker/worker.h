/* The synthesis worker: SYNTHESIZE grants become READY partitions. Witness files of all held grants
 * are read at once, in the background; computing takes one partition at a time, lowest order key
 * first, in pieces of some 10 ms, so that cancels and the beat are never far away. One thread
 * besides the pool's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "groth16/key/attached_key.h"
#include "groth16/key/prepared.h"
#include "groth16/pool.h"
#include "shm/worker.h"
#include "synth-worker/read.h"

/* What is done next, once the values are in the slab. Who owns the slab: this worker, from the
 * grant to the answer, in every step. */
enum synth_step {
    SYNTH_READ,        /* waits for read.c */
    SYNTH_VALUES,      /* check_values from `position` */
    SYNTH_EVALUATE,    /* evaluate_rows from `position`; nothing where the device evaluates */
    SYNTH_WIPE,        /* evaluate_wipe from `position`, up to what is stale */
    SYNTH_CONSTRAINTS, /* check_constraints from `position`; only where the key has C */
};

struct synth_partition {
    bool is_held;
    enum synth_step step;
    struct message grant, answer;
    uint64_t taken_ns, step_began_ns;
    size_t position;
    const struct prepared *key;
    bool has_evaluations; /* a and b are written too */
    uint8_t *slab;
    uint64_t used_bytes;  /* of the slab, by this partition */
    uint64_t stale_bytes; /* of the slab, at most its size */
    struct read read;
};

struct synth_worker {
    struct worker frame;
    struct pool *pool;
    struct synth_partition held[GRANTS_HELD_MAX];
    struct attached_key keys[CIRCUITS_MAX];
};

/* frame and pool are set and READY is said: loops until STOP or an error; returns the program's
 * exit status (enum worker_exit). */
int synth_worker_run(struct synth_worker *worker);
