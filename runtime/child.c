/* See runtime/child.h. Between fork and exec only async-signal-safe calls are made: other threads
 * of the parent may have held any lock. */
#include "runtime/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/check.h"

static int pidfd_open_of(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : fd;
}

static void reset_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, &standard, NULL); /* fails for SIGKILL and SIGSTOP, which is right */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Moves the wanted descriptors to their numbers and marks all others close-on-exec. Sources are
 * first copied above every target: a target number may be another one's source. */
static int place_fds(const struct child_spec *spec, int *error_fd)
{
    int copies[CHILD_FDS_MAX], above = STDERR_FILENO;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return -errno;
    for (unsigned i = 0; i < spec->fd_count; i++)
        above = spec->fds[i].number > above ? spec->fds[i].number : above;
    for (unsigned i = 0; i < spec->fd_count; i++) {
        copies[i] = fcntl(spec->fds[i].fd, F_DUPFD_CLOEXEC, above + 1);
        if (copies[i] < 0)
            return -errno;
    }
    null = fcntl(null, F_DUPFD_CLOEXEC, above + 1);
    *error_fd = fcntl(*error_fd, F_DUPFD_CLOEXEC, above + 1);
    if (null < 0 || *error_fd < 0)
        return -errno;
    /* Where a container refuses close_range, the parent's own descriptors are close-on-exec all
     * the same: every one is opened so. */
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return -errno;
    for (unsigned i = 0; i < spec->fd_count; i++) {
        if (dup2(copies[i], spec->fds[i].number) < 0)
            return -errno;
    }
    return 0;
}

static int set_oom_score(int score)
{
    char text[16];
    char *digit = text + sizeof text;
    unsigned rest = (unsigned)(score < 0 ? -score : score);
    int fd, error = 0;

    do
        *--digit = (char)('0' + rest % 10);
    while (rest /= 10);
    if (score < 0)
        *--digit = '-';
    fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (write(fd, digit, (size_t)(text + sizeof text - digit)) < 0)
        error = -errno;
    close(fd);
    return error;
}

/* In the child. Returns only when something failed, with the reason. */
static int become(const struct child_spec *spec, pid_t parent, int *error_fd)
{
    static const struct rlimit no_core = {0, 0};
    int error;

    reset_signals();
    /* First the signal, then the check: a parent that died in between is seen by one of them. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    if (getppid() != parent)
        return -ECHILD;
    if (setpgid(0, 0) < 0)
        return -errno;
    /* Before anything is allocated: what it uses is to be counted there. Best effort: the cgroup
     * may be gone, and the parent's does as well. */
    if (spec->cgroup_fd > 0 && write(spec->cgroup_fd, "0", 1) < 0)
        close(spec->cgroup_fd);
    error = place_fds(spec, error_fd);
    if (error < 0)
        return error;
    if (spec->no_core && setrlimit(RLIMIT_CORE, &no_core) < 0)
        return -errno;
    /* Best effort: without /proc the parent's score stays. */
    if (spec->oom_score_adj)
        set_oom_score(spec->oom_score_adj);
    execve(spec->path, spec->argv, spec->envp ? spec->envp : environ);
    return -errno;
}

int child_spawn(const struct child_spec *spec, struct child *ret)
{
    struct child child = {.pid = 0, .pidfd = -1};
    pid_t parent = getpid();
    sigset_t all, before;
    int report[2], error = 0;
    ssize_t got;

    CHECK(spec->fd_count <= CHILD_FDS_MAX);
    CHECK(gettid() == parent);
    if (pipe2(report, O_CLOEXEC) < 0)
        return -errno;
    /* Blocked across fork: a handler of the parent must not run in the child. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child.pid = fork();
    if (child.pid == 0) {
        error = become(spec, parent, &report[1]);
        if (write(report[1], &error, sizeof error) < 0)
            _exit(126);
        _exit(127);
    }
    if (child.pid < 0) {
        error = -errno;
        child.pid = 0;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (child.pid) {
        child.pidfd = pidfd_open_of(child.pid); /* not reaped yet: the number is still its own */
        if (child.pidfd < 0)
            error = child.pidfd;
        do
            got = read(report[0], &error, sizeof error); /* end of file: exec closed it */
        while (got < 0 && errno == EINTR);
    }
    close(report[0]);
    if (error < 0) {
        child_destroy(&child);
        return error;
    }
    *ret = child;
    return 0;
}

/* In the child of child_fork: everything else is closed, so that whoever waits for the end of a
 * connection of the parent's does not wait for us too. Where a container refuses close_range they
 * stay open until we end. */
static int keep_only(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (null < 0 || kept < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        return -1;
    /* In order, so that the one kept is the lowest above standard error. */
    if (kept != STDERR_FILENO + 1 && dup2(kept, STDERR_FILENO + 1) < 0)
        return -1;
    syscall(SYS_close_range, STDERR_FILENO + 2, ~0u, 0);
    return STDERR_FILENO + 1;
}

int child_fork(int fd, int (*run)(int fd, const void *context), const void *context,
               struct child *ret)
{
    struct child child = {.pid = 0, .pidfd = -1};
    pid_t parent = getpid();
    sigset_t all, before;
    int error = 0;

    CHECK(gettid() == parent);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    child.pid = fork();
    if (child.pid == 0) {
        reset_signals();
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || setpgid(0, 0) < 0)
            _exit(126);
        fd = keep_only(fd);
        _exit(fd < 0 ? 126 : run(fd, context));
    }
    if (child.pid < 0) {
        error = -errno;
        child.pid = 0;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child.pid) {
        child.pidfd = pidfd_open_of(child.pid);
        error = child.pidfd < 0 ? child.pidfd : 0;
    }
    if (error < 0) {
        child_destroy(&child);
        return error;
    }
    *ret = child;
    return 0;
}

int child_kill(const struct child *child, int signal)
{
    if (child->pid == 0)
        return -ESRCH;
    return syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

int child_reap(struct child *child, int *ret_status)
{
    int status;
    pid_t pid;

    if (child->pid == 0)
        return -ECHILD;
    do
        pid = waitpid(child->pid, &status, WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid <= 0)
        return pid < 0 ? -errno : 0;
    child->pid = 0;
    *ret_status = status;
    return 1;
}

void child_destroy(struct child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL); /* unreaped: the number cannot be another process's */
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (child->pidfd > 0) /* 0 in a zeroed object */
        close(child->pidfd);
    *child = (struct child){.pid = 0, .pidfd = -1};
}

void child_abandon(struct child *child)
{
    child->pid = 0;
    child_destroy(child);
}

const char *child_status_to_string(int status, char *text, size_t room)
{
    if (WIFEXITED(status))
        snprintf(text, room, "exit code %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        snprintf(text, room, "killed by SIG%s%s", sigabbrev_np(WTERMSIG(status)),
                 WCOREDUMP(status) ? ", core dumped" : "");
    else
        snprintf(text, room, "wait status %#x", (unsigned)status);
    return text;
}
