/* Plays systemd: a datagram socket named by NOTIFY_SOCKET. */
#include "runtime/notify.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/test.h"

static int listener = -1;

static void listen_here(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/test_notify_%d", (int)getpid());
    unlink(address.sun_path);
    listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ASSERT_INT(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
}

static const char *heard(void)
{
    static char text[2048];
    ssize_t got = recv(listener, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static void stop_listening(void)
{
    unlink(getenv("NOTIFY_SOCKET"));
    unsetenv("NOTIFY_SOCKET");
    close(listener);
}

TEST(says_what_systemd_understands)
{
    char expected[128];

    listen_here();
    notify_ready("4 workers");
    snprintf(expected, sizeof expected, "READY=1\nMAINPID=%d\nSTATUS=4 workers", (int)getpid());
    ASSERT_STR(heard(), expected);
    notify_status("busy");
    ASSERT_STR(heard(), "STATUS=busy");
    notify_watchdog();
    ASSERT_STR(heard(), "WATCHDOG=1");
    notify_extend_timeout(30000000000u);
    ASSERT_STR(heard(), "EXTEND_TIMEOUT_USEC=30000000");
    notify_stopping("2 jobs left");
    ASSERT_STR(heard(), "STOPPING=1\nSTATUS=2 jobs left");
    stop_listening();
}

TEST(a_descriptor_is_stored_under_its_name_and_taken_out_again)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    char text[256] = "";
    struct iovec bytes = {.iov_base = text, .iov_len = sizeof text - 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};

    listen_here();
    ASSERT_INT(notify_store("slab-3", STDERR_FILENO), 0);
    ASSERT(recvmsg(listener, &message, 0) > 0);
    ASSERT_STR(text, "FDSTORE=1\nFDPOLL=0\nFDNAME=slab-3");
    ASSERT(CMSG_FIRSTHDR(&message) && CMSG_FIRSTHDR(&message)->cmsg_type == SCM_RIGHTS);
    close(*(int *)CMSG_DATA(CMSG_FIRSTHDR(&message)));
    notify_unstore("slab-3");
    ASSERT_STR(heard(), "FDSTOREREMOVE=1\nFDNAME=slab-3");
    stop_listening();
    ASSERT_INT(notify_store("slab-3", STDERR_FILENO), -ENOTCONN);
}

TEST(a_manager_that_does_not_read_holds_nobody_up_and_hears_all_later)
{
    struct timespec begin, end;
    listen_here();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 5000; i++) /* more than any queue holds */
        notify_watchdog();
    ASSERT_INT(notify_store("slab-1", STDERR_FILENO), 0);
    ASSERT_INT(notify_store("slab-2", STDERR_FILENO), 0);
    notify_unstore("slab-1");
    notify_ready("first");
    for (int i = 0; i < 100; i++)
        notify_status("never seen");
    notify_status("last");
    notify_watchdog();
    clock_gettime(CLOCK_MONOTONIC, &end);
    ASSERT(end.tv_sec - begin.tv_sec < 5);
    while (strcmp(heard(), "WATCHDOG=1") == 0)
        continue;
    notify_flush();
    ASSERT_STR(heard(), "FDSTORE=1\nFDPOLL=0\nFDNAME=slab-2"); /* slab-1 came and went */
    ASSERT_STR(heard(), "FDSTOREREMOVE=1\nFDNAME=slab-1");
    ASSERT(strncmp(heard(), "READY=1\n", 8) == 0);
    ASSERT_STR(heard(), "STATUS=last");
    notify_watchdog();
    ASSERT_STR(heard(), "WATCHDOG=1");
    ASSERT_STR(heard(), "");
    stop_listening();
    notify_finish(0);
}

TEST(the_end_waits_a_moment_for_what_is_owed)
{
    struct timespec begin, end;
    listen_here();
    for (int i = 0; i < 5000; i++)
        notify_watchdog();
    notify_stopping("bye");
    clock_gettime(CLOCK_MONOTONIC, &begin);
    notify_finish(200);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ASSERT(end.tv_sec - begin.tv_sec < 3);
    while (strcmp(heard(), "WATCHDOG=1") == 0)
        continue;
    notify_flush();
    ASSERT_STR(heard(), "");
    stop_listening();
}

TEST(a_status_text_cannot_add_assignments)
{
    listen_here();
    notify_status("a\nWATCHDOG=trigger");
    ASSERT_STR(heard(), "STATUS=a");
    stop_listening();
}

TEST(is_silent_without_a_socket)
{
    notify_ready("x");
    notify_watchdog();
}

TEST(reads_the_watchdog_period)
{
    char pid[16];

    unsetenv("WATCHDOG_USEC");
    ASSERT_INT(notify_watchdog_ns(), 0);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    ASSERT_INT(notify_watchdog_ns(), 30000000000u);
    setenv("WATCHDOG_PID", "1", 1); /* meant for another process */
    ASSERT_INT(notify_watchdog_ns(), 0);
}

TEST_MAIN(CASE(says_what_systemd_understands), CASE(a_status_text_cannot_add_assignments),
          CASE(a_descriptor_is_stored_under_its_name_and_taken_out_again),
          CASE(a_manager_that_does_not_read_holds_nobody_up_and_hears_all_later),
          CASE(the_end_waits_a_moment_for_what_is_owed), CASE(is_silent_without_a_socket),
          CASE(reads_the_watchdog_period))
