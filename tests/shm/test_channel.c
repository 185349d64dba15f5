/* What shm/channel.h promises, case by case. */
#include "shm/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static struct channel make(void)
{
    struct channel channel;
    ASSERT_INT(channel_create(WORKER_GPU, 3, &channel), 0);
    return channel;
}

TEST(a_worker_attaches_what_the_supervisor_made)
{
    struct channel mine = make(), theirs;

    ASSERT_INT(channel_attach(dup(mine.fd), &theirs), 0);
    ASSERT_INT(theirs.layout->header.kind, WORKER_GPU);
    ASSERT_INT(theirs.layout->header.index, 3);
    ASSERT_INT(theirs.layout->header.supervisor_pid, getpid());
    ASSERT_INT(atomic_load(&theirs.layout->progress.stage), PHASE_COUNT);
    channel_destroy(&theirs);
    channel_destroy(&mine);
    channel_destroy(&mine); /* twice is harmless */
}

TEST(messages_pass_both_ways_with_only_the_payload_that_counts)
{
    struct channel mine = make(), theirs;
    struct message sent = {.generation = 99,
                           .slot = 7,
                           .operation = OPERATION_PROVE,
                           .payload_bytes = 5,
                           .order_key = 1,
                           .numbers = {1, 2, 3, 4, 5, 6}};
    struct message got;

    memcpy(sent.payload, "hello", 5);
    memset(sent.payload + 5, 1, sizeof sent.payload - 5);
    memset(&got, 0xee, sizeof got);
    ASSERT_INT(channel_attach(dup(mine.fd), &theirs), 0);
    ASSERT_INT(channel_grant(&mine, &sent), 0);
    ASSERT_INT(channel_take_grant(&theirs, &got), 1);
    ASSERT_INT(memcmp(&got, &sent, message_bytes(5)), 0);
    ASSERT_INT(got.payload[5], 0xee);
    ASSERT_INT(channel_take_grant(&theirs, &got), 0);
    sent.operation = OPERATION_UPLOADED;
    sent.payload_bytes = MESSAGE_PAYLOAD_BYTES;
    ASSERT_INT(channel_complete(&theirs, &sent), 0);
    ASSERT_INT(channel_take_completion(&mine, &got), 1);
    ASSERT_INT(memcmp(&got, &sent, message_bytes(MESSAGE_PAYLOAD_BYTES)), 0);
    channel_destroy(&theirs);
    channel_destroy(&mine);
}

TEST(every_answer_of_the_grants_held_fits)
{
    struct channel mine = make();
    struct message answer = {.operation = OPERATION_PROVE};

    /* READY, two answers of each partition, and those of key calls. */
    const unsigned answers = 1 + 2 * GRANTS_HELD_MAX + KEY_CALLS_HELD_MAX;
    for (unsigned i = 0; i < answers; i++)
        ASSERT_INT(channel_complete(&mine, &answer), 0);
    for (unsigned i = answers; i < CHANNEL_RING_ENTRIES; i++)
        ASSERT_INT(channel_complete(&mine, &answer), 0);
    ASSERT_INT(channel_complete(&mine, &answer), -EAGAIN);
    channel_destroy(&mine);
}

TEST(a_message_that_is_none_is_refused)
{
    struct channel mine = make();
    struct message answer = {.operation = OPERATION_PROVE}, got;
    struct message *entry = &mine.layout->completion_entries[0];

    ASSERT_INT(channel_complete(&mine, &answer), 0);
    entry->payload_bytes = MESSAGE_PAYLOAD_BYTES + 1;
    ASSERT_INT(channel_take_completion(&mine, &got), -EPROTO);
    entry->payload_bytes = UINT16_MAX;
    ASSERT_INT(channel_take_completion(&mine, &got), -EPROTO);
    entry->payload_bytes = 0;
    entry->operation = OPERATION_COUNT;
    ASSERT_INT(channel_take_completion(&mine, &got), -EPROTO);
    entry->operation = OPERATION_PROVE;
    entry->blame = BLAME_COUNT;
    ASSERT_INT(channel_take_completion(&mine, &got), -EPROTO);
    entry->blame = BLAME_INPUT;
    ASSERT_INT(channel_take_completion(&mine, &got), 1);
    channel_destroy(&mine);
}

TEST(random_bytes_in_the_completion_side_never_crash_the_supervisor)
{
    struct channel mine = make();
    uint64_t random = test_seed();
    uint8_t *ring = (uint8_t *)&mine.layout->completion;
    uint8_t *entries = (uint8_t *)mine.layout->completion_entries;
    struct message got;

    for (unsigned i = 0; i < 300000; i++) {
        if (test_random(&random) % 3 == 0)
            ring[test_random(&random) % sizeof(struct spsc)] = (uint8_t)test_random(&random);
        entries[test_random(&random) % sizeof mine.layout->completion_entries] =
            (uint8_t)test_random(&random);
        int result = channel_take_completion(&mine, &got);
        ASSERT(result == 0 || result == 1 || result == -EPROTO);
        if (result == 1)
            ASSERT(got.payload_bytes <= MESSAGE_PAYLOAD_BYTES && got.blame < BLAME_COUNT &&
                   got.operation < OPERATION_COUNT);
    }
    channel_destroy(&mine);
}

TEST(another_build_or_another_file_is_refused)
{
    struct channel mine = make(), theirs = {.fd = -5};
    struct channel_header *header = &mine.layout->header;

    header->magic++;
    ASSERT_INT(channel_attach(mine.fd, &theirs), -EPROTO);
    header->magic--;
    header->abi++;
    ASSERT_INT(channel_attach(mine.fd, &theirs), -EPROTO);
    header->abi--;
    header->layout ^= 1;
    ASSERT_INT(channel_attach(mine.fd, &theirs), -EPROTO);
    header->layout ^= 1;
    header->kind = WORKER_KIND_COUNT;
    ASSERT_INT(channel_attach(mine.fd, &theirs), -EPROTO);
    int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_INT(ftruncate(plain, sizeof(struct channel_layout)), 0);
    ASSERT_INT(channel_attach(plain, &theirs), -EPROTO); /* unsealed: it could shrink */
    close(plain);
    ASSERT_INT(channel_attach(open("/dev/null", O_RDWR), &theirs), -EPROTO);
    ASSERT_INT(channel_attach(-1, &theirs), -EBADF);
    ASSERT_INT(theirs.fd, -5);
    channel_destroy(&mine);
}

TEST(the_segment_is_private_and_of_fixed_size)
{
    struct channel mine = make();
    struct stat status;

    ASSERT_INT(fstat(mine.fd, &status), 0);
    ASSERT_INT(status.st_mode & 0777, 0600);
    ASSERT_INT(ftruncate(mine.fd, 4096), -1);
    ASSERT_INT(errno, EPERM);
    ASSERT_INT(ftruncate(mine.fd, 1 << 30), -1);
    ASSERT_INT(fcntl(mine.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    channel_destroy(&mine);
}

TEST(a_monitor_attaches_read_only)
{
    struct channel mine = make(), monitor;
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", mine.fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ASSERT(fd >= 0);
    ASSERT_INT(channel_attach(fd, &monitor), -EACCES);
    ASSERT_INT(channel_attach_read_only(fd, &monitor), 0);
    atomic_store(&mine.layout->progress.steps, 5);
    ASSERT_INT(atomic_load(&monitor.layout->progress.steps), 5);
    channel_destroy(&monitor);
    channel_destroy(&mine);
}

/* --- death at any moment ---------------------------------------------------------------------- */

static void fill(struct message *message, uint64_t number)
{
    uint64_t random = number;
    message->generation = number;
    message->slot = (uint32_t)number;
    message->operation = OPERATION_PROVE;
    message->blame = BLAME_NONE;
    message->payload_bytes = (uint16_t)(number * 37 % (MESSAGE_PAYLOAD_BYTES + 1));
    for (unsigned i = 0; i < 6; i++)
        message->numbers[i] = test_random(&random);
    for (unsigned i = 0; i < message->payload_bytes; i++)
        message->payload[i] = (uint8_t)(number + i);
}

static bool is_whole(const struct message *message)
{
    static struct message wanted;
    fill(&wanted, message->generation);
    return message->slot == wanted.slot && message->payload_bytes == wanted.payload_bytes &&
           memcmp(message->numbers, wanted.numbers, sizeof wanted.numbers) == 0 &&
           memcmp(message->payload, wanted.payload, wanted.payload_bytes) == 0;
}

static _Noreturn void worker_push_for_ever(int fd)
{
    struct channel channel;
    struct message message = {0};

    if (channel_attach(fd, &channel) < 0)
        _exit(1);
    for (uint64_t number = 1;; number++) {
        fill(&message, number);
        while (channel_complete(&channel, &message) == -EAGAIN)
            sched_yield();
    }
}

TEST(a_worker_killed_at_any_moment_leaves_only_whole_entries)
{
    enum { ROUNDS = 150 };
    uint64_t random = test_seed(), total = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct channel mine = make();
        struct message got;
        uint64_t next = 1;
        pid_t pid = fork();
        if (pid == 0)
            worker_push_for_ever(mine.fd);
        uint64_t wanted = test_random(&random) % 5000;
        unsigned idle = 0;
        bool is_alive = true;
        while (is_alive || idle == 0) {
            int result = channel_take_completion(&mine, &got);
            ASSERT(result >= 0);
            if (result == 1) {
                idle = 0;
                ASSERT_INT(got.generation, next);
                ASSERT(is_whole(&got));
                next++;
            } else {
                idle++;
                sched_yield();
            }
            if (is_alive && next > wanted) {
                kill(pid, SIGKILL);
                ASSERT_INT(waitpid(pid, NULL, 0), pid);
                is_alive = false; /* what its ring still holds is taken */
                idle = 0;
            }
        }
        total += next - 1;
        channel_destroy(&mine);
    }
    printf("  %llu messages of %d killed workers\n", (unsigned long long)total, ROUNDS);
}

static _Noreturn void supervisor_grant_for_ever(struct channel *channel)
{
    struct message message = {0};

    for (uint64_t number = 1;; number++) {
        fill(&message, number);
        while (channel_grant(channel, &message) == -EAGAIN)
            sched_yield();
    }
}

TEST(a_supervisor_killed_at_any_moment_leaves_only_whole_grants)
{
    uint64_t random = test_seed();

    for (unsigned round = 0; round < 50; round++) {
        struct channel mine = make(), theirs;
        struct message got;
        uint64_t next = 1, wanted = test_random(&random) % 5000;
        ASSERT_INT(channel_attach(dup(mine.fd), &theirs), 0);
        pid_t pid = fork();
        if (pid == 0)
            supervisor_grant_for_ever(&mine);
        while (next <= wanted) {
            int result = channel_take_grant(&theirs, &got);
            ASSERT(result >= 0);
            if (result == 1) {
                ASSERT(got.generation == next && is_whole(&got));
                next++;
            } else {
                sched_yield();
            }
        }
        kill(pid, SIGKILL);
        ASSERT_INT(waitpid(pid, NULL, 0), pid);
        for (int result; (result = channel_take_grant(&theirs, &got)) != 0; next++)
            ASSERT(result == 1 && got.generation == next && is_whole(&got));
        channel_destroy(&theirs);
        channel_destroy(&mine);
    }
}

/* A consumer that dies between copying and giving back leaves the entry to be given again: the
 * producer only ever sees room it really has. */
TEST(a_reader_killed_at_any_moment_leaves_a_usable_ring)
{
    uint64_t random = test_seed();

    for (unsigned round = 0; round < 50; round++) {
        struct channel mine = make();
        struct message message = {0}, got;
        pid_t pid = fork();
        if (pid == 0) {
            for (;;) {
                if (channel_take_grant(&mine, &message) == 0)
                    sched_yield();
            }
        }
        uint64_t next = 1, wanted = test_random(&random) % 3000;
        while (next <= wanted) {
            fill(&message, next);
            int result = channel_grant(&mine, &message);
            ASSERT(result == 0 || result == -EAGAIN);
            next += result == 0;
            if (result < 0)
                sched_yield();
        }
        kill(pid, SIGKILL);
        ASSERT_INT(waitpid(pid, NULL, 0), pid);
        uint64_t first = 0;
        for (int result; (result = channel_take_grant(&mine, &got)) != 0;) {
            ASSERT_INT(result, 1);
            ASSERT(is_whole(&got));
            ASSERT(first == 0 || got.generation == first + 1);
            first = got.generation;
        }
        ASSERT(first == 0 || first == next - 1); /* nothing of what was pushed last is lost */
        channel_destroy(&mine);
    }
}

TEST(names_exist_for_everything)
{
    ASSERT_STR(phase_to_string(PHASE_MSM_B2), "msm_b2");
    ASSERT_STR(phase_to_string(PHASE_COUNT), "none");
    for (unsigned phase = 0; phase <= PHASE_WAIT; phase++)
        ASSERT(strcmp(phase_to_string((enum phase)phase), "none") != 0);
    for (unsigned operation = 0; operation <= OPERATION_STOP; operation++)
        ASSERT(strcmp(operation_to_string((enum operation)operation), "?") != 0);
    ASSERT_STR(operation_to_string((enum operation)50), "?");
    ASSERT_STR(operation_to_string(OPERATION_UPLOADED), "uploaded");
    ASSERT_STR(blame_to_string(BLAME_CHECK), "check");
    ASSERT_STR(worker_kind_to_string(WORKER_FINALIZER), "finalizer");
    ASSERT_STR(worker_kind_to_string((enum worker_kind)9), "?");
}

TEST_MAIN(CASE(a_worker_attaches_what_the_supervisor_made),
          CASE(messages_pass_both_ways_with_only_the_payload_that_counts),
          CASE(every_answer_of_the_grants_held_fits), CASE(a_message_that_is_none_is_refused),
          CASE(random_bytes_in_the_completion_side_never_crash_the_supervisor),
          CASE(another_build_or_another_file_is_refused),
          CASE(the_segment_is_private_and_of_fixed_size), CASE(a_monitor_attaches_read_only),
          CASE(a_worker_killed_at_any_moment_leaves_only_whole_entries),
          CASE(a_supervisor_killed_at_any_moment_leaves_only_whole_grants),
          CASE(a_reader_killed_at_any_moment_leaves_a_usable_ring),
          CASE(names_exist_for_everything))
