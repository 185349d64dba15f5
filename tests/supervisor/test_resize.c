/* Rings that change their size: what memory.h and resize.h promise, with the test as every worker. */
#include "supervisor/resize.h"

#include <string.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "supervisor/grants.h"
#include "supervisor/slab_deliveries.h"
#include "tests/supervisor/rig.h"
#include "tests/test.h"

enum {
    NOBODY = RIG_WORKERS,
    GPU = RIG_SYNTHS, /* the first of them */
};

static struct rig rig;
static struct memory *const memory = &rig.supervisor.memory;

static void up(void)
{
    rig_open(&rig);
    ASSERT_INT(loop_create(LOOP_PPOLL, &rig.supervisor.loop), 0);
}

static void down(void)
{
    resize_stop(&rig.supervisor);
    loop_free(rig.supervisor.loop);
    rig.supervisor.loop = NULL;
    rig_close(&rig);
}

static void finish_all_of(unsigned i)
{
    while (rig.workers[i].held_count > 0) {
        enum blame blame = rig.workers[i].is_cancelled[0] ? BLAME_CANCELLED : BLAME_NONE;
        struct message answer = rig_answer_to(&rig, i, 0, blame);
        rig_say(&rig, i, &answer);
        rig_deliver(&rig, i);
    }
}

/* One turn; every worker but one answers what it holds. */
static void turn(unsigned silent)
{
    rig.supervisor.now_ns = clock_now_ns();
    resize_tick(&rig.supervisor);
    loop_wait(rig.supervisor.loop, clock_now_ns() + 1000000);
    rig_turn(&rig);
    for (unsigned i = 0; i < RIG_WORKERS; i++) {
        if (i != silent)
            finish_all_of(i);
    }
}

static void run(unsigned silent, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        turn(silent);
}

static void want(uint32_t slabs, uint64_t slab_bytes)
{
    struct config *config = &rig.supervisor.config;
    config->rings[0].slab_count = slabs;
    config->rings[0].slab_bytes = slab_bytes;
    ASSERT_INT(resize_begin(&rig.supervisor, config), 0);
}

static void settle(void)
{
    for (int i = 0; i < 2000 && rig.supervisor.resize.is_open; i++)
        turn(NOBODY);
    ASSERT(!rig.supervisor.resize.is_open);
}

TEST(a_ring_grows_and_shrinks_to_what_is_wanted)
{
    up();
    static const uint32_t counts[] = {5, 1, 8, 8, 2, 3};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        want(counts[i], 16384);
        settle();
        ASSERT_INT(memory_slabs_ringed(memory, 0), counts[i]);
        ASSERT_INT(memory_slabs_free(memory, 0), counts[i]);
        ASSERT_INT(memory_slabs_there(memory), counts[i]);
        ASSERT_INT(memory->slab_bytes_total, counts[i] * 16384);
        ASSERT_INT(memory->ordinary_count, counts[i]);
    }
    down();
}

TEST(a_slab_is_issued_only_once_every_worker_has_it)
{
    up();
    want(4, 16384);
    run(GPU, 50);
    ASSERT_INT(memory_slabs_there(memory), 4);
    ASSERT_INT(memory->places[3].state, MEMORY_SLAB_SHARING);
    ASSERT_INT(memory_slabs_ringed(memory, 0), RIG_SLABS);
    ASSERT_INT(rig.supervisor.workers.entries[GPU].slabs[3], WORKER_SLAB_ASKED);
    ASSERT_INT(rig.supervisor.workers.entries[0].slabs[3], WORKER_SLAB_HELD);
    settle();
    ASSERT_INT(memory_slabs_ringed(memory, 0), 4);
    down();
}

TEST(a_slab_that_goes_is_given_back_only_once_nobody_has_it)
{
    up();
    want(2, 16384);
    run(GPU, 50);
    ASSERT_INT(memory_slabs_ringed(memory, 0), 2);
    ASSERT_INT(memory->places[2].state, MEMORY_SLAB_LEAVING);
    ASSERT(memory->slabs[2].fd >= 0);
    /* Wanted again meanwhile: another is made, for that one's index is still known. */
    want(3, 16384);
    run(GPU, 50);
    ASSERT_INT(memory->places[2].state, MEMORY_SLAB_LEAVING);
    ASSERT_INT(memory->places[3].state, MEMORY_SLAB_SHARING);
    settle();
    ASSERT_INT(memory->places[2].state, MEMORY_SLAB_NONE);
    ASSERT_INT(memory->places[3].state, MEMORY_SLAB_RINGED);
    ASSERT_INT(memory->slabs[2].fd, -1);
    down();
}

TEST(a_worker_that_dies_has_nothing_to_let_go_of)
{
    up();
    want(2, 16384);
    run(GPU, 50);
    ASSERT_INT(memory->places[2].state, MEMORY_SLAB_LEAVING);
    rig_kill(&rig, GPU);
    memset(rig.supervisor.workers.entries[GPU].slabs, WORKER_SLAB_HELD, 2);
    rig.supervisor.workers.entries[GPU].slabs[2] = WORKER_SLAB_ABSENT;
    settle();
    ASSERT_INT(memory_slabs_there(memory), 2);
    down();
}

TEST(a_slab_that_a_device_refuses_is_taken_back_and_not_tried_at_once)
{
    up();
    want(4, 16384);
    run(GPU, 50);
    ASSERT_INT(rig.workers[GPU].held_count, 1);
    struct message answer = rig_answer_to(&rig, GPU, 0, BLAME_DEVICE);
    ASSERT_INT(answer.operation, OPERATION_ADD_SLAB);
    memcpy(answer.payload, "no", 2);
    answer.payload_bytes = 2;
    rig_say(&rig, GPU, &answer);
    rig_deliver(&rig, GPU);
    run(NOBODY, 50);
    ASSERT_INT(memory_slabs_there(memory), RIG_SLABS);
    ASSERT_INT(memory_slabs_ringed(memory, 0), RIG_SLABS);
    ASSERT_STR(resize_waits_for(&rig.supervisor, 0), "gpu-0 refuses a slab: no");
    ASSERT(resize_deadline(&rig.supervisor) > clock_now_ns() + 5000000000u);
    want(4, 16384); /* a reload tries at once */
    settle();
    ASSERT_INT(memory_slabs_ringed(memory, 0), 4);
    down();
}

TEST(answers_to_slab_calls_that_were_not_asked_end_the_worker)
{
    up();
    want(4, 16384);
    run(GPU, 50);
    struct message answer = rig_answer_to(&rig, GPU, 0, BLAME_NONE), wrong = answer;
    struct worker *worker = &rig.supervisor.workers.entries[GPU];
    wrong.generation++;
    ASSERT(slab_deliveries_answered(worker, &wrong, ""));
    wrong = answer;
    wrong.numbers[SLAB_CALL_INDEX] = SLABS_MAX;
    ASSERT(slab_deliveries_answered(worker, &wrong, ""));
    wrong.numbers[SLAB_CALL_INDEX] = 0;
    ASSERT(slab_deliveries_answered(worker, &wrong, ""));
    wrong = answer;
    wrong.operation = OPERATION_DROP_SLAB;
    ASSERT(slab_deliveries_answered(worker, &wrong, ""));
    ASSERT(!slab_deliveries_answered(worker, &answer, ""));
    ASSERT(slab_deliveries_answered(worker, &answer, "")); /* twice */
    settle();
    down();
}

/* A limit below what is held: nothing wraps, nothing is taken from anybody, and what comes free
 * goes, not to the next partition. */
TEST(a_limit_below_what_is_held_is_reached_as_slabs_come_free)
{
    up();
    uint64_t job = rig_submit(&rig, 12, REQUEST_PRIORITY_NORMAL);
    ASSERT(job);
    for (int i = 0; i < 20; i++) { /* all slabs at UPLOADED: they may be taken early */
        rig_turn(&rig);
        for (unsigned w = 0; w < RIG_SYNTHS + RIG_GPUS; w++) {
            for (unsigned h = 0; h < rig.workers[w].held_count;) {
                if (rig.workers[w].held[h].operation == OPERATION_PROVE &&
                    rig.workers[w].is_uploaded[h]) {
                    h++;
                    continue;
                }
                struct message answer = rig_answer_to(&rig, w, h, BLAME_NONE);
                rig_say(&rig, w, &answer);
                rig_deliver(&rig, w);
            }
        }
    }
    ASSERT_INT(memory_slabs_free(memory, 0), 0);
    want(1, 16384);
    rig.supervisor.now_ns = clock_now_ns();
    resize_tick(&rig.supervisor);
    ASSERT_INT(memory->rings[0].count, RIG_SLABS);
    ASSERT_INT(memory_slabs_free(memory, 0), 0);
    grants_run(&rig.supervisor);
    ASSERT_INT(memory->rings[0].count, RIG_SLABS); /* none was taken early for the next */
    for (int i = 0; i < 5000 && rig.supervisor.slots.free_count < SLOTS_MAX; i++) {
        turn(NOBODY);
        ASSERT(memory->rings[0].count >= 1 && memory->rings[0].count <= RIG_SLABS);
        ASSERT(memory_slabs_free(memory, 0) <= 1);
    }
    ASSERT_INT(rig.supervisor.jobs.totals[REQUEST_JOB_DONE], 1);
    settle();
    ASSERT_INT(memory_slabs_there(memory), 1);
    down();
}

TEST(partitions_that_wait_move_to_the_new_size_and_those_that_run_stay)
{
    up();
    ASSERT(rig_submit(&rig, 10, REQUEST_PRIORITY_NORMAL));
    rig_turn(&rig);
    ASSERT_INT(memory_slabs_free(memory, 0), 0);
    want(2, 32768);
    run(NOBODY, 1);
    ASSERT(memory->rings[0].is_removed && !memory->rings[1].is_removed);
    for (int i = 0; i < 5000 && rig.supervisor.slots.free_count < SLOTS_MAX; i++)
        turn(NOBODY);
    ASSERT_INT(rig.supervisor.jobs.totals[REQUEST_JOB_DONE], 1);
    settle();
    ASSERT(!memory->rings[0].ring.table); /* its place is free */
    ASSERT_INT(rig.circuit->ring, 1);
    ASSERT_INT(memory->slab_bytes_total, 2 * 32768);
    down();
}

TEST(more_rings_than_there_are_places_are_refused_before_anything_changes)
{
    char why[512];
    up();
    struct config *config = &rig.supervisor.config;
    struct config next = *config;
    ASSERT_INT(resize_check(&rig.supervisor, &next, why, sizeof why), 0);
    next.ring_count = RINGS_MAX;
    for (uint32_t i = 1; i < RINGS_MAX; i++) {
        next.rings[i] = (struct config_ring){.slab_count = 1, .slab_bytes = 4096 * i};
        snprintf(next.rings[i].name, sizeof next.rings[i].name, "r%u", i);
    }
    ASSERT_INT(resize_check(&rig.supervisor, &next, why, sizeof why), 0);
    next.rings[0].slab_bytes = 1 << 20; /* the old one still needs its place */
    ASSERT(resize_check(&rig.supervisor, &next, why, sizeof why) < 0);
    ASSERT(strstr(why, "only 15 of 16 places are free"));
    down();
}

TEST_MAIN(CASE(a_ring_grows_and_shrinks_to_what_is_wanted),
          CASE(a_slab_is_issued_only_once_every_worker_has_it),
          CASE(a_slab_that_goes_is_given_back_only_once_nobody_has_it),
          CASE(a_worker_that_dies_has_nothing_to_let_go_of),
          CASE(a_slab_that_a_device_refuses_is_taken_back_and_not_tried_at_once),
          CASE(answers_to_slab_calls_that_were_not_asked_end_the_worker),
          CASE(a_limit_below_what_is_held_is_reached_as_slabs_come_free),
          CASE(partitions_that_wait_move_to_the_new_size_and_those_that_run_stay),
          CASE(more_rings_than_there_are_places_are_refused_before_anything_changes))
