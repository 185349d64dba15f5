/* The thread pool: every index once, in every shape of run. */

#include "groth16/pool.h"

#include <signal.h>
#include <stdatomic.h>

#include "tests/test.h"

struct tally {
    atomic_uint seen[5000];
    atomic_size_t total;
};

static void mark(void *context, size_t index)
{
    struct tally *tally = context;
    atomic_fetch_add(&tally->seen[index], 1);
}

static void mark_range(void *context, size_t begin, size_t end)
{
    struct tally *tally = context;

    ASSERT(begin < end);
    atomic_fetch_add(&tally->total, end - begin);
    for (size_t i = begin; i < end; i++)
        mark(context, i);
}

TEST(every_index_runs_once)
{
    static struct tally tally;

    for (unsigned threads = 1; threads <= 9; threads += 2) {
        struct pool *pool;
        ASSERT_INT(pool_create(threads, &pool), 0);
        ASSERT_INT(pool_threads(pool), threads);
        for (size_t count = 0; count <= 5000; count = count * 3 + 1) {
            memset(&tally, 0, sizeof tally);
            pool_run(pool, count, mark, &tally);
            for (size_t i = 0; i < 5000; i++)
                ASSERT_INT(tally.seen[i], i < count);
        }
        pool_free(pool);
    }
}

TEST(ranges_cover_without_overlap)
{
    static struct tally tally;
    struct pool *pool;

    ASSERT_INT(pool_create(3, &pool), 0);
    for (size_t total = 0; total <= 5000; total = total * 2 + 1) {
        for (size_t grain = 1; grain < 3000; grain = grain * 7) {
            memset(&tally, 0, sizeof tally);
            pool_run_range(pool, total, grain, mark_range, &tally);
            ASSERT_INT(tally.total, total);
            for (size_t i = 0; i < 5000; i++)
                ASSERT_INT(tally.seen[i], i < total);
        }
    }
    pool_free(pool);
}

static void add_previous(void *context, size_t index)
{
    uint64_t *values = context;
    values[index] += values[index + 64];
}

/* Plain memory written in one run is seen in the next, whichever threads take part. */
TEST(runs_are_ordered)
{
    uint64_t values[65 * 64] = {0};
    struct pool *pool;

    ASSERT_INT(pool_create(4, &pool), 0);
    for (int i = 0; i < 64; i++)
        values[64 * 64 + i] = 1;
    for (int row = 63; row >= 0; row--)
        pool_run(pool, 64, add_previous, values + 64 * row);
    for (int i = 0; i < 64; i++)
        ASSERT_INT(values[i], 1);
    pool_free(pool);
}

static void check_mask(void *context, size_t index)
{
    sigset_t mask;

    (void)index;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (sigismember(&mask, SIGTERM))
        atomic_fetch_add((atomic_uint *)context, 1);
}

TEST(owner_keeps_its_signal_mask)
{
    struct pool *pool;
    atomic_uint blocked = 0;

    ASSERT_INT(pool_create(2, &pool), 0);
    check_mask(&blocked, 0);
    ASSERT_INT(blocked, 0);
    pool_free(pool);
}

static void step_twice(void *context, size_t index)
{
    (void)index;
    pool_step(context);
    pool_step(context);
}

TEST(every_task_is_a_step_and_long_ones_make_more)
{
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct pool *pool;
        ASSERT_INT(pool_create(threads, &pool), 0);
        ASSERT_INT(pool_steps(pool), 0);
        pool_run(pool, 10, step_twice, pool);
        ASSERT_INT(pool_steps(pool), 30);
        pool_run(pool, 1, step_twice, pool);
        ASSERT_INT(pool_steps(pool), 33);
        pool_free(pool);
    }
}

TEST_MAIN(CASE(every_index_runs_once), CASE(ranges_cover_without_overlap), CASE(runs_are_ordered),
          CASE(owner_keeps_its_signal_mask), CASE(every_task_is_a_step_and_long_ones_make_more))
