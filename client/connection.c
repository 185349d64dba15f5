/* Upstream: calls.c. Downstream: protocol/stream.c, the daemon. */
#include "client/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/failure.h"
#include "config/socket_path.h"
#include "protocol/reply.h"
#include "protocol/stream.h"
#include "runtime/clock.h"

enum {
    PATIENCE_MS_DEFAULT = 60000,
};

struct cuzk {
    struct stream stream;
    uint32_t message_id; /* of the last request */
    uint32_t patience_ms;
    char path[SOCKET_PATH_BYTES];
};

static int open_path(const char *path, struct cuzk **ret, struct cuzk_error *ret_error);
static int read_reply(struct cuzk *cuzk, uint64_t deadline_ns, enum request_method of,
                      json_t **ret_result, struct cuzk_error *ret_error);

static const char *submit_path(const char *path)
{
    if (!path)
        path = getenv("CUZK_SOCKET");
    return path && *path ? path : SOCKET_PATH_DEFAULT;
}

int cuzk_open(const char *path, struct cuzk **ret, struct cuzk_error *ret_error)
{
    return open_path(submit_path(path), ret, ret_error);
}

int cuzk_open_admin(const char *path, struct cuzk **ret, struct cuzk_error *ret_error)
{
    char admin[SOCKET_PATH_BYTES];

    path = submit_path(path);
    if (socket_path_admin(path, admin) < 0)
        return failure(ret_error, CUZK_USAGE,
                       "the socket path %s is too long: with -admin it has to stay under %d bytes",
                       path, SOCKET_PATH_BYTES);
    return open_path(admin, ret, ret_error);
}

static int refuse_connection(const char *path, int error, struct cuzk_error *ret_error)
{
    switch (error) {
    case ENOENT:
        return failure(ret_error, CUZK_NO_DAEMON,
                       "no socket at %s: cuzkd is not running (systemctl status cuzkd), or its "
                       "Socket= is another path: name it with --socket or CUZK_SOCKET",
                       path);
    case ECONNREFUSED:
        return failure(
            ret_error, CUZK_NO_DAEMON,
            "nobody listens at %s: cuzkd has ended without removing its socket; start it "
            "again",
            path);
    case EACCES:
    case EPERM:
        return failure(
            ret_error, CUZK_NO_DAEMON,
            "no permission for %s: proving needs membership in the submit socket's group "
            "(as installed: cuzkd; usermod -aG, then log in anew); circuits are "
            "managed by root",
            path);
    case EAGAIN:
        return failure(ret_error, CUZK_NO_DAEMON,
                       "the queue of connections to %s is full: cuzkd is overloaded or stopped",
                       path);
    default:
        return failure(ret_error, CUZK_NO_DAEMON, "cannot connect to %s: %s", path,
                       strerror(error));
    }
}

static int connect_to(const char *path, int *ret_fd, struct cuzk_error *ret_error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path)
        return failure(ret_error, CUZK_USAGE, "the socket path %s is longer than %d bytes", path,
                       SOCKET_PATH_BYTES - 1);
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return failure(ret_error, CUZK_NO_DAEMON, "cannot make a socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        int r = refuse_connection(path, errno, ret_error);
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return CUZK_OK;
}

static int begin_stream(struct cuzk *cuzk, int fd, struct cuzk_error *ret_error)
{
    int r = stream_init(&cuzk->stream, fd);
    return r == 0 ? CUZK_OK
                  : failure(ret_error, CUZK_NO_DAEMON, "cannot set up the connection: %s",
                            strerror(-r));
}

static int open_path(const char *path, struct cuzk **ret, struct cuzk_error *ret_error)
{
    int fd, r = connect_to(path, &fd, ret_error);
    if (r != CUZK_OK)
        return r;
    struct cuzk *cuzk = calloc(1, sizeof *cuzk);
    if (!cuzk) {
        close(fd);
        return failure(ret_error, CUZK_NO_MEMORY, "out of memory");
    }
    r = begin_stream(cuzk, fd, ret_error);
    if (r != CUZK_OK) {
        free(cuzk);
        return r;
    }
    strcpy(cuzk->path, path);
    cuzk->patience_ms = PATIENCE_MS_DEFAULT;
    *ret = cuzk;
    return CUZK_OK;
}

int cuzk_reconnect(struct cuzk *cuzk, struct cuzk_error *ret_error)
{
    int fd, r = connect_to(cuzk->path, &fd, ret_error);
    if (r != CUZK_OK)
        return r;
    stream_destroy(&cuzk->stream);
    return begin_stream(cuzk, fd, ret_error);
}

void cuzk_close(struct cuzk *cuzk)
{
    if (!cuzk)
        return;
    stream_destroy(&cuzk->stream);
    free(cuzk);
}

void cuzk_set_patience(struct cuzk *cuzk, uint32_t patience_ms)
{
    cuzk->patience_ms = patience_ms;
}

/* What a failed wait on the stream means. */
static int refuse_stream(const struct cuzk *cuzk, int error, const char *method,
                         struct cuzk_error *ret_error)
{
    switch (error) {
    case -ETIMEDOUT:
        return failure(ret_error, CUZK_TIMEOUT,
                       "cuzkd at %s did not answer '%s' in time: it is stopped or overloaded",
                       cuzk->path, method);
    case -EINTR:
        return failure(ret_error, CUZK_INTERRUPTED, "interrupted by a signal");
    case -EPIPE:
    case -ECONNRESET:
        return failure(ret_error, CUZK_NO_DAEMON,
                       "cuzkd closed the connection during '%s': it has stopped or crashed, or "
                       "refused the request; its log says which",
                       method);
    case -EBADMSG:
    case -EMSGSIZE:
        return failure(ret_error, CUZK_PROTOCOL,
                       "what %s answers to '%s' is not the protocol of cuzkd", cuzk->path, method);
    case -ENOMEM:
        return failure(ret_error, CUZK_NO_MEMORY, "out of memory");
    default:
        return failure(ret_error, CUZK_NO_DAEMON, "the connection to %s broke: %s", cuzk->path,
                       strerror(-error));
    }
}

static int send_request(struct cuzk *cuzk, struct request *request, const int *descriptors,
                        uint64_t deadline_ns, struct cuzk_error *ret_error)
{
    int copies[JOB_PARTITIONS_MAX];
    uint8_t *bytes;
    size_t count;

    request->message_id = ++cuzk->message_id;
    int r = request_encode(request, &bytes, &count);
    if (r == -EMSGSIZE)
        return failure(ret_error, CUZK_USAGE,
                       "the request is larger than %d bytes; give large inputs as files",
                       FRAME_BYTES_MAX);
    if (r < 0)
        return failure(ret_error, CUZK_NO_MEMORY, "out of memory");
    /* The stream closes what it has sent. */
    for (uint32_t i = 0; i < request->descriptor_count; i++) {
        copies[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 3);
        if (copies[i] < 0) {
            r = failure(ret_error, CUZK_BAD_INPUT, "input %u: its descriptor %d is not usable: %s",
                        i, descriptors[i], strerror(errno));
            while (i-- > 0)
                close(copies[i]);
            free(bytes);
            return r;
        }
    }
    r = stream_send(&cuzk->stream, bytes, count, copies, request->descriptor_count);
    free(bytes);
    /* A request half sent cannot be taken back: signals wait until it is out. */
    while (r == 0 && (r = stream_flush_wait(&cuzk->stream, deadline_ns)) == -EINTR)
        r = 0;
    if (r == -EPIPE) /* an answer may still be there to read: why the daemon closed */
        return CUZK_OK;
    return r < 0 ? refuse_stream(cuzk, r, request_method_to_string(request->method), ret_error)
                 : CUZK_OK;
}

int connection_call(struct cuzk *cuzk, struct request *request, const int *descriptors,
                    uint32_t wait_ms, json_t **ret_result, struct cuzk_error *ret_error)
{
    uint64_t deadline_ns = UINT64_MAX;

    if (wait_ms != CUZK_FOREVER && cuzk->patience_ms != CUZK_FOREVER)
        deadline_ns = clock_now_ns() + ((uint64_t)wait_ms + cuzk->patience_ms) * 1000000u;
    int r = send_request(cuzk, request, descriptors, deadline_ns, ret_error);
    if (r != CUZK_OK)
        return r;
    return read_reply(cuzk, deadline_ns, request->method, ret_result, ret_error);
}

static enum cuzk_code code_of(enum reply_code code)
{
    static const enum cuzk_code codes[REPLY_CODE_COUNT] = {
        [REPLY_OK] = CUZK_OK,
        [REPLY_USAGE] = CUZK_USAGE,
        [REPLY_BAD_INPUT] = CUZK_BAD_INPUT,
        [REPLY_NOT_FOUND] = CUZK_NOT_FOUND,
        [REPLY_BUSY] = CUZK_BUSY,
        [REPLY_DENIED] = CUZK_DENIED,
        [REPLY_FAILED] = CUZK_FAILED,
        [REPLY_CANCELLED] = CUZK_CANCELLED,
        [REPLY_TIMEOUT] = CUZK_TIMEOUT,
        [REPLY_TOO_LATE] = CUZK_TOO_LATE,
        [REPLY_SHUTTING_DOWN] = CUZK_SHUTTING_DOWN,
        [REPLY_EXISTS] = CUZK_EXISTS,
        [REPLY_KEY_CONFLICT] = CUZK_KEY_CONFLICT,
        [REPLY_EXPIRED] = CUZK_EXPIRED,
        [REPLY_DEADLINE] = CUZK_DEADLINE,
    };
    return codes[code];
}

enum cuzk_code connection_code(const char *name)
{
    enum reply_code code;
    if (reply_code_from_string(name, &code) < 0 || code == REPLY_OK)
        return CUZK_FAILED;
    return code_of(code);
}

/* The calls that are long by their meaning end when a signal handler has run. Of the others the
 * answer is worth waiting for: an interrupted submit would leave a job that nobody knows. */
static int read_reply(struct cuzk *cuzk, uint64_t deadline_ns, enum request_method of,
                      json_t **ret_result, struct cuzk_error *ret_error)
{
    const char *method = request_method_to_string(of);
    bool is_interruptible = of == REQUEST_WAIT || of == REQUEST_CIRCUIT_ADD;
    struct reply_decoded decoded;
    const uint8_t *bytes;
    size_t count;

    for (;;) {
        int r = stream_frame_wait(&cuzk->stream, deadline_ns, &bytes, &count);
        if (r == -EINTR && !is_interruptible)
            continue;
        if (r == 0)
            r = reply_decode(bytes, count, &decoded);
        if (r < 0)
            return refuse_stream(cuzk, r, method, ret_error);
        if (decoded.message_id == cuzk->message_id)
            break;
        /* The answer to a call that was interrupted or timed out. */
        reply_decoded_destroy(&decoded);
    }
    if (decoded.code != REPLY_OK) {
        failure(ret_error, code_of(decoded.code), "%s", decoded.text);
        if (ret_error)
            ret_error->retry_after_ms = decoded.retry_after_ms;
        return (int)code_of(decoded.code);
    }
    if (!json_is_object(decoded.result)) {
        reply_decoded_destroy(&decoded);
        return connection_strange(ret_error, method, "a map of results");
    }
    *ret_result = decoded.result;
    return CUZK_OK;
}

int connection_strange(struct cuzk_error *ret_error, const char *method, const char *field)
{
    return failure(ret_error, CUZK_PROTOCOL,
                   "the answer to '%s' lacks %s: client and daemon are of versions that do not fit",
                   method, field);
}

int connection_integer(const json_t *map, const char *key, uint64_t *ret)
{
    const json_t *value = json_object_get(map, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return -EBADMSG;
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}
