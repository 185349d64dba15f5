/* See runtime/notify.h. Not sd_notify: that blocks for as long as the manager does not read. */
#include "runtime/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "runtime/clock.h"

enum {
    TEXT_BYTES = 1024,
    /* A manager that reads at all does so sooner. One that did not is not waited for again before
     * it has read something. */
    PATIENCE_MS = 100,
};

/* What the manager had no room for, in its order: the store must not hear of it in another. */
struct notice {
    struct notice *next;
    int fd;         /* to be stored, ours; -1 */
    char name[256]; /* in the store; "" */
    char text[TEXT_BYTES];
};

static struct notice *first_owed;
static char status_owed[TEXT_BYTES];
static bool is_deaf;

/* A newline would start another assignment. */
static int first_line_bytes(const char *text)
{
    int bytes = 0;

    while (text[bytes] && text[bytes] != '\n' && bytes < 512)
        bytes++;
    return bytes;
}

/* ---- one datagram ---- */

/* A connected socket, or negative errno; -ENOTCONN without a manager. */
static int reach_manager(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t bytes = path ? strlen(path) : 0;

    if (bytes == 0)
        return -ENOTCONN;
    if ((path[0] != '/' && path[0] != '@') || bytes >= sizeof address.sun_path)
        return -EAFNOSUPPORT;
    memcpy(address.sun_path, path, bytes);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    if (connect(fd, (const struct sockaddr *)&address, length) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

static int send_once(int socket, const char *text, int fd)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec bytes = {.iov_base = (char *)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* 0, -EAGAIN when the manager does not read, or another negative errno. */
static int deliver(const char *text, int fd)
{
    int socket = reach_manager();
    if (socket < 0)
        return socket;
    int r = send_once(socket, text, fd);
    struct pollfd room = {.fd = socket, .events = POLLOUT};
    if (r == -EAGAIN && !is_deaf && poll(&room, 1, PATIENCE_MS) > 0)
        r = send_once(socket, text, fd);
    is_deaf = r == -EAGAIN || r == -ENOBUFS;
    close(socket);
    return is_deaf ? -EAGAIN : r;
}

/* ---- what is owed ---- */

static void notice_free(struct notice *notice)
{
    if (notice->fd >= 0)
        close(notice->fd);
    free(notice);
}

void notify_flush(void)
{
    while (first_owed) {
        struct notice *notice = first_owed;
        if (deliver(notice->text, notice->fd) == -EAGAIN)
            return;
        first_owed = notice->next;
        notice_free(notice);
    }
    if (status_owed[0] && deliver(status_owed, -1) != -EAGAIN)
        status_owed[0] = '\0';
}

uint32_t notify_owed_descriptors(void)
{
    uint32_t count = 0;
    for (const struct notice *notice = first_owed; notice; notice = notice->next)
        count += notice->fd >= 0;
    return count;
}

void notify_finish(uint32_t wait_ms)
{
    uint64_t until_ns = clock_now_ns() + wait_ms * UINT64_C(1000000);
    notify_flush();
    while (first_owed && clock_now_ns() < until_ns) {
        poll(NULL, 0, 10);
        notify_flush();
    }
    while (first_owed) {
        struct notice *notice = first_owed;
        first_owed = notice->next;
        notice_free(notice);
    }
}

static int owe(const char *text, const char *name, int fd)
{
    struct notice *notice = calloc(1, sizeof *notice), **end = &first_owed;
    if (!notice)
        return -ENOMEM;
    notice->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (fd >= 0 && notice->fd < 0) {
        int error = -errno;
        free(notice);
        return error;
    }
    snprintf(notice->text, sizeof notice->text, "%s", text);
    snprintf(notice->name, sizeof notice->name, "%s", name);
    while (*end)
        end = &(*end)->next;
    *end = notice;
    return 0;
}

/* Reaches the manager, in order, sooner or later. */
static int tell(const char *text, const char *name, int fd)
{
    notify_flush();
    int r = first_owed ? -EAGAIN : deliver(text, fd);
    return r == -EAGAIN ? owe(text, name, fd) : r;
}

/* Counts now or not at all. */
static void tell_now(const char *text)
{
    notify_flush();
    if (!first_owed)
        deliver(text, -1);
}

/* ---- what there is to say ---- */

void notify_ready(const char *status)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "READY=1\nMAINPID=%ld\nSTATUS=%.*s", (long)getpid(),
             first_line_bytes(status), status);
    status_owed[0] = '\0';
    tell(text, "", -1);
}

void notify_status(const char *status)
{
    snprintf(status_owed, sizeof status_owed, "STATUS=%.*s", first_line_bytes(status), status);
    notify_flush();
}

void notify_stopping(const char *status)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "STOPPING=1\nSTATUS=%.*s", first_line_bytes(status), status);
    status_owed[0] = '\0';
    tell(text, "", -1);
}

void notify_watchdog(void)
{
    tell_now("WATCHDOG=1");
}

void notify_extend_timeout(uint64_t more_ns)
{
    char text[64];
    snprintf(text, sizeof text, "EXTEND_TIMEOUT_USEC=%" PRIu64, more_ns / 1000);
    tell_now(text);
}

uint64_t notify_watchdog_ns(void)
{
    uint64_t period_us;

    return sd_watchdog_enabled(0, &period_us) > 0 ? period_us * 1000 : 0;
}

int notify_store(const char *name, int fd)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "FDSTORE=1\nFDPOLL=0\nFDNAME=%.*s", first_line_bytes(name), name);
    return tell(text, name, fd);
}

void notify_unstore(const char *name)
{
    char text[TEXT_BYTES];
    /* What has not come there need not: its memory is not to wait for the manager. */
    for (struct notice **link = &first_owed; *link;) {
        struct notice *notice = *link;
        if (notice->fd < 0 || strcmp(notice->name, name) != 0) {
            link = &notice->next;
            continue;
        }
        *link = notice->next;
        notice_free(notice);
    }
    snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%.*s", first_line_bytes(name), name);
    tell(text, "", -1);
}
