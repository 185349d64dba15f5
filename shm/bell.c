/* See shm/bell.h. */
#include "shm/bell.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int bell_create(void)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int bell_ring(int fd)
{
    uint64_t one = 1;

    if (write(fd, &one, sizeof one) == (ssize_t)sizeof one)
        return 0;
    /* EAGAIN: the counter is full, so the bell is rung already. */
    return errno == EAGAIN ? 0 : -errno;
}

int bell_read(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof count) == (ssize_t)sizeof count)
        return 1;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}
