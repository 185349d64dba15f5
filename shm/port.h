/* The worker's end: its channel, bells, courier, mapped slabs and keys, in one object with the
 * calls every worker program's loop makes. The supervisor execs a worker with these descriptors:
 *   3 channel memfd   4 bell to the worker   5 bell to the supervisor   6 courier
 *   7 a lock of the state folder, held open and never used: it says that we live
 * and argv: --kind, --index (for `ps`), and the options of the kind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "shm/channel.h"

enum {
    PORT_FD_CHANNEL = 3,
    PORT_FD_BELL_IN = 4,
    PORT_FD_BELL_OUT = 5,
    PORT_FD_COURIER = 6,
    PORT_FD_MEMBERS = 7,
    PORT_INPUTS_MAX = 2 * GRANTS_HELD_MAX,
};

/* Exit statuses of worker programs; the supervisor knows them. */
enum worker_exit {
    WORKER_EXIT_STOPPED = 0,
    WORKER_EXIT_START = 1,    /* start-up failed; a message says why */
    WORKER_EXIT_PROTOCOL = 3, /* the supervisor broke the contract of shm/ */
    WORKER_EXIT_DEVICE = 4,   /* sticky device error: a fresh process is the cure */
    WORKER_EXIT_SANDBOX = 5,  /* SANDBOX_EXIT: it made a system call that it may not make */
};

struct port_slab {
    void *memory; /* NULL until it arrived */
    size_t bytes;
};

struct port_key {
    const void *memory; /* read-only mapping of the prepared key, NULL when not held */
    size_t bytes;
    uint64_t serial; /* of the arrival: another key under the same id has another */
};

struct port {
    struct channel channel;
    int bell_in, bell_out, courier;
    bool maps_slabs, slabs_writable;
    bool slabs_locked; /* false once an mlock was refused */
    struct port_slab slabs[SLABS_MAX];
    struct port_key keys[CIRCUITS_MAX];
    uint64_t keys_received;
    /* Set by a kind that has lent its slabs to somebody: called before one is unmapped, so that it
     * is let go of first. A negative return ends the worker. May be NULL. */
    int (*before_unmap)(void *context, uint32_t slab);
    void *before_unmap_context;
    struct port_input {
        uint64_t generation;
        uint32_t slot;
        int fds[2];
        unsigned fd_count;
    } inputs[PORT_INPUTS_MAX];
};

/* Attaches the inherited descriptors, sets PR_SET_PDEATHSIG, PR_SET_DUMPABLE 0 and RLIMIT_CORE 0,
 * and checks that the channel's maker is the parent and lives (-ESRCH). maps_slabs: 0 none
 * (finalizer), 1 read-only, 2 writable. */
int port_open(struct port *port, int maps_slabs);
/* The same with the descriptors given, in the order above, and without touching the process. They
 * are taken over when it succeeds. */
int port_attach(struct port *port, int maps_slabs, const int fds[4]);
void port_close(struct port *port);

/* Drains the courier: maps new slabs and keys, drops those sent with bytes 0, keeps input
 * descriptors. Count or negative errno; -EPROTO also for a slab or key that is mapped already. */
int port_receive(struct port *port);
/* 1 with the next grant (descriptors drained first), 0 when none. -EPROTO ends the worker. */
int port_take_grant(struct port *port, struct message *ret_grant);
/* The descriptors that came with a grant; ownership passes. Returns count (0 when none came). */
unsigned port_take_input(struct port *port, const struct message *grant, int ret_fds[2]);
/* Pushes the answer and rings. Never blocks: the completion ring holds every answer. Where it does
 * not, the process ends with WORKER_EXIT_PROTOCOL. */
void port_complete(struct port *port, const struct message *completion);
/* A completion that repeats slot, generation, operation and numbers of the grant. */
void port_answer_init(struct message *answer, const struct message *grant);
/* Fills result, blame and the payload text of a failed answer. */
void port_answer_fail(struct message *answer, enum blame blame, int result, const char *text);
/* Unmaps the slab after before_unmap; nothing is done where none is mapped. Negative: before_unmap
 * said so, or the index is out of range (-EPROTO). */
int port_drop_slab(struct port *port, uint64_t slab);
/* Unmaps the key; the caller holds nothing that points into it. Unknown ids are ignored. */
void port_drop_key(struct port *port, uint32_t key);
