/* A daemon that does what a test says: a child process that accepts one connection (or several, one
 * after the other), reads requests with the product's own stream and answers as scripted. The child
 * exits with the number of broken expectations, which fake_server_end returns. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/reply.h"
#include "protocol/request.h"
#include "protocol/stream.h"
#include "runtime/clock.h"

/* In the child. */
struct fake {
    struct stream stream;
    struct request request; /* the last one read */
    int descriptors[JOB_PARTITIONS_MAX];
    struct reply reply; /* begun by fake_begin */
    int broken;
};

struct fake_server {
    pid_t pid;
    char folder[64], path[96];
};

#define EXPECT(c)                                                                                  \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            fprintf(stderr, "%s:%d: fake server expected: %s\n", __FILE__, __LINE__, #c);          \
            fake->broken++;                                                                        \
        }                                                                                          \
    } while (0)

/* The next request, with its descriptors. False at the end of the connection. */
static inline bool fake_read(struct fake *fake)
{
    struct request_fault fault;
    const uint8_t *bytes;
    size_t count;
    int r = stream_frame_wait(&fake->stream, clock_now_ns() + 20000000000u, &bytes, &count);

    if (r < 0 && r != -EPIPE)
        fprintf(stderr, "fake server: %s\n", strerror(-r));
    if (r < 0)
        return false;
    static uint8_t kept[FRAME_BYTES_MAX]; /* inline inputs point into it */
    memcpy(kept, bytes, count);
    r = request_decode(kept, count, &fake->request, &fault);
    if (r < 0)
        fprintf(stderr, "fake server: %s\n", fault.text);
    EXPECT(r == 0);
    EXPECT(stream_take(&fake->stream, fake->descriptors, fake->request.descriptor_count) == 0);
    return r == 0;
}

/* Expects this method next. */
static inline void fake_expect(struct fake *fake, enum request_method method)
{
    bool is_read = fake_read(fake);
    EXPECT(is_read && fake->request.method == method);
}

static inline void fake_send(struct fake *fake, const void *bytes, size_t count)
{
    EXPECT(stream_send(&fake->stream, bytes, count, NULL, 0) == 0);
    EXPECT(stream_flush_wait(&fake->stream, clock_now_ns() + 20000000000u) == 0);
}

/* Begins the reply to the last request: a map, open. */
static inline struct reply *fake_begin(struct fake *fake)
{
    reply_begin(&fake->reply, fake->request.message_id);
    reply_map(&fake->reply, NULL);
    return &fake->reply;
}

static inline void fake_finish(struct fake *fake)
{
    const uint8_t *bytes;
    size_t count;
    reply_close(&fake->reply);
    EXPECT(reply_finish(&fake->reply, &bytes, &count) == 0);
    fake_send(fake, bytes, count);
    reply_destroy(&fake->reply);
}

static inline void fake_error(struct fake *fake, enum reply_code code, const char *text,
                              uint32_t retry_after_ms)
{
    const uint8_t *bytes;
    size_t count;
    reply_error(&fake->reply, fake->request.message_id, code, text, retry_after_ms);
    EXPECT(reply_finish(&fake->reply, &bytes, &count) == 0);
    fake_send(fake, bytes, count);
    reply_destroy(&fake->reply);
}

static inline void fake_job(struct fake *fake, uint64_t job)
{
    reply_integer(fake_begin(fake), "job", job);
    fake_finish(fake);
}

static inline void fake_state(struct fake *fake, const char *state, uint32_t partitions,
                              uint32_t done, uint64_t version)
{
    struct reply *reply = fake_begin(fake);
    reply_integer(reply, "job", fake->request.wait.job);
    reply_string(reply, "state", state);
    reply_integer(reply, "partitions", partitions);
    reply_integer(reply, "done", done);
    reply_integer(reply, "version", version);
    fake_finish(fake);
}

/* Like fake_start, at a path of its own. */
static inline void fake_start_at(struct fake_server *server, void (*serve)(struct fake *fake))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static struct fake fake;

    strcpy(address.sun_path, server->path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 8) < 0)
        abort();
    fflush(stdout);
    server->pid = fork();
    if (server->pid == 0) {
        alarm(60);
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 || stream_init(&fake.stream, fd) < 0)
            _exit(99);
        serve(&fake);
        stream_destroy(&fake.stream);
        _exit(fake.broken > 98 ? 98 : fake.broken);
    }
    close(listener);
}

static inline void fake_start(struct fake_server *server, void (*serve)(struct fake *fake))
{
    strcpy(server->folder, "/tmp/test_client.XXXXXX");
    if (!mkdtemp(server->folder))
        abort();
    snprintf(server->path, sizeof server->path, "%s/x.sock", server->folder);
    fake_start_at(server, serve);
}

/* Waits for the child and removes its folder. Returns the number of broken expectations. */
static inline int fake_end(struct fake_server *server)
{
    char command[128];
    int status;

    waitpid(server->pid, &status, 0);
    snprintf(command, sizeof command, "rm -rf %s", server->folder);
    if (system(command) != 0)
        return 97;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}
