/* The children are shells. */
#include "runtime/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static struct child_spec shell(const char *script, char *argv[4])
{
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = (char *)script;
    argv[3] = NULL;
    return (struct child_spec){.path = "/bin/sh", .argv = argv};
}

static int wait_status(struct child *child)
{
    struct pollfd death = {.fd = child->pidfd, .events = POLLIN};
    int status = -1;

    ASSERT_INT(poll(&death, 1, 20000), 1);
    ASSERT_INT(child_reap(child, &status), 1);
    child_destroy(child);
    return status;
}

static int output_number = 3;

/* Runs the program and returns what it wrote to that descriptor. */
static const char *output_of(struct child_spec *spec, struct child_fd *fds, unsigned fd_count)
{
    static char text[4096];
    struct child child;
    int pipe_fds[2];
    size_t at = 0;

    ASSERT_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
    fds[fd_count] = (struct child_fd){.fd = pipe_fds[1], .number = output_number};
    spec->fds = fds;
    spec->fd_count = fd_count + 1;
    ASSERT_INT(child_spawn(spec, &child), 0);
    close(pipe_fds[1]);
    for (ssize_t got; (got = read(pipe_fds[0], text + at, sizeof text - 1 - at)) > 0;)
        at += (size_t)got;
    text[at] = '\0';
    close(pipe_fds[0]);
    wait_status(&child);
    return text;
}

TEST(tells_of_death_through_the_pidfd_with_the_exit_code)
{
    char *argv[4], text[64];
    struct child_spec spec = shell("exit 3", argv);
    struct child child;

    ASSERT_INT(child_spawn(&spec, &child), 0);
    int status = wait_status(&child);
    ASSERT(WIFEXITED(status));
    ASSERT_INT(WEXITSTATUS(status), 3);
    ASSERT_STR(child_status_to_string(status, text, sizeof text), "exit code 3");
}

TEST(reap_does_not_block_and_kill_works_through_the_pidfd)
{
    char *argv[4], text[64];
    struct child_spec spec = shell("exec sleep 100", argv);
    struct child child;
    int status;

    ASSERT_INT(child_spawn(&spec, &child), 0);
    ASSERT_INT(child_reap(&child, &status), 0);
    ASSERT_INT(child_kill(&child, SIGKILL), 0);
    status = wait_status(&child);
    ASSERT_STR(child_status_to_string(status, text, sizeof text), "killed by SIGKILL");
    ASSERT_INT(child_kill(&child, SIGKILL), -ESRCH);
}

TEST(says_why_the_program_cannot_run)
{
    char *argv[4];
    struct child_spec spec = shell("", argv);
    struct child child = {.pid = -7};

    spec.path = "/nonexistent/program";
    ASSERT_INT(child_spawn(&spec, &child), -ENOENT);
    spec.path = "/";
    ASSERT_INT(child_spawn(&spec, &child), -EACCES);
    ASSERT_INT(child.pid, -7);
    ASSERT_INT(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
    struct child_fd bad = {.fd = 9999, .number = 3};
    spec = shell("", argv);
    spec.fds = &bad;
    spec.fd_count = 1;
    ASSERT_INT(child_spawn(&spec, &child), -EBADF);
}

TEST(maps_descriptors_even_where_sources_and_targets_cross)
{
    char *argv[4];
    struct child_spec spec =
        shell("readlink /proc/self/fd/4 >&3; readlink /proc/self/fd/5 >&3", argv);
    struct child_fd fds[4];

    /* The source of 4 is 5 and the source of 5 is 4. */
    int a = open("/dev/zero", O_RDONLY), b = open("/dev/full", O_RDONLY);
    int keep4 = fcntl(4, F_DUPFD_CLOEXEC, 200), keep5 = fcntl(5, F_DUPFD_CLOEXEC, 200);
    int high_a = fcntl(a, F_DUPFD_CLOEXEC, 100), high_b = fcntl(b, F_DUPFD_CLOEXEC, 100);
    dup2(high_a, 5);
    dup2(high_b, 4);
    fds[0] = (struct child_fd){.fd = 5, .number = 4};
    fds[1] = (struct child_fd){.fd = 4, .number = 5};
    ASSERT_STR(output_of(&spec, fds, 2), "/dev/zero\n/dev/full\n");
    close(4);
    close(5);
    close(high_a);
    close(high_b);
    if (keep4 >= 0)
        close(keep4);
    if (keep5 >= 0)
        close(keep5);
}

TEST(closes_everything_else)
{
    char *argv[] = {"ls", "/proc/self/fd", NULL};
    struct child_spec spec = {.path = "/bin/ls", .argv = argv};
    struct child_fd fds[4];
    int leak = open("/dev/zero", O_RDONLY); /* without close-on-exec */
    int high = fcntl(leak, F_DUPFD, 700);

    output_number = STDOUT_FILENO;
    const char *text = output_of(&spec, fds, 0);
    output_number = 3;
    ASSERT_STR(text, "0\n1\n2\n3\n"); /* 3 is the folder that ls reads */
    close(leak);
    close(high);
}

TEST(stdin_and_stdout_are_null)
{
    char *argv[4];
    struct child_spec spec =
        shell("a=$(readlink /proc/$$/fd/0); b=$(readlink /proc/$$/fd/1); echo $a $b >&3", argv);
    struct child_fd fds[4];

    ASSERT_STR(output_of(&spec, fds, 0), "/dev/null /dev/null\n");
}

TEST(signals_are_reset_and_unblocked)
{
    char *argv[4];
    struct child_spec spec = shell("sed -n '/Sig[BIC]/p' /proc/self/status >&3", argv);
    struct child_fd fds[4];
    sigset_t all, before, after;

    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const char *text = output_of(&spec, fds, 0);
    sigprocmask(SIG_SETMASK, &before, &after);
    signal(SIGPIPE, SIG_DFL);
    ASSERT(sigismember(&after, SIGTERM)); /* the parent's own mask is as it was */
    ASSERT_STR(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                     "SigCgt:\t0000000000000000\n");
}

TEST(leads_a_process_group_and_has_no_core)
{
    char *argv[4];
    struct child_spec spec = shell("cut -d' ' -f5 /proc/$$/stat >&3; echo $$ >&3; ulimit -c >&3;"
                                   "cat /proc/$$/oom_score_adj >&3",
                                   argv);
    struct child_fd fds[4];
    int group, pid, core, score;

    spec.no_core = true;
    spec.oom_score_adj = 500;
    ASSERT_INT(sscanf(output_of(&spec, fds, 0), "%d %d %d %d", &group, &pid, &core, &score), 4);
    ASSERT_INT(group, pid);
    ASSERT_INT(core, 0);
    ASSERT_INT(score, 500);
}

TEST(environment_is_what_was_given)
{
    char *argv[4], *envp[] = {"A=b", NULL};
    struct child_spec spec = shell("echo \"$A,$HOME,$NOTIFY_SOCKET\" >&3", argv);
    struct child_fd fds[4];

    setenv("NOTIFY_SOCKET", "/x", 1);
    spec.envp = envp;
    ASSERT_STR(output_of(&spec, fds, 0), "b,,\n");
    unsetenv("NOTIFY_SOCKET");
}

/* A parent that is killed takes its child along: the pipe that only the child still holds ends. */
TEST(dies_with_its_parent)
{
    struct pollfd end = {.events = POLLIN};
    char text[8];
    int fds[2], hold[2];

    ASSERT_INT(pipe2(fds, O_CLOEXEC), 0);
    ASSERT_INT(pipe2(hold, O_CLOEXEC), 0);
    pid_t middle = fork();
    if (middle == 0) {
        char *argv[4];
        /* `read` waits inside the shell: a plain `sleep` would be a process of its own. */
        struct child_spec spec = shell("echo up >&3; read line <&4", argv);
        struct child_fd map[] = {{.fd = fds[1], .number = 3}, {.fd = hold[0], .number = 4}};
        struct child child;
        spec.fds = map;
        spec.fd_count = 2;
        alarm(60);
        if (child_spawn(&spec, &child) < 0)
            _exit(1);
        close(fds[1]);
        for (;;)
            pause();
    }
    close(fds[1]);
    ASSERT_INT(read(fds[0], text, 3), 3);
    kill(middle, SIGKILL);
    ASSERT_INT(waitpid(middle, NULL, 0), middle);
    end.fd = fds[0];
    ASSERT_INT(poll(&end, 1, 20000), 1);
    ASSERT_INT(read(fds[0], text, sizeof text), 0);
    close(fds[0]);
    close(hold[0]);
    close(hold[1]);
}

TEST(destroy_kills_what_still_runs)
{
    char *argv[4];
    struct child_spec spec = shell("exec sleep 1000", argv);
    struct child child;

    ASSERT_INT(child_spawn(&spec, &child), 0);
    pid_t pid = child.pid;
    child_destroy(&child);
    ASSERT_INT(kill(pid, 0), -1);
    child_destroy(&child);
    struct child zeroed = {0};
    child_destroy(&zeroed);
    ASSERT(fcntl(0, F_GETFD) >= 0);
}

TEST_MAIN(CASE(tells_of_death_through_the_pidfd_with_the_exit_code),
          CASE(reap_does_not_block_and_kill_works_through_the_pidfd),
          CASE(says_why_the_program_cannot_run),
          CASE(maps_descriptors_even_where_sources_and_targets_cross), CASE(closes_everything_else),
          CASE(stdin_and_stdout_are_null), CASE(signals_are_reset_and_unblocked),
          CASE(leads_a_process_group_and_has_no_core), CASE(environment_is_what_was_given),
          CASE(dies_with_its_parent), CASE(destroy_kills_what_still_runs))
