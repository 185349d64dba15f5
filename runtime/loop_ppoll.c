/* The event loop on ppoll(2) and pread(2), for kernels and containers that refuse io_uring. Same
 * meaning as loop_uring.c; tests/runtime/test_loop.c runs the same cases on both.
 *
 * File reads are done inside loop_wait, one piece a turn, reads taking turns; while one is under
 * way the poll does not sleep. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/limits.h"
#include "runtime/check.h"
#include "runtime/clock.h"
#include "runtime/loop_ops.h"

struct ppoll_loop {
    struct loop loop;
    struct pollfd *polls;        /* polls[i] belongs to watches[i] */
    struct loop_watch **watches; /* NULL: removed, compacted at the next wait */
    size_t count, capacity;
    size_t removed;
    struct loop_read *reads_first, *reads_last; /* in turn */
};

/* In loop_watch.private_state. */
struct watch_state {
    uint64_t index_plus_1; /* 0 when not added */
};
static_assert(sizeof(struct watch_state) <= sizeof((struct loop_watch *)0)->private_state,
              "a watch has room for its state");

/* In loop_read.private_state. */
struct read_state {
    struct loop_read *next;
    uint64_t done;
    uint64_t is_active;
};
static_assert(sizeof(struct read_state) <= sizeof((struct loop_read *)0)->private_state,
              "a read has room for its state");

static struct ppoll_loop *self(struct loop *loop)
{
    return (struct ppoll_loop *)loop;
}

static struct watch_state *watch_state(struct loop_watch *watch)
{
    return (struct watch_state *)watch->private_state;
}

static struct read_state *read_state(struct loop_read *read)
{
    return (struct read_state *)read->private_state;
}

static int ppoll_add(struct loop *base, struct loop_watch *watch)
{
    struct ppoll_loop *loop = self(base);

    if (loop->count == loop->capacity) {
        size_t capacity = loop->capacity ? 2 * loop->capacity : 64;
        struct pollfd *polls = realloc(loop->polls, capacity * sizeof *polls);
        if (!polls)
            return -ENOMEM;
        loop->polls = polls;
        struct loop_watch **watches = realloc(loop->watches, capacity * sizeof(*watches));
        if (!watches)
            return -ENOMEM;
        loop->watches = watches;
        loop->capacity = capacity;
    }
    loop->polls[loop->count] = (struct pollfd){.fd = watch->fd, .events = (short)watch->events};
    loop->watches[loop->count] = watch;
    watch_state(watch)->index_plus_1 = ++loop->count;
    return 0;
}

static int ppoll_modify(struct loop *base, struct loop_watch *watch, uint32_t events)
{
    size_t index = watch_state(watch)->index_plus_1 - 1;

    CHECK(index < self(base)->count && self(base)->watches[index] == watch);
    watch->events = events;
    self(base)->polls[index].events = (short)events;
    return 0;
}

static void ppoll_remove(struct loop *base, struct loop_watch *watch)
{
    struct ppoll_loop *loop = self(base);
    size_t index = watch_state(watch)->index_plus_1 - 1;

    if (watch_state(watch)->index_plus_1 == 0)
        return;
    CHECK(index < loop->count && loop->watches[index] == watch);
    loop->watches[index] = NULL;
    loop->polls[index].fd = -1;
    loop->removed++;
    watch_state(watch)->index_plus_1 = 0;
}

static void compact(struct ppoll_loop *loop)
{
    size_t kept = 0;

    for (size_t i = 0; loop->removed && i < loop->count; i++) {
        if (!loop->watches[i])
            continue;
        loop->watches[kept] = loop->watches[i];
        loop->polls[kept] = loop->polls[i];
        watch_state(loop->watches[kept])->index_plus_1 = kept + 1;
        kept++;
    }
    if (loop->removed)
        loop->count = kept;
    loop->removed = 0;
}

static void reads_append(struct ppoll_loop *loop, struct loop_read *read)
{
    read_state(read)->next = NULL;
    if (loop->reads_last)
        read_state(loop->reads_last)->next = read;
    else
        loop->reads_first = read;
    loop->reads_last = read;
}

static int ppoll_read_start(struct loop *base, struct loop_read *read)
{
    *read_state(read) = (struct read_state){.is_active = 1};
    reads_append(self(base), read);
    return 0;
}

static void ppoll_read_cancel(struct loop *base, struct loop_read *read)
{
    struct ppoll_loop *loop = self(base);
    struct loop_read *previous = NULL;

    if (!read_state(read)->is_active)
        return;
    for (struct loop_read *at = loop->reads_first; at != read; at = read_state(at)->next) {
        CHECK(at);
        previous = at;
    }
    if (previous)
        read_state(previous)->next = read_state(read)->next;
    else
        loop->reads_first = read_state(read)->next;
    if (loop->reads_last == read)
        loop->reads_last = previous;
    read_state(read)->is_active = 0;
}

/* One piece of the read whose turn it is. Returns the callbacks run: 0 or 1. */
static int read_step(struct ppoll_loop *loop)
{
    struct loop_read *read = loop->reads_first;
    struct read_state *state;
    int64_t result;

    if (!read)
        return 0;
    state = read_state(read);
    loop->reads_first = state->next;
    if (!loop->reads_first)
        loop->reads_last = NULL;

    size_t bytes = read->bytes - state->done;
    if (bytes > READ_REQUEST_BYTES_MAX)
        bytes = READ_REQUEST_BYTES_MAX;
    ssize_t got = bytes ? pread(read->fd, (char *)read->memory + state->done, bytes,
                                (off_t)(read->offset + state->done))
                        : 0;
    if (got > 0)
        state->done += (uint64_t)got;
    if ((got > 0 && state->done < read->bytes) ||
        (got < 0 && (errno == EINTR || errno == EAGAIN))) {
        reads_append(loop, read);
        return 0;
    }
    result = got < 0 ? -errno : (int64_t)state->done;
    state->is_active = 0;
    read->on_done(read, result);
    return 1;
}

/* Runs the callbacks of the first `count` entries; watches added meanwhile lie behind them. */
static int dispatch(struct ppoll_loop *loop, size_t count)
{
    int called = 0;

    for (size_t i = 0; i < count; i++) {
        struct loop_watch *watch = loop->watches[i];
        uint32_t ready = (uint16_t)loop->polls[i].revents;
        loop->polls[i].revents = 0;
        /* A callback before this one may have removed the watch or changed its events. */
        if (!watch || !(ready &= watch->events | POLLERR | POLLHUP | POLLNVAL))
            continue;
        watch->on_ready(watch, ready);
        called++;
    }
    return called;
}

static int ppoll_wait(struct loop *base, uint64_t deadline_ns)
{
    struct ppoll_loop *loop = self(base);
    struct timespec timeout = {0}, *limit = &timeout;
    size_t count;
    int ready, called = 0;

    compact(loop);
    count = loop->count;
    if (!loop->reads_first && deadline_ns == UINT64_MAX) {
        limit = NULL;
    } else if (!loop->reads_first && deadline_ns) {
        uint64_t now_ns = clock_now_ns();
        uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        timeout.tv_sec = (time_t)(wait_ns / 1000000000u);
        timeout.tv_nsec = (long)(wait_ns % 1000000000u);
    }
    ready = ppoll(loop->polls, count, limit, NULL);
    if (ready < 0 && errno != EINTR && errno != EAGAIN)
        return -errno;
    if (ready > 0)
        called = dispatch(loop, count);
    return called + read_step(loop);
}

static void ppoll_free(struct loop *base)
{
    struct ppoll_loop *loop = self(base);

    free(loop->polls);
    free(loop->watches);
    free(loop);
}

static const struct loop_ops ppoll_ops = {
    .add = ppoll_add,
    .modify = ppoll_modify,
    .remove = ppoll_remove,
    .read_start = ppoll_read_start,
    .read_cancel = ppoll_read_cancel,
    .wait = ppoll_wait,
    .free = ppoll_free,
};

int loop_ppoll_create(struct loop **ret_loop)
{
    struct ppoll_loop *loop = calloc(1, sizeof *loop);

    if (!loop)
        return -ENOMEM;
    loop->loop.ops = &ppoll_ops;
    loop->loop.kind = LOOP_PPOLL;
    *ret_loop = &loop->loop;
    return 0;
}
