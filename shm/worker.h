/* The frame around every worker program's loop: options, start-up, the turn's common parts, and the
 * answer with its timing line and counters. cuzk-synth, cuzk-gpu and cuzk-finalizer each embed one
 * and keep only their own steps:
 *
 *   take the time → reap → take grants → work → publish → nothing done: wait for bell or deadline
 *
 * One thread. Only worker_open and worker_wait block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/heap.h"
#include "runtime/log.h"
#include "runtime/loop.h"
#include "runtime/sandbox.h"
#include "shm/port.h"

enum {
    WORKER_BACKEND_BYTES = 16,
    WORKER_DEVICE_BYTES = 64,
    WORKER_FIGURES_INTERVAL_NS = 1000000000,
};

struct worker_options {
    unsigned index;
    enum log_level log_level;
    enum loop_kind event_loop;
    enum heap_trim malloc_trim;
    pid_t parent_pid; /* 0: not given */
    unsigned threads; /* >= 1; 0 on the command line means one a usable core */
    enum sandbox_policy sandbox;
    /* GPU workers: */
    char backend[WORKER_BACKEND_BYTES];
    char device[WORKER_DEVICE_BYTES]; /* UUID, "" for the first that can be used */
    uint64_t vram_limit;              /* bytes, 0: none */
    bool requires_pinned;
    unsigned slabs; /* sent before READY is said; it waits for them */
    /* "" or what the supervisor's channels are (channel_build): say whether this program could
     * start, and exit. */
    char check[CHANNEL_BUILD_BYTES];
};

struct worker {
    enum worker_kind kind;
    struct worker_options options;
    struct port port;
    struct loop *loop;
    struct loop_watch bell, courier;
    struct heap heap;
    uint64_t turn_ns;    /* the time of this turn */
    uint64_t sampled_ns; /* last heap figures */
    bool is_dirty;       /* something happened since */
    bool is_stopping;    /* STOP was granted: finish what is held, take nothing more */
    enum sandbox_profile profile;
    unsigned sandbox; /* enum sandbox_part, in force */
};

/* --index --log-level --event-loop --malloc-trim --parent-pid --threads, for GPU workers --backend
 * --device --vram-limit --require-pinned yes|no --slabs; --check; --sandbox require|prefer|off;
 * --kind is accepted and ignored. 0, or -EINVAL after one line on stderr. */
int worker_options_parse(int argc, char **argv, struct worker_options *ret);

/* With options.check: 0, or WORKER_EXIT_START after one line on stderr: this program and the
 * supervisor are of different builds. The kinds add what else they need. */
int worker_check(const struct worker_options *options);
/* Signals, log, heap, inherited descriptors, loop, bell. Logs what failed. maps_slabs as in
 * port_open. */
int worker_open(struct worker *worker, enum worker_kind kind, const struct worker_options *options,
                int maps_slabs);
void worker_close(struct worker *worker);
/* Start-up is over, and with it what only start-up needs: first half, files. While there is one
 * thread. Under --sandbox require a kernel that cannot do it is an error (logged). A profile that
 * is set again before worker_ready decides on the second half. */
int worker_limit_files(struct worker *worker, enum sandbox_profile profile,
                       const char *const *writable);
/* Second half, system calls, then READY: numbers[2..5] and the payload are the kind's own; both may
 * be NULL. 0, or negative errno where the sandbox is required and cannot be had (logged). */
int worker_ready(struct worker *worker, const uint64_t numbers[4], const void *payload,
                 size_t bytes);
/* Leaves behind why this process is about to end; the supervisor shows it. */
void worker_last_words(struct worker *worker, const char *text);

/* Takes the time of the turn and shows that the loop is alive. */
uint64_t worker_turn(struct worker *worker);
/* 1 with the next grant, its `wait` phase filled into *ret_answer; 0 none; negative errno ends the
 * worker. STOP, TRIM and LOG_LEVEL are taken here; the first sets is_stopping. */
int worker_take_grant(struct worker *worker, struct message *ret_grant, struct message *ret_answer);
/* Answers DROP_KEY of a kind that attaches keys itself: unmaps, or refuses (-EBUSY) while is_used.
 * 0, or -EPROTO for an id out of range. */
int worker_drop_key(struct worker *worker, const struct message *grant, struct message *answer,
                    bool is_used);
/* One more piece of work is done: moves `steps`, by which a hung worker is told from a slow one. */
void worker_step(struct worker *worker);
/* A phase, or a part of one, has ended: adds its time to the answer, writes the trace event. */
void worker_phase(struct worker *worker, enum phase phase, uint64_t begin_ns, uint64_t end_ns,
                  uint64_t bytes, const struct message *grant, struct message *answer);
/* malloc_trim by policy, measured into the answer. is_idle: no other grant is held. */
void worker_trim(struct worker *worker, bool is_idle, const struct message *grant,
                 struct message *answer);
/* Total time, counters, timing line; pushes the answer and rings. taken_ns: when the grant came. */
void worker_answer(struct worker *worker, const struct message *grant, struct message *answer,
                   uint64_t taken_ns);
/* Publishes what the worker is at: a phase and slot, or PHASE_COUNT when idle. */
void worker_stage(struct worker *worker, enum phase phase, uint32_t slot);

/* After the turn: heap figures when they are due. */
void worker_publish(struct worker *worker);
/* Waits for the bell, the courier or deadline_ns; wakes for due figures too. Negative errno ends
 * the worker. */
int worker_wait(struct worker *worker, uint64_t deadline_ns);
