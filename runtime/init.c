/* See runtime/init.h. */
#include "runtime/init.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the manager of the container said to process 1 is for us. */
static void take_over(const char *name)
{
    char text[16];
    const char *value = getenv(name);

    if (!value || strcmp(value, "1") != 0)
        return;
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv(name, text, 1);
}

/* Reaps all that have ended. True once the child is among them. */
static bool reap(pid_t child, int *ret_status)
{
    bool is_over = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != child)
            continue;
        *ret_status = status;
        is_over = true;
    }
    return is_over;
}

static int serve(pid_t child, const sigset_t *all)
{
    int status = 0;

    prctl(PR_SET_NAME, "cuzkd-init");
    /* Sockets that were handed over must not be kept open here. */
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
    for (;;) {
        const int signal = sigwaitinfo(all, NULL);
        if (signal == SIGCHLD && reap(child, &status))
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (signal > 0 && signal != SIGCHLD)
            kill(child, signal);
    }
}

int init_serve(void)
{
    sigset_t all, before;

    if (getpid() != 1)
        return -1;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t child = fork();
    if (child > 0)
        return serve(child, &all);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0) {
        fprintf(stderr, "cuzkd: goes on as process 1, and reaps nobody: %s\n", strerror(errno));
        return -1;
    }
    /* A terminal's ^C reaches process 1, which passes it on: once is enough. */
    setpgid(0, 0);
    take_over("LISTEN_PID");
    take_over("WATCHDOG_PID");
    return -1;
}
