/* The io_uring loop from inside: shared by loop_uring.c (the turn), uring_watches.c, uring_reads.c
 * and uring_setup.c, and by nobody else. */
#pragma once

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/loop_ops.h"

enum {
    URING_PIECES_MAX = 32,
    URING_NONE = -1,
};

enum uring_slot_state {
    URING_SLOT_FREE,
    URING_SLOT_TO_ARM, /* in the arm list: POLL_ADD goes out at the next wait */
    URING_SLOT_ARMED,  /* a POLL_ADD is in the ring's hands; watch NULL: removed meanwhile */
    URING_SLOT_READY,  /* in the ready list: its callback is due */
};

struct uring_slot {
    struct loop_watch *watch;
    int32_t next, previous; /* in the list of the state; free slots use next only */
    uint32_t ready_events;
    enum uring_slot_state state;
};

struct uring_slot_list {
    int32_t first, last;
    uint32_t count;
};

/* One READ request of at most READ_REQUEST_BYTES_MAX. */
struct uring_piece {
    struct loop_read *read; /* NULL when free */
    uint64_t from;          /* relative to the read's start */
    uint32_t bytes;
    bool in_ring; /* false: waits to be issued (again, after a short read) */
};

struct uring_read_list {
    struct loop_read *first, *last;
    uint32_t count;
};

struct uring_loop {
    struct loop loop;
    struct io_uring ring;
    struct uring_slot *slots;
    int32_t slot_count, slot_free;
    struct uring_slot_list to_arm, ready;
    bool is_removal_out; /* the POLL_REMOVE that poll_end waits for has not answered */
    struct uring_piece pieces[URING_PIECES_MAX];
    uint32_t pieces_free, pieces_to_issue; /* the latter: used but not in the ring */
    struct uring_read_list issuing, done;
};

/* user_data: owner in the upper bits, tag in the lower. */
enum uring_tag {
    URING_TAG_IGNORE, /* an ASYNC_CANCEL: what it ended answers itself */
    URING_TAG_WATCH,
    URING_TAG_PIECE,
    URING_TAG_REMOVAL, /* a POLL_REMOVE: the poll answers itself, unless it was busy */
    URING_TAG_BITS = 2,
};

static inline uint64_t uring_user_data(enum uring_tag tag, uint64_t owner)
{
    return owner << URING_TAG_BITS | tag;
}

static inline struct uring_loop *uring_self(struct loop *loop)
{
    return (struct uring_loop *)loop;
}

/* uring_setup.c: a ring that is restricted and enabled. Failure names the step in *ret_step. */
int uring_setup(struct io_uring *ring, const char **ret_step);
const char *uring_likely_cause(int error);

/* loop_uring.c */
/* Submits what is queued, waits until a completion is there or wait_ns is over (0: does not wait,
 * UINT64_MAX: no limit), and reaps. 0 or negative errno; being interrupted or timed out is 0. */
int uring_enter(struct uring_loop *loop, uint64_t wait_ns);
/* A free submission entry, made by submitting when the queue is full; NULL when even that fails. */
struct io_uring_sqe *uring_take_sqe(struct uring_loop *loop);

/* uring_watches.c */
int uring_add(struct loop *base, struct loop_watch *watch);
int uring_modify(struct loop *base, struct loop_watch *watch, uint32_t events);
void uring_remove(struct loop *base, struct loop_watch *watch);
void uring_on_poll(struct uring_loop *loop, int32_t index, int32_t result);
void uring_arm(struct uring_loop *loop);             /* queues the POLL_ADDs that are due */
int uring_dispatch_watches(struct uring_loop *loop); /* runs the callbacks that are due */

/* uring_reads.c */
int uring_read_start(struct loop *base, struct loop_read *read);
void uring_read_cancel(struct loop *base, struct loop_read *read);
void uring_on_read(struct uring_loop *loop, uint32_t index, int32_t result);
void uring_issue(struct uring_loop *loop); /* queues the READs that there is room for */
int uring_dispatch_reads(struct uring_loop *loop);
