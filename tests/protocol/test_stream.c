/* What protocol/stream.h promises, case by case. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/stream.h"
#include "runtime/clock.h"
#include "tests/test.h"

static struct stream left, right;

static void open_pair(void)
{
    int pair[2];
    stream_destroy(&left);
    stream_destroy(&right);
    ASSERT_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ASSERT_INT(stream_init(&left, pair[0]), 0);
    ASSERT_INT(stream_init(&right, pair[1]), 0);
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static uint64_t soon(void)
{
    return clock_now_ns() + 2000000000u;
}

static int null_fd(void)
{
    return open("/dev/null", O_RDONLY);
}

TEST(frames_arrive_whole_and_in_order)
{
    const uint8_t *bytes;
    size_t count;
    open_pair();
    ASSERT_INT(stream_send(&left, "\x91\x01\x92", 3, NULL, 0), 0);
    ASSERT_INT(stream_send(&left, "\x02\x03\x90", 3, NULL, 0), 0);
    ASSERT_INT(stream_events(&left), POLLIN | POLLOUT);
    ASSERT_INT(stream_flush(&left), 0);
    ASSERT_INT(stream_events(&left), POLLIN);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
    ASSERT(count == 2 && memcmp(bytes, "\x91\x01", 2) == 0);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
    ASSERT(count == 3 && memcmp(bytes, "\x92\x02\x03", 3) == 0);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
    ASSERT_INT(count, 1);
    ASSERT_INT(stream_receive(&right), -EAGAIN);
    ASSERT_INT(stream_frame_wait(&right, clock_now_ns() + 1000000, &bytes, &count), -ETIMEDOUT);
}

TEST(a_frame_that_is_put_back_comes_again)
{
    const uint8_t *bytes;
    size_t count;
    open_pair();
    ASSERT_INT(stream_send(&left, "\x91\x01\x90", 3, NULL, 0), 0);
    ASSERT_INT(stream_flush(&left), 0);
    ASSERT_INT(stream_receive(&right), 3);
    for (int i = 0; i < 3; i++) {
        ASSERT_INT(stream_frame(&right, &bytes, &count), 1);
        ASSERT(count == 2 && memcmp(bytes, "\x91\x01", 2) == 0);
        if (i < 2)
            stream_put_back(&right);
    }
    ASSERT_INT(stream_frame(&right, &bytes, &count), 1);
    ASSERT_INT(count, 1);
    ASSERT_INT(stream_frame(&right, &bytes, &count), 0);
}

TEST(bytes_one_by_one_make_the_same_frame)
{
    static const char frame[] = "\x92\xa3"
                                "abc\xc4\x02yz";
    const uint8_t *bytes;
    size_t count;
    open_pair();
    for (size_t i = 0; i + 1 < sizeof frame; i++) {
        ASSERT_INT(stream_frame(&right, &bytes, &count), 0);
        ASSERT_INT(write(left.fd, frame + i, 1), 1);
        ASSERT_INT(stream_receive(&right), 1);
    }
    ASSERT_INT(stream_frame(&right, &bytes, &count), 1);
    ASSERT(count == sizeof frame - 1 && memcmp(bytes, frame, count) == 0);
}

static void *flush_all(void *stream)
{
    ASSERT(stream_flush_wait(stream, clock_now_ns() + 20000000000u) == 0);
    return NULL;
}

TEST(frames_of_the_maximal_size_pass)
{
    static uint8_t big[FRAME_BYTES_MAX] = {0x91, 0xc6, 0, 0x0f, 0xff, 0xfa};
    const uint8_t *bytes;
    size_t count;
    pthread_t thread;
    open_pair();
    for (int i = 0; i < 3; i++)
        ASSERT_INT(stream_send(&left, big, sizeof big, NULL, 0), 0);
    ASSERT_INT(pthread_create(&thread, NULL, flush_all, &left), 0);
    for (int i = 0; i < 3; i++) {
        ASSERT_INT(stream_frame_wait(&right, clock_now_ns() + 20000000000u, &bytes, &count), 0);
        ASSERT(count == sizeof big && memcmp(bytes, big, count) == 0);
    }
    pthread_join(thread, NULL);
    ASSERT(right.input_capacity <= 2 * (FRAME_BYTES_MAX + (64 << 10)));
}

TEST(broken_framing_is_an_error)
{
    const uint8_t *bytes;
    size_t count;
    open_pair();
    ASSERT_INT(write(left.fd, "\x90GET", 4), 4);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), -EBADMSG);
    open_pair();
    ASSERT_INT(write(left.fd, "\xdd\xff\xff\xff\xff", 5), 5);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), -EMSGSIZE);
}

TEST(end_of_stream_is_told_from_a_torn_frame)
{
    const uint8_t *bytes;
    size_t count;
    open_pair();
    ASSERT_INT(write(left.fd, "\x90", 1), 1);
    shutdown(left.fd, SHUT_WR);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), -EPIPE);
    open_pair();
    ASSERT_INT(write(left.fd, "\x91", 1), 1);
    shutdown(left.fd, SHUT_WR);
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), -EBADMSG);
}

TEST(descriptors_come_with_their_frame_close_on_exec)
{
    const uint8_t *bytes;
    size_t count;
    int before, fds[3], taken[3];
    struct stat sent, got;
    open_pair();
    before = open_descriptors();
    for (int i = 0; i < 3; i++)
        fds[i] = null_fd();
    ASSERT_INT(stream_send(&left, "\x91\x01", 2, fds, 3), 0);
    ASSERT_INT(stream_flush(&left), 0);
    ASSERT_INT(open_descriptors(), before); /* ours are closed; in flight they have no number */
    ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
    ASSERT_INT(stream_take(&right, taken, 4), -EBADMSG);
    ASSERT_INT(stream_take(&right, taken, 2), 0);
    ASSERT_INT(stream_take(&right, taken + 2, 1), 0);
    ASSERT_INT(stat("/dev/null", &sent), 0);
    for (int i = 0; i < 3; i++) {
        ASSERT_INT(fstat(taken[i], &got), 0);
        ASSERT_INT(got.st_rdev, sent.st_rdev);
        ASSERT_INT(fcntl(taken[i], F_GETFD), FD_CLOEXEC);
        close(taken[i]);
    }
    ASSERT_INT(open_descriptors(), before);
}

TEST(a_full_job_of_descriptors_passes_with_a_frame_behind_it)
{
    const uint8_t *bytes;
    size_t count;
    int fds[JOB_PARTITIONS_MAX], taken[JOB_PARTITIONS_MAX];
    open_pair();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < JOB_PARTITIONS_MAX; i++)
            fds[i] = null_fd();
        ASSERT_INT(stream_send(&left, "\x90\x91", 2, fds, JOB_PARTITIONS_MAX), 0);
        ASSERT_INT(stream_send(&left, "\x01", 1, NULL, 0), 0);
    }
    ASSERT_INT(stream_flush(&left), 0);
    for (int round = 0; round < 2; round++) {
        ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
        ASSERT_INT(stream_take(&right, taken, JOB_PARTITIONS_MAX), 0);
        for (int i = 0; i < JOB_PARTITIONS_MAX; i++)
            close(taken[i]);
        ASSERT_INT(stream_frame_wait(&right, soon(), &bytes, &count), 0);
        ASSERT_INT(count, 2);
    }
}

TEST(unclaimed_descriptors_are_bounded_and_closed)
{
    int before, fds[JOB_PARTITIONS_MAX], r = 0;
    open_pair();
    before = open_descriptors();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < JOB_PARTITIONS_MAX; i++)
            fds[i] = null_fd();
        ASSERT_INT(stream_send(&left, "\x90", 1, fds, JOB_PARTITIONS_MAX), 0);
        ASSERT_INT(stream_flush(&left), 0);
        r = stream_receive(&right);
    }
    ASSERT_INT(r, -EMFILE);
    ASSERT_INT(right.descriptor_count, STREAM_DESCRIPTORS_MAX);
    stream_destroy(&right);
    ASSERT_INT(open_descriptors(), before - 1);
}

TEST(descriptors_lost_by_the_kernel_are_an_error)
{
    struct rlimit limit, tight;
    int fds[8];
    open_pair();
    for (int i = 0; i < 8; i++)
        fds[i] = null_fd();
    ASSERT_INT(stream_send(&left, "\x90", 1, fds, 8), 0);
    ASSERT_INT(stream_flush(&left), 0);
    ASSERT_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    tight = limit;
    tight.rlim_cur = (rlim_t)open_descriptors() + 2;
    ASSERT_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int r = stream_receive(&right);
    setrlimit(RLIMIT_NOFILE, &limit);
    ASSERT_INT(r, -EMFILE);
}

TEST(refused_sends_close_their_descriptors)
{
    static uint8_t big[FRAME_BYTES_MAX];
    int fds[2], before;
    open_pair();
    for (int i = 0; i < 4; i++)
        ASSERT_INT(stream_send(&left, big, sizeof big, NULL, 0), 0);
    ASSERT_INT(stream_events(&left), POLLOUT); /* congested: no more requests */
    before = open_descriptors();
    fds[0] = null_fd();
    fds[1] = null_fd();
    ASSERT_INT(stream_send(&left, "\x90", 1, fds, 2), -ENOBUFS);
    ASSERT_INT(open_descriptors(), before);
    stream_destroy(&left);
    stream_destroy(&left);
    ASSERT_INT(left.fd, -1);
}

TEST(writing_to_a_closed_peer_is_an_error_and_no_signal)
{
    open_pair();
    stream_destroy(&right);
    ASSERT_INT(stream_send(&left, "\x90", 1, NULL, 0), 0);
    ASSERT_INT(stream_flush(&left), -EPIPE);
}

TEST_MAIN(CASE(frames_arrive_whole_and_in_order), CASE(a_frame_that_is_put_back_comes_again),
          CASE(bytes_one_by_one_make_the_same_frame), CASE(frames_of_the_maximal_size_pass),
          CASE(broken_framing_is_an_error), CASE(end_of_stream_is_told_from_a_torn_frame),
          CASE(descriptors_come_with_their_frame_close_on_exec),
          CASE(a_full_job_of_descriptors_passes_with_a_frame_behind_it),
          CASE(unclaimed_descriptors_are_bounded_and_closed),
          CASE(descriptors_lost_by_the_kernel_are_an_error),
          CASE(refused_sends_close_their_descriptors),
          CASE(writing_to_a_closed_peer_is_an_error_and_no_signal))
