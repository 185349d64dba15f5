/* Disposable child processes: see helper.h. */
#include "supervisor/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/clock.h"

enum {
    /* A helper that never stops writing holds up nothing else. */
    READS_A_TURN = 4,
    READS_AT_DEATH = 64, /* more than the largest pipe holds */
};

/* Reads what is there; keeps the newest bytes from a line's start when it writes many lines. */
static void drain(struct helper *helper, int reads_max)
{
    for (int i = 0; i < reads_max; i++) {
        if (helper->bytes == HELPER_OUTPUT_BYTES_MAX) {
            char *end = memrchr(helper->text, '\n', helper->bytes);
            size_t gone = end ? (size_t)(end + 1 - helper->text) : helper->bytes;
            memmove(helper->text, helper->text + gone, helper->bytes - gone);
            helper->bytes -= gone;
        }
        ssize_t got = read(helper->output, helper->text + helper->bytes,
                           HELPER_OUTPUT_BYTES_MAX - helper->bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 && helper->output_watch.on_ready) {
            loop_remove(helper->loop, &helper->output_watch);
            helper->output_watch.on_ready = NULL;
        }
        if (got <= 0)
            return;
        helper->bytes += (size_t)got;
        helper->heard_ns = clock_now_ns();
    }
}

static void on_output(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    drain((struct helper *)((char *)watch - offsetof(struct helper, output_watch)), READS_A_TURN);
}

static const char *last_line(struct helper *helper)
{
    while (helper->bytes > 0 && helper->text[helper->bytes - 1] == '\n')
        helper->bytes--;
    helper->text[helper->bytes] = '\0';
    char *before = memrchr(helper->text, '\n', helper->bytes);
    const char *line = before ? before + 1 : helper->text;
    return *line ? line : NULL;
}

static void on_death(struct loop_watch *watch, uint32_t events)
{
    struct helper *helper = (struct helper *)((char *)watch - offsetof(struct helper, death_watch));
    int status;
    (void)events;
    if (child_reap(&helper->child, &status) != 1)
        return;
    drain(helper, READS_AT_DEATH);
    helper->on_done(helper, last_line(helper), status);
}

int helper_start(struct loop *loop, const struct child_spec *spec, int output_number,
                 void (*on_done)(struct helper *, const char *, int), void *context,
                 struct helper **ret)
{
    struct child_fd fds[CHILD_FDS_MAX];
    struct child_spec full = *spec;
    int output[2], r;
    struct helper *helper = calloc(1, sizeof *helper);
    if (!helper)
        return -ENOMEM;
    helper->child.pidfd = helper->output = -1;
    helper->loop = loop;
    helper->heard_ns = clock_now_ns();
    helper->on_done = on_done;
    helper->context = context;
    if (pipe2(output, O_CLOEXEC) < 0) {
        r = -errno;
        goto fail;
    }
    helper->output = output[0];
    fcntl(output[0], F_SETFL, O_NONBLOCK);

    CHECK(spec->fd_count < CHILD_FDS_MAX);
    memcpy(fds, spec->fds, spec->fd_count * sizeof fds[0]);
    fds[full.fd_count++] = (struct child_fd){output[1], output_number};
    full.fds = fds;
    r = child_spawn(&full, &helper->child);
    close(output[1]);
    if (r < 0)
        goto fail;
    helper->death_watch =
        (struct loop_watch){.fd = helper->child.pidfd, .events = POLLIN, .on_ready = on_death};
    r = loop_add(loop, &helper->death_watch);
    if (r < 0) {
        helper->death_watch.on_ready = NULL;
        goto fail;
    }
    helper->output_watch =
        (struct loop_watch){.fd = helper->output, .events = POLLIN, .on_ready = on_output};
    r = loop_add(loop, &helper->output_watch);
    if (r < 0) {
        helper->output_watch.on_ready = NULL;
        goto fail;
    }
    *ret = helper;
    return 0;

fail:
    helper_free(helper);
    return r;
}

void helper_kill(struct helper *helper)
{
    child_kill(&helper->child, SIGKILL);
}

void helper_free(struct helper *helper)
{
    if (!helper)
        return;
    if (helper->death_watch.on_ready)
        loop_remove(helper->loop, &helper->death_watch);
    if (helper->output_watch.on_ready)
        loop_remove(helper->loop, &helper->output_watch);
    child_destroy(&helper->child);
    if (helper->output >= 0)
        close(helper->output);
    free(helper);
}
