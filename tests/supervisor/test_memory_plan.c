/* What memory_plan.h promises: sums, and what is short of what. */
#include "supervisor/memory_plan.h"

#include <string.h>

#include "config/parse.h"
#include "tests/test.h"

#define MIB UINT64_C(1048576)
#define GIB (1024 * MIB)

static char text[512];

static struct memory_plan_host host(void)
{
    return (struct memory_plan_host){
        .has_hugepages = true,
        .pool = {.total = 1000, .free = 1000, .cgroup_limit_bytes = UINT64_MAX},
        .available_bytes = 8 * GIB,
        .total_bytes = 16 * GIB,
        .limit_bytes = UINT64_MAX,
        .memlock_bytes = UINT64_MAX,
    };
}

static struct memory_plan plan(enum config_huge_pages policy)
{
    return (struct memory_plan){
        .policy = policy,
        .page_bytes = policy == CONFIG_HUGE_PAGES_OFF ? 0 : 2 * MIB,
        .slab_count = 8,
        .slab_bytes = GIB,
        .key_bytes = 512 * MIB,
        .synth_bytes = 100 * MIB,
        .gpu_bytes = 200 * MIB,
        .finalizer_bytes = 24 * MIB,
        .supervisor_bytes = 700 * MIB,
    };
}

static enum memory_plan_verdict judge(const struct memory_plan *of,
                                      const struct memory_plan_host *on)
{
    return memory_plan_judge(of, on, text, sizeof text);
}

TEST(the_sums_are_those_of_the_configuration)
{
    static const char file[] = "[Supervisor]\nCacheDirectory=/nonexistent\n"
                               "[Ring]\nSlabs=3\nSlabSize=256M\n[Ring \"b\"]\nSlabs=2\nSlabSize=1G\n"
                               "[Synthesis]\nWorkers=2\nThreads=4\n[GPU]\nBackend=cpu\nThreads=6\n"
                               "[Finalizer]\nWorkers=3\n";
    struct config config;
    struct config_fault fault;
    struct memory_plan made;
    ASSERT_INT(parse_defaults(&config), 0);
    ASSERT_INT(parse_text(&config, "f", file, sizeof file - 1, &fault), 0);
    ASSERT_INT(parse_finish(&config, &fault), 0);
    memory_plan_make(&config, &made);
    ASSERT_INT(made.slab_count, 5);
    ASSERT_INT(made.slab_bytes, 768 * MIB + 2 * GIB);
    ASSERT_INT(made.key_bytes, 0);
    ASSERT_INT(made.synth_bytes, 2 * (32 + 4) * MIB);
    ASSERT_INT(made.gpu_bytes, GIB + (64 + 6) * MIB); /* copies as large as the largest slab */
    ASSERT_INT(made.finalizer_bytes, 48 * MIB);
    ASSERT_INT(memory_plan_huge_bytes(&made), made.slab_bytes);
    ASSERT_INT(memory_plan_total_bytes(&made),
               memory_plan_huge_bytes(&made) + memory_plan_ordinary_bytes(&made));
    config_destroy(&config);
}

TEST(what_fits_is_said_to_fit)
{
    struct memory_plan of = plan(CONFIG_HUGE_PAGES_REQUIRE);
    struct memory_plan_host on = host();
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_FITS);
    ASSERT_STR(text, "");
}

TEST(hugepages_that_are_short_are_counted)
{
    struct memory_plan of = plan(CONFIG_HUGE_PAGES_REQUIRE);
    struct memory_plan_host on = host();
    on.pool.free = 767; /* 768 are wanted: slabs and keys */
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_HUGEPAGES);
    ASSERT(strstr(text, "768 of 2M are wanted") && strstr(text, "by 1, or"));
    on.pool.overcommit = 1;
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_FITS);
    on.pool.overcommit = 0;
    on.is_running = true; /* the daemon that runs has them */
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_FITS);
    on.has_hugepages = false;
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_HUGEPAGES);
}

TEST(a_cgroup_that_gives_fewer_is_named)
{
    struct memory_plan of = plan(CONFIG_HUGE_PAGES_REQUIRE);
    struct memory_plan_host on = host();
    on.pool.cgroup_limit_bytes = GIB;
    strcpy(on.pool.cgroup_limit_path, "/sys/fs/cgroup/x/hugetlb.2MB.max");
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_CGROUP);
    ASSERT(strstr(text, "1G of hugepages only: raise /sys/fs/cgroup/x/hugetlb.2MB.max"));
}

TEST(ordinary_memory_counts_what_does_not_lie_on_hugepages)
{
    struct memory_plan of = plan(CONFIG_HUGE_PAGES_REQUIRE);
    struct memory_plan_host on = host();
    on.available_bytes = 1023 * MIB; /* 1024 are heaps and records */
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_MEMORY);
    on.available_bytes = 1024 * MIB;
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_FITS);
    of = plan(CONFIG_HUGE_PAGES_OFF);
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_MEMORY);
    on.available_bytes = 2560 * MIB;
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_FITS);
    of = plan(CONFIG_HUGE_PAGES_PREFER); /* what the pool lacks */
    on.pool.free = 256;
    on.available_bytes = 2047 * MIB;
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_MEMORY);
    on.available_bytes = 2048 * MIB;
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_FITS);
}

TEST(a_memory_limit_of_the_cgroup_is_named)
{
    struct memory_plan of = plan(CONFIG_HUGE_PAGES_REQUIRE);
    struct memory_plan_host on = host();
    on.limit_bytes = 512 * MIB;
    strcpy(on.limit_path, "/sys/fs/cgroup/x/memory.max");
    ASSERT_INT(judge(&of, &on), MEMORY_PLAN_SHORT_MEMORY);
    ASSERT(strstr(text, "/sys/fs/cgroup/x/memory.max says 512M"));
}

TEST_MAIN(CASE(the_sums_are_those_of_the_configuration), CASE(what_fits_is_said_to_fit),
          CASE(hugepages_that_are_short_are_counted), CASE(a_cgroup_that_gives_fewer_is_named),
          CASE(ordinary_memory_counts_what_does_not_lie_on_hugepages),
          CASE(a_memory_limit_of_the_cgroup_is_named))
