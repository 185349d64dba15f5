/* See runtime/close_later.h. */
#include "runtime/close_later.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/errands.h"

enum {
    /* When so many hang, descriptors are not closed any more: admission finds them used up. */
    CLOSE_THREADS_MAX = 16,
    CLOSE_GRACE_MS = 200, /* at the end of the process, which closes everything anyway */
    /* Whoever sends descriptors faster than they are closed must not use them up: beyond so many
     * the loop waits a moment for the threads, and if they hang, not again soon. */
    CLOSE_WAITING_MAX = 64,
    CLOSE_WAIT_MS = 10,
    CLOSE_WAIT_EVERY_MS = 1000,
    CLOSE_MEMORY_MAJOR = 1, /* /dev/null and its like */
};

struct closing {
    struct errand errand;
    int fd;
};

static struct errands *closers;
static uint64_t no_wait_until_ns;

int close_later_init(void)
{
    return closers ? 0 : errands_create(CLOSE_THREADS_MAX, &closers);
}

void close_later_destroy(void)
{
    errands_free(closers, CLOSE_GRACE_MS);
    closers = NULL;
}

bool close_later_is_done(void)
{
    return errands_are_done(closers);
}

static void run(struct errand *errand)
{
    struct closing *closing = (struct closing *)((char *)errand - offsetof(struct closing, errand));
    close(closing->fd);
    free(closing);
}

/* Files of a disk of this machine, pipes and /dev/null do not wait for anybody. A file system
 * without a device - of a network, of a program - may. It is not asked here. */
static bool is_quick(int fd)
{
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0)
        return false;
    return (S_ISREG(status.stx_mode) && status.stx_dev_major != 0) || S_ISFIFO(status.stx_mode) ||
           (S_ISCHR(status.stx_mode) && status.stx_rdev_major == CLOSE_MEMORY_MAJOR);
}

static void hold_back(void)
{
    if (errands_wait(closers, CLOSE_WAITING_MAX, 0) || clock_now_ns() < no_wait_until_ns)
        return;
    if (!errands_wait(closers, CLOSE_WAITING_MAX, CLOSE_WAIT_MS))
        no_wait_until_ns = clock_now_ns() + CLOSE_WAIT_EVERY_MS * UINT64_C(1000000);
}

void close_later(int fd)
{
    int before = errno;
    struct closing *closing = fd >= 0 && closers && !is_quick(fd) ? malloc(sizeof *closing) : NULL;
    if (closing) {
        *closing = (struct closing){.errand.run = run, .fd = fd};
        errands_push(closers, &closing->errand);
        hold_back();
    } else if (fd >= 0) {
        close(fd);
    }
    errno = before;
}
