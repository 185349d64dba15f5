/* What runtime/log.h promises, case by case. */
#include "runtime/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "tests/test.h"

/* stderr is replaced by one end of a pipe or socket for the length of a case. */
static int saved = -1, reader = -1;

static void stderr_take(int write_end, int read_end)
{
    saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    dup2(write_end, STDERR_FILENO);
    close(write_end);
    reader = read_end;
}

static void stderr_give_back(void)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
    if (reader >= 0)
        close(reader);
    unsetenv("JOURNAL_STREAM");
    log_init("test", LOG_LEVEL_INFO);
}

static void take_pipe(void)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        abort();
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    stderr_take(fds[1], fds[0]);
}

static char text[1 << 17];

static const char *read_back(void)
{
    ssize_t got = read(reader, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

TEST(writes_utc_time_level_name_and_message)
{
    int year, month, day, hour, minute, second, ms;
    char rest[128] = "";

    take_pipe();
    log_init("synth-0", LOG_LEVEL_INFO);
    log_warn("job %d waits", 7);
    read_back();
    stderr_give_back();
    ASSERT_INT(sscanf(text, "%d-%d-%dT%d:%d:%d.%dZ %127[^\n]", &year, &month, &day, &hour, &minute,
                      &second, &ms, rest),
               8);
    ASSERT(year >= 2024 && month <= 12 && ms <= 999);
    ASSERT_STR(rest, "warn synth-0: job 7 waits");
    ASSERT_INT(text[strlen(text) - 1], '\n');
}

TEST(writes_a_priority_where_stderr_is_the_journal_stream)
{
    struct stat status;
    char stream[64];

    take_pipe();
    fstat(STDERR_FILENO, &status);
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_init("cuzkd", LOG_LEVEL_DEBUG);
    log_open_journal(NULL); /* this machine's, if it has one */
    log_error("e");
    log_warn("w");
    log_info("i");
    log_debug("d");
    read_back();
    stderr_give_back();
    ASSERT_STR(text, "<3>cuzkd: e\n<4>cuzkd: w\n<6>cuzkd: i\n<7>cuzkd: d\n");
}

TEST(the_journal_gets_records_with_fields)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char record[4096];
    int journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/test_log_%d", (int)getpid());
    unlink(address.sun_path);
    ASSERT_INT(bind(journal, (struct sockaddr *)&address, sizeof address), 0);
    take_pipe();
    log_init("synth-0", LOG_LEVEL_INFO);
    ASSERT_INT(log_open_journal(address.sun_path), 0);

#define NEXT() (record[recv(journal, record, sizeof record - 1, 0)] = '\0', record)
    log_warn("job 1001 partition 3 was READY\nJOB=7");
    ASSERT_STR(NEXT(), "PRIORITY=4\nSYSLOG_IDENTIFIER=cuzkd\nWORKER=synth-0\nJOB=1001\n"
                       "PARTITION=3\nMESSAGE=synth-0: job 1001 partition 3 was READY\\x0aJOB=7\n");
    log_info("SYN_TIMING done job=12 partition=0 ms=1");
    ASSERT_STR(NEXT(), "PRIORITY=6\nSYSLOG_IDENTIFIER=cuzkd\nWORKER=synth-0\nJOB=12\nPARTITION=0\n"
                       "MESSAGE=synth-0: SYN_TIMING done job=12 partition=0 ms=1\n");
    log_init("cuzkd", LOG_LEVEL_INFO);
    ASSERT_INT(log_open_journal(address.sun_path), 0);
    log_info("4 jobs; the last job");
    ASSERT_STR(NEXT(),
               "PRIORITY=6\nSYSLOG_IDENTIFIER=cuzkd\nMESSAGE=cuzkd: 4 jobs; the last job\n");
#undef NEXT

    /* journald is gone: stderr takes the lines again. */
    close(journal);
    unlink(address.sun_path);
    log_info("later");
    ASSERT(strstr(read_back(), "cuzkd: later\n"));
    stderr_give_back();
}

TEST(a_journal_stream_of_another_file_is_not_believed)
{
    take_pipe();
    setenv("JOURNAL_STREAM", "1:2", 1);
    log_init("cuzkd", LOG_LEVEL_INFO);
    log_info("x");
    read_back();
    stderr_give_back();
    ASSERT(text[0] == '2');
}

TEST(leaves_out_what_is_below_the_level)
{
    take_pipe();
    log_init("x", LOG_LEVEL_WARN);
    log_info("hidden");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("shown");
    read_back();
    stderr_give_back();
    ASSERT(!strstr(text, "hidden"));
    ASSERT(strstr(text, "debug x: shown\n"));
}

TEST(a_message_cannot_forge_a_line_or_drive_a_terminal)
{
    take_pipe();
    log_init("x", LOG_LEVEL_INFO);
    log_info("name=%s",
             "a\n<3>cuzkd: forged\x1b[2J\x7f\xc2\x9b\xff \xe2\x82\xac \xc3\xa4 \xed\xa0\x80");
    read_back();
    stderr_give_back();
    ASSERT(strstr(text, "name=a\\x0a<3>cuzkd: forged\\x1b[2J\\x7f\\xc2\\x9b\\xff \xe2\x82\xac "
                        "\xc3\xa4 \\xed\\xa0\\x80\n"));
    ASSERT(strchr(text, '\n') == text + strlen(text) - 1);
}

TEST(cuts_a_long_message_and_keeps_the_newline)
{
    static char lengthy[10000];

    memset(lengthy, 'y', sizeof lengthy - 1);
    take_pipe();
    log_init("x", LOG_LEVEL_INFO);
    log_info("%s", lengthy);
    memset(lengthy, 1, sizeof lengthy - 1);
    log_info("%s", lengthy);
    read_back();
    stderr_give_back();
    char *end = strchr(text, '\n');
    ASSERT(end && end - text < 4096 && end - text > 1000);
    ASSERT(strchr(end + 1, '\n') == text + strlen(text) - 1);
}

static void flood_and_count(unsigned lines)
{
    uint64_t begin_ns = clock_now_ns();
    for (unsigned i = 0; i < lines; i++)
        log_info("line %u of a flood that nobody reads", i);
    /* Generous: the point is that it ends at all. */
    ASSERT(clock_now_ns() - begin_ns < 20000000000u);
}

TEST(never_blocks_on_a_full_pipe_and_reports_what_it_dropped)
{
    unsigned long long dropped = 0;
    unsigned lines = 0;

    take_pipe();
    log_init("x", LOG_LEVEL_INFO);
    flood_and_count(5000);
    for (ssize_t got; (got = read(reader, text, sizeof text)) > 0;) {
        for (ssize_t i = 0; i < got; i++)
            lines += text[i] == '\n';
    }
    log_info("back again");
    read_back();
    stderr_give_back();
    const char *report = strstr(text, "warn x: ");
    ASSERT(report && sscanf(report, "warn x: %llu log lines dropped", &dropped) == 1);
    ASSERT_INT(dropped + lines, 5000);
    ASSERT(strstr(text, "back again\n") > report);
}

TEST(never_blocks_on_a_full_socket)
{
    int pair[2];

    ASSERT_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    stderr_take(pair[0], pair[1]);
    log_init("x", LOG_LEVEL_INFO);
    flood_and_count(20000);
    stderr_give_back();
}

TEST(leaves_the_mode_of_a_shared_stderr_alone)
{
    take_pipe();
    log_init("x", LOG_LEVEL_INFO);
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    stderr_give_back();
    ASSERT_INT(flags & O_NONBLOCK, 0);
}

TEST(survives_a_reader_that_is_gone)
{
    take_pipe();
    log_init("x", LOG_LEVEL_INFO);
    close(reader);
    reader = -1;
    log_info("nobody");
    log_info("nobody");
    stderr_give_back();
}

TEST(keeps_errno)
{
    take_pipe();
    log_init("x", LOG_LEVEL_INFO);
    errno = ENOTTY;
    log_info("x");
    int after = errno;
    stderr_give_back();
    ASSERT_INT(after, ENOTTY);
}

TEST(levels_have_names_both_ways)
{
    enum log_level level;

    ASSERT_INT(log_level_from_string("debug", &level), 0);
    ASSERT_INT(level, LOG_LEVEL_DEBUG);
    ASSERT_INT(log_level_from_string("loud", &level), -EINVAL);
    ASSERT_STR(log_level_to_string(LOG_LEVEL_ERROR), "error");
}

TEST_MAIN(CASE(writes_utc_time_level_name_and_message),
          CASE(writes_a_priority_where_stderr_is_the_journal_stream),
          CASE(the_journal_gets_records_with_fields),
          CASE(a_journal_stream_of_another_file_is_not_believed),
          CASE(leaves_out_what_is_below_the_level),
          CASE(a_message_cannot_forge_a_line_or_drive_a_terminal),
          CASE(cuts_a_long_message_and_keeps_the_newline),
          CASE(never_blocks_on_a_full_pipe_and_reports_what_it_dropped),
          CASE(never_blocks_on_a_full_socket), CASE(leaves_the_mode_of_a_shared_stderr_alone),
          CASE(survives_a_reader_that_is_gone), CASE(keeps_errno),
          CASE(levels_have_names_both_ways))
