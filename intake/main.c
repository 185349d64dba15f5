/* cuzk-intake: copies clients' files into the spool, one at a time; several such processes run.
 * It is the one that touches a client's file system, which may hang, lie or change its mind, so
 * that neither the supervisor nor a worker does. It has a socket to the supervisor (descriptor 3)
 * and the spool folder (4), opens nothing else, and logs nothing: the supervisor says what became
 * of a file. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "intake/copy.h"
#include "runtime/files.h"
#include "runtime/sandbox.h"

enum {
    EXIT_START = 2,
};

struct options {
    pid_t parent; /* 0: not given */
    enum sandbox_policy sandbox;
};

static int run(struct copier *copier);

static int parse(int argc, char **argv, struct options *ret)
{
    static const struct option table[] = {{"parent-pid", required_argument, NULL, 'p'},
                                          {"sandbox", required_argument, NULL, 's'},
                                          {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'p')
            ret->parent = (pid_t)strtol(optarg, NULL, 10);
        else if (option != 's' || sandbox_policy_from_string(optarg, &ret->sandbox) < 0)
            return -EINVAL;
    }
    return 0;
}

/* Signals as in shm/worker.c; no core and no debugger: witnesses pass through here. */
static int enter(const struct options *options)
{
    static const struct rlimit no_core = {0, 0};
    struct stat status;
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    files_open_standard();
    if (setrlimit(RLIMIT_CORE, &no_core) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return -errno;
    umask(077);
    if (fstat(INTAKE_FD_SOCKET, &status) < 0 || !S_ISSOCK(status.st_mode) ||
        fstat(INTAKE_FD_FOLDER, &status) < 0 || !S_ISDIR(status.st_mode)) {
        fprintf(stderr,
                "cuzk-intake: descriptors %d and %d are not a socket and a folder; this program "
                "is started by cuzkd of the same version\n",
                INTAKE_FD_SOCKET, INTAKE_FD_FOLDER);
        return -EBADF;
    }
    return options->parent && getppid() != options->parent ? -ESRCH : 0;
}

/* Everything is open and no byte of a client has been looked at: from here on only the files of
 * the spool can be opened. */
static int enter_sandbox(enum sandbox_policy policy)
{
    static const char *const writable[] = {".", NULL};
    if (policy == SANDBOX_OFF)
        return 0;
    int r = fchdir(INTAKE_FD_FOLDER) < 0 ? -errno : 0;
    int files = r < 0 ? r : sandbox_limit_files(SANDBOX_SPOOL, writable);
    int calls = sandbox_limit_calls(SANDBOX_SPOOL, NULL);
    r = files < 0 ? files : calls;
    if (r == 0 || policy != SANDBOX_REQUIRE)
        return 0;
    fprintf(stderr, "cuzk-intake: the sandbox cannot be entered (%s): %s\n",
            files < 0 ? "files" : "calls", strerror(-r));
    return r;
}

int main(int argc, char **argv)
{
    struct options options = {.sandbox = SANDBOX_PREFER};
    struct copier copier;
    if (parse(argc, argv, &options) < 0 || enter(&options) < 0)
        return EXIT_START;
    if (copier_init(&copier, INTAKE_FD_SOCKET, INTAKE_FD_FOLDER) < 0) {
        fprintf(stderr, "cuzk-intake: memory is short\n");
        return EXIT_START;
    }
    int status = EXIT_START;
    if (enter_sandbox(options.sandbox) == 0)
        status = run(&copier);
    copier_destroy(&copier);
    return status;
}

/* Until it is taken or the supervisor is gone. */
static int answer(const struct intake_packet *packet)
{
    for (;;) {
        int r = intake_packet_send(INTAKE_FD_SOCKET, packet, -1);
        struct pollfd room = {.fd = INTAKE_FD_SOCKET, .events = POLLOUT};
        if (r != -EAGAIN)
            return r;
        if (poll(&room, 1, 1000) < 0 && errno != EINTR)
            return -errno;
    }
}

/* The order of every worker loop - take, work, answer, wait - but the work itself blocks: waiting
 * for what others must not wait for is what this process is for. */
static int run(struct copier *copier)
{
    const struct intake_packet ready = {.abi = INTAKE_PACKET_ABI, .kind = INTAKE_READY};
    int r = answer(&ready);
    while (r == 0) {
        struct intake_packet asked, done;
        int file = -1;
        r = intake_packet_receive(INTAKE_FD_SOCKET, &asked, &file);
        if (r == -EPIPE)
            return 0; /* not needed any more */
        if (r == 1 && (asked.abi != INTAKE_PACKET_ABI || asked.kind != INTAKE_COPY || file < 0))
            r = -EPROTO;
        if (r != 1)
            break;
        copier_run(copier, &asked, file, &done);
        r = answer(&done);
    }
    return r == -EPIPE ? 0 : 1;
}
