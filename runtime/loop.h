/* The event loop of every process: readiness of descriptors, one deadline, and file reads, on
 * io_uring or, where that is refused, on ppoll with the same meaning. One thread owns a loop; it is
 * made after exec. No call blocks except loop_wait.
 *
 * Watches and reads are embedded in their owner, start zeroed and must stay put until removed or
 * done. Callbacks may add, modify, remove, start and cancel anything, themselves included, but
 * must not call loop_wait. */
#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

enum loop_kind {
    LOOP_AUTO,
    LOOP_IO_URING,
    LOOP_PPOLL,
};

struct loop;

/* Level-triggered in meaning: on_ready runs on every turn while the descriptor is ready, also for
 * POLLERR, POLLHUP and POLLNVAL, which need no asking. Two watches may share a descriptor. */
struct loop_watch {
    int fd;
    uint32_t events; /* POLLIN, POLLOUT */
    void (*on_ready)(struct loop_watch *watch, uint32_t events);
    uint64_t private_state[4]; /* the loop's */
};

/* Reads `bytes` at `offset` of a regular file into memory, split into requests of at most
 * READ_REQUEST_BYTES_MAX, several in flight, buffered, IOSQE_ASYNC. on_done gets the bytes read
 * (short at end of file) or negative errno, once. */
struct loop_read {
    int fd;
    void *memory;
    size_t bytes;
    uint64_t offset;
    void (*on_done)(struct loop_read *read, int64_t result);
    uint64_t private_state[8];
};

/* LOOP_AUTO takes io_uring and falls back to ppoll where the kernel refuses it. */
int loop_create(enum loop_kind kind, struct loop **ret_loop);
void loop_free(struct loop *loop);
enum loop_kind loop_kind(const struct loop *loop); /* LOOP_IO_URING or LOOP_PPOLL */
const char *loop_kind_to_string(enum loop_kind kind);
int loop_kind_from_string(const char *text, enum loop_kind *ret);
/* Why io_uring was not taken ("io_uring_setup: Operation not permitted ..."), "" otherwise. */
const char *loop_fallback_reason(const struct loop *loop);

/* 0, or negative errno of a kernel out of memory, here and in loop_modify. */
int loop_add(struct loop *loop, struct loop_watch *watch);
int loop_modify(struct loop *loop, struct loop_watch *watch, uint32_t events);
/* After it returns, on_ready does not run again and the loop holds no reference to the file. The
 * caller closes fd afterwards. Does nothing when the watch is not in the loop. */
void loop_remove(struct loop *loop, struct loop_watch *watch);
/* -EINVAL unless fd is a regular file. on_done runs inside loop_wait, never inside the start. */
int loop_read_start(struct loop *loop, struct loop_read *read);
/* Requests in flight are waited out: the kernel does not write `memory` after it returns, and
 * on_done does not run. Does nothing when the read is not under way. */
void loop_read_cancel(struct loop *loop, struct loop_read *read);

/* Waits until something is ready, or CLOCK_MONOTONIC reaches deadline_ns (UINT64_MAX: none), or
 * returns at once with deadline_ns 0; runs the callbacks. Returns their count (0 also when a signal
 * came first), or negative errno when the loop cannot go on. */
int loop_wait(struct loop *loop, uint64_t deadline_ns);
