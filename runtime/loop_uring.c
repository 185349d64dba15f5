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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/clock.h"
#include "runtime/loop_uring.h"

static void reap(struct uring_loop *loop)
{
    struct io_uring_cqe *cqe;
    unsigned head, count = 0;

    io_uring_for_each_cqe(&loop->ring, head, cqe)
    {
        uint64_t owner = cqe->user_data >> URING_TAG_BITS;
        switch (cqe->user_data & ((1u << URING_TAG_BITS) - 1)) {
        case URING_TAG_WATCH:
            uring_on_poll(loop, (int32_t)owner, cqe->res);
            break;
        case URING_TAG_PIECE:
            uring_on_read(loop, (uint32_t)owner, cqe->res);
            break;
        case URING_TAG_REMOVAL:
            loop->is_removal_out = false;
            break;
        }
        count++;
    }
    io_uring_cq_advance(&loop->ring, count);
}

int uring_enter(struct uring_loop *loop, uint64_t wait_ns)
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

struct io_uring_sqe *uring_take_sqe(struct uring_loop *loop)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&loop->ring);

    if (!sqe && uring_enter(loop, 0) == 0)
        sqe = io_uring_get_sqe(&loop->ring);
    return sqe;
}

static int uring_wait(struct loop *base, uint64_t deadline_ns)
{
    struct uring_loop *loop = uring_self(base);
    uint64_t wait_ns = UINT64_MAX;
    int error;

    uring_arm(loop);
    uring_issue(loop);
    if (loop->ready.first != URING_NONE || loop->done.first || loop->to_arm.first != URING_NONE ||
        loop->pieces_to_issue || deadline_ns == 0) {
        wait_ns = 0;
    } else if (deadline_ns != UINT64_MAX) {
        uint64_t now_ns = clock_now_ns();
        wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    }
    error = uring_enter(loop, wait_ns);
    if (error < 0)
        return error;
    return uring_dispatch_watches(loop) + uring_dispatch_reads(loop);
}

static void uring_free(struct loop *base)
{
    struct uring_loop *loop = uring_self(base);

    for (uint32_t i = 0; i < URING_PIECES_MAX; i++) {
        if (loop->pieces[i].read)
            uring_read_cancel(base, loop->pieces[i].read);
    }
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
    const char *step;
    int error;

    if (!loop)
        return -ENOMEM;
    loop->loop.ops = &uring_ops;
    loop->loop.kind = LOOP_IO_URING;
    loop->slot_free = URING_NONE;
    loop->to_arm = loop->ready = (struct uring_slot_list){URING_NONE, URING_NONE, 0};
    loop->pieces_free = URING_PIECES_MAX;
    error = uring_setup(&loop->ring, &step);
    if (error < 0) {
        snprintf(ret_reason, sizeof loop->loop.fallback_reason, "%s: %s%s", step, strerror(-error),
                 uring_likely_cause(error));
        free(loop);
        return error;
    }
    *ret_loop = &loop->loop;
    return 0;
}
