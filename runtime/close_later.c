/* See runtime/close_later.h. */
#include "runtime/close_later.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/errands.h"

enum {
    /* When so many hang, descriptors are not closed any more: admission finds them used up. */
    CLOSE_THREADS_MAX = 16,
    CLOSE_GRACE_MS = 200, /* at the end of the process, which closes everything anyway */
};

struct closing {
    struct errand errand;
    int fd;
};

static struct errands *closers;

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

void close_later(int fd)
{
    int before = errno;
    struct closing *closing = fd >= 0 && closers ? malloc(sizeof *closing) : NULL;
    if (closing) {
        *closing = (struct closing){.errand.run = run, .fd = fd};
        errands_push(closers, &closing->errand);
    } else if (fd >= 0) {
        close(fd);
    }
    errno = before;
}
