/* See shm/intake_packet.h. */
#include "shm/intake_packet.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/limits.h"

static_assert(sizeof(struct intake_packet) == 80, "both ends are built alike");

enum {
    INTAKE_ERROR_MAX = 4095, /* the kernel's largest errno */
};

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int intake_socket_create(int ret_fds[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0)
        return -errno;
    fcntl(ret_fds[0], F_SETFL, O_NONBLOCK);
    return 0;
}

int intake_packet_send(int socket, const struct intake_packet *packet, int fd)
{
    union control control = {0};
    struct iovec part = {.iov_base = (void *)packet, .iov_len = sizeof *packet};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    do
        sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return 0;
    return errno == ETOOMANYREFS || errno == ENOBUFS ? -EAGAIN : -errno;
}

int intake_packet_receive(int socket, struct intake_packet *ret_packet, int *ret_fd)
{
    union control control;
    struct intake_packet packet;
    struct iovec part = {.iov_base = &packet, .iov_len = sizeof packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    int fd = -1;
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN ? 0 : errno == ECONNRESET ? -EPIPE : -errno;
    /* Room for one descriptor: of several the kernel has closed the others. */
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    if (got != (ssize_t)sizeof packet || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        if (fd >= 0)
            close(fd);
        if (got == 0)
            return -EPIPE;
        return message.msg_flags & MSG_CTRUNC && fd < 0 ? -EMFILE : -EPROTO;
    }
    *ret_packet = packet;
    *ret_fd = fd;
    return 1;
}

void intake_packet_skip(int socket)
{
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    while (recvmsg(socket, &message, MSG_DONTWAIT) < 0 && errno == EINTR)
        ;
}

int intake_answer_check(const struct intake_packet *asked, const struct intake_packet *progress,
                        const struct intake_packet *answer)
{
    bool is_ok = answer->abi == INTAKE_PACKET_ABI && answer->ticket == asked->ticket &&
                 answer->job == asked->job && answer->partition == asked->partition;
    switch (answer->kind) {
    case INTAKE_PROGRESS:
        is_ok = is_ok && answer->phase < INTAKE_PHASE_COUNT &&
                answer->bytes >= progress->bytes && answer->bytes <= asked->bytes;
        break;
    case INTAKE_COPIED:
        is_ok = is_ok && answer->bytes == asked->bytes;
        break;
    case INTAKE_FAILED:
        is_ok = is_ok && answer->fault > INTAKE_FAULT_NONE && answer->fault < INTAKE_FAULT_COUNT &&
                answer->error <= INTAKE_ERROR_MAX;
        break;
    default:
        is_ok = false;
    }
    return is_ok ? 0 : -EPROTO;
}

void intake_name(uint64_t job, uint32_t partition, bool is_part, char ret[INTAKE_NAME_BYTES])
{
    snprintf(ret, INTAKE_NAME_BYTES, "%" PRIu64 "-%" PRIu32 "%s", job, partition,
             is_part ? ".part" : "");
}

/* A decimal number as intake_name writes it, and what follows it; NULL: it is none. */
static const char *parse_number(const char *text, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    if (*text < '0' || *text > '9' || (text[0] == '0' && text[1] >= '0' && text[1] <= '9'))
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (max - digit) / 10)
            return NULL;
        value = value * 10 + digit;
    }
    *ret = value;
    return text;
}

int intake_name_parse(const char *name, uint64_t *ret_job, uint32_t *ret_partition,
                      bool *ret_is_part)
{
    uint64_t job, partition;
    const char *rest = parse_number(name, UINT64_MAX, &job);
    if (!rest || *rest != '-')
        return -EINVAL;
    rest = parse_number(rest + 1, JOB_PARTITIONS_MAX - 1, &partition);
    if (!rest || (*rest && strcmp(rest, ".part") != 0))
        return -EINVAL;
    *ret_job = job;
    *ret_partition = (uint32_t)partition;
    *ret_is_part = *rest != '\0';
    return 0;
}
