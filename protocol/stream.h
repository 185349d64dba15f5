/* A buffered, non-blocking connection over a Unix stream socket: frames in, bytes out, descriptors
 * with them. The daemon drives it from its loop; the client waits on it with ppoll. One thread.
 *
 * Daemon:  watch.events = stream_events(); on POLLIN: stream_receive, then stream_frame until it
 * gives none; on POLLOUT: stream_flush. Client: stream_flush_wait, stream_frame_wait. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "protocol/frame.h"

struct stream_chunk;

struct stream {
    int fd; /* -1 when closed */
    uint8_t *input;
    size_t input_begin, input_end, input_capacity; /* unread bytes are [begin, end) */
    size_t frame_bytes; /* of the frame handed out by stream_frame, dropped at the next call */
    struct frame frame;
    int descriptors[STREAM_DESCRIPTORS_MAX]; /* received, in order, not yet taken */
    /* How received ones that nobody takes, and the socket, are closed, which may block: close() when
     * NULL. May be set after stream_init. */
    void (*close_descriptor)(int fd);
    uint32_t descriptor_count;
    struct stream_chunk *output_first, **output_last;
    size_t output_bytes;
};

/* Takes fd over (a connected stream socket) and makes it non-blocking and close-on-exec. */
int stream_init(struct stream *stream, int fd);
/* Closes the socket and every queued descriptor; accepts a zeroed or half-built object with fd -1
 * or one destroyed before. */
void stream_destroy(struct stream *stream);

/* So much output is queued that the peer has to read before more of its requests are served. */
bool stream_is_congested(const struct stream *stream);

/* What to poll for: POLLOUT while output is queued; POLLIN unless it is congested. */
uint32_t stream_events(const struct stream *stream);

/* One recvmsg. Returns the bytes received, 0 at end of stream, -EAGAIN, or an error after which the
 * connection is to be closed: -EMFILE (descriptors were truncated by the kernel, or more than
 * STREAM_DESCRIPTORS_MAX are unclaimed), -ENOMEM, -ECONNRESET, ... */
int stream_receive(struct stream *stream);

/* The next complete frame of what was received: 1 and its bytes, which stay valid until the next
 * call of stream_frame or stream_receive; 0 when more must be received; -EBADMSG or -EMSGSIZE when
 * the peer breaks the framing (the connection cannot be used further). */
int stream_frame(struct stream *stream, const uint8_t **ret_bytes, size_t *ret_count);
/* The frame handed out last is handed out again by the next call of stream_frame. */
void stream_put_back(struct stream *stream);
/* End of stream came in the middle of a frame. */
bool stream_is_torn(const struct stream *stream);

/* Hands the oldest `count` received descriptors to the caller. -EBADMSG when fewer are there: then
 * none is taken. */
int stream_take(struct stream *stream, int *ret_descriptors, uint32_t count);

/* Queues a copy of the bytes. The descriptors (up to JOB_PARTITIONS_MAX) go with the first byte;
 * they are the stream's from now on, also on failure, and are closed once sent. -ENOBUFS beyond
 * STREAM_OUTPUT_BYTES_MAX: the peer does not read, close it. -ENOMEM. */
int stream_send(struct stream *stream, const void *bytes, size_t count, const int *descriptors,
                uint32_t descriptor_count);
/* Writes what the socket takes. 0 when all is out, -EAGAIN when some is left, or an error. */
int stream_flush(struct stream *stream);

/* For the client: the same, waiting. deadline_ns on CLOCK_MONOTONIC, UINT64_MAX: none. -ETIMEDOUT;
 * -EINTR when a signal handler ran (call again to go on); -EPIPE at end of stream, -EBADMSG when it
 * came in mid-frame. */
int stream_flush_wait(struct stream *stream, uint64_t deadline_ns);
int stream_frame_wait(struct stream *stream, uint64_t deadline_ns, const uint8_t **ret_bytes,
                      size_t *ret_count);
