/* The test plays the supervisor; the port lies in the same process, or in a child where the case is
 * about processes. */
#include "shm/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/child.h"
#include "runtime/log.h"
#include "shm/bell.h"
#include "shm/courier.h"
#include "shm/slab.h"
#include "shm/timing.h"
#include "tests/test.h"

static struct channel channel;
static int bell_to, bell_from, courier[2];
static struct port port;
static struct slab_fault fault;

static unsigned open_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void supervisor_begin(void)
{
    ASSERT_INT(channel_create(WORKER_SYNTH, 0, &channel), 0);
    bell_to = bell_create();
    bell_from = bell_create();
    ASSERT_INT(courier_create(courier), 0);
}

static void begin(int maps_slabs)
{
    supervisor_begin();
    int fds[] = {dup(channel.fd), dup(bell_to), dup(bell_from), courier[1]};
    ASSERT_INT(port_attach(&port, maps_slabs, fds), 0);
}

static void end(void)
{
    port_close(&port);
    port_close(&port); /* twice is harmless */
    channel_destroy(&channel);
    close(bell_to);
    close(bell_from);
    if (courier[0] >= 0)
        close(courier[0]);
}

static struct slab slab_make(size_t bytes)
{
    struct slab slab;
    ASSERT_INT(slab_create("test", bytes, SLAB_PAGES_OFF, 2 << 20, &slab, &fault), 0);
    return slab;
}

static void send_fds(enum courier_kind kind, uint32_t index, uint64_t generation, uint64_t bytes,
                     const int *fds, unsigned count)
{
    struct courier_tag tag = {kind, index, generation, bytes};
    ASSERT_INT(courier_send(courier[0], &tag, fds, count), 0);
}

TEST(slabs_and_keys_arrive_mapped)
{
    unsigned before = open_fds();
    begin(2);
    struct slab slab = slab_make(1 << 20), key = slab_make(2 << 20);
    void *mine;
    bool is_locked;

    ASSERT_INT(slab_map(slab.fd, slab.bytes, false, &mine, &is_locked), 0);
    send_fds(COURIER_SLAB, 5, 0, slab.bytes, &slab.fd, 1);
    send_fds(COURIER_KEY, 9, 0, key.bytes, &key.fd, 1);
    ASSERT_INT(port_receive(&port), 2);
    ASSERT_INT(port.slabs[5].bytes, slab.bytes);
    ASSERT_INT(port.keys[9].bytes, key.bytes);
    memset(port.slabs[5].memory, 0x61, slab.bytes);
    ASSERT_INT(((uint8_t *)mine)[12345], 0x61);
    ASSERT_INT(((const uint8_t *)port.keys[9].memory)[0], 0);
    ASSERT_INT(port_receive(&port), 0);
    slab_unmap(mine, slab.bytes);

    send_fds(COURIER_SLAB, 5, 0, 0, NULL, 0); /* dropped, then another in its place */
    send_fds(COURIER_KEY, 9, 0, 0, NULL, 0);
    send_fds(COURIER_SLAB, 5, 0, key.bytes, &key.fd, 1);
    ASSERT_INT(port_receive(&port), 3);
    ASSERT(!port.keys[9].memory);
    ASSERT_INT(port.slabs[5].bytes, key.bytes);
    send_fds(COURIER_KEY, 9, 0, key.bytes, &key.fd, 1);
    ASSERT_INT(port_receive(&port), 1);
    port_drop_key(&port, 9);
    port_drop_key(&port, 9);
    port_drop_key(&port, CIRCUITS_MAX);
    ASSERT(!port.keys[9].memory);
    slab_destroy(&slab);
    slab_destroy(&key);
    end();
    ASSERT_INT(open_fds(), before);
}

TEST(a_finalizer_maps_no_slab)
{
    begin(0);
    struct slab slab = slab_make(1 << 20);

    send_fds(COURIER_SLAB, 5, 0, slab.bytes, &slab.fd, 1);
    ASSERT_INT(port_receive(&port), 1);
    ASSERT(!port.slabs[5].memory);
    slab_destroy(&slab);
    end();
}

TEST(a_packet_against_the_contract_ends_the_worker)
{
    begin(1);
    struct slab slab = slab_make(1 << 20);

    send_fds(COURIER_SLAB, SLABS_MAX, 0, slab.bytes, &slab.fd, 1);
    ASSERT_INT(port_receive(&port), -EPROTO);
    send_fds(COURIER_KEY, CIRCUITS_MAX, 0, slab.bytes, &slab.fd, 1);
    ASSERT_INT(port_receive(&port), -EPROTO);
    send_fds(COURIER_SLAB, 0, 0, slab.bytes, NULL, 0);
    ASSERT_INT(port_receive(&port), -EPROTO);
    send_fds(COURIER_SLAB, 0, 0, slab.bytes + 4096, &slab.fd, 1); /* not its size */
    ASSERT_INT(port_receive(&port), -EPROTO);
    send_fds((enum courier_kind)77, 0, 0, 0, NULL, 0);
    ASSERT_INT(port_receive(&port), -EPROTO);
    send_fds(COURIER_SLAB, 0, 0, slab.bytes, &slab.fd, 1);
    ASSERT_INT(port_receive(&port), 1);
    send_fds(COURIER_SLAB, 0, 0, slab.bytes, &slab.fd, 1); /* it is mapped already */
    ASSERT_INT(port_receive(&port), -EPROTO);
    close(courier[0]);
    ASSERT_INT(port_receive(&port), -EPIPE);
    courier[0] = -1;
    slab_destroy(&slab);
    end();
}

TEST(a_grant_finds_the_descriptors_sent_before_it)
{
    begin(1);
    int pair[2] = {open("/dev/null", O_RDONLY), open("/dev/zero", O_RDONLY)}, got[2];
    struct message grant = {.operation = OPERATION_FINALIZE, .slot = 3, .generation = 11}, taken;

    ASSERT_INT(port_take_grant(&port, &taken), 0);
    send_fds(COURIER_INPUT, 3, 11, 0, pair, 2);
    ASSERT_INT(channel_grant(&channel, &grant), 0);
    ASSERT_INT(port_take_grant(&port, &taken), 1);
    ASSERT_INT(port_take_input(&port, &taken, got), 2);
    close(got[0]);
    close(got[1]);
    ASSERT_INT(port_take_input(&port, &taken, got), 0); /* taken once */
    close(pair[0]);
    close(pair[1]);
    end();
}

TEST(a_later_generation_replaces_and_an_earlier_one_is_closed)
{
    begin(1);
    int null = open("/dev/null", O_RDONLY), got[2];
    struct message grant = {.operation = OPERATION_SYNTHESIZE, .slot = 3, .generation = 12};

    unsigned before = open_fds();
    send_fds(COURIER_INPUT, 3, 11, 0, &null, 1);
    send_fds(COURIER_INPUT, 3, 12, 0, &null, 1);
    send_fds(COURIER_INPUT, 3, 10, 0, &null, 1);
    ASSERT_INT(port_receive(&port), 3);
    ASSERT_INT(open_fds(), before + 1);
    ASSERT_INT(port_take_input(&port, &grant, got), 1);
    close(got[0]);
    ASSERT_INT(open_fds(), before);
    close(null);
    end();
}

TEST(inputs_nobody_takes_make_room_for_newer_ones)
{
    begin(1);
    int null = open("/dev/null", O_RDONLY), got[2];
    unsigned before = open_fds();

    for (uint32_t slot = 0; slot < 100; slot++) {
        send_fds(COURIER_INPUT, slot, 1000 + slot, 0, &null, 1);
        ASSERT_INT(port_receive(&port), 1);
    }
    ASSERT_INT(open_fds(), before + PORT_INPUTS_MAX);
    for (uint32_t slot = 0; slot < 100; slot++) {
        struct message grant = {.slot = slot, .generation = 1000 + slot};
        ASSERT_INT(port_take_input(&port, &grant, got), slot >= 100 - PORT_INPUTS_MAX);
        if (slot >= 100 - PORT_INPUTS_MAX)
            close(got[0]);
    }
    ASSERT_INT(open_fds(), before);
    close(null);
    end();
}

TEST(an_answer_repeats_its_grant_and_rings)
{
    begin(1);
    struct message grant = {.operation = OPERATION_PROVE,
                            .slot = 3,
                            .generation = 12,
                            .order_key = 5,
                            .numbers = {1, 2, 3, 4, 5, 6}};
    struct message answer, got;
    char lengthy[2000];

    port_answer_init(&answer, &grant);
    ASSERT_INT(answer.payload_bytes, 0);
    ASSERT_INT(answer.blame, BLAME_NONE);
    ASSERT_INT(bell_read(bell_from), 0);
    port_complete(&port, &answer);
    ASSERT_INT(bell_read(bell_from), 1);
    ASSERT_INT(channel_take_completion(&channel, &got), 1);
    ASSERT_INT(got.generation, 12);
    ASSERT_INT(got.slot, 3);
    ASSERT_INT(got.operation, OPERATION_PROVE);
    ASSERT_INT(memcmp(got.numbers, grant.numbers, sizeof got.numbers), 0);

    memset(lengthy, 'x', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = '\0';
    port_answer_fail(&answer, BLAME_INPUT, -EBADMSG, "witness value 7 is not below the modulus");
    ASSERT_INT(answer.payload_bytes, 40);
    ASSERT_INT(answer.result, -EBADMSG);
    port_answer_fail(&answer, BLAME_INPUT, -EBADMSG, lengthy);
    ASSERT_INT(answer.payload_bytes, MESSAGE_PAYLOAD_BYTES);
    end();
}

TEST(more_answers_than_the_ring_holds_end_the_worker_with_its_code)
{
    int status;

    begin(1);
    pid_t pid = fork();
    if (pid == 0) {
        struct message answer = {.operation = OPERATION_PROVE};
        log_set_level(LOG_LEVEL_ERROR);
        close(STDERR_FILENO);
        for (unsigned i = 0; i < 1000; i++)
            port_complete(&port, &answer);
        _exit(0);
    }
    ASSERT_INT(waitpid(pid, &status, 0), pid);
    ASSERT(WIFEXITED(status));
    ASSERT_INT(WEXITSTATUS(status), WORKER_EXIT_PROTOCOL);
    end();
}

/* --- the process side of port_open: this program run again with "worker" ---------------------- */

static int worker_main(const char *what)
{
    struct rlimit core;
    int death = 0;
    int result = port_open(&port, 2);

    if (strcmp(what, "orphan") == 0)
        return result == -ESRCH ? 0 : 1;
    if (result < 0)
        return 2;
    getrlimit(RLIMIT_CORE, &core);
    prctl(PR_GET_PDEATHSIG, &death);
    if (death != SIGKILL || prctl(PR_GET_DUMPABLE) != 0 || core.rlim_cur || core.rlim_max)
        return 3;
    if (!(fcntl(PORT_FD_COURIER, F_GETFD) & FD_CLOEXEC))
        return 4;
    struct message ready = {.operation = OPERATION_READY};
    port_complete(&port, &ready);
    for (struct message grant;;) {
        int taken = port_take_grant(&port, &grant);
        if (taken < 0)
            return 5;
        if (taken == 0)
            usleep(1000);
        else if (grant.operation == OPERATION_STOP)
            break;
    }
    port_close(&port);
    return 0;
}

static int run_worker(char *what, int32_t supervisor_pid, bool stops)
{
    char *argv[] = {"test_port", "worker", what, NULL};
    struct message stop = {.operation = OPERATION_STOP}, got;
    struct child child;
    int status = -1;

    supervisor_begin();
    if (supervisor_pid)
        channel.layout->header.supervisor_pid = supervisor_pid;
    struct child_fd fds[] = {{channel.fd, PORT_FD_CHANNEL},
                             {bell_to, PORT_FD_BELL_IN},
                             {bell_from, PORT_FD_BELL_OUT},
                             {courier[1], PORT_FD_COURIER}};
    struct child_spec spec = {
        .path = "/proc/self/exe", .argv = argv, .fds = fds, .fd_count = 4, .no_core = true};
    ASSERT_INT(child_spawn(&spec, &child), 0);
    close(courier[1]);
    if (stops) {
        while (channel_take_completion(&channel, &got) == 0 && child_reap(&child, &status) == 0)
            usleep(1000);
        ASSERT_INT(got.operation, OPERATION_READY);
        ASSERT_INT(channel_grant(&channel, &stop), 0);
        ASSERT_INT(bell_ring(bell_to), 0);
    }
    while (child.pid && child_reap(&child, &status) == 0)
        usleep(1000);
    child_destroy(&child);
    channel_destroy(&channel);
    close(bell_to);
    close(bell_from);
    close(courier[0]);
    ASSERT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(a_worker_process_attaches_is_undumpable_and_stops)
{
    ASSERT_INT(run_worker("normal", 0, true), 0);
}

TEST(a_worker_whose_supervisor_is_another_process_refuses)
{
    ASSERT_INT(run_worker("orphan", 1 << 22, false), 0);
}

/* --- timing lines ----------------------------------------------------------------------------- */

TEST(timing_lines_have_one_form)
{
    uint32_t phase_us[PHASE_COUNT] = {0};
    static char text[2048];
    int fds[2], saved = dup(STDERR_FILENO);

    phase_us[PHASE_READ] = 1234;
    phase_us[PHASE_CHECK] = 100;
    phase_us[PHASE_TOTAL] = 9001007;
    phase_us[PHASE_WAIT] = 5;
    ASSERT_INT(pipe2(fds, O_CLOEXEC), 0);
    dup2(fds[1], STDERR_FILENO);
    log_init("synth-0", LOG_LEVEL_INFO);
    timing_log("SYN_TIMING", "partition", 7, 3, "ok", phase_us);
    ssize_t got = read(fds[0], text, sizeof text - 1);
    dup2(saved, STDERR_FILENO);
    log_init("test", LOG_LEVEL_INFO);
    close(fds[0]);
    close(fds[1]);
    close(saved);
    ASSERT(got > 0);
    ASSERT(strstr(text, "synth-0: SYN_TIMING partition job=7 partition=3 outcome=ok read_ms=1.234 "
                        "check_ms=0.100 wait_ms=0.005 total_ms=9001.007\n"));
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        CASE(slabs_and_keys_arrive_mapped),
        CASE(a_finalizer_maps_no_slab),
        CASE(a_packet_against_the_contract_ends_the_worker),
        CASE(a_grant_finds_the_descriptors_sent_before_it),
        CASE(a_later_generation_replaces_and_an_earlier_one_is_closed),
        CASE(inputs_nobody_takes_make_room_for_newer_ones),
        CASE(an_answer_repeats_its_grant_and_rings),
        CASE(more_answers_than_the_ring_holds_end_the_worker_with_its_code),
        CASE(a_worker_process_attaches_is_undumpable_and_stops),
        CASE(a_worker_whose_supervisor_is_another_process_refuses),
        CASE(timing_lines_have_one_form),
    };

    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return worker_main(argv[2]);
    return test_main(cases, (int)(sizeof cases / sizeof cases[0]));
}
