/* Preloaded into cuzkd by test_crash_points.py: the process is killed, as by kill -9, instead of the
 * k-th call that changes a file or answers a client, counted from when the file CRASH_ARM exists.
 * So a test passes through every state that a crash can leave on disk. Workers and helpers, which
 * inherit the environment, are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int left = -1; /* calls until the end; -1: never */
static const char *arm;

static void __attribute__((constructor)) begin(void)
{
    const char *at = getenv("CRASH_AT");
    arm = getenv("CRASH_ARM");
    if (at && arm && strcmp(program_invocation_short_name, "cuzkd") == 0)
        atomic_store(&left, atoi(at));
}

static void count(void)
{
    int error = errno;
    if (atomic_load(&left) > 0 && access(arm, F_OK) == 0 && atomic_fetch_sub(&left, 1) == 1)
        kill(getpid(), SIGKILL);
    errno = error;
}

#define WRAP(type, name, parameters, arguments)                                                    \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        count();                                                                                   \
        return real arguments;                                                                     \
    }

WRAP(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
WRAP(ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
