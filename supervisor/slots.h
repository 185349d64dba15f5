/* The slot table: one record a partition in flight, and the queues in front of each stage. Only
 * memory; supervisor/pipeline.c decides what happens to a slot, by the table of slot_state.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "protocol/reply.h"
#include "shm/channel.h"
#include "shm/message.h"
#include "supervisor/dispatch.h"
#include "supervisor/order.h"
#include "supervisor/slot_state.h"

#define SLOT_NONE UINT32_MAX

enum {
    SLOT_FAULT_BYTES = 256,
};

struct circuit;
struct worker;

/* Where the witness comes from. */
struct slot_input {
    int fd;             /* a file of the spool, or the client's own; owned; -1 when inline */
    void *inline_bytes; /* owned; NULL otherwise. A memfd is made of it for each grant */
    size_t inline_count;
    uint64_t file_bytes; /* of fd's file, when it was looked at */
};

struct slot {
    enum slot_state state;
    bool is_reserved; /* FREE, and taken for a job that is being admitted */
    uint32_t index;
    uint64_t generation; /* of the last grant; one 64-bit counter for all slots */
    uint64_t job;        /* its number; the record may be gone before the slot is */
    uint32_t partition;
    uint64_t order_key;
    struct circuit *circuit;     /* held by reference until the slot is free */
    struct worker *owner;        /* NULL while no worker holds it */
    enum operation granted;      /* what the owner was told to do */
    char prover[24];             /* the gpu worker that made the points */
    bool is_suspect;             /* runs alone, until it has passed the stage that it was lost in */
    enum operation suspected_in; /* the last such stage; OPERATION_NONE when it is no suspect */
    bool is_told;                /* the owner has been sent OPERATION_CANCEL */
    uint32_t attempts;           /* used up: deaths of an owner while alone, device faults */
    char last_fault[SLOT_FAULT_BYTES]; /* of those, the last in words: "signal 9 in msm_a" */
    enum reply_code error_code;
    char error_text[384]; /* why it FAILED */

    int slab;      /* index over all rings, -1 when none is bound */
    uint32_t ring; /* of that slab */
    bool is_reclaimable;
    uint32_t reclaim_next, reclaim_previous;

    struct slot_input input;
    int public_fd; /* memfd the finalizer writes, -1 otherwise */
    uint64_t queued_ns, first_granted_ns;
    uint64_t granted_ns;                  /* of the grant it is held under, or the last */
    uint32_t start_us[WORKER_KIND_COUNT]; /* grant to start, by stage */
    uint32_t phase_us[PHASE_COUNT];
    uint16_t points_bytes;
    uint8_t points[MESSAGE_PAYLOAD_BYTES]; /* of the gpu worker, passed on unread */
};

/* In front of one stage. */
struct slots_queue {
    struct order_heap ordinary, suspect;
};

struct slots {
    struct slot *entries; /* SLOTS_MAX */
    uint32_t *positions;  /* in whichever heap a slot is */
    uint32_t *free;       /* a stack */
    uint32_t free_count;
    uint64_t last_generation;
    struct order_heap parked;             /* QUEUED or READY, circuit not loaded yet */
    struct slots_queue queued[RINGS_MAX]; /* QUEUED, circuit loaded */
    struct slots_queue ready, proved;
    uint32_t reclaim_first[RINGS_MAX], reclaim_last[RINGS_MAX];
    uint32_t state_counts[SLOT_STATE_COUNT];
};

int slots_init(struct slots *slots);
void slots_destroy(struct slots *slots);

/* A free slot in state FREE with everything else zero (fds and slab -1), or NULL. */
struct slot *slots_take(struct slots *slots);
/* Closes what the slot still owns. It must be FREE and in no queue. */
void slots_put_back(struct slots *slots, struct slot *slot);
void slots_set_state(struct slots *slots, struct slot *slot, enum slot_state state);
uint64_t slots_next_generation(struct slots *slots);

/* Enters or leaves the queue that its state, circuit and suspicion name. */
void slots_enqueue(struct slots *slots, struct slot *slot);
void slots_dequeue(struct slots *slots, struct slot *slot);
/* The circuit was loaded: its parked slots enter their ring's queue. */
void slots_unpark(struct slots *slots, const struct circuit *circuit);
/* The circuit's partitions that wait for a slab wait for one of that ring from now on; those that
 * have one keep it. */
void slots_move(struct slots *slots, struct circuit *circuit, uint32_t ring);
/* The list of slots whose slab may be taken early, oldest first, by ring. */
void slots_reclaimable_add(struct slots *slots, struct slot *slot);
void slots_reclaimable_remove(struct slots *slots, struct slot *slot);

/* The head of a queue as the policy wants to see it. */
struct dispatch_queue slots_heads(const struct slots_queue *queue);
