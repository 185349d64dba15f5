/* The event loop on io_uring. Same meaning as loop_ppoll.c; tests/runtime/test_loop.c runs the same
 * cases on both.
 *
 * Watches are one-shot POLL_ADD requests, armed again after their callback has run. Arming asks
 * for readiness anew, so what a callback left unread is reported again on the next turn; that is
 * level-triggering by construction, with no F_MORE to follow, and it costs no system call: the
 * requests travel in the same io_uring_enter that waits.
 *
 * Every request's user_data names a slot or a piece of this loop, never an address, and a slot or
 * piece is reused only after its completion came: a late completion finds nobody to harm.
 *
 * The ring is restricted to the operations used here. Kernels 6.1 and later complete requests only
 * inside io_uring_enter (DEFER_TASKRUN), so no other system call of the thread is interrupted. */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/limits.h"
#include "runtime/check.h"
#include "runtime/clock.h"
#include "runtime/loop_ops.h"

enum {
    SQ_ENTRIES_MAX = 256,
    SQ_ENTRIES_MIN = 8,
    CQ_PER_SQ = 8, /* beyond it the kernel keeps completions in a list: slower, never lost */
    PIECES_MAX = 32,
    PIECES_PER_READ = 8, /* enough to fill io-wq's workers from one file */
    NONE = -1,
};

enum slot_state {
    SLOT_FREE,
    SLOT_TO_ARM, /* in the arm list: POLL_ADD goes out at the next wait */
    SLOT_ARMED,  /* a POLL_ADD is in the ring's hands; watch NULL: removed meanwhile */
    SLOT_READY,  /* in the ready list: its callback is due */
};

struct slot {
    struct loop_watch *watch;
    int32_t next, previous; /* in the list of the state; free slots use next only */
    uint32_t ready_events;
    enum slot_state state;
};

struct slot_list {
    int32_t first, last;
    uint32_t count;
};

/* One READ request of at most READ_REQUEST_BYTES_MAX. */
struct piece {
    struct loop_read *read; /* NULL when free */
    uint64_t from;          /* relative to the read's start */
    uint32_t bytes;
    bool in_ring; /* false: waits to be issued (again, after a short read) */
};

/* In loop_read.private_state. */
struct read_state {
    struct loop_read *next, *previous; /* in the list of the state */
    uint64_t issued;
    uint64_t end; /* bytes wanted, lowered when the file ends early */
    int32_t error;
    uint16_t pieces;
    bool is_cancelled;
    uint8_t state;
};
static_assert(sizeof(struct read_state) <= sizeof((struct loop_read *)0)->private_state,
              "a read has room for its state");

enum read_list_state {
    READ_IDLE,
    READ_ISSUING, /* in the issuing list: bytes left to ask for */
    READ_WAITING, /* everything is asked for */
    READ_DONE,    /* in the done list: its callback is due */
};

struct read_list {
    struct loop_read *first, *last;
    uint32_t count;
};

struct uring_loop {
    struct loop loop;
    struct io_uring ring;
    bool has_ring;
    struct slot *slots;
    int32_t slot_count, slot_free;
    struct slot_list to_arm, ready;
    struct piece pieces[PIECES_MAX];
    uint32_t pieces_free, pieces_to_issue; /* the latter: used but not in the ring */
    struct read_list issuing, done;
};

/* user_data: owner in the upper bits, tag in the lower. */
enum tag {
    TAG_IGNORE, /* the answer of a POLL_REMOVE or ASYNC_CANCEL: what it ended answers itself */
    TAG_WATCH,
    TAG_PIECE,
    TAG_BITS = 2,
};

static uint64_t user_data(enum tag tag, uint64_t owner)
{
    return owner << TAG_BITS | tag;
}

static struct uring_loop *self(struct loop *loop)
{
    return (struct uring_loop *)loop;
}

static struct read_state *read_state(struct loop_read *read)
{
    return (struct read_state *)read->private_state;
}

static void slot_append(struct uring_loop *loop, struct slot_list *list, int32_t index)
{
    struct slot *slot = &loop->slots[index];

    slot->next = NONE;
    slot->previous = list->last;
    if (list->last != NONE)
        loop->slots[list->last].next = index;
    else
        list->first = index;
    list->last = index;
    list->count++;
}

static void slot_unlink(struct uring_loop *loop, struct slot_list *list, int32_t index)
{
    struct slot *slot = &loop->slots[index];

    if (slot->previous != NONE)
        loop->slots[slot->previous].next = slot->next;
    else
        list->first = slot->next;
    if (slot->next != NONE)
        loop->slots[slot->next].previous = slot->previous;
    else
        list->last = slot->previous;
    list->count--;
}

static void slot_to_arm(struct uring_loop *loop, int32_t index)
{
    loop->slots[index].state = SLOT_TO_ARM;
    slot_append(loop, &loop->to_arm, index);
}

static void slot_release(struct uring_loop *loop, int32_t index)
{
    loop->slots[index] = (struct slot){.state = SLOT_FREE, .next = loop->slot_free};
    loop->slot_free = index;
}

static void read_append(struct read_list *list, struct loop_read *read)
{
    read_state(read)->next = NULL;
    read_state(read)->previous = list->last;
    if (list->last)
        read_state(list->last)->next = read;
    else
        list->first = read;
    list->last = read;
    list->count++;
}

static void read_unlink(struct read_list *list, struct loop_read *read)
{
    struct read_state *state = read_state(read);

    if (state->previous)
        read_state(state->previous)->next = state->next;
    else
        list->first = state->next;
    if (state->next)
        read_state(state->next)->previous = state->previous;
    else
        list->last = state->previous;
    list->count--;
}

/* --- completions ------------------------------------------------------------------------------ */

static void on_poll(struct uring_loop *loop, int32_t index, int32_t result)
{
    struct slot *slot = &loop->slots[index];

    CHECK(index < loop->slot_count && slot->state == SLOT_ARMED);
    if (!slot->watch) {
        slot_release(loop, index);
        return;
    }
    if (result == -ECANCELED || result == -ENOMEM || result == -EAGAIN) {
        slot_to_arm(loop, index); /* its events changed, or the kernel was short of memory */
        return;
    }
    slot->ready_events = result >= 0 ? (uint32_t)result : result == -EBADF ? POLLNVAL : POLLERR;
    slot->state = SLOT_READY;
    slot_append(loop, &loop->ready, index);
}

static void piece_finish(struct uring_loop *loop, struct piece *piece)
{
    struct loop_read *read = piece->read;
    struct read_state *state = read_state(read);

    piece->read = NULL;
    loop->pieces_free++;
    state->pieces--;
    if (state->pieces || state->is_cancelled || (state->issued < state->end && !state->error))
        return;
    if (state->state == READ_ISSUING)
        read_unlink(&loop->issuing, read);
    state->state = READ_DONE;
    read_append(&loop->done, read);
}

static void on_read(struct uring_loop *loop, uint32_t index, int32_t result)
{
    struct piece *piece = &loop->pieces[index];
    struct read_state *state;

    CHECK(index < PIECES_MAX && piece->read && piece->in_ring);
    piece->in_ring = false;
    state = read_state(piece->read);
    if (result > 0) {
        piece->from += (uint32_t)result;
        piece->bytes -= (uint32_t)result;
    } else if (result == 0) {
        if (state->end > piece->from)
            state->end = piece->from;
        piece->bytes = 0;
    } else if (result != -EINTR && result != -EAGAIN) {
        if (!state->error)
            state->error = result;
        piece->bytes = 0;
    }
    if (piece->bytes == 0 || piece->from >= state->end || state->error || state->is_cancelled)
        piece_finish(loop, piece);
    else
        loop->pieces_to_issue++;
}

static void reap(struct uring_loop *loop)
{
    struct io_uring_cqe *cqe;
    unsigned head, count = 0;

    io_uring_for_each_cqe(&loop->ring, head, cqe)
    {
        uint64_t owner = cqe->user_data >> TAG_BITS;
        switch (cqe->user_data & ((1u << TAG_BITS) - 1)) {
        case TAG_WATCH:
            on_poll(loop, (int32_t)owner, cqe->res);
            break;
        case TAG_PIECE:
            on_read(loop, (uint32_t)owner, cqe->res);
            break;
        }
        count++;
    }
    io_uring_cq_advance(&loop->ring, count);
}

/* Submits what is queued, waits until a completion is there or wait_ns is over (0: does not wait,
 * UINT64_MAX: no limit), and reaps. 0 or negative errno; being interrupted or timed out is 0. */
static int enter(struct uring_loop *loop, uint64_t wait_ns)
{
    struct __kernel_timespec timeout = {.tv_sec = (int64_t)(wait_ns / 1000000000u),
                                        .tv_nsec = (long long)(wait_ns % 1000000000u)};
    struct io_uring_cqe *cqe;
    int result;

    if (wait_ns == 0)
        result = io_uring_submit_and_get_events(&loop->ring);
    else
        result = io_uring_submit_and_wait_timeout(&loop->ring, &cqe, 1,
                                                  wait_ns == UINT64_MAX ? NULL : &timeout, NULL);
    reap(loop);
    /* EBUSY: completions had to be reaped first. EAGAIN: no memory for a request just now. Either
     * way what was not submitted stays queued for the next turn. */
    if (result == -ETIME || result == -EINTR || result == -EBUSY || result == -EAGAIN)
        return 0;
    return result < 0 ? result : 0;
}

/* A free submission entry, made by submitting when the queue is full; NULL when even that fails. */
static struct io_uring_sqe *take_sqe(struct uring_loop *loop)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);

    if (!sqe && enter(loop, 0) == 0)
        sqe = io_uring_get_sqe(&loop->ring);
    return sqe;
}

/* --- watches ---------------------------------------------------------------------------------- */

static int uring_add(struct loop *base, struct loop_watch *watch)
{
    struct uring_loop *loop = self(base);
    int32_t index;

    if (loop->slot_free == NONE) {
        int32_t count = loop->slot_count ? 2 * loop->slot_count : 64;
        struct slot *slots = realloc(loop->slots, (size_t)count * sizeof *slots);
        if (!slots)
            return -ENOMEM;
        loop->slots = slots;
        for (int32_t i = count - 1; i >= loop->slot_count; i--)
            slot_release(loop, i);
        loop->slot_count = count;
    }
    index = loop->slot_free;
    loop->slot_free = loop->slots[index].next;
    loop->slots[index].watch = watch;
    watch->private_state[0] = (uint64_t)index + 1;
    slot_to_arm(loop, index);
    return 0;
}

static struct slot *slot_of(struct uring_loop *loop, const struct loop_watch *watch)
{
    uint64_t index = watch->private_state[0] - 1;

    CHECK(index < (uint64_t)loop->slot_count && loop->slots[index].watch == watch);
    return &loop->slots[index];
}

/* Ends the POLL_ADD of an armed slot and waits for its completion, which follows at once: the kernel
 * then holds no reference to the file. Otherwise the peer of a socket that the caller closes next
 * would see its end only on some later turn. 0, or negative errno when the kernel is out of memory;
 * then the slot lingers until the completion comes. */
static int poll_end(struct uring_loop *loop, int32_t index)
{
    struct io_uring_sqe *sqe = take_sqe(loop);
    int error = sqe ? 0 : -EAGAIN;

    if (sqe) {
        io_uring_prep_poll_remove(sqe, user_data(TAG_WATCH, (uint64_t)index));
        io_uring_sqe_set_data64(sqe, user_data(TAG_IGNORE, 0));
    }
    while (error == 0 && loop->slots[index].state == SLOT_ARMED)
        error = enter(loop, UINT64_MAX);
    return error;
}

static int uring_modify(struct loop *base, struct loop_watch *watch, uint32_t events)
{
    struct uring_loop *loop = self(base);
    struct slot *slot = slot_of(loop, watch);
    int error = 0;

    if (watch->events != events && slot->state == SLOT_ARMED)
        error = poll_end(loop, (int32_t)(slot - loop->slots));
    if (error == 0)
        watch->events = events;
    return error;
}

static void uring_remove(struct loop *base, struct loop_watch *watch)
{
    struct uring_loop *loop = self(base);
    struct slot *slot;
    int32_t index;

    if (watch->private_state[0] == 0)
        return;
    slot = slot_of(loop, watch);
    index = (int32_t)(slot - loop->slots);
    watch->private_state[0] = 0;
    slot->watch = NULL;
    if (slot->state == SLOT_ARMED) {
        poll_end(loop, index); /* on_poll frees the slot */
        return;
    }
    slot_unlink(loop, slot->state == SLOT_TO_ARM ? &loop->to_arm : &loop->ready, index);
    slot_release(loop, index);
}

static void arm_all(struct uring_loop *loop)
{
    while (loop->to_arm.first != NONE) {
        int32_t index = loop->to_arm.first;
        struct io_uring_sqe *sqe = take_sqe(loop);
        if (!sqe)
            return;
        struct slot *slot = &loop->slots[index];
        slot_unlink(loop, &loop->to_arm, index);
        slot->state = SLOT_ARMED;
        io_uring_prep_poll_add(sqe, slot->watch->fd, slot->watch->events);
        io_uring_sqe_set_data64(sqe, user_data(TAG_WATCH, (uint64_t)index));
    }
}

/* --- reads ------------------------------------------------------------------------------------ */

static int uring_read_start(struct loop *base, struct loop_read *read)
{
    struct uring_loop *loop = self(base);

    *read_state(read) = (struct read_state){
        .end = read->bytes,
        .state = read->bytes ? READ_ISSUING : READ_DONE,
    };
    read_append(read->bytes ? &loop->issuing : &loop->done, read);
    return 0;
}

static bool piece_issue(struct uring_loop *loop, struct piece *piece)
{
    struct io_uring_sqe *sqe = take_sqe(loop);
    struct loop_read *read = piece->read;

    if (!sqe)
        return false;
    io_uring_prep_read(sqe, read->fd, (char *)read->memory + piece->from, piece->bytes,
                       read->offset + piece->from);
    sqe->flags |= IOSQE_ASYNC; /* a cached read would otherwise be copied inside the submit */
    io_uring_sqe_set_data64(sqe, user_data(TAG_PIECE, (uint64_t)(piece - loop->pieces)));
    piece->in_ring = true;
    return true;
}

/* Gives the read that waits first a free piece; reads take turns. */
static void piece_assign(struct uring_loop *loop)
{
    struct loop_read *read = loop->issuing.first;
    struct read_state *state = read_state(read);
    struct piece *piece = loop->pieces;
    uint64_t left = state->end - state->issued;

    while (piece->read)
        piece++;
    *piece = (struct piece){
        .read = read,
        .from = state->issued,
        .bytes = left < READ_REQUEST_BYTES_MAX ? (uint32_t)left : READ_REQUEST_BYTES_MAX,
    };
    loop->pieces_free--;
    loop->pieces_to_issue++;
    state->pieces++;
    state->issued += piece->bytes;
    read_unlink(&loop->issuing, read);
    if (state->issued < state->end)
        read_append(&loop->issuing, read);
    else
        state->state = READ_WAITING;
}

static void issue_all(struct uring_loop *loop)
{
    uint32_t tries = loop->issuing.count;

    while (loop->pieces_free && tries && loop->issuing.first) {
        struct loop_read *read = loop->issuing.first;
        struct read_state *state = read_state(read);
        if (state->issued >= state->end || state->error) {
            /* Ended early with pieces still out; the last of them finishes it. */
            read_unlink(&loop->issuing, read);
            state->state = READ_WAITING;
            tries--;
        } else if (state->pieces >= PIECES_PER_READ) {
            read_unlink(&loop->issuing, read);
            read_append(&loop->issuing, read);
            tries--;
        } else {
            piece_assign(loop);
            tries = loop->issuing.count;
        }
    }
    for (uint32_t i = 0; i < PIECES_MAX && loop->pieces_to_issue; i++) {
        if (!loop->pieces[i].read || loop->pieces[i].in_ring)
            continue;
        if (!piece_issue(loop, &loop->pieces[i]))
            return;
        loop->pieces_to_issue--;
    }
}

static void uring_read_cancel(struct loop *base, struct loop_read *read)
{
    struct uring_loop *loop = self(base);
    struct read_state *state = read_state(read);

    if (state->state == READ_IDLE)
        return;
    if (state->state == READ_ISSUING)
        read_unlink(&loop->issuing, read);
    else if (state->state == READ_DONE)
        read_unlink(&loop->done, read);
    state->state = READ_WAITING;
    state->is_cancelled = true;
    for (uint32_t i = 0; i < PIECES_MAX; i++) {
        struct piece *piece = &loop->pieces[i];
        if (piece->read != read)
            continue;
        if (!piece->in_ring) {
            loop->pieces_to_issue--;
            piece_finish(loop, piece);
            continue;
        }
        struct io_uring_sqe *sqe = take_sqe(loop);
        if (!sqe)
            continue; /* it is waited out all the same */
        io_uring_prep_cancel64(sqe, user_data(TAG_PIECE, i), 0);
        io_uring_sqe_set_data64(sqe, user_data(TAG_IGNORE, 0));
    }
    while (state->pieces) {
        int error = enter(loop, UINT64_MAX);
        CHECK(error == 0); /* returning would leave the kernel writing into freed memory */
    }
    state->state = READ_IDLE;
}

/* --- one turn --------------------------------------------------------------------------------- */

static int dispatch_watches(struct uring_loop *loop)
{
    int called = 0;

    for (uint32_t left = loop->ready.count; left && loop->ready.first != NONE; left--) {
        int32_t index = loop->ready.first;
        struct slot *slot = &loop->slots[index];
        struct loop_watch *watch = slot->watch;
        uint32_t ready = slot->ready_events & (watch->events | POLLERR | POLLHUP | POLLNVAL);
        slot_unlink(loop, &loop->ready, index);
        slot_to_arm(loop, index); /* before the callback, which may remove the watch */
        if (ready) {
            watch->on_ready(watch, ready);
            called++;
        }
    }
    return called;
}

static int dispatch_reads(struct uring_loop *loop)
{
    int called = 0;

    for (uint32_t left = loop->done.count; left && loop->done.first; left--) {
        struct loop_read *read = loop->done.first;
        struct read_state *state = read_state(read);
        int64_t result = state->error ? state->error : (int64_t)state->end;
        read_unlink(&loop->done, read);
        state->state = READ_IDLE;
        read->on_done(read, result);
        called++;
    }
    return called;
}

static int uring_wait(struct loop *base, uint64_t deadline_ns)
{
    struct uring_loop *loop = self(base);
    uint64_t wait_ns = UINT64_MAX;
    int error;

    arm_all(loop);
    issue_all(loop);
    if (loop->ready.first != NONE || loop->done.first || loop->to_arm.first != NONE ||
        loop->pieces_to_issue || deadline_ns == 0) {
        wait_ns = 0;
    } else if (deadline_ns != UINT64_MAX) {
        uint64_t now_ns = clock_now_ns();
        wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    }
    error = enter(loop, wait_ns);
    if (error < 0)
        return error;
    return dispatch_watches(loop) + dispatch_reads(loop);
}

/* --- set-up ----------------------------------------------------------------------------------- */

/* By hand: the shared library of liburing 2.3 does not export its wrappers. */
static int ring_register(struct io_uring *ring, unsigned operation, void *argument, unsigned count)
{
    long result = syscall(SYS_io_uring_register, ring->ring_fd, operation, argument, count);
    return result < 0 ? -errno : 0;
}

/* A parser that was broken into must not reach other operations through the ring. */
static int restrict_operations(struct io_uring *ring)
{
    static const uint8_t allowed[] = {IORING_OP_READ, IORING_OP_POLL_ADD, IORING_OP_POLL_REMOVE,
                                      IORING_OP_TIMEOUT, IORING_OP_ASYNC_CANCEL};
    struct io_uring_restriction rules[sizeof allowed + 1] = {0};
    int error;

    for (size_t i = 0; i < sizeof allowed; i++) {
        rules[i].opcode = IORING_RESTRICTION_SQE_OP;
        rules[i].sqe_op = allowed[i];
    }
    rules[sizeof allowed].opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
    rules[sizeof allowed].sqe_flags = IOSQE_ASYNC;
    error = ring_register(ring, IORING_REGISTER_RESTRICTIONS, rules, sizeof allowed + 1);
    return error < 0 ? error : ring_register(ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

/* Kernels before 6.1 lack DEFER_TASKRUN. ENOMEM (after a restart the kernel may free the previous
 * ring late) is answered with a smaller ring. */
static int ring_init(struct io_uring *ring)
{
    static const unsigned flags[] = {
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        IORING_SETUP_SUBMIT_ALL,
        0,
    };
    unsigned entries = SQ_ENTRIES_MAX, attempt = 0;

    for (;;) {
        struct io_uring_params params = {
            .flags = flags[attempt] | IORING_SETUP_CQSIZE | IORING_SETUP_R_DISABLED,
            .cq_entries = CQ_PER_SQ * entries,
        };
        int error = io_uring_queue_init_params(entries, ring, &params);
        if (error == 0) {
            unsigned needed = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;
            if ((params.features & needed) == needed)
                return 0;
            io_uring_queue_exit(ring);
            return -ENOSYS;
        }
        if (error == -EINVAL && attempt + 1 < sizeof flags / sizeof flags[0])
            attempt++;
        else if (error == -ENOMEM && entries > SQ_ENTRIES_MIN)
            entries /= 2;
        else
            return error;
    }
}

static const char *likely_cause(int error)
{
    switch (-error) {
    case EPERM:
    case EACCES:
        return " (sysctl kernel.io_uring_disabled or a seccomp filter)";
    case ENOSYS:
        return " (the kernel or the container has no or too old an io_uring)";
    case ENOMEM:
        return " (memory, or the memlock limit, is short)";
    default:
        return "";
    }
}

static void uring_free(struct loop *base)
{
    struct uring_loop *loop = self(base);

    for (uint32_t i = 0; i < PIECES_MAX; i++) {
        if (loop->pieces[i].read)
            uring_read_cancel(base, loop->pieces[i].read);
    }
    if (loop->has_ring)
        io_uring_queue_exit(&loop->ring);
    free(loop->slots);
    free(loop);
}

static const struct loop_ops uring_ops = {
    .add = uring_add,
    .modify = uring_modify,
    .remove = uring_remove,
    .read_start = uring_read_start,
    .read_cancel = uring_read_cancel,
    .wait = uring_wait,
    .free = uring_free,
};

int loop_uring_create(struct loop **ret_loop, char *ret_reason)
{
    struct uring_loop *loop = calloc(1, sizeof *loop);
    const char *step = "io_uring_setup";
    int error;

    if (!loop)
        return -ENOMEM;
    loop->loop.ops = &uring_ops;
    loop->loop.kind = LOOP_IO_URING;
    loop->slot_free = NONE;
    loop->to_arm = loop->ready = (struct slot_list){NONE, NONE, 0};
    loop->pieces_free = PIECES_MAX;
    error = ring_init(&loop->ring);
    if (error < 0)
        goto fail;
    loop->has_ring = true;
    step = "io_uring_register";
    error = restrict_operations(&loop->ring);
    if (error < 0)
        goto fail;
    step = "madvise";
    error = io_uring_ring_dontfork(&loop->ring);
    if (error < 0)
        goto fail;
    *ret_loop = &loop->loop;
    return 0;
fail:
    snprintf(ret_reason, sizeof loop->loop.fallback_reason, "%s: %s%s", step, strerror(-error),
             likely_cause(error));
    uring_free(&loop->loop);
    return error;
}
