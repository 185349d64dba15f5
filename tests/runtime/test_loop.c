/* One suite for both kinds of event loop: every conformance case runs on io_uring and on ppoll. */
#include "runtime/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "tests/test.h"

#define CONFORM(name)                                                                              \
    static void name(enum loop_kind kind);                                                         \
    TEST(name##_on_io_uring)                                                                       \
    {                                                                                              \
        name(LOOP_IO_URING);                                                                       \
    }                                                                                              \
    TEST(name##_on_ppoll)                                                                          \
    {                                                                                              \
        name(LOOP_PPOLL);                                                                          \
    }                                                                                              \
    static void name(enum loop_kind kind)
#define CASES(name) CASE(name##_on_io_uring), CASE(name##_on_ppoll)

enum { MS = 1000000 };

static struct loop *make(enum loop_kind kind)
{
    struct loop *loop;

    ASSERT_INT(loop_create(kind, &loop), 0);
    ASSERT_INT(loop_kind(loop), kind);
    ASSERT_STR(loop_fallback_reason(loop), "");
    return loop;
}

/* A watch on an eventfd that counts its calls. */
struct bell {
    struct loop_watch watch;
    struct loop *loop;
    unsigned calls;
    uint32_t events;
    bool drains, removes_itself;
    struct loop_watch *removes, *adds;
    struct loop_read *cancels;
};

static void ring(int fd)
{
    uint64_t one = 1;
    ASSERT_INT(write(fd, &one, sizeof one), sizeof one);
}

static void on_bell(struct loop_watch *watch, uint32_t events)
{
    struct bell *bell = (struct bell *)watch;
    uint64_t count;

    bell->calls++;
    bell->events = events;
    if (bell->drains && events & POLLIN && read(watch->fd, &count, sizeof count) < 0)
        bell->calls += 1000;
    if (bell->removes)
        loop_remove(bell->loop, bell->removes);
    if (bell->removes_itself)
        loop_remove(bell->loop, watch);
    if (bell->adds)
        loop_add(bell->loop, bell->adds);
    bell->adds = NULL;
    if (bell->cancels)
        loop_read_cancel(bell->loop, bell->cancels);
}

static struct bell bell_make(struct loop *loop, bool drains)
{
    return (struct bell){
        .watch = {.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                  .events = POLLIN,
                  .on_ready = on_bell},
        .loop = loop,
        .drains = drains,
    };
}

static void bell_drop(struct bell *bell)
{
    loop_remove(bell->loop, &bell->watch);
    close(bell->watch.fd);
}

CONFORM(calls_again_every_turn_until_drained)
{
    struct loop *loop = make(kind);
    struct bell bell = bell_make(loop, false);

    ASSERT_INT(loop_add(loop, &bell.watch), 0);
    ASSERT_INT(loop_wait(loop, 0), 0);
    ring(bell.watch.fd);
    for (unsigned turn = 1; turn <= 5; turn++) {
        ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
        ASSERT_INT(bell.calls, turn);
        ASSERT_INT(bell.events, POLLIN);
    }
    bell.drains = true;
    ASSERT_INT(loop_wait(loop, 0), 1);
    ASSERT_INT(loop_wait(loop, 0), 0);
    ASSERT_INT(loop_wait(loop, clock_now_ns() + 5 * MS), 0);
    ASSERT_INT(bell.calls, 6);
    bell_drop(&bell);
    loop_free(loop);
}

CONFORM(waits_until_the_deadline_and_not_less)
{
    struct loop *loop = make(kind);
    struct bell bell = bell_make(loop, true);
    uint64_t begin_ns, end_ns;

    ASSERT_INT(loop_add(loop, &bell.watch), 0);
    for (unsigned i = 0; i < 3; i++) {
        begin_ns = clock_now_ns();
        ASSERT_INT(loop_wait(loop, begin_ns + 20 * MS), 0);
        end_ns = clock_now_ns();
        ASSERT(end_ns >= begin_ns + 20 * MS);
        ASSERT(end_ns < begin_ns + 2000 * MS);
    }
    begin_ns = clock_now_ns();
    ASSERT_INT(loop_wait(loop, begin_ns - 1), 0); /* past */
    ASSERT_INT(loop_wait(loop, 0), 0);
    ASSERT(clock_now_ns() < begin_ns + 1000 * MS);
    bell_drop(&bell);
    loop_free(loop);
}

CONFORM(never_calls_a_watch_that_another_callback_removed)
{
    struct loop *loop = make(kind);
    struct bell a = bell_make(loop, true), b = bell_make(loop, true);

    /* Both are ready in one turn; whichever comes first removes the other. */
    a.removes = &b.watch;
    b.removes = &a.watch;
    ASSERT_INT(loop_add(loop, &a.watch), 0);
    ASSERT_INT(loop_add(loop, &b.watch), 0);
    ring(a.watch.fd);
    ring(b.watch.fd);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(a.calls + b.calls, 1);
    ring(a.watch.fd);
    ring(b.watch.fd);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT(a.calls == 2 || b.calls == 2);
    bell_drop(&a);
    bell_drop(&b);
    loop_free(loop);
}

CONFORM(lets_a_callback_remove_its_own_watch_and_add_another)
{
    struct loop *loop = make(kind);
    struct bell a = bell_make(loop, false), b = bell_make(loop, true);

    a.removes_itself = true;
    a.adds = &b.watch;
    ASSERT_INT(loop_add(loop, &a.watch), 0);
    ring(a.watch.fd);
    ring(b.watch.fd);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(b.calls, 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(loop_wait(loop, 0), 0);
    ASSERT_INT(a.calls, 1);
    ASSERT_INT(b.calls, 1);
    loop_remove(loop, &a.watch); /* once more does nothing */
    ASSERT_INT(loop_add(loop, &a.watch), 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(a.calls, 2);
    bell_drop(&a);
    bell_drop(&b);
    loop_free(loop);
}

CONFORM(modify_takes_effect_on_a_watch_that_is_waiting)
{
    struct loop *loop = make(kind);
    struct bell end = {.loop = loop};
    int pair[2];
    char byte;

    ASSERT_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    end.watch = (struct loop_watch){.fd = pair[0], .events = POLLIN, .on_ready = on_bell};
    ASSERT_INT(loop_add(loop, &end.watch), 0);
    ASSERT_INT(loop_wait(loop, 0), 0);
    ASSERT_INT(loop_modify(loop, &end.watch, POLLIN | POLLOUT), 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(end.events, POLLOUT);
    ASSERT_INT(write(pair[1], "x", 1), 1);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(end.events, POLLIN | POLLOUT);
    ASSERT_INT(loop_modify(loop, &end.watch, 0), 0);
    ASSERT_INT(loop_wait(loop, 0), 0);
    ASSERT_INT(loop_wait(loop, clock_now_ns() + 5 * MS), 0);
    ASSERT_INT(loop_modify(loop, &end.watch, POLLIN), 0);
    ASSERT_INT(loop_modify(loop, &end.watch, POLLOUT), 0);
    ASSERT_INT(loop_modify(loop, &end.watch, POLLIN), 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(end.events, POLLIN);
    ASSERT_INT(read(pair[0], &byte, 1), 1);
    ASSERT_INT(loop_wait(loop, 0), 0);
    loop_remove(loop, &end.watch);
    close(pair[0]);
    close(pair[1]);
    loop_free(loop);
}

/* A wake-up that turns out to be for nothing hides the poll from its removal. */
CONFORM(ends_a_watch_that_was_woken_and_read_behind_its_back)
{
    struct loop *loop = make(kind);
    struct bell bell = bell_make(loop, true);
    uint64_t count;

    alarm(20);
    for (unsigned i = 0; i < 3; i++) {
        ASSERT_INT(loop_add(loop, &bell.watch), 0);
        ASSERT_INT(loop_wait(loop, 0), 0);
        ring(bell.watch.fd);
        ASSERT_INT(read(bell.watch.fd, &count, sizeof count), sizeof count);
        ASSERT_INT(loop_modify(loop, &bell.watch, 0), 0);
        ASSERT_INT(loop_modify(loop, &bell.watch, POLLIN), 0);
        ASSERT_INT(loop_wait(loop, 0), 0);
        ring(bell.watch.fd);
        ASSERT_INT(read(bell.watch.fd, &count, sizeof count), sizeof count);
        loop_remove(loop, &bell.watch);
    }
    alarm(0);
    ASSERT_INT(bell.calls, 0);
    bell_drop(&bell);
    loop_free(loop);
}

CONFORM(tells_of_a_hang_up_unasked)
{
    struct loop *loop = make(kind);
    struct bell end = {.loop = loop};
    int pair[2];

    ASSERT_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    end.watch = (struct loop_watch){.fd = pair[0], .events = 0, .on_ready = on_bell};
    ASSERT_INT(loop_add(loop, &end.watch), 0);
    ASSERT_INT(loop_wait(loop, 0), 0);
    close(pair[1]);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(end.events, POLLHUP);
    loop_remove(loop, &end.watch);
    close(pair[0]);
    loop_free(loop);
}

CONFORM(lets_the_peer_see_the_end_at_once_after_remove_and_close)
{
    struct loop *loop = make(kind);
    struct bell end = {.loop = loop};
    char byte;
    int pair[2];

    ASSERT_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    end.watch = (struct loop_watch){.fd = pair[0], .events = POLLIN, .on_ready = on_bell};
    ASSERT_INT(loop_add(loop, &end.watch), 0);
    ASSERT_INT(loop_wait(loop, 0), 0);
    loop_remove(loop, &end.watch);
    close(pair[0]);
    ASSERT_INT(read(pair[1], &byte, 1), 0);
    close(pair[1]);
    loop_free(loop);
}

CONFORM(serves_two_watches_of_one_descriptor)
{
    struct loop *loop = make(kind);
    struct bell in = {.loop = loop}, out = {.loop = loop};
    int pair[2];

    ASSERT_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    in.watch = (struct loop_watch){.fd = pair[0], .events = POLLIN, .on_ready = on_bell};
    out.watch = (struct loop_watch){.fd = pair[0], .events = POLLOUT, .on_ready = on_bell};
    ASSERT_INT(loop_add(loop, &in.watch), 0);
    ASSERT_INT(loop_add(loop, &out.watch), 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(write(pair[1], "x", 1), 1);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 2);
    ASSERT_INT(in.calls, 1);
    ASSERT_INT(out.calls, 2);
    loop_remove(loop, &out.watch);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(in.calls, 2);
    loop_remove(loop, &in.watch);
    close(pair[0]);
    close(pair[1]);
    loop_free(loop);
}

CONFORM(reports_a_closed_descriptor_instead_of_sleeping)
{
    struct loop *loop = make(kind);
    struct bell bell = bell_make(loop, true);

    close(bell.watch.fd);
    ASSERT_INT(loop_add(loop, &bell.watch), 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(bell.events, POLLNVAL);
    loop_remove(loop, &bell.watch);
    loop_free(loop);
}

static void do_nothing(int signal)
{
    (void)signal;
}

CONFORM(returns_when_a_signal_comes)
{
    struct sigaction action = {.sa_handler = do_nothing}, before;
    struct itimerval timer = {.it_value.tv_usec = 20000}, off = {0};
    struct loop *loop = make(kind);
    uint64_t begin_ns = clock_now_ns();

    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    ASSERT_INT(loop_wait(loop, begin_ns + 5000ull * MS), 0);
    ASSERT(clock_now_ns() < begin_ns + 4000ull * MS);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &before, NULL);
    loop_free(loop);
}

enum { MANY = 3000 };

CONFORM(serves_thousands_of_watches)
{
    static struct bell bells[MANY];
    struct rlimit limit;
    struct loop *loop = make(kind);
    int called, total = 0;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < MANY + 100) {
        printf("  skipped: RLIMIT_NOFILE is %llu\n", (unsigned long long)limit.rlim_cur);
        loop_free(loop);
        return;
    }
    for (unsigned i = 0; i < MANY; i++) {
        bells[i] = bell_make(loop, true);
        ASSERT(bells[i].watch.fd >= 0);
        ASSERT_INT(loop_add(loop, &bells[i].watch), 0);
    }
    for (unsigned round = 1; round <= 3; round++) {
        ASSERT_INT(loop_wait(loop, 0), 0);
        for (unsigned i = 0; i < MANY; i++)
            ring(bells[i].watch.fd);
        for (total = 0; total < MANY; total += called) {
            called = loop_wait(loop, clock_now_ns() + 1000 * MS);
            ASSERT(called > 0);
        }
        for (unsigned i = 0; i < MANY; i++)
            ASSERT_INT(bells[i].calls, round);
    }
    for (unsigned i = 0; i < MANY; i++)
        bell_drop(&bells[i]);
    loop_free(loop);
}

/* Random adds, removes, modifies, rings and drains against the rule itself: in one turn exactly the
 * watches that are in the loop, readable and asked for are called, once each. */
CONFORM(agrees_with_a_model_under_random_operations)
{
    enum { WATCHES = 24, STEPS = 4000 };
    struct loop *loop = make(kind);
    struct bell bells[WATCHES];
    bool is_added[WATCHES] = {0}, is_rung[WATCHES] = {0}, wants[WATCHES];
    unsigned expected_calls[WATCHES] = {0};
    uint64_t random = test_seed();

    for (unsigned i = 0; i < WATCHES; i++) {
        bells[i] = bell_make(loop, false);
        wants[i] = true;
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)(test_random(&random) % WATCHES);
        uint64_t count;
        switch (test_random(&random) % 6) {
        case 0:
            if (!is_added[i]) {
                ASSERT_INT(loop_add(loop, &bells[i].watch), 0);
                is_added[i] = true;
            }
            break;
        case 1:
            loop_remove(loop, &bells[i].watch);
            is_added[i] = false;
            break;
        case 2:
            wants[i] = !wants[i];
            if (is_added[i])
                ASSERT_INT(loop_modify(loop, &bells[i].watch, wants[i] ? POLLIN : 0), 0);
            else
                bells[i].watch.events = wants[i] ? POLLIN : 0;
            break;
        case 3:
            ring(bells[i].watch.fd);
            is_rung[i] = true;
            break;
        case 4:
            if (is_rung[i])
                ASSERT_INT(read(bells[i].watch.fd, &count, sizeof count), sizeof count);
            is_rung[i] = false;
            break;
        default: {
            /* What was drained after it became ready may be reported one time too many: allow a
             * turn for that, as a reader of an empty descriptor gets EAGAIN. */
            ASSERT(loop_wait(loop, 0) >= 0);
            for (unsigned at = 0; at < WATCHES; at++)
                bells[at].calls = 0;
            unsigned expected = 0;
            for (unsigned at = 0; at < WATCHES; at++) {
                expected_calls[at] = is_added[at] && is_rung[at] && wants[at];
                expected += expected_calls[at];
            }
            ASSERT_INT(loop_wait(loop, 0), expected);
            for (unsigned at = 0; at < WATCHES; at++)
                ASSERT_INT(bells[at].calls, expected_calls[at]);
        }
        }
    }
    for (unsigned i = 0; i < WATCHES; i++)
        bell_drop(&bells[i]);
    loop_free(loop);
}

/* --- reads ------------------------------------------------------------------------------------ */

struct test_read {
    struct loop_read read;
    int64_t result;
    unsigned done;
    struct loop *loop;
    struct loop_read *cancels;
};

static void on_read_done(struct loop_read *read, int64_t result)
{
    struct test_read *mine = (struct test_read *)read;
    mine->result = result;
    mine->done++;
    if (mine->cancels)
        loop_read_cancel(mine->loop, mine->cancels);
}

static uint8_t file_byte(uint64_t at)
{
    return (uint8_t)(at * 131 ^ at >> 8 ^ at >> 16);
}

static int make_file(size_t bytes)
{
    char path[] = "/tmp/test_loop_XXXXXX";
    static uint8_t block[1 << 16];
    int fd = mkstemp(path);

    ASSERT(fd >= 0);
    unlink(path);
    for (size_t at = 0; at < bytes; at += sizeof block) {
        size_t here = bytes - at < sizeof block ? bytes - at : sizeof block;
        for (size_t i = 0; i < here; i++)
            block[i] = file_byte(at + i);
        ASSERT_INT(write(fd, block, here), here);
    }
    return fd;
}

static void assert_file_bytes(const uint8_t *memory, uint64_t offset, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != file_byte(offset + i))
            ASSERT_INT(i, -1);
    }
}

static void run_until_done(struct loop *loop, struct test_read *read)
{
    while (!read->done)
        ASSERT(loop_wait(loop, clock_now_ns() + 10000ull * MS) >= 0);
}

CONFORM(reads_a_large_file_in_pieces)
{
    enum { BYTES = (50 << 20) + 12345, OFFSET = 777 };
    struct loop *loop = make(kind);
    int fd = make_file(BYTES + OFFSET);
    uint8_t *memory = malloc(BYTES + 1);
    struct test_read read = {
        .read = {
            .fd = fd, .memory = memory, .bytes = BYTES, .offset = OFFSET, .on_done = on_read_done}};

    memory[BYTES] = 0x5a;
    ASSERT_INT(loop_read_start(loop, &read.read), 0);
    ASSERT_INT(read.done, 0);
    run_until_done(loop, &read);
    ASSERT_INT(read.result, BYTES);
    assert_file_bytes(memory, OFFSET, BYTES);
    ASSERT_INT(memory[BYTES], 0x5a);
    ASSERT_INT(loop_wait(loop, clock_now_ns() + 2 * MS), 0);
    ASSERT_INT(read.done, 1);
    free(memory);
    close(fd);
    loop_free(loop);
}

CONFORM(serves_many_reads_at_once_beside_watches)
{
    enum { READS = 50, BYTES = (5 << 20) + 17 };
    struct loop *loop = make(kind);
    struct bell bell = bell_make(loop, false);
    int fd = make_file(BYTES + READS);
    static struct test_read reads[READS];
    unsigned turns = 0;

    ASSERT_INT(loop_add(loop, &bell.watch), 0);
    ring(bell.watch.fd);
    for (unsigned i = 0; i < READS; i++) {
        reads[i] = (struct test_read){.read = {.fd = fd,
                                               .memory = malloc(BYTES),
                                               .bytes = BYTES,
                                               .offset = i,
                                               .on_done = on_read_done}};
        ASSERT_INT(loop_read_start(loop, &reads[i].read), 0);
    }
    for (unsigned i = 0; i < READS; i++) {
        while (!reads[i].done) {
            ASSERT(loop_wait(loop, clock_now_ns() + 10000ull * MS) >= 0);
            turns++;
        }
        ASSERT_INT(reads[i].result, BYTES);
        assert_file_bytes(reads[i].read.memory, i, BYTES);
        free(reads[i].read.memory);
    }
    ASSERT_INT(bell.calls, turns); /* reads starve no watch */
    bell_drop(&bell);
    close(fd);
    loop_free(loop);
}

CONFORM(a_read_past_the_end_is_short)
{
    enum { FILE_BYTES = (9 << 20) + 5, WANTED = 40 << 20 };
    struct loop *loop = make(kind);
    int fd = make_file(FILE_BYTES);
    uint8_t *memory = calloc(1, WANTED);
    struct test_read read = {
        .read = {.fd = fd, .memory = memory, .bytes = WANTED, .on_done = on_read_done}};

    ASSERT_INT(loop_read_start(loop, &read.read), 0);
    run_until_done(loop, &read);
    ASSERT_INT(read.result, FILE_BYTES);
    assert_file_bytes(memory, 0, FILE_BYTES);
    ASSERT_INT(memory[FILE_BYTES], 0);
    read.done = 0;
    read.read.offset = FILE_BYTES + 100;
    ASSERT_INT(loop_read_start(loop, &read.read), 0); /* the same object again */
    run_until_done(loop, &read);
    ASSERT_INT(read.result, 0);
    free(memory);
    close(fd);
    loop_free(loop);
}

CONFORM(an_empty_read_is_done_on_the_next_turn)
{
    struct loop *loop = make(kind);
    int fd = make_file(10);
    struct test_read read = {.read = {.fd = fd, .bytes = 0, .on_done = on_read_done}};

    ASSERT_INT(loop_read_start(loop, &read.read), 0);
    ASSERT_INT(read.done, 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1);
    ASSERT_INT(read.done, 1);
    ASSERT_INT(read.result, 0);
    close(fd);
    loop_free(loop);
}

CONFORM(a_failed_read_says_so_once)
{
    struct loop *loop = make(kind);
    char path[] = "/tmp/test_loop_XXXXXX", *memory = malloc(20 << 20);
    int fd = mkstemp(path), write_only = open(path, O_WRONLY);
    struct test_read read = {
        .read = {.fd = write_only, .memory = memory, .bytes = 20 << 20, .on_done = on_read_done}};

    unlink(path);
    ASSERT_INT(ftruncate(fd, 20 << 20), 0);
    ASSERT_INT(loop_read_start(loop, &read.read), 0);
    run_until_done(loop, &read);
    ASSERT_INT(read.result, -EBADF);
    ASSERT_INT(loop_wait(loop, clock_now_ns() + 2 * MS), 0);
    ASSERT_INT(read.done, 1);
    /* Memory that is none: an error, not a crash. */
    read = (struct test_read){
        .read = {.fd = fd, .memory = (void *)4096, .bytes = 20 << 20, .on_done = on_read_done}};
    ASSERT_INT(loop_read_start(loop, &read.read), 0);
    run_until_done(loop, &read);
    ASSERT_INT(read.result, -EFAULT);
    free(memory);
    close(fd);
    close(write_only);
    loop_free(loop);
}

CONFORM(refuses_to_read_what_is_no_file)
{
    struct loop *loop = make(kind);
    char byte;
    int fds[2];

    ASSERT_INT(pipe(fds), 0);
    struct test_read read = {
        .read = {.fd = fds[0], .memory = &byte, .bytes = 1, .on_done = on_read_done}};
    ASSERT_INT(loop_read_start(loop, &read.read), -EINVAL);
    read.read.fd = -1;
    ASSERT_INT(loop_read_start(loop, &read.read), -EBADF);
    close(fds[0]);
    close(fds[1]);
    loop_free(loop);
}

CONFORM(a_cancelled_read_writes_no_more)
{
    enum { BYTES = 64 << 20 };
    struct loop *loop = make(kind);
    int fd = make_file(BYTES);
    uint8_t *memory = malloc(BYTES);
    struct test_read read = {
        .read = {.fd = fd, .memory = memory, .bytes = BYTES, .on_done = on_read_done}};

    for (unsigned turns = 0; turns < 6; turns++) {
        ASSERT_INT(loop_read_start(loop, &read.read), 0);
        for (unsigned turn = 0; turn < turns && !read.done; turn++)
            ASSERT(loop_wait(loop, clock_now_ns() + 1000) >= 0);
        loop_read_cancel(loop, &read.read);
        memset(memory, 0xee, BYTES);
        ASSERT(loop_wait(loop, clock_now_ns() + 5 * MS) >= 0);
        for (size_t i = 0; i < BYTES; i += 512) {
            if (memory[i] != 0xee)
                ASSERT_INT(i, -1);
        }
        ASSERT(read.done <= 1);
        read.done = 0;
        loop_read_cancel(loop, &read.read); /* once more does nothing */
    }
    free(memory);
    close(fd);
    loop_free(loop);
}

CONFORM(a_callback_may_cancel_reads_that_are_done_or_under_way)
{
    enum { BYTES = 3 << 20 };
    struct loop *loop = make(kind);
    int fd = make_file(BYTES);
    struct test_read a = {
        .loop = loop,
        .read = {.fd = fd, .memory = malloc(BYTES), .bytes = BYTES, .on_done = on_read_done}};
    struct test_read b = {
        .loop = loop,
        .read = {.fd = fd, .memory = malloc(BYTES), .bytes = BYTES, .on_done = on_read_done}};

    a.cancels = &b.read;
    b.cancels = &a.read;
    ASSERT_INT(loop_read_start(loop, &a.read), 0);
    ASSERT_INT(loop_read_start(loop, &b.read), 0);
    while (!a.done && !b.done)
        ASSERT(loop_wait(loop, clock_now_ns() + 1000 * MS) >= 0);
    ASSERT_INT(loop_wait(loop, clock_now_ns() + 5 * MS), 0);
    ASSERT_INT(a.done + b.done, 1);

    struct bell bell = bell_make(loop, true);
    bell.cancels = &a.read;
    ASSERT_INT(loop_add(loop, &bell.watch), 0);
    ring(bell.watch.fd);
    a.done = 0;
    a.cancels = NULL;
    ASSERT_INT(loop_read_start(loop, &a.read), 0);
    ASSERT_INT(loop_wait(loop, UINT64_MAX), 1); /* the bell; watches come before reads */
    ASSERT_INT(loop_wait(loop, clock_now_ns() + 5 * MS), 0);
    ASSERT_INT(a.done, 0);
    bell_drop(&bell);
    free(a.read.memory);
    free(b.read.memory);
    close(fd);
    loop_free(loop);
}

CONFORM(freeing_waits_out_reads_under_way)
{
    enum { BYTES = 32 << 20 };
    struct loop *loop = make(kind);
    int fd = make_file(BYTES);
    uint8_t *memory = malloc(BYTES);
    struct test_read read = {
        .read = {.fd = fd, .memory = memory, .bytes = BYTES, .on_done = on_read_done}};

    ASSERT_INT(loop_read_start(loop, &read.read), 0);
    ASSERT(loop_wait(loop, 0) >= 0);
    loop_free(loop);
    memset(memory, 0xee, BYTES);
    usleep(5000);
    for (size_t i = 0; i < BYTES; i += 512) {
        if (memory[i] != 0xee)
            ASSERT_INT(i, -1);
    }
    free(memory);
    close(fd);
}

/* --- choice of the kind ----------------------------------------------------------------------- */

/* From here on io_uring_setup fails in this process, as in a container. */
static void refuse_io_uring(int error)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof rules[0], .filter = rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(77);
}

static int in_child_with_refusal(int error, enum loop_kind kind)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct loop *loop;
        refuse_io_uring(error);
        int result = loop_create(kind, &loop);
        if (kind == LOOP_IO_URING)
            _exit(result == -error ? 0 : 1);
        if (result < 0 || loop_kind(loop) != LOOP_PPOLL)
            _exit(2);
        if (!strstr(loop_fallback_reason(loop), "io_uring_setup: ") ||
            !strstr(loop_fallback_reason(loop), strerror(error)))
            _exit(3);
        _exit(loop_wait(loop, 0) == 0 ? 0 : 4);
    }
    ASSERT_INT(waitpid(pid, &status, 0), pid);
    ASSERT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(auto_takes_io_uring_where_it_is_allowed)
{
    struct loop *loop;

    ASSERT_INT(loop_create(LOOP_AUTO, &loop), 0);
    ASSERT_INT(loop_kind(loop), LOOP_IO_URING);
    loop_free(loop);
}

TEST(auto_falls_back_to_ppoll_and_says_why)
{
    ASSERT_INT(in_child_with_refusal(EPERM, LOOP_AUTO), 0);
    ASSERT_INT(in_child_with_refusal(ENOSYS, LOOP_AUTO), 0);
    ASSERT_INT(in_child_with_refusal(ENOMEM, LOOP_AUTO), 0);
    ASSERT_INT(in_child_with_refusal(EINVAL, LOOP_AUTO), 0);
}

TEST(io_uring_by_name_is_not_replaced)
{
    ASSERT_INT(in_child_with_refusal(EPERM, LOOP_IO_URING), 0);
}

TEST(kinds_have_names_both_ways)
{
    enum loop_kind kind;

    ASSERT_INT(loop_kind_from_string("ppoll", &kind), 0);
    ASSERT_INT(kind, LOOP_PPOLL);
    ASSERT_INT(loop_kind_from_string("epoll", &kind), -EINVAL);
    ASSERT_STR(loop_kind_to_string(LOOP_IO_URING), "io_uring");
    ASSERT_STR(loop_kind_to_string(LOOP_AUTO), "auto");
}

TEST_MAIN(CASES(calls_again_every_turn_until_drained), CASES(waits_until_the_deadline_and_not_less),
          CASES(never_calls_a_watch_that_another_callback_removed),
          CASES(lets_a_callback_remove_its_own_watch_and_add_another),
          CASES(modify_takes_effect_on_a_watch_that_is_waiting),
          CASES(ends_a_watch_that_was_woken_and_read_behind_its_back),
          CASES(tells_of_a_hang_up_unasked),
          CASES(lets_the_peer_see_the_end_at_once_after_remove_and_close),
          CASES(serves_two_watches_of_one_descriptor),
          CASES(reports_a_closed_descriptor_instead_of_sleeping),
          CASES(returns_when_a_signal_comes), CASES(serves_thousands_of_watches),
          CASES(agrees_with_a_model_under_random_operations), CASES(reads_a_large_file_in_pieces),
          CASES(serves_many_reads_at_once_beside_watches), CASES(a_read_past_the_end_is_short),
          CASES(an_empty_read_is_done_on_the_next_turn), CASES(a_failed_read_says_so_once),
          CASES(refuses_to_read_what_is_no_file), CASES(a_cancelled_read_writes_no_more),
          CASES(a_callback_may_cancel_reads_that_are_done_or_under_way),
          CASES(freeing_waits_out_reads_under_way), CASE(auto_takes_io_uring_where_it_is_allowed),
          CASE(auto_falls_back_to_ppoll_and_says_why), CASE(io_uring_by_name_is_not_replaced),
          CASE(kinds_have_names_both_ways))
