/* See runtime/vault.h. */
#include "runtime/vault.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/close_later.h"

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int vault_put(int fd)
{
    union control control = {0};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
    int ends[2], error = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
        error = -errno;
        close_later(fd);
        return error;
    }
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    if (sendmsg(ends[0], &packet, MSG_NOSIGNAL) < 0)
        error = -errno;
    close(ends[0]); /* what it has sent stays in the other's queue */
    close_later(fd);
    if (error < 0) {
        close(ends[1]);
        return error;
    }
    return ends[1];
}

int vault_open(int vault)
{
    union control control;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    int fd;

    if (recvmsg(vault, &packet, MSG_PEEK | MSG_CMSG_CLOEXEC) < 0)
        return -errno;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
    if (!rights || rights->cmsg_type != SCM_RIGHTS || rights->cmsg_len != CMSG_LEN(sizeof(int)))
        return packet.msg_flags & MSG_CTRUNC ? -EMFILE : -EIO;
    memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    return fd;
}
