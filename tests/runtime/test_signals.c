/* What runtime/signals.h promises, case by case. */
#include "runtime/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tests/test.h"

TEST(signals_come_as_numbers_through_the_descriptor)
{
    static const int wanted[] = {SIGTERM, SIGHUP};
    int fd = signals_open(wanted, 2);
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    ASSERT(fd >= 0);
    ASSERT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ASSERT_INT(signals_read(fd), 0);
    kill(getpid(), SIGTERM); /* would end the program were it not blocked */
    ASSERT_INT(poll(&readable, 1, 5000), 1);
    ASSERT_INT(signals_read(fd), SIGTERM);
    ASSERT_INT(signals_read(fd), 0);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGTERM);
    ASSERT_INT(signals_read(fd) + signals_read(fd), SIGHUP + SIGTERM);
    close(fd);
}

TEST_MAIN(CASE(signals_come_as_numbers_through_the_descriptor))
