/* Busy shares. */
#include "supervisor/busy.h"

#include "tests/test.h"

#define SECOND UINT64_C(1000000000)

TEST(an_open_interval_counts)
{
    ASSERT_INT(busy_sum(5, 0, 100), 5);
    ASSERT_INT(busy_sum(5, 90, 100), 15);
    ASSERT_INT(busy_sum(5, 200, 100), 5); /* a worker's clock word that cannot be */
}

TEST(recent_share_forgets_what_is_older_than_ten_seconds)
{
    struct busy busy;
    busy_start(&busy, 0);
    uint64_t sum = 0;
    for (uint64_t s = 1; s <= 60; s++) {
        if (s <= 30)
            sum += SECOND; /* busy for half a minute, then idle */
        busy_sample(&busy, s * SECOND, sum);
    }
    ASSERT(busy_share_life(&busy, 60 * SECOND, sum) > 0.49);
    ASSERT(busy_share_life(&busy, 60 * SECOND, sum) < 0.51);
    ASSERT(busy_share_recent(&busy, 60 * SECOND, sum) == 0.0);
}

TEST(shares_stay_between_0_and_1_whatever_the_worker_writes)
{
    struct busy busy;
    busy_start(&busy, SECOND);
    busy_sample(&busy, 2 * SECOND, 100 * SECOND);
    busy_sample(&busy, 3 * SECOND, 0);
    ASSERT(busy_share_recent(&busy, 4 * SECOND, UINT64_MAX) <= 1.0);
    ASSERT(busy_share_recent(&busy, 4 * SECOND, 0) == 0.0);
    ASSERT(busy_share_life(&busy, SECOND, 5) == 0.0);
}

TEST_MAIN(CASE(an_open_interval_counts), CASE(recent_share_forgets_what_is_older_than_ten_seconds),
          CASE(shares_stay_between_0_and_1_whatever_the_worker_writes))
