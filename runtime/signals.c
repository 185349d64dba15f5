/* See runtime/signals.h. */
#include "runtime/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(const int *signals, unsigned count)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (unsigned i = 0; i < count; i++)
        sigaddset(&set, signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int signals_read(int fd)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        return (int)info.ssi_signo;
    return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}
