/* See worker_check.h. Upstream: worker_orders.c; downstream: shm/worker.c and the main of each
 * program. */
#include "supervisor/worker_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/check.h"
#include "supervisor/programs.h"
#include "supervisor/supervisor.h"

static void on_end(struct loop_watch *watch, uint32_t events);

bool worker_check_is_open(const struct worker *worker)
{
    return worker->check.watch.on_ready != NULL;
}

/* Its process is reaped, or shall be by whoever outlives us. */
static void let_go(struct worker *worker)
{
    struct worker_check *check = &worker->check;
    loop_remove(worker->supervisor->loop, &check->watch);
    child_abandon(&check->child);
    close(check->text_fd);
    *check = (struct worker_check){.text_fd = -1};
}

/* What it says is not wanted any more. Its end is waited for by the loop alone: a program that
 * hangs in a driver or a file system does not die of it. */
static void give_up(struct worker *worker, bool is_wanted_again)
{
    struct worker_check *check = &worker->check;
    child_kill(&check->child, SIGKILL);
    check->is_given_up = true;
    check->is_wanted_again = is_wanted_again;
}

static uint64_t deadline_of(const struct worker *worker)
{
    return worker->supervisor->now_ns + WORKER_CHECK_S_MAX * UINT64_C(1000000000);
}

void worker_check_destroy(struct worker *worker)
{
    if (!worker_check_is_open(worker))
        return;
    give_up(worker, false);
    let_go(worker);
}

static int spawn(struct worker *worker, int text_fd)
{
    struct supervisor *supervisor = worker->supervisor;
    struct programs_arguments arguments;
    char build[CHANNEL_BUILD_BYTES];
    unsigned count = 0;
    programs_worker_arguments(&supervisor->config, worker->kind, worker->index, 0,
                              worker_calls_level_of(worker), &arguments);
    while (arguments.argv[count])
        count++;
    CHECK(count + 2 < PROGRAMS_ARGUMENTS_MAX);
    arguments.argv[count] = (char *)"--check";
    arguments.argv[count + 1] = (char *)(uintptr_t)channel_build(build);
    const struct child_fd fds[] = {{text_fd, STDERR_FILENO}};
    const struct child_spec spec = {
        .path = supervisor->workers.paths[worker->kind],
        .argv = arguments.argv,
        .envp = supervisor->workers.environment,
        .fds = fds,
        .fd_count = 1,
    };
    return child_spawn(&spec, &worker->check.child);
}

static int begin(struct worker *worker, char *ret_why)
{
    struct supervisor *supervisor = worker->supervisor;
    struct worker_check *check = &worker->check;
    int text[2];
    if (pipe2(text, O_CLOEXEC | O_NONBLOCK) < 0) {
        snprintf(ret_why, WORKER_ORDERS_WHY_BYTES, "its program cannot be checked: %s",
                 strerror(errno));
        return -EAGAIN;
    }
    int r = spawn(worker, text[1]);
    close(text[1]);
    if (r == 0) {
        check->watch =
            (struct loop_watch){.fd = check->child.pidfd, .events = POLLIN, .on_ready = on_end};
        r = loop_add(supervisor->loop, &check->watch);
    }
    if (r < 0) {
        check->watch.on_ready = NULL;
        child_destroy(&check->child);
        close(text[0]);
        snprintf(ret_why, WORKER_ORDERS_WHY_BYTES,
                 "%s goes on as it is, since its successor could not start: %.250s: %s",
                 worker->name, supervisor->workers.paths[worker->kind], strerror(-r));
        return r;
    }
    check->text_fd = text[0];
    check->deadline_ns = deadline_of(worker);
    return 0;
}

int worker_check_start(struct worker *worker, char *ret_why)
{
    if (!worker->supervisor->workers.paths[worker->kind])
        return 0;
    if (!worker_check_is_open(worker))
        return begin(worker, ret_why);
    /* Of an order that this one takes the place of; the configuration may be another one now. */
    give_up(worker, true);
    worker->check.deadline_ns = deadline_of(worker);
    return 0;
}

/* The first line of what it said, as it may be shown. */
static void read_text(int fd, char *ret, size_t room)
{
    ssize_t bytes = read(fd, ret, room - 1);
    ret[bytes > 0 ? bytes : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    for (char *c = ret; *c; c++)
        *c = *c >= 0x20 && *c < 0x7f ? *c : '?';
}

static void on_end(struct loop_watch *watch, uint32_t events)
{
    struct worker *worker = (struct worker *)((char *)watch - offsetof(struct worker, check.watch));
    const bool is_given_up = worker->check.is_given_up, is_again = worker->check.is_wanted_again;
    char text[WORKER_ORDERS_WHY_BYTES], how[64];
    int status;
    (void)events;
    supervisor_take_time(worker->supervisor);
    if (child_reap(&worker->check.child, &status) != 1)
        return;
    read_text(worker->check.text_fd, text, sizeof text);
    let_go(worker);
    if (is_again && begin(worker, text) < 0)
        worker_orders_checked(worker, false, text);
    if (is_given_up)
        return;
    if (!text[0])
        snprintf(text, sizeof text, "%s: %s", worker->supervisor->workers.paths[worker->kind],
                 child_status_to_string(status, how, sizeof how));
    worker_orders_checked(worker, WIFEXITED(status) && WEXITSTATUS(status) == 0, text);
}

uint64_t worker_check_deadline(const struct worker *worker)
{
    const struct worker_check *check = &worker->check;
    bool is_awaited =
        worker_check_is_open(worker) && (!check->is_given_up || check->is_wanted_again);
    return is_awaited ? check->deadline_ns : UINT64_MAX;
}

void worker_check_tick(struct worker *worker)
{
    if (worker->supervisor->now_ns < worker_check_deadline(worker))
        return;
    give_up(worker, false);
    worker_orders_checked(worker, false, "it did not answer --check in time");
}
