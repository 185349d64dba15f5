/* Upstream: a connected Unix socket. Downstream: the daemon's control server, libcuzk. */
#include "protocol/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/clock.h"

enum {
    RECEIVE_BYTES = 64 << 10,
    /* Congested: the peer has to read replies before more requests are taken. Small, since it is
     * what every connection may cost: the longest reply comes on top once. */
    CONGESTED_BYTES = 64 << 10,
    /* More than the kernel sends at once (253), so that truncation means a lack of descriptors. */
    CONTROL_DESCRIPTORS = 256,
};

/* Bytes on their way out, and the descriptors that go with the first of them. */
struct stream_chunk {
    struct stream_chunk *next;
    size_t begin, end; /* unsent bytes */
    uint32_t descriptor_count;
    int descriptors[JOB_PARTITIONS_MAX];
    uint8_t bytes[];
};

static void close_all(const int *descriptors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        close(descriptors[i]);
}

static void drop(const struct stream *stream, int fd)
{
    if (stream->close_descriptor)
        stream->close_descriptor(fd);
    else
        close(fd);
}

int stream_init(struct stream *stream, int fd)
{
    *stream = (struct stream){.fd = fd};
    stream->output_last = &stream->output_first;
    frame_init(&stream->frame);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        int r = -errno;
        stream_destroy(stream);
        return r;
    }
    return 0;
}

static void drop_first_chunk(struct stream *stream)
{
    struct stream_chunk *chunk = stream->output_first;

    stream->output_first = chunk->next;
    if (!stream->output_first)
        stream->output_last = &stream->output_first;
    close_all(chunk->descriptors, chunk->descriptor_count);
    free(chunk);
}

/* Frames may hold witnesses. */
static void free_input(struct stream *stream)
{
    if (stream->input)
        explicit_bzero(stream->input, stream->input_capacity);
    free(stream->input);
}

void stream_destroy(struct stream *stream)
{
    if (!stream->output_last) /* zeroed: never opened */
        return;
    while (stream->output_first)
        drop_first_chunk(stream);
    for (uint32_t i = 0; i < stream->descriptor_count; i++)
        drop(stream, stream->descriptors[i]);
    free_input(stream);
    if (stream->fd >= 0)
        drop(stream, stream->fd); /* descriptors may lie unread in it */
    *stream = (struct stream){.fd = -1};
}

bool stream_is_congested(const struct stream *stream)
{
    return stream->output_bytes >= CONGESTED_BYTES;
}

uint32_t stream_events(const struct stream *stream)
{
    uint32_t events = stream->output_first ? POLLOUT : 0;
    if (!stream_is_congested(stream))
        events |= POLLIN;
    return events;
}

/* Room for one more recvmsg behind what is there. A frame is at most FRAME_BYTES_MAX, and whole
 * frames are taken out between two calls, so the buffer stays below that and RECEIVE_BYTES. */
static int make_room(struct stream *stream)
{
    size_t used = stream->input_end - stream->input_begin;

    if (stream->input_begin > 0) {
        memmove(stream->input, stream->input + stream->input_begin, used);
        stream->input_begin = 0;
        stream->input_end = used;
    }
    if (stream->input_capacity - used >= RECEIVE_BYTES)
        return 0;
    size_t capacity = 2 * stream->input_capacity;
    if (capacity < used + RECEIVE_BYTES)
        capacity = used + RECEIVE_BYTES;
    uint8_t *input = malloc(capacity);
    if (!input)
        return -ENOMEM;
    if (used > 0)
        memcpy(input, stream->input, used);
    free_input(stream);
    stream->input = input;
    stream->input_capacity = capacity;
    return 0;
}

/* Queues the descriptors of a received message. All are ours now, also when they do not fit. */
static int take_control(struct stream *stream, struct msghdr *message)
{
    int r = message->msg_flags & MSG_CTRUNC ? -EMFILE : 0;

    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
         control = CMSG_NXTHDR(message, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
            if (r == 0 && stream->descriptor_count == STREAM_DESCRIPTORS_MAX)
                r = -EMFILE;
            if (r < 0)
                drop(stream, fd);
            else
                stream->descriptors[stream->descriptor_count++] = fd;
        }
    }
    return r;
}

static void drop_frame(struct stream *stream)
{
    stream->input_begin += stream->frame_bytes;
    stream->frame_bytes = 0;
}

int stream_receive(struct stream *stream)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(CONTROL_DESCRIPTORS * sizeof(int))];
    } control;

    drop_frame(stream);
    int r = make_room(stream);
    if (r < 0)
        return r;
    struct iovec part = {stream->input + stream->input_end, RECEIVE_BYTES};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t count;
    do {
        count = recvmsg(stream->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    r = take_control(stream, &message);
    if (r < 0)
        return r;
    stream->input_end += (size_t)count;
    return (int)count;
}

int stream_frame(struct stream *stream, const uint8_t **ret_bytes, size_t *ret_count)
{
    drop_frame(stream);
    if (stream->input_end == stream->input_begin)
        return 0;
    const uint8_t *at = stream->input + stream->input_begin;
    int r = frame_scan(&stream->frame, at, stream->input_end - stream->input_begin);
    if (r == 0)
        return 0;
    frame_init(&stream->frame);
    if (r < 0)
        return r;
    stream->frame_bytes = (size_t)r;
    *ret_bytes = at;
    *ret_count = (size_t)r;
    return 1;
}

void stream_put_back(struct stream *stream)
{
    stream->frame_bytes = 0;
}

bool stream_is_torn(const struct stream *stream)
{
    return stream->input_end > stream->input_begin + stream->frame_bytes;
}

int stream_take(struct stream *stream, int *ret_descriptors, uint32_t count)
{
    if (count > stream->descriptor_count)
        return -EBADMSG;
    memcpy(ret_descriptors, stream->descriptors, count * sizeof(int));
    stream->descriptor_count -= count;
    memmove(stream->descriptors, stream->descriptors + count,
            stream->descriptor_count * sizeof(int));
    return 0;
}

int stream_send(struct stream *stream, const void *bytes, size_t count, const int *descriptors,
                uint32_t descriptor_count)
{
    struct stream_chunk *chunk = NULL;
    int r = -EINVAL;

    if (count == 0 || descriptor_count > JOB_PARTITIONS_MAX)
        goto fail;
    r = -ENOBUFS;
    if (count > STREAM_OUTPUT_BYTES_MAX - stream->output_bytes)
        goto fail;
    r = -ENOMEM;
    chunk = malloc(sizeof *chunk + count);
    if (!chunk)
        goto fail;
    chunk->next = NULL;
    chunk->begin = 0;
    chunk->end = count;
    chunk->descriptor_count = descriptor_count;
    if (descriptor_count > 0)
        memcpy(chunk->descriptors, descriptors, descriptor_count * sizeof(int));
    memcpy(chunk->bytes, bytes, count);
    *stream->output_last = chunk;
    stream->output_last = &chunk->next;
    stream->output_bytes += count;
    return 0;
fail:
    close_all(descriptors, descriptor_count);
    return r;
}

static ssize_t send_chunk(int fd, struct stream_chunk *chunk)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(JOB_PARTITIONS_MAX * sizeof(int))];
    } control;
    struct iovec part = {chunk->bytes + chunk->begin, chunk->end - chunk->begin};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t descriptor_bytes = chunk->descriptor_count * sizeof(int);

    if (descriptor_bytes > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(descriptor_bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptor_bytes);
        memcpy(CMSG_DATA(header), chunk->descriptors, descriptor_bytes);
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int stream_flush(struct stream *stream)
{
    while (stream->output_first) {
        struct stream_chunk *chunk = stream->output_first;
        ssize_t count = send_chunk(stream->fd, chunk);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
        close_all(chunk->descriptors, chunk->descriptor_count);
        chunk->descriptor_count = 0;
        chunk->begin += (size_t)count;
        stream->output_bytes -= (size_t)count;
        if (chunk->begin == chunk->end)
            drop_first_chunk(stream);
    }
    return 0;
}

static int wait_ready(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd wait = {.fd = fd, .events = events};
    struct timespec left, *timeout = NULL;

    if (deadline_ns != UINT64_MAX) {
        uint64_t now_ns = clock_now_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        left.tv_sec = (time_t)(left_ns / 1000000000u);
        left.tv_nsec = (long)(left_ns % 1000000000u);
        timeout = &left;
    }
    int r = ppoll(&wait, 1, timeout, NULL);
    if (r < 0)
        return -errno;
    return r == 0 ? -ETIMEDOUT : 0;
}

int stream_flush_wait(struct stream *stream, uint64_t deadline_ns)
{
    for (;;) {
        int r = stream_flush(stream);
        if (r != -EAGAIN)
            return r;
        r = wait_ready(stream->fd, POLLOUT, deadline_ns);
        if (r < 0)
            return r;
    }
}

int stream_frame_wait(struct stream *stream, uint64_t deadline_ns, const uint8_t **ret_bytes,
                      size_t *ret_count)
{
    for (;;) {
        int r = stream_frame(stream, ret_bytes, ret_count);
        if (r < 0)
            return r;
        if (r > 0)
            return 0;
        r = stream_receive(stream);
        if (r == 0)
            return stream_is_torn(stream) ? -EBADMSG : -EPIPE;
        if (r == -EAGAIN)
            r = wait_ready(stream->fd, POLLIN, deadline_ns);
        if (r < 0)
            return r;
    }
}
