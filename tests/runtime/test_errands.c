/* What runtime/errands.h, close_later.h and vault.h promise. */
#include "runtime/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/close_later.h"
#include "runtime/vault.h"
#include "tests/test.h"

static atomic_int ran, order_broken;
static atomic_bool is_held;

struct numbered {
    struct errand errand;
    int number;
};

static void count(struct errand *errand)
{
    struct numbered *numbered = (struct numbered *)errand;
    if (numbered->number != atomic_load(&ran))
        atomic_store(&order_broken, 1);
    atomic_fetch_add(&ran, 1);
}

static void hang(struct errand *errand)
{
    (void)errand;
    while (atomic_load(&is_held))
        usleep(1000);
    atomic_fetch_add(&ran, 1);
}

TEST(one_thread_takes_them_in_order)
{
    static struct numbered errands[1000];
    struct errands *object;
    atomic_store(&ran, 0);
    ASSERT_INT(errands_create(1, &object), 0);
    for (int i = 0; i < 1000; i++) {
        errands[i] = (struct numbered){.errand.run = count, .number = i};
        errands_push(object, &errands[i].errand);
    }
    ASSERT(errands_free(object, 10000));
    ASSERT_INT(atomic_load(&ran), 1000);
    ASSERT_INT(atomic_load(&order_broken), 0);
}

TEST(one_that_hangs_holds_up_no_other_and_not_the_end)
{
    static struct errand hanging[3] = {{.run = hang}, {.run = hang}, {.run = hang}};
    static struct numbered other = {.errand.run = count};
    struct errands *object;
    atomic_store(&ran, 0);
    atomic_store(&is_held, true);
    ASSERT_INT(errands_create(4, &object), 0);
    for (int i = 0; i < 3; i++)
        errands_push(object, &hanging[i]);
    errands_push(object, &other.errand);
    for (int i = 0; i < 5000 && atomic_load(&ran) == 0; i++)
        usleep(1000);
    ASSERT_INT(atomic_load(&ran), 1);
    ASSERT(errands_wait(object, 0, 1000)); /* all have begun */
    ASSERT(!errands_free(object, 10));
    atomic_store(&is_held, false); /* the threads free what is left */
    for (int i = 0; i < 5000 && atomic_load(&ran) < 4; i++)
        usleep(1000);
    ASSERT_INT(atomic_load(&ran), 4);
}

TEST(descriptors_are_closed_with_and_without_threads)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close_later(-1);
    close_later(fd);
    ASSERT(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
    ASSERT_INT(close_later_init(), 0);
    for (int i = 0; i < 100; i++) {
        fd = memfd_create("test", MFD_CLOEXEC);
        ASSERT(fd >= 0);
        close_later(fd);
    }
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close_later(fd);
    ASSERT(fcntl(fd, F_GETFD) < 0 && errno == EBADF); /* at once */
    fd = memfd_create("test", MFD_CLOEXEC);
    close_later(fd);
    close_later_destroy();
    ASSERT(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
}

TEST(a_vault_keeps_a_file_and_gives_it_out_again_and_again)
{
    char path[] = "/tmp/cuzk-test-vault.XXXXXX";
    struct stat before, now;
    int fd = mkstemp(path);
    ASSERT(fd >= 0 && fstat(fd, &before) == 0);
    unlink(path);
    int vault = vault_put(fd);
    ASSERT(vault >= 0);
    ASSERT(fcntl(fd, F_GETFD) < 0 || fd == vault);
    for (int i = 0; i < 3; i++) {
        int again = vault_open(vault);
        ASSERT(again >= 0 && fstat(again, &now) == 0 && now.st_ino == before.st_ino);
        ASSERT(fcntl(again, F_GETFD) & FD_CLOEXEC);
        close(again);
    }
    close(vault);
    ASSERT_INT(vault_put(-1), -EBADF);
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(one_thread_takes_them_in_order),
        CASE(one_that_hangs_holds_up_no_other_and_not_the_end),
        CASE(descriptors_are_closed_with_and_without_threads),
        CASE(a_vault_keeps_a_file_and_gives_it_out_again_and_again),
    };
    return test_main(cases, sizeof cases / sizeof cases[0]);
}
