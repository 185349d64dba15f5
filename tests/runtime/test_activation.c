/* Plays systemd: descriptors from 3 on, and the variables that name them. */
#include "runtime/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/test.h"

static void hand_over(const char *names, int count)
{
    char text[32];
    for (int i = 0; i < count; i++) {
        int fd = open("/dev/null", O_RDONLY);
        ASSERT(fd >= 0);
        if (fd != 3 + i) {
            ASSERT_INT(dup2(fd, 3 + i), 3 + i);
            close(fd);
        }
    }
    snprintf(text, sizeof text, "%d", (int)getpid());
    setenv("LISTEN_PID", text, 1);
    snprintf(text, sizeof text, "%d", count);
    setenv("LISTEN_FDS", text, 1);
    setenv("LISTEN_FDNAMES", names, 1);
}

TEST(none_are_handed_over_without_the_variables)
{
    struct activation activation;
    unsetenv("LISTEN_PID");
    ASSERT_INT(activation_init(&activation), 0);
    ASSERT_INT(activation_take(&activation, "submit"), -ENOENT);
    activation_destroy(&activation);
}

TEST(each_is_taken_once_by_its_name)
{
    struct activation activation;
    hand_over("submit:slab-0:slab-0", 3);
    ASSERT_INT(activation_init(&activation), 3);
    ASSERT(!getenv("LISTEN_FDS"));
    ASSERT_INT(activation_take(&activation, "admin"), -ENOENT);
    ASSERT_INT(activation_take(&activation, "submit"), 3);
    ASSERT_INT(activation_take(&activation, "submit"), -ENOENT);
    ASSERT_INT(fcntl(3, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ASSERT_INT(activation_take(&activation, "slab-0"), 4);
    ASSERT_INT((long)activation_left(&activation), 1);
    activation_destroy(&activation);
    ASSERT_INT(fcntl(5, F_GETFD), -1);
    ASSERT_INT(fcntl(4, F_GETFD), FD_CLOEXEC);
    close(3);
    close(4);
}

TEST(what_was_handed_to_another_process_is_not_ours)
{
    struct activation activation;
    hand_over("submit", 1);
    setenv("LISTEN_PID", "1", 1);
    ASSERT_INT(activation_init(&activation), 0);
    activation_destroy(&activation);
    close(3);
}

TEST_MAIN(CASE(none_are_handed_over_without_the_variables), CASE(each_is_taken_once_by_its_name),
          CASE(what_was_handed_to_another_process_is_not_ours))
