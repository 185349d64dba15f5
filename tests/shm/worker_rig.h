/* Plays the supervisor against one real worker process: channel, bells, courier, slabs, keys. Used
 * by the tests of the worker programs. Every call ends the process with a message when the rig
 * itself cannot go on; what the worker does wrong is the test's to judge. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "runtime/child.h"
#include "shm/channel.h"
#include "shm/slab.h"

struct rig {
    struct child child;
    struct channel channel;
    int bell_to, bell_from, courier;
    struct slab slabs[4];
    void *slab_memory[4]; /* mapped read-only by the rig */
    uint64_t generation;
    int log_fd; /* the worker's stderr, rewound by rig_log */
};

/* A circuit's prepared key, made by the real `cuzk-synth --prepare` and `--load`. */
struct rig_key {
    struct slab memory;
    const void *mapped;
    struct prepared prepared;
};

/* Starts a worker with `program` and the usual options, then `extra` (NULL-terminated, may be
 * NULL), and does not wait for READY. event_loop: "io_uring", "ppoll" or "auto". */
void rig_start(struct rig *rig, enum worker_kind kind, const char *program, const char *event_loop,
               const char *const *extra);
/* The same, and takes READY. */
struct message rig_start_ready(struct rig *rig, enum worker_kind kind, const char *program,
                               const char *event_loop, const char *const *extra);
/* Sends a slab of at least `bytes` under the index, filled with 0xa5. */
void rig_slab(struct rig *rig, unsigned index, uint64_t bytes);
void rig_send_key(struct rig *rig, uint32_t id, const struct rig_key *key);
/* A grant of this operation with the next generation; numbers[2] = job 7, numbers[3] = partition 1,
 * numbers[4] = now; slabs are to hold evaluations. */
struct message rig_message(struct rig *rig, enum operation operation, uint32_t slot,
                           uint64_t number0, uint64_t number1);
/* Descriptors for a grant; borrowed. */
void rig_input(struct rig *rig, const struct message *grant, const int *fds, unsigned count);
void rig_grant(struct rig *rig, const struct message *grant);
/* The next completion: 1, or 0 when none came in time or the worker died. */
int rig_take(struct rig *rig, struct message *ret, int timeout_ms);
/* The text of a failed answer. */
const char *rig_text(const struct message *answer);
/* Everything the worker has logged so far. */
const char *rig_log(struct rig *rig);
/* STOP, then waits: the wait status. Closes everything. */
int rig_stop(struct rig *rig);
/* Waits for the end without asking for it: the wait status, or -1 after timeout_ms. */
int rig_wait_end(struct rig *rig, int timeout_ms);
void rig_destroy(struct rig *rig);

/* Runs a disposable job and returns its last result line, parsed as far as: *ret_ok and the text of
 * the whole line (static). r1cs_fd: -1 none. digest: NULL none. Returns the exit status. */
int rig_helper(const char *program, const char *mode, int input_fd, int output_fd, int r1cs_fd,
               const char *digest, bool *ret_ok, const char **ret_line);
/* zkey and r1cs (may be NULL) are paths below tests/fixtures. */
void rig_key_make(struct rig_key *ret, const char *synth_program, const char *zkey,
                  const char *r1cs);
void rig_key_destroy(struct rig_key *key);
/* Opens a fixture for reading. */
int rig_open(const char *path);
