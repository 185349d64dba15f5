/* The finalizer: FINALIZE grants become proofs. One partition at a time, lowest order key first,
 * one phase a turn. One thread. Maps keys (for the verifying key), no slab. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "groth16/key/attached_key.h"
#include "groth16/key/prepared.h"
#include "shm/worker.h"

enum finalizer_step {
    FINALIZER_QUEUED,
    FINALIZER_ASSEMBLE, /* public inputs are read */
    FINALIZER_VERIFY,
};

struct finalizer_partition {
    bool is_held;
    enum finalizer_step step;
    struct message grant, answer;
    uint64_t taken_ns;
    const struct prepared *key;
    int witness_fd, public_fd; /* owned, -1 when not there */
};

struct finalizer_worker {
    struct worker frame;
    struct finalizer_partition held[GRANTS_HELD_MAX];
    struct finalizer_partition *current; /* whose inputs and proof are below */
    struct attached_key keys[CIRCUITS_MAX];
    uint64_t public_scalars[4 * PUBLIC_INPUTS_MAX];
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
};

/* frame is set and READY is said: loops until STOP or an error; returns the program's exit status
 * (enum worker_exit). */
int finalizer_worker_run(struct finalizer_worker *worker);
