/* See shm/courier.h. */
#include "shm/courier.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/check.h"

enum {
    COURIER_FDS_MAX = 2,
};

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(COURIER_FDS_MAX * sizeof(int))];
};

int courier_create(int ret_fds[2])
{
    int type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;
    return socketpair(AF_UNIX, type, 0, ret_fds) < 0 ? -errno : 0;
}

int courier_send(int fd, const struct courier_tag *tag, const int *fds, unsigned count)
{
    union control control = {0};
    struct iovec part = {.iov_base = (void *)tag, .iov_len = sizeof *tag};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    CHECK(count <= COURIER_FDS_MAX);
    if (count) {
        packet.msg_control = control.bytes;
        packet.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    do
        sent = sendmsg(fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return 0;
    /* Too many descriptors in flight for this user, or no buffer: it passes as the worker reads. */
    return errno == ETOOMANYREFS || errno == ENOBUFS ? -EAGAIN : -errno;
}

/* All descriptors of the packet, however the kernel grouped them. */
static unsigned take_fds(struct msghdr *packet, int fds[COURIER_FDS_MAX])
{
    unsigned count = 0;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(packet); part; part = CMSG_NXTHDR(packet, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        unsigned here = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (unsigned i = 0; i < here; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
            if (count < COURIER_FDS_MAX)
                fds[count++] = fd;
            else
                close(fd);
        }
    }
    return count;
}

int courier_receive(int fd, struct courier_tag *ret_tag, int ret_fds[2], unsigned *ret_count)
{
    union control control;
    struct courier_tag tag;
    struct iovec part = {.iov_base = &tag, .iov_len = sizeof tag};
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    int fds[COURIER_FDS_MAX] = {-1, -1};
    unsigned count;
    ssize_t got;

    do
        got = recvmsg(fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN ? 0 : -errno;
    count = take_fds(&packet, fds);
    if (got != (ssize_t)sizeof tag || packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        while (count)
            close(fds[--count]);
        if (got == 0)
            return -EPIPE;
        /* Cut-off descriptors: this process has none left, for nobody sends more than two. */
        return packet.msg_flags & MSG_CTRUNC ? -EMFILE : -EPROTO;
    }
    *ret_tag = tag;
    memcpy(ret_fds, fds, sizeof fds);
    *ret_count = count;
    return 1;
}
