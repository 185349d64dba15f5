/* The worker's end: its channel, bells, courier, mapped slabs and keys, in one object with the
 * calls every worker program's loop makes. The supervisor execs a worker with these descriptors:
 *   3 channel memfd   4 bell to the worker   5 bell to the supervisor   6 courier
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
};

struct port_slab {
    void *memory; /* NULL until it arrived */
    size_t bytes;
};

struct port_key {
    const void *memory; /* read-only mapping of the prepared key, NULL when not held */
    size_t bytes;
};

struct port {
    struct channel channel;
    int bell_in, bell_out, courier;
    bool slabs_writable;
    bool slabs_locked; /* false once an mlock was refused */
    struct port_slab slabs[SLABS_MAX];
    struct port_key keys[CIRCUITS_MAX];
    struct port_input {
        uint64_t generation;
        uint32_t slot;
        int fds[2];
        unsigned fd_count;
    } inputs[2 * GRANTS_HELD_MAX];
};

/* Attaches the inherited descriptors, sets PR_SET_PDEATHSIG, PR_SET_DUMPABLE 0 and checks that the
 * parent still lives. maps_slabs: 0 none (finalizer), 1 read-only, 2 writable. */
int port_open(struct port *port, int maps_slabs);
void port_close(struct port *port);

/* Drains the courier: maps new slabs and keys, keeps input descriptors. Count or negative errno. */
int port_receive(struct port *port);
/* 1 with the next grant (descriptors drained first), 0 when none. -EPROTO ends the worker. */
int port_take_grant(struct port *port, struct message *ret_grant);
/* The descriptors that came with a grant; ownership passes. Returns count (0 when none came). */
unsigned port_take_input(struct port *port, const struct message *grant, int ret_fds[2]);
/* Pushes the answer and rings. Never blocks: the completion ring holds every answer. */
void port_complete(struct port *port, const struct message *completion);
/* A completion that repeats slot, generation, operation and numbers of the grant. */
void port_answer_init(struct message *answer, const struct message *grant);
/* Fills result, blame and the payload text of a failed answer. */
void port_answer_fail(struct message *answer, enum blame blame, int result, const char *text);
/* A memory copy of the key's bytes is never made; drops the mapping. */
void port_drop_key(struct port *port, uint32_t key);
/* busy accounting and trace event of one phase; also moves progress.stage. */
uint64_t port_phase_begin(struct port *port, enum phase phase, uint32_t slot);
void port_phase_end(struct port *port, enum phase phase, uint64_t begin_ns, uint64_t bytes,
                    const struct message *grant, struct message *answer);
