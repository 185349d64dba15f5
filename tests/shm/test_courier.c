/* What shm/courier.h promises, case by case. */
#include "shm/courier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/bell.h"
#include "tests/test.h"

static int ends[2];

static void open_ends(void)
{
    ASSERT_INT(courier_create(ends), 0);
}

static void close_ends(void)
{
    close(ends[0]);
    close(ends[1]);
}

static unsigned open_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

TEST(descriptors_arrive_with_their_tag_in_order)
{
    struct courier_tag sent = {COURIER_INPUT, 7, 99, 4096}, got;
    int fds[2], pair[2];
    unsigned count;
    struct stat a, b;

    open_ends();
    pair[0] = open("/dev/null", O_RDONLY);
    pair[1] = open("/dev/zero", O_RDONLY);
    ASSERT_INT(courier_receive(ends[1], &got, fds, &count), 0);
    for (unsigned n = 0; n <= 2; n++) {
        sent.index = n;
        ASSERT_INT(courier_send(ends[0], &sent, pair, n), 0);
    }
    for (unsigned n = 0; n <= 2; n++) {
        sent.index = n;
        ASSERT_INT(courier_receive(ends[1], &got, fds, &count), 1);
        ASSERT_INT(memcmp(&got, &sent, sizeof got), 0);
        ASSERT_INT(count, n);
        for (unsigned i = 0; i < n; i++) {
            ASSERT(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
            fstat(fds[i], &a);
            fstat(pair[i], &b);
            ASSERT(a.st_rdev == b.st_rdev);
            close(fds[i]);
        }
    }
    ASSERT_INT(courier_receive(ends[1], &got, fds, &count), 0);
    close(pair[0]);
    close(pair[1]);
    close_ends();
}

TEST(a_full_socket_says_eagain_and_goes_on_when_read)
{
    struct courier_tag tag = {COURIER_INPUT, 0, 0, 0};
    int fds[2], null = open("/dev/null", O_RDONLY), error;
    unsigned count, sent = 0, received = 0;

    open_ends();
    while ((error = courier_send(ends[0], &tag, &null, 1)) == 0)
        sent++;
    ASSERT_INT(error, -EAGAIN);
    ASSERT(sent > 16); /* at least what a worker may hold */
    ASSERT_INT(courier_receive(ends[1], &tag, fds, &count), 1);
    close(fds[0]);
    received++;
    while (courier_send(ends[0], &tag, &null, 1) == 0)
        sent++;
    while (courier_receive(ends[1], &tag, fds, &count) == 1) {
        ASSERT_INT(count, 1);
        close(fds[0]);
        received++;
    }
    ASSERT_INT(received, sent);
    close(null);
    close_ends();
}

TEST(a_closed_peer_is_told_on_both_ends)
{
    struct courier_tag tag = {COURIER_KEY, 0, 0, 0};
    int fds[2];
    unsigned count;

    open_ends();
    close(ends[0]);
    ASSERT_INT(courier_receive(ends[1], &tag, fds, &count), -EPIPE);
    close(ends[1]);
    open_ends();
    close(ends[1]);
    ASSERT_INT(courier_send(ends[0], &tag, NULL, 0), -EPIPE); /* and no SIGPIPE */
    close(ends[0]);
}

static void send_raw(const void *bytes, size_t byte_count, const int *fds, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(16 * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = byte_count};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd_count) {
        packet.msg_control = &control;
        packet.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, fd_count * sizeof(int));
    }
    ASSERT_INT(sendmsg(ends[0], &packet, 0), byte_count);
}

TEST(packets_that_are_none_are_refused_and_leak_nothing)
{
    struct courier_tag tag = {0};
    char large[sizeof tag + 1] = {0};
    int fds[2], many[8];
    unsigned count, before;

    open_ends();
    for (unsigned i = 0; i < 8; i++)
        many[i] = open("/dev/null", O_RDONLY);
    before = open_fds();
    send_raw(&tag, 3, many, 2);
    ASSERT_INT(courier_receive(ends[1], &tag, fds, &count), -EPROTO);
    send_raw(large, sizeof large, many, 1);
    ASSERT_INT(courier_receive(ends[1], &tag, fds, &count), -EPROTO);
    send_raw(&tag, sizeof tag, many, 8);
    ASSERT(courier_receive(ends[1], &tag, fds, &count) < 0);
    ASSERT_INT(open_fds(), before);
    send_raw(&tag, sizeof tag, many, 2); /* the next good packet is unharmed */
    ASSERT_INT(courier_receive(ends[1], &tag, fds, &count), 1);
    ASSERT_INT(count, 2);
    close(fds[0]);
    close(fds[1]);
    for (unsigned i = 0; i < 8; i++)
        close(many[i]);
    close_ends();
}

TEST(a_process_out_of_descriptors_says_so)
{
    struct courier_tag tag = {0};
    struct rlimit before, few;
    int fds[2], null = open("/dev/null", O_RDONLY), result;
    unsigned count;

    open_ends();
    ASSERT_INT(courier_send(ends[0], &tag, &null, 1), 0);
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &few);
    result = courier_receive(ends[1], &tag, fds, &count);
    setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_INT(result, -EMFILE);
    close(null);
    close_ends();
}

TEST(a_bell_rung_many_times_is_read_once)
{
    int bell = bell_create();

    ASSERT(bell >= 0);
    ASSERT_INT(bell_read(bell), 0);
    for (unsigned i = 0; i < 100; i++)
        ASSERT_INT(bell_ring(bell), 0);
    ASSERT_INT(bell_read(bell), 1);
    ASSERT_INT(bell_read(bell), 0);
    uint64_t almost_full = UINT64_MAX - 1;
    ASSERT_INT(write(bell, &almost_full, sizeof almost_full), sizeof almost_full);
    ASSERT_INT(bell_ring(bell), 0); /* cannot count higher; it is rung all the same */
    ASSERT_INT(bell_read(bell), 1);
    close(bell);
    ASSERT_INT(bell_ring(bell), -EBADF);
    ASSERT_INT(bell_read(bell), -EBADF);
}

TEST_MAIN(CASE(descriptors_arrive_with_their_tag_in_order),
          CASE(a_full_socket_says_eagain_and_goes_on_when_read),
          CASE(a_closed_peer_is_told_on_both_ends),
          CASE(packets_that_are_none_are_refused_and_leak_nothing),
          CASE(a_process_out_of_descriptors_says_so), CASE(a_bell_rung_many_times_is_read_once))
