/* Who stands still, and who only is slow. */
#include "supervisor/liveness.h"

#include "tests/test.h"

#define SECOND  UINT64_C(1000000000)
#define TIMEOUT (8 * SECOND)

/* Looks once a second for `seconds`; the second in which it was found, 0: it was not. */
static unsigned look_for(struct liveness *liveness, enum liveness_stage stage, uint64_t *now_ns,
                         unsigned seconds, unsigned step_every)
{
    static uint64_t progress;
    for (unsigned s = 1; s <= seconds; s++) {
        *now_ns += SECOND;
        if (step_every && s % step_every == 0)
            progress++;
        if (liveness_look(liveness, stage, progress, TIMEOUT, *now_ns))
            return s;
    }
    return 0;
}

TEST(one_that_stands_still_is_found_after_the_timeout)
{
    struct liveness liveness = {0};
    uint64_t now_ns = 100 * SECOND;
    /* The first look is the first sight of it. */
    ASSERT_INT(look_for(&liveness, LIVENESS_WORKING, &now_ns, 100, 0), 9);
}

TEST(one_that_advances_is_never_found_however_slow)
{
    struct liveness liveness = {0};
    uint64_t now_ns = 100 * SECOND;
    ASSERT_INT(look_for(&liveness, LIVENESS_WORKING, &now_ns, 10000, 7), 0);
}

TEST(nothing_is_expected_of_one_that_rests)
{
    struct liveness liveness = {0};
    uint64_t now_ns = 100 * SECOND;
    ASSERT_INT(look_for(&liveness, LIVENESS_RESTING, &now_ns, 1000, 0), 0);
    /* And the rest does not count against it. */
    ASSERT_INT(look_for(&liveness, LIVENESS_WORKING, &now_ns, 1000, 0), 9);
}

TEST(each_stage_has_its_own_patience)
{
    static const struct {
        enum liveness_stage stage;
        unsigned found;
    } cases[] = {{LIVENESS_STARTING, 17},
                 {LIVENESS_CATCHING_UP, 9},
                 {LIVENESS_WORKING, 9},
                 {LIVENESS_TRIMMING, 41},
                 {LIVENESS_STOPPING, 9}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct liveness liveness = {0};
        uint64_t now_ns = 100 * SECOND;
        ASSERT_INT(look_for(&liveness, cases[c].stage, &now_ns, 1000, 0), cases[c].found);
    }
}

TEST(another_stage_begins_anew)
{
    struct liveness liveness = {0};
    uint64_t now_ns = 100 * SECOND;
    ASSERT_INT(look_for(&liveness, LIVENESS_STARTING, &now_ns, 8, 0), 0);
    ASSERT_INT(look_for(&liveness, LIVENESS_WORKING, &now_ns, 8, 0), 0);
    ASSERT_INT(look_for(&liveness, LIVENESS_STOPPING, &now_ns, 100, 0), 9);
}

TEST(a_supervisor_that_was_stopped_itself_blames_nobody)
{
    struct liveness liveness = {0};
    uint64_t now_ns = 100 * SECOND;
    ASSERT_INT(look_for(&liveness, LIVENESS_WORKING, &now_ns, 2, 0), 0);
    now_ns += 3600 * SECOND; /* the machine was suspended, both were frozen */
    ASSERT(!liveness_look(&liveness, LIVENESS_WORKING, 0, TIMEOUT, now_ns));
}

TEST(timeout_0_finds_nobody)
{
    struct liveness liveness = {0};
    for (uint64_t s = 1; s < 100000; s++)
        ASSERT(!liveness_look(&liveness, LIVENESS_WORKING, 0, 0, s * SECOND));
}

TEST_MAIN(CASE(one_that_stands_still_is_found_after_the_timeout),
          CASE(one_that_advances_is_never_found_however_slow),
          CASE(nothing_is_expected_of_one_that_rests), CASE(each_stage_has_its_own_patience),
          CASE(another_stage_begins_anew), CASE(a_supervisor_that_was_stopped_itself_blames_nobody),
          CASE(timeout_0_finds_nobody))
