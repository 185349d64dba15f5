/* The age of results: by the host's clock, except for its jumps. */
#include "supervisor/retention.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

#define AGE_MS  INT64_C(86400000)
#define HOUR_MS INT64_C(3600000)
#define YEAR_MS (365 * 24 * HOUR_MS)

static struct retention retention;
static int64_t host_ms, elapsed_ms;

static void set_up(void)
{
    retention = (struct retention){0};
    host_ms = 50 * YEAR_MS;
    elapsed_ms = 1000;
    ASSERT_INT(retention_look(&retention, host_ms, elapsed_ms, AGE_MS), 0);
}

/* Time that passes, looked at every minute. */
static void pass(int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 60000) {
        host_ms += 60000;
        elapsed_ms += 60000;
        ASSERT_INT(retention_look(&retention, host_ms, elapsed_ms, AGE_MS), 0);
    }
}

static int64_t jump(int64_t ms)
{
    host_ms += ms;
    return retention_look(&retention, host_ms, elapsed_ms, AGE_MS);
}

static bool is_kept(int64_t finished_ms)
{
    return finished_ms >= retention_cutoff_ms(&retention, AGE_MS);
}

TEST(without_jumps_results_age_by_the_clock)
{
    set_up();
    int64_t finished_ms = host_ms;
    pass(24 * HOUR_MS);
    ASSERT(is_kept(finished_ms));
    pass(60000);
    ASSERT(!is_kept(finished_ms));
}

TEST(a_jump_ahead_ends_nothing_early_and_keeps_nothing_late)
{
    static const int64_t jumps_ms[] = {2000, HOUR_MS, AGE_MS, 50 * YEAR_MS};
    for (size_t i = 0; i < sizeof jumps_ms / sizeof jumps_ms[0]; i++) {
        set_up();
        int64_t old_ms = host_ms;
        pass(10 * HOUR_MS);
        int64_t before_ms = host_ms;
        ASSERT_INT(jump(jumps_ms[i]), jumps_ms[i]);
        int64_t after_ms = host_ms;
        ASSERT(is_kept(old_ms) && is_kept(before_ms) && is_kept(after_ms));
        pass(14 * HOUR_MS);
        ASSERT(is_kept(old_ms));
        pass(60000);
        ASSERT(!is_kept(old_ms));
        ASSERT(is_kept(before_ms));
        pass(10 * HOUR_MS - 60000);
        ASSERT(is_kept(before_ms) && is_kept(after_ms));
        pass(60000);
        ASSERT(!is_kept(before_ms) && !is_kept(after_ms));
    }
}

TEST(a_clock_that_was_set_ahead_and_back_is_as_before)
{
    set_up();
    int64_t finished_ms = host_ms;
    jump(YEAR_MS);
    pass(HOUR_MS);
    ASSERT_INT(jump(-YEAR_MS), -YEAR_MS);
    ASSERT(is_kept(finished_ms));
    pass(23 * HOUR_MS);
    ASSERT(is_kept(finished_ms));
    pass(60000);
    ASSERT(!is_kept(finished_ms));
}

TEST(a_jump_back_ends_nothing_and_hides_no_later_jump)
{
    set_up();
    int64_t finished_ms = host_ms;
    jump(-YEAR_MS);
    ASSERT(is_kept(finished_ms));
    jump(YEAR_MS);
    ASSERT(is_kept(finished_ms));
}

TEST(jumps_in_a_row_end_nothing_early)
{
    set_up();
    int64_t first_ms = host_ms;
    jump(2 * AGE_MS);
    pass(12 * HOUR_MS);
    int64_t second_ms = host_ms;
    jump(2 * AGE_MS);
    pass(12 * HOUR_MS);
    ASSERT(is_kept(first_ms) && is_kept(second_ms));
    pass(12 * HOUR_MS);
    ASSERT(is_kept(second_ms));
    pass(60000);
    ASSERT(!is_kept(first_ms) && !is_kept(second_ms));
}

TEST(a_clock_that_is_slewed_does_not_jump)
{
    set_up();
    for (int i = 0; i < 10000; i++) {
        host_ms += 1001;
        elapsed_ms += 1000;
        ASSERT_INT(retention_look(&retention, host_ms, elapsed_ms, AGE_MS), 0);
    }
    ASSERT_INT(retention_cutoff_ms(&retention, AGE_MS), host_ms - AGE_MS);
}

/* The daemon ends after its last look; later the next one begins. */
static void restart(int64_t host_passed_ms, int64_t elapsed_passed_ms, const char *boot_id)
{
    char text[RETENTION_TEXT_BYTES];
    retention_format(&retention, "this-boot", text);
    retention = (struct retention){0};
    host_ms += host_passed_ms;
    elapsed_ms += elapsed_passed_ms;
    ASSERT_INT(retention_parse(text, boot_id, elapsed_ms, &retention), 0);
    retention_look(&retention, host_ms, elapsed_ms, AGE_MS);
}

TEST(a_restart_while_results_are_kept_for_a_jump_ends_none)
{
    set_up();
    int64_t finished_ms = host_ms;
    jump(YEAR_MS);
    restart(HOUR_MS, HOUR_MS, "this-boot");
    ASSERT(is_kept(finished_ms));
    pass(23 * HOUR_MS);
    ASSERT(is_kept(finished_ms));
    pass(60000);
    ASSERT(!is_kept(finished_ms));
}

TEST(a_jump_between_end_and_start_ends_nothing_early)
{
    set_up();
    int64_t finished_ms = host_ms;
    restart(YEAR_MS + HOUR_MS, HOUR_MS, "this-boot");
    ASSERT(is_kept(finished_ms));
    pass(22 * HOUR_MS);
    ASSERT(is_kept(finished_ms));
}

TEST(over_a_reboot_the_hosts_clock_says_what_has_passed)
{
    set_up();
    int64_t finished_ms = host_ms;
    restart(23 * HOUR_MS, -500, "another-boot");
    ASSERT(is_kept(finished_ms));
    pass(2 * HOUR_MS);
    ASSERT(!is_kept(finished_ms));
    finished_ms = host_ms;
    jump(YEAR_MS); /* and what was kept for a jump still is */
    restart(HOUR_MS, 100, "another-boot");
    ASSERT(is_kept(finished_ms));
}

TEST(what_is_no_such_text_is_refused)
{
    static const char *const bad[] = {
        "",
        "1",
        "1 2 3 4",
        "x 2 3 4 b",
        "-1 2 3 0 b",
        "1 2 -3 0 b",
        "1 2 3 9 b",
        "9999999999999999999 2 3 0 b",
        "1 2 9223372036854775807 0 b",
    };
    struct retention there = {.ahead_ms = 7};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ASSERT_INT(retention_parse(bad[i], "b", 100, &there), -EBADMSG);
        ASSERT_INT(there.ahead_ms, 7);
    }
}

TEST_MAIN(CASE(a_restart_while_results_are_kept_for_a_jump_ends_none),
          CASE(a_jump_between_end_and_start_ends_nothing_early),
          CASE(over_a_reboot_the_hosts_clock_says_what_has_passed),
          CASE(what_is_no_such_text_is_refused), CASE(without_jumps_results_age_by_the_clock),
          CASE(a_jump_ahead_ends_nothing_early_and_keeps_nothing_late),
          CASE(a_clock_that_was_set_ahead_and_back_is_as_before),
          CASE(a_jump_back_ends_nothing_and_hides_no_later_jump),
          CASE(jumps_in_a_row_end_nothing_early), CASE(a_clock_that_is_slewed_does_not_jump))
