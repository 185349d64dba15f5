/* What shm/intake_packet.h promises, case by case. */
#include "shm/intake_packet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static const struct intake_packet asked = {.abi = INTAKE_PACKET_ABI,
                                           .kind = INTAKE_COPY,
                                           .ticket = 9,
                                           .job = 77,
                                           .partition = 3,
                                           .bytes = 1000};

TEST(a_packet_and_its_descriptor_arrive)
{
    struct intake_packet got;
    struct stat a, b;
    int ends[2], fd, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_INT(intake_socket_create(ends), 0);
    ASSERT_INT(intake_packet_send(ends[0], &asked, null), 0);
    ASSERT_INT(intake_packet_receive(ends[1], &got, &fd), 1);
    ASSERT_INT(memcmp(&got, &asked, sizeof got), 0);
    ASSERT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    ASSERT(fstat(fd, &a) == 0 && fstat(null, &b) == 0);
    ASSERT(a.st_rdev == b.st_rdev);
    close(fd);
    ASSERT_INT(intake_packet_receive(ends[0], &got, &fd), 0);
    ASSERT_INT(intake_packet_send(ends[1], &asked, -1), 0);
    ASSERT_INT(intake_packet_receive(ends[0], &got, &fd), 1);
    ASSERT_INT(fd, -1);
    close(ends[1]);
    ASSERT_INT(intake_packet_receive(ends[0], &got, &fd), -EPIPE);
    ASSERT_INT(intake_packet_send(ends[0], &asked, -1), -EPIPE);
    close(ends[0]);
    close(null);
}

TEST(what_is_no_packet_is_refused)
{
    char large[sizeof asked + 1] = {0};
    struct intake_packet got;
    int ends[2], fd;
    ASSERT_INT(intake_socket_create(ends), 0);
    for (size_t bytes = 1; bytes <= sizeof large; bytes += sizeof large - 2) {
        if (bytes == sizeof asked)
            continue;
        ASSERT_INT(send(ends[1], large, bytes, 0), bytes);
        ASSERT_INT(intake_packet_receive(ends[0], &got, &fd), -EPROTO);
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(a_full_socket_says_again)
{
    int ends[2], r = 0, sent = 0;
    struct intake_packet got;
    ASSERT_INT(intake_socket_create(ends), 0);
    while ((r = intake_packet_send(ends[0], &asked, -1)) == 0)
        ASSERT(++sent < 1000000);
    ASSERT_INT(r, -EAGAIN);
    for (int fd; sent > 0; sent--)
        ASSERT_INT(intake_packet_receive(ends[1], &got, &fd), 1);
    close(ends[0]);
    close(ends[1]);
}

static int check(uint32_t kind, uint64_t bytes, void (*spoil)(struct intake_packet *))
{
    struct intake_packet progress = asked, answer = asked;
    progress.bytes = 400;
    answer.kind = kind;
    answer.bytes = bytes;
    if (kind == INTAKE_FAILED)
        answer.fault = INTAKE_FAULT_SHORTER;
    if (spoil)
        spoil(&answer);
    return intake_answer_check(&asked, &progress, &answer);
}

static void spoil_abi(struct intake_packet *answer)
{
    answer->abi++;
}
static void spoil_ticket(struct intake_packet *answer)
{
    answer->ticket--;
}
static void spoil_job(struct intake_packet *answer)
{
    answer->job++;
}
static void spoil_partition(struct intake_packet *answer)
{
    answer->partition++;
}
static void spoil_phase(struct intake_packet *answer)
{
    answer->phase = INTAKE_PHASE_COUNT;
}
static void spoil_fault(struct intake_packet *answer)
{
    answer->fault = INTAKE_FAULT_COUNT;
}
static void spoil_no_fault(struct intake_packet *answer)
{
    answer->fault = INTAKE_FAULT_NONE;
}
static void spoil_error(struct intake_packet *answer)
{
    answer->error = 4096;
}

TEST(only_answers_to_what_was_asked_are_taken)
{
    ASSERT_INT(check(INTAKE_PROGRESS, 400, NULL), 0);
    ASSERT_INT(check(INTAKE_PROGRESS, 1000, NULL), 0);
    ASSERT_INT(check(INTAKE_PROGRESS, 399, NULL), -EPROTO);
    ASSERT_INT(check(INTAKE_PROGRESS, 1001, NULL), -EPROTO);
    ASSERT_INT(check(INTAKE_PROGRESS, 400, spoil_phase), -EPROTO);
    ASSERT_INT(check(INTAKE_COPIED, 1000, NULL), 0);
    ASSERT_INT(check(INTAKE_COPIED, 999, NULL), -EPROTO);
    ASSERT_INT(check(INTAKE_COPIED, 1001, NULL), -EPROTO);
    ASSERT_INT(check(INTAKE_FAILED, 0, NULL), 0);
    ASSERT_INT(check(INTAKE_FAILED, 0, spoil_fault), -EPROTO);
    ASSERT_INT(check(INTAKE_FAILED, 0, spoil_no_fault), -EPROTO);
    ASSERT_INT(check(INTAKE_FAILED, 0, spoil_error), -EPROTO);
    ASSERT_INT(check(INTAKE_READY, 1000, NULL), -EPROTO);
    ASSERT_INT(check(INTAKE_COPY, 1000, NULL), -EPROTO);
    ASSERT_INT(check(6, 1000, NULL), -EPROTO);
    ASSERT_INT(check(INTAKE_COPIED, 1000, spoil_abi), -EPROTO);
    ASSERT_INT(check(INTAKE_COPIED, 1000, spoil_ticket), -EPROTO);
    ASSERT_INT(check(INTAKE_COPIED, 1000, spoil_job), -EPROTO);
    ASSERT_INT(check(INTAKE_COPIED, 1000, spoil_partition), -EPROTO);
}

TEST(names_of_spool_files_are_read_back_and_no_others)
{
    static const char *const strange[] = {
        "",        "-",           "1",     "1-",
        "-1",      "1-2-3",       "01-2",  "1-02",
        "1-+2",    " 1-2",        "1-2 ",  "1-128",
        "1-2.par", "1-2.part~",   "x-1",   "18446744073709551616-1",
        "1_2",     "1-2/",        "1-2.x", "1.part",
        "0x1-2",   "1-4294967296"};
    static const uint64_t jobs[] = {0, 1, 9, 10, UINT64_MAX};
    char name[INTAKE_NAME_BYTES];
    uint64_t job;
    uint32_t partition;
    bool is_part;
    for (unsigned i = 0; i < sizeof strange / sizeof strange[0]; i++)
        ASSERT_INT(intake_name_parse(strange[i], &job, &partition, &is_part), -EINVAL);
    for (unsigned i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            intake_name(jobs[i], k / 2 * 127, k % 2, name);
            ASSERT_INT(intake_name_parse(name, &job, &partition, &is_part), 0);
            ASSERT(job == jobs[i] && partition == k / 2 * 127 && is_part == k % 2);
        }
    }
}

int main(void)
{
    static const struct test_case cases[] = {
        CASE(a_packet_and_its_descriptor_arrive),
        CASE(what_is_no_packet_is_refused),
        CASE(a_full_socket_says_again),
        CASE(only_answers_to_what_was_asked_are_taken),
        CASE(names_of_spool_files_are_read_back_and_no_others),
    };
    return test_main(cases, sizeof cases / sizeof cases[0]);
}
