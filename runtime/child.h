/* Child processes of the supervisor: fork and exec on the main thread (the parent-death signal
 * follows the forking thread), inherited descriptors at given numbers, a pidfd for the notice of
 * death. A child dies with its parent. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum {
    CHILD_FDS_MAX = 16,
};

struct child_fd {
    int fd;     /* the parent's; stays open there */
    int number; /* the child's, 0 or higher */
};

struct child_spec {
    const char *path;  /* absolute */
    char *const *argv; /* NULL-terminated */
    char *const *envp; /* NULL-terminated; NULL: the parent's */
    const struct child_fd *fds;
    unsigned fd_count; /* <= CHILD_FDS_MAX */
    int oom_score_adj; /* 0: as the parent's */
    int cgroup_fd;     /* cgroup.procs of the cgroup it moves into first; 0 or -1: the parent's */
    bool no_core;      /* RLIMIT_CORE 0: its memory holds secrets */
};

struct child {
    pid_t pid; /* 0 when there is none */
    int pidfd; /* readable once the child is dead */
};

/* stdin and stdout are /dev/null and stderr is inherited unless fds says otherwise; nothing else is
 * open in the child. Signals are at their defaults and unblocked, and the child leads a process
 * group of its own, so that a terminal's ^C reaches the parent only. Waits until exec has happened:
 * 0, or negative errno of the step that failed. */
int child_spawn(const struct child_spec *spec, struct child *ret);
/* The same without exec: the child keeps standard error and `fd`, runs `run`, which may make
 * async-signal-safe calls and forks only, and exits with what that returns (0 to 255). */
int child_fork(int fd, int (*run)(int fd, const void *context), const void *context,
               struct child *ret);
/* Sends a signal through the pidfd. 0 or negative errno (-ESRCH: it is dead). */
int child_kill(const struct child *child, int signal);
/* Reaps without blocking: 1 with the wait status as waitpid gives it, 0 while it lives. */
int child_reap(struct child *child, int *ret_status);
/* Closes the pidfd. A child not yet reaped is killed and waited for. */
void child_destroy(struct child *child);
/* Closes the pidfd of a child that the kernel does not let die, without waiting for it. */
void child_abandon(struct child *child);
/* "exit code 3", "killed by SIGKILL", ... into text; returns text. */
const char *child_status_to_string(int status, char *text, size_t room);
