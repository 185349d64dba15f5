/* The event loop's front: picks the kind once, then passes calls through its operations. */
#include "runtime/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/check.h"
#include "runtime/loop_ops.h"

int loop_create(enum loop_kind kind, struct loop **ret_loop)
{
    char reason[sizeof((struct loop *)0)->fallback_reason] = "";
    struct loop *loop;
    int error = -EINVAL;

    if (kind == LOOP_AUTO || kind == LOOP_IO_URING) {
        error = loop_uring_create(ret_loop, reason);
        if (error == 0 || kind == LOOP_IO_URING)
            return error;
    }
    error = loop_ppoll_create(&loop);
    if (error < 0)
        return error;
    memcpy(loop->fallback_reason, reason, sizeof reason);
    *ret_loop = loop;
    return 0;
}

void loop_free(struct loop *loop)
{
    if (loop)
        loop->ops->free(loop);
}

enum loop_kind loop_kind(const struct loop *loop)
{
    return loop->kind;
}

static const char *const kind_names[] = {
    [LOOP_AUTO] = "auto",
    [LOOP_IO_URING] = "io_uring",
    [LOOP_PPOLL] = "ppoll",
};

const char *loop_kind_to_string(enum loop_kind kind)
{
    return (unsigned)kind < 3 ? kind_names[kind] : "?";
}

int loop_kind_from_string(const char *text, enum loop_kind *ret)
{
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(text, kind_names[i]) == 0) {
            *ret = (enum loop_kind)i;
            return 0;
        }
    }
    return -EINVAL;
}

const char *loop_fallback_reason(const struct loop *loop)
{
    return loop->fallback_reason;
}

int loop_add(struct loop *loop, struct loop_watch *watch)
{
    CHECK(watch->on_ready);
    return loop->ops->add(loop, watch);
}

int loop_modify(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
    return loop->ops->modify(loop, watch, events);
}

void loop_remove(struct loop *loop, struct loop_watch *watch)
{
    loop->ops->remove(loop, watch);
}

int loop_read_start(struct loop *loop, struct loop_read *read)
{
    struct stat status;

    CHECK(read->on_done);
    if (fstat(read->fd, &status) < 0)
        return -errno;
    /* A pipe or a device could keep a request, and whoever cancels it, waiting for ever. */
    if (!S_ISREG(status.st_mode) || read->bytes > INT64_MAX ||
        read->offset > (uint64_t)INT64_MAX - read->bytes)
        return -EINVAL;
    return loop->ops->read_start(loop, read);
}

void loop_read_cancel(struct loop *loop, struct loop_read *read)
{
    loop->ops->read_cancel(loop, read);
}

int loop_wait(struct loop *loop, uint64_t deadline_ns)
{
    return loop->ops->wait(loop, deadline_ns);
}
