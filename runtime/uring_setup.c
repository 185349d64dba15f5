/* Makes the ring of the io_uring loop: the best flags the kernel has, restricted to the operations
 * that the loop uses. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/loop_uring.h"

enum {
    SQ_ENTRIES_MAX = 256,
    SQ_ENTRIES_MIN = 8,
    CQ_PER_SQ = 8, /* beyond it the kernel keeps completions in a list: slower, never lost */
};

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
                                      IORING_OP_ASYNC_CANCEL};
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

int uring_setup(struct io_uring *ring, const char **ret_step)
{
    int error = ring_init(ring);

    *ret_step = "io_uring_setup";
    if (error < 0)
        return error;
    *ret_step = "io_uring_register";
    error = restrict_operations(ring);
    if (error == 0) {
        *ret_step = "madvise";
        error = io_uring_ring_dontfork(ring);
    }
    if (error < 0)
        io_uring_queue_exit(ring);
    return error;
}

const char *uring_likely_cause(int error)
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
