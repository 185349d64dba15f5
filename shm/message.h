/* One entry of a channel's rings: a grant (supervisor to worker) or a completion (worker to
 * supervisor). Fixed size, plain numbers, offsets never pointers. What a worker writes is input to
 * the supervisor and is validated there (supervisor/slot_state.h). */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"

/* Phases of a partition, in pipeline order: names of the timing lines' fields and of trace events.
 * Times travel as microseconds. */
enum phase {
    PHASE_READ,     /* witness bytes into the slab */
    PHASE_CHECK,    /* w[0] = 1, every value < r, C w where the r1cs is known */
    PHASE_EVALUATE, /* a = A w, b = B w */
    PHASE_UPLOAD,   /* slab to device (CPU backend: 0) */
    PHASE_NTT,
    PHASE_MSM_A,
    PHASE_MSM_B1,
    PHASE_MSM_B2,
    PHASE_MSM_L,
    PHASE_MSM_H,
    PHASE_ASSEMBLE,
    PHASE_VERIFY,
    PHASE_MALLOC_TRIM,
    PHASE_TOTAL, /* grant taken to answer pushed */
    PHASE_WAIT,  /* grant pushed to grant started: set by the worker from the grant's time */
    PHASE_COUNT = 16,
};

const char *phase_to_string(enum phase phase); /* "read", "msm_b2", ... */

enum operation {
    /* Grants. numbers[] by operation: */
    OPERATION_NONE = 0,
    OPERATION_SYNTHESIZE, /* key, slab, job, partition, granted_ns, stale bytes. Descriptor: the
                             witness file */
    OPERATION_PROVE,      /* key, slab, job, partition, granted_ns; order_key set */
    OPERATION_FINALIZE,   /* key, curve, job, partition, granted_ns; payload: five points A, B1, B2,
                             L, H, then the 32 bytes of the verifying key's digest. Descriptors: the
                             witness file, then a memfd for public inputs */
    OPERATION_CANCEL,     /* of the grant with this slot and generation */
    OPERATION_LOAD_KEY,   /* GPU workers only: key, bytes; payload: the circuit's name. Descriptor:
                             the key memfd. slot unused, generation set. The answer's payload: where
                             the key lies on the device, in one line */
    OPERATION_DROP_KEY,   /* key */
    OPERATION_STOP,       /* finish what is held, then exit 0 */
    OPERATION_TRIM,       /* give free heap back; the answer's numbers[0]: free bytes before, [1]:
                             after */
    OPERATION_LOG_LEVEL,  /* numbers[0]: enum log_level. Not answered */
    OPERATION_ADD_SLAB,   /* synth and GPU workers: slab, bytes. Descriptor: the slab. slot unused,
                             generation set. Answered once it can be used: mapped and, where the
                             device needs that, registered */
    OPERATION_DROP_SLAB,  /* slab: let go of it and unmap it; no grant names it any more */

    /* Completions: the operation granted, or: */
    OPERATION_READY = 64, /* worker start-up is done; numbers: pid, abi, then for a GPU worker: enum
                             ready_backend, 1 if it fell back (Backend=auto), partitions in flight
                             that are useful, threads; payload: struct ready_device; flags: enum
                             sandbox_part in force */
    OPERATION_UPLOADED,   /* PROVE: the slab is not read any more */
    OPERATION_COUNT,
};

enum ready_backend {
    READY_BACKEND_CPU = 1,
    READY_BACKEND_CUDA = 2,
};

enum {
    READY_TEXT_BYTES = 64,
};

/* A GPU worker's device. Texts end in a NUL; the supervisor does not rely on it. */
struct ready_device {
    char name[READY_TEXT_BYTES]; /* "cpu", or the card's name */
    char uuid[READY_TEXT_BYTES];
    uint64_t memory_bytes; /* 0 for the host */
};

/* What an answer blames; decides retry (ARCHITECTURE, "Recovery"). */
enum blame {
    BLAME_NONE = 0,  /* success */
    BLAME_INPUT,     /* the client's witness or the circuit: FAILED at once, text says why */
    BLAME_DEVICE,    /* device or memory: counts as an attempt, then another try */
    BLAME_CHECK,     /* the pairing check failed */
    BLAME_CANCELLED, /* dropped because the supervisor asked */
    BLAME_COUNT,
};

const char *operation_to_string(enum operation operation); /* "synthesize", ... */
const char *blame_to_string(enum blame blame);             /* "input", ... */

/* Places in numbers[] of grants; LOAD_KEY and DROP_KEY have the first only, ADD_SLAB and DROP_SLAB
 * their own. */
enum grant_number {
    SLAB_CALL_INDEX = 0,
    SLAB_CALL_BYTES = 1,
    GRANT_KEY = 0,
    GRANT_SLAB = 1,  /* SYNTHESIZE, PROVE: slab index */
    GRANT_CURVE = 1, /* FINALIZE: enum curve_id */
    GRANT_JOB = 2,
    GRANT_PARTITION = 3,
    GRANT_TIME = 4, /* CLOCK_MONOTONIC ns when it was pushed */
    /* SYNTHESIZE: bytes from the slab's start that partitions before this one may have written and
     * nobody has zeroed since. What lies beyond the new partition's own is zeroed before it is
     * READY. An attempt that does not become READY zeroes nothing. 0: nothing stale. */
    GRANT_STALE = 5,
};

enum message_flag {
    /* SYNTHESIZE: write a and b beside the witness; PROVE: they lie there. Otherwise the device
     * evaluates them. */
    MESSAGE_HAS_EVALUATIONS = 1 << 0,
};

struct message {
    uint64_t generation; /* of the grant: answers repeat it */
    uint32_t slot;
    uint16_t operation;     /* enum operation */
    uint16_t payload_bytes; /* of payload[] that count; an error text needs no NUL */
    int32_t result;         /* 0 or negative errno */
    uint16_t blame;         /* enum blame */
    uint16_t flags;         /* enum message_flag */
    uint64_t order_key;     /* lowest first */
    uint64_t numbers[6];    /* per operation, see above */
    uint32_t phase_us[PHASE_COUNT];
    uint8_t payload[MESSAGE_PAYLOAD_BYTES];
    uint8_t pad[48];
};

static_assert(sizeof(struct message) % 64 == 0, "entries keep cache-line alignment");
static_assert(sizeof(struct ready_device) <= MESSAGE_PAYLOAD_BYTES, "READY carries the device");

/* The order in which a worker starts the grants it holds: the lowest order key, then the oldest. */
static inline bool message_is_before(const struct message *a, const struct message *b)
{
    return a->order_key != b->order_key ? a->order_key < b->order_key
                                        : a->generation < b->generation;
}

/* Bytes of a message that count: what the rings copy. */
static inline uint32_t message_bytes(uint16_t payload_bytes)
{
    return (uint32_t)offsetof(struct message, payload) + payload_bytes;
}
