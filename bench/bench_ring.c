/* What passing work between processes costs: ring operations, the hand-off of a message to another
 * process and back (rings and bells on the event loop, beside a bare eventfd ping-pong in the same
 * run), and how fast a file gets into a slab. Both kinds of event loop. */
#include "bench/bench.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/loop.h"
#include "shm/bell.h"
#include "shm/channel.h"
#include "shm/slab.h"

enum {
    OPERATIONS = 4000000,
    ROUND_TRIPS = 20000,
    ROUNDS = 5, /* hand-off and its yardstick take turns; the median ratio counts */
    MIB = 1 << 20,
};

static int fail(const char *what, int error)
{
    fprintf(stderr, "ring: %s: %s\n", what, strerror(-error));
    return 1;
}

/* --- ring operations, one process ------------------------------------------------------------- */

static int bench_operations(unsigned payload_bytes)
{
    struct channel channel;
    struct message message = {.operation = OPERATION_PROVE, .payload_bytes = payload_bytes}, got;
    uint64_t push_ns = 0, pop_ns = 0, begin_ns, middle_ns;
    int error = channel_create(WORKER_GPU, 0, &channel);

    if (error < 0)
        return fail("channel", error);
    for (unsigned done = 0; done < OPERATIONS; done += CHANNEL_RING_ENTRIES) {
        begin_ns = clock_now_ns();
        for (unsigned i = 0; i < CHANNEL_RING_ENTRIES; i++) {
            message.generation = done + i;
            error |= channel_grant(&channel, &message);
        }
        middle_ns = clock_now_ns();
        for (unsigned i = 0; i < CHANNEL_RING_ENTRIES; i++)
            error |= channel_take_grant(&channel, &got) != 1 || got.generation != done + i;
        pop_ns += clock_now_ns() - middle_ns;
        push_ns += middle_ns - begin_ns;
    }
    channel_destroy(&channel);
    if (error)
        return fail("ring operations went wrong", -1);
    printf("ring    payload %3u bytes   push %6.1f ns   pop %6.1f ns   (aim < 100)\n",
           payload_bytes, (double)push_ns / OPERATIONS, (double)pop_ns / OPERATIONS);
    return 0;
}

/* --- hand-off between two processes ----------------------------------------------------------- */

/* Where the two ends of a measurement run. The scheduler's choice would change from run to run, and
 * with it the figure by a factor of five. */
static cpu_set_t all_cpus;
static bool is_one_cpu;

static void pin(unsigned end)
{
    cpu_set_t one;
    int cpu = 0;

    for (unsigned left = is_one_cpu ? 0 : end;; cpu++) {
        if (CPU_ISSET(cpu, &all_cpus) && left-- == 0)
            break;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The echoing child of a measurement; it never outlives this process. */
static pid_t echo_start(void)
{
    pid_t pid = fork();
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(pid == 0);
    return pid;
}

static void echo_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sched_setaffinity(0, sizeof all_cpus, &all_cpus);
}

static bool bare_wait(int fd)
{
    uint64_t count;
    return read(fd, &count, sizeof count) == (ssize_t)sizeof count;
}

/* One way, in ns: the yardstick, two blocking eventfds and nothing else. */
static double bare_ping_pong(void)
{
    int to = eventfd(0, EFD_CLOEXEC), from = eventfd(0, EFD_CLOEXEC);
    pid_t pid = echo_start();
    uint64_t begin_ns;

    if (pid == 0) {
        while (bare_wait(to))
            bell_ring(from);
        _exit(1);
    }
    for (unsigned i = 0; i < ROUND_TRIPS / 10; i++) {
        bell_ring(to);
        bare_wait(from);
    }
    begin_ns = clock_now_ns();
    for (unsigned i = 0; i < ROUND_TRIPS; i++) {
        bell_ring(to);
        bare_wait(from);
    }
    begin_ns = clock_now_ns() - begin_ns;
    echo_end(pid);
    close(to);
    close(from);
    return (double)begin_ns / (2.0 * ROUND_TRIPS);
}

struct bell_watch {
    struct loop_watch watch;
    bool is_rung;
};

static void on_bell(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    ((struct bell_watch *)watch)->is_rung = bell_read(watch->fd) == 1;
}

struct end {
    struct loop *loop;
    struct bell_watch bell;
};

static int end_open(struct end *end, enum loop_kind kind, int bell)
{
    int error = loop_create(kind, &end->loop);

    end->bell = (struct bell_watch){.watch = {.fd = bell, .events = POLLIN, .on_ready = on_bell}};
    return error < 0 ? error : loop_add(end->loop, &end->bell.watch);
}

/* Ring first, then the bell, as every worker does. */
static void echo_grants(struct channel *channel, enum loop_kind kind, int to, int from)
{
    struct end end;
    struct message message;

    if (end_open(&end, kind, to) < 0)
        _exit(1);
    for (;;) {
        if (channel_take_grant(channel, &message) == 1) {
            channel_complete(channel, &message);
            bell_ring(from);
        } else {
            loop_wait(end.loop, UINT64_MAX);
        }
    }
}

static void round_trip(struct channel *channel, struct end *end, int to)
{
    struct message message = {.operation = OPERATION_PROVE, .payload_bytes = 64};

    channel_grant(channel, &message);
    bell_ring(to);
    while (channel_take_completion(channel, &message) == 0)
        loop_wait(end->loop, UINT64_MAX);
}

/* One way, in ns, or negative when the loop cannot be had. */
static double hand_off(enum loop_kind kind)
{
    int to = bell_create(), from = bell_create();
    struct channel channel;
    struct end end;
    uint64_t begin_ns;

    if (channel_create(WORKER_GPU, 0, &channel) < 0)
        return -1;
    pid_t pid = echo_start();
    if (pid == 0)
        echo_grants(&channel, kind, to, from);
    if (end_open(&end, kind, from) < 0) {
        echo_end(pid);
        return -1;
    }
    for (unsigned i = 0; i < ROUND_TRIPS / 10; i++)
        round_trip(&channel, &end, to);
    begin_ns = clock_now_ns();
    for (unsigned i = 0; i < ROUND_TRIPS; i++)
        round_trip(&channel, &end, to);
    begin_ns = clock_now_ns() - begin_ns;
    echo_end(pid);
    loop_free(end.loop);
    channel_destroy(&channel);
    close(to);
    close(from);
    return (double)begin_ns / (2.0 * ROUND_TRIPS);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof *values, compare_doubles);
    return values[ROUNDS / 2];
}

static int bench_hand_off(enum loop_kind kind)
{
    double bare[ROUNDS], mine[ROUNDS], ratio[ROUNDS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        bare[round] = bare_ping_pong();
        mine[round] = hand_off(kind);
        if (mine[round] < 0) {
            printf("hand-off on %-8s not available here\n", loop_kind_to_string(kind));
            return 0;
        }
        ratio[round] = mine[round] / bare[round];
    }
    printf("hand-off on %-8s %s   one way %7.0f ns   bare eventfd %7.0f ns   ratio %.2f%s\n",
           loop_kind_to_string(kind), is_one_cpu ? "one CPU " : "two CPUs", median(mine),
           median(bare), median(ratio), is_one_cpu ? "" : "   (aim < 1.3)");
    return 0;
}

/* Two CPUs are what a server has. On one CPU the sleeping and waking that dominates falls away and
 * the loop's own work shows. */
static int bench_hand_offs(void)
{
    sched_getaffinity(0, sizeof all_cpus, &all_cpus);
    for (unsigned cpus = CPU_COUNT(&all_cpus) > 1 ? 2 : 1; cpus; cpus--) {
        is_one_cpu = cpus == 1;
        if (bench_hand_off(LOOP_IO_URING) || bench_hand_off(LOOP_PPOLL))
            return 1;
    }
    return 0;
}

/* --- slab fill -------------------------------------------------------------------------------- */

static int64_t fill_result;

static void on_filled(struct loop_read *read, int64_t result)
{
    (void)read;
    fill_result = result;
}

static int fill_from_file(enum loop_kind kind, int fd, void *memory, size_t bytes)
{
    struct loop *loop;
    uint64_t best_ns = UINT64_MAX;

    if (loop_create(kind, &loop) < 0) {
        printf("fill    loop_read on %-8s not available here\n", loop_kind_to_string(kind));
        return 0;
    }
    for (unsigned round = 0; round < 3; round++) {
        struct loop_read read = {.fd = fd, .memory = memory, .bytes = bytes, .on_done = on_filled};
        uint64_t begin_ns = clock_now_ns();
        int error = loop_read_start(loop, &read);
        fill_result = INT64_MIN;
        while (error >= 0 && fill_result == INT64_MIN)
            error = loop_wait(loop, UINT64_MAX);
        if (error < 0 || fill_result != (int64_t)bytes)
            return fail("loop_read", error < 0 ? error : (int)fill_result);
        begin_ns = clock_now_ns() - begin_ns;
        best_ns = begin_ns < best_ns ? begin_ns : best_ns;
    }
    loop_free(loop);
    printf("fill    loop_read on %-8s of a cached file   %6.2f GB/s\n", loop_kind_to_string(kind),
           (double)bytes / (double)best_ns);
    return 0;
}

static int make_cached_file(size_t bytes)
{
    char path[] = "/tmp/cuzk-bench-XXXXXX", *block = malloc(4 * MIB);
    int fd = mkostemp(path, O_CLOEXEC);

    if (fd < 0 || !block)
        return -1;
    unlink(path);
    for (size_t at = 0; at < bytes; at += 4 * MIB) {
        memset(block, (int)(at >> 22), 4 * MIB);
        if (write(fd, block, 4 * MIB) != 4 * MIB)
            return -1;
    }
    free(block);
    return fd;
}

static int bench_fill(size_t bytes)
{
    struct slab slab;
    struct slab_fault fault;
    void *memory;
    bool is_locked;
    uint64_t begin_ns = clock_now_ns(), best_ns = UINT64_MAX;
    int fd = make_cached_file(bytes), error;

    if (fd < 0)
        return fail("cannot write a file in /tmp", -1);
    begin_ns = clock_now_ns();
    error = slab_create("bench", bytes, SLAB_PAGES_PREFER, 2 * MIB, &slab, &fault);
    if (error < 0)
        return fail(fault.text, error);
    begin_ns = clock_now_ns() - begin_ns;
    error = slab_map(slab.fd, slab.bytes, true, &memory, &is_locked);
    if (error < 0)
        return fail("slab_map", error);
    printf("slab    %zu MiB on %s, made and touched in %.0f ms\n", bytes / MIB,
           slab.is_hugepage ? "hugepages" : "ordinary pages", (double)begin_ns / 1e6);
    for (unsigned round = 0; round < 3; round++) {
        begin_ns = clock_now_ns();
        memset(memory, (int)round, slab.bytes);
        begin_ns = clock_now_ns() - begin_ns;
        best_ns = begin_ns < best_ns ? begin_ns : best_ns;
    }
    printf("fill    memset                                  %6.2f GB/s\n",
           (double)bytes / (double)best_ns);
    error = fill_from_file(LOOP_IO_URING, fd, memory, bytes) ||
            fill_from_file(LOOP_PPOLL, fd, memory, bytes);
    slab_unmap(memory, slab.bytes);
    slab_destroy(&slab);
    close(fd);
    return error;
}

int bench_ring(int argc, char **argv)
{
    size_t mib = 256;

    if (argc == 3 && strcmp(argv[1], "--fill-mib") == 0)
        mib = strtoul(argv[2], NULL, 10) / 4 * 4;
    else if (argc != 1)
        mib = 0;
    if (mib == 0 || mib > 1 << 16) {
        fprintf(stderr, "usage: %s [--fill-mib N]\n", argv[0]);
        return 2;
    }
    if (bench_operations(0) || bench_operations(64) || bench_operations(MESSAGE_PAYLOAD_BYTES) ||
        bench_hand_offs())
        return 1;
    return bench_fill(mib * MIB);
}
