/* Which figures make a worker due for replacement. */
#include "supervisor/recycle.h"

#include <string.h>

#include "tests/test.h"

#define MIB (UINT64_C(1) << 20)

static char why[160];

static bool is_due(uint32_t after, uint32_t percent, uint64_t partitions, uint64_t used,
                   uint64_t free)
{
    const struct config_recycle limits = {after, percent};
    return recycle_is_due(&limits, partitions, used, free, why, sizeof why);
}

TEST(without_limits_nobody_is_due)
{
    ASSERT(!is_due(0, 0, UINT64_MAX, 0, UINT64_MAX));
}

TEST(partitions_of_this_process_count)
{
    ASSERT(!is_due(10, 0, 9, 0, 0));
    ASSERT(is_due(10, 0, 10, 0, 0));
    ASSERT(strstr(why, "10 partitions (RecycleAfter=10)"));
    ASSERT(is_due(10, 0, 1000, 0, 0));
}

TEST(a_heap_that_is_mostly_free_counts_when_it_is_large)
{
    ASSERT(!is_due(0, 50, 0, 100 * MIB, 99 * MIB));
    ASSERT(is_due(0, 50, 0, 100 * MIB, 100 * MIB));
    ASSERT(strstr(why, "100 of 200 MiB"));
    ASSERT(!is_due(0, 50, 0, 0, 63 * MIB)); /* not worth it */
    ASSERT(is_due(0, 99, 0, 0, 64 * MIB));
}

TEST(impossible_figures_do_no_harm)
{
    ASSERT(is_due(0, 99, 0, 0, UINT64_MAX));
    ASSERT(!is_due(0, 99, 0, UINT64_MAX, UINT64_MAX));
}

TEST_MAIN(CASE(without_limits_nobody_is_due), CASE(partitions_of_this_process_count),
          CASE(a_heap_that_is_mostly_free_counts_when_it_is_large),
          CASE(impossible_figures_do_no_harm))
