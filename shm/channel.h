/* The shared segment between the supervisor and one worker: a submission ring (grants, supervisor
 * writes), a completion ring (worker writes), progress words, counters and a trace ring (worker
 * writes). The supervisor creates it (sealed memfd, mode 0600) before fork; the worker attaches it
 * after exec. The trace ring outlives the worker. Never contains a pointer. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/message.h"
#include "shm/spsc.h"
#include "shm/trace.h"

#define CHANNEL_MAGIC 0x6c6e6863646b7a63u /* "czkdchnl" */
enum {
    CHANNEL_ABI = 4,
    CHANNEL_LAST_WORDS_BYTES = 512,
    CHANNEL_BUILD_BYTES = 24,
};

enum worker_kind {
    WORKER_SYNTH,
    WORKER_GPU,
    WORKER_FINALIZER,
    WORKER_KIND_COUNT,
};

const char *worker_kind_to_string(enum worker_kind kind); /* "synth", "gpu", "finalizer" */

/* Written by the supervisor before the worker exists; constant afterwards. */
struct channel_header {
    uint64_t magic;
    uint32_t abi;
    uint32_t layout; /* sizes and offsets hashed: another build's channel is refused */
    uint32_t kind;   /* enum worker_kind */
    uint32_t index;  /* within the kind */
    int32_t supervisor_pid;
};

/* Written by the worker only; the supervisor and the monitor read. Relaxed: figures, not order. */
struct channel_progress {
    _Atomic uint64_t beat_ns; /* last turn of the worker's loop */
    _Atomic uint64_t steps;   /* rises with every unit of work done by the loop */
    /* The same of long computations behind it, in pieces of some milliseconds: a pool's tasks, what
     * a device has finished, pieces of a key. */
    _Atomic uint64_t compute_steps;
    _Atomic uint64_t busy_ns;       /* time with a partition in computation, closed intervals */
    _Atomic uint64_t busy_since_ns; /* start of the open interval, 0 when idle */
    _Atomic uint64_t partitions_done;
    _Atomic uint64_t partitions_failed;
    _Atomic uint64_t bytes_read;
    _Atomic uint64_t malloc_trims;
    _Atomic uint64_t malloc_trim_ns;
    _Atomic uint64_t heap_bytes; /* mallinfo2 in use, sampled */
    _Atomic uint64_t heap_free_bytes;
    _Atomic uint64_t pss_bytes; /* of the worker, sampled by itself */
    /* GPU workers whose device reads host memory: slabs and keys that are registered with it, and
     * those that it must read by ordinary copies. */
    _Atomic uint64_t pinned_bytes, unpinned_bytes;
    _Atomic uint32_t slabs_pinned, slabs_unpinned;
    _Atomic uint32_t keys;  /* loaded */
    _Atomic uint32_t stage; /* enum phase now running, PHASE_COUNT when idle */
    _Atomic uint32_t slot;  /* slot being worked on */
};

struct channel_layout {
    _Alignas(64) struct channel_header header;
    _Alignas(64) struct spsc submission; /* entries: struct message */
    _Alignas(64) struct spsc completion;
    _Alignas(64) struct channel_progress progress;
    /* Why it ended: written by the worker before it exits, "" otherwise. Read after its death, as
     * input: it need not end in a NUL. */
    _Alignas(64) char last_words[CHANNEL_LAST_WORDS_BYTES];
    _Alignas(64) struct message submission_entries[CHANNEL_RING_ENTRIES];
    _Alignas(64) struct message completion_entries[CHANNEL_RING_ENTRIES];
    _Alignas(64) struct trace_ring trace;
};

/* One side's mapping. */
struct channel {
    struct channel_layout *layout;
    int fd; /* owned */
};

/* Supervisor: a new sealed memfd, mapped and initialised. */
int channel_create(enum worker_kind kind, unsigned index, struct channel *ret);
/* Worker: maps fd and refuses (-EPROTO) another magic, ABI, layout or size. Takes fd over when it
 * succeeds. */
int channel_attach(int fd, struct channel *ret);
/* Monitor: the same over a descriptor that may be read-only; only header, progress and trace are
 * read through it. */
int channel_attach_read_only(int fd, struct channel *ret);
void channel_destroy(struct channel *channel);
/* ABI and layout of this build's channels in one word, by which a program is told from one of
 * another build before it is started. */
const char *channel_build(char ret[CHANNEL_BUILD_BYTES]);

/* Each copies the bytes that count (message_bytes); the rest of *ret stays as it was. A push
 * returns -EAGAIN when the ring is full, a take 1 with a copy or 0. -EPROTO: the other side broke
 * its index or pushed a message that is none (unknown operation or blame, payload too long). */
/* Supervisor's calls. */
int channel_grant(struct channel *channel, const struct message *grant);
/* The worker has taken every grant so far, if it says the truth. */
bool channel_grants_are_taken(const struct channel *channel);
int channel_take_completion(struct channel *channel, struct message *ret);
/* Worker's calls. */
int channel_take_grant(struct channel *channel, struct message *ret);
int channel_complete(struct channel *channel, const struct message *completion);
