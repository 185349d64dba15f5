/* Orders to workers, workers that stand still, and one that cannot be killed, on the rig. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "supervisor/pipeline.h"
#include "supervisor/recovery.h"
#include "supervisor/stalls.h"
#include "tests/supervisor/rig.h"
#include "tests/test.h"

#define SECOND UINT64_C(1000000000)

static struct rig rig;
static char why[WORKER_ORDERS_WHY_BYTES];

enum {
    SYNTH = 0,
    GPU = RIG_SYNTHS,
    FINALIZER = RIG_SYNTHS + RIG_GPUS,
};

static struct worker *worker_of(unsigned i)
{
    return &rig.supervisor.workers.entries[i];
}

static unsigned number_of(const struct worker *worker)
{
    return (unsigned)(worker - rig.supervisor.workers.entries);
}

static struct slot *slot_of(uint64_t number, uint32_t partition)
{
    return &rig.supervisor.slots.entries[jobs_find(&rig.supervisor.jobs, number)->slots[partition]];
}

static void answer_one(unsigned i)
{
    struct message answer = rig_answer_to(&rig, i, 0, BLAME_NONE);
    rig_say(&rig, i, &answer);
    rig_deliver(&rig, i);
}

static struct slot *bring_to(uint64_t number, enum slot_state state)
{
    struct slot *slot = slot_of(number, 0);
    for (int turn = 0; turn < 50 && slot->state != state; turn++) {
        rig_turn(&rig);
        if (slot->state != state && slot->owner)
            answer_one(number_of(slot->owner));
    }
    ASSERT_STR(slot_state_to_string(slot->state), slot_state_to_string(state));
    return slot;
}

static void finish(uint64_t number)
{
    for (int turn = 0; turn < 200 && rig.supervisor.slots.free_count < SLOTS_MAX; turn++) {
        rig_turn(&rig);
        for (unsigned i = 0; i < RIG_WORKERS; i++) {
            while (rig.workers[i].held_count > 0)
                answer_one(i);
        }
    }
    ASSERT_INT(jobs_find(&rig.supervisor.jobs, number)->state, REQUEST_JOB_DONE);
    ASSERT_INT(memory_slabs_free(&rig.supervisor.memory, 0), RIG_SLABS);
}

static void assert_costs_nothing(const struct slot *slot)
{
    ASSERT_INT(slot->attempts, 0);
    ASSERT(!slot->is_suspect);
}

TEST(a_restart_lets_the_worker_finish_what_it_holds)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_PROVING);
    struct worker *worker = slot->owner;
    unsigned i = number_of(worker);
    ASSERT_INT(worker_orders_restart(worker, false, why), 0);
    rig_turn(&rig);
    ASSERT(!rig.workers[i].is_told_to_stop);
    ASSERT(!worker_is_available(worker, rig.supervisor.now_ns));
    answer_one(i); /* UPLOADED */
    answer_one(i);
    rig_turn(&rig);
    ASSERT(rig.workers[i].is_told_to_stop);
    ASSERT_INT(worker->state, WORKER_STOPPING);
    rig_end(&rig, i);
    ASSERT_INT(worker->order.state, WORKER_ORDER_DONE);
    ASSERT(worker_is_available(worker, rig.supervisor.now_ns));
    assert_costs_nothing(slot);
    finish(number);
    rig_close(&rig);
}

TEST(a_restart_now_puts_back_at_nobodys_cost_and_keeps_the_synthesis)
{
    static const struct {
        enum slot_state in, back;
        bool keeps_slab;
    } cases[] = {
        {SLOT_SYNTHESIZING, SLOT_QUEUED, false},
        {SLOT_PROVING, SLOT_READY, true},
        {SLOT_UPLOADED, SLOT_READY, true},
        {SLOT_FINALIZING, SLOT_PROVED, true},
    };
    rig_open(&rig);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
        struct slot *slot = bring_to(number, cases[c].in);
        struct worker *worker = slot->owner;
        ASSERT_INT(worker_orders_restart(worker, true, why), 0);
        ASSERT_INT(worker->state, WORKER_KILLED);
        rig_end(&rig, number_of(worker));
        ASSERT_STR(slot_state_to_string(slot->state), slot_state_to_string(cases[c].back));
        ASSERT_INT(slot->slab >= 0, cases[c].keeps_slab);
        assert_costs_nothing(slot);
        ASSERT_INT(worker->order.state, WORKER_ORDER_DONE);
        finish(number);
    }
    rig_close(&rig);
}

TEST(of_a_kind_one_is_replaced_at_a_time)
{
    rig_open(&rig);
    ASSERT_INT(worker_orders_restart(worker_of(GPU), false, why), 0);
    ASSERT_INT(worker_orders_restart(worker_of(GPU + 1), false, why), 0);
    rig_turn(&rig);
    ASSERT_INT(worker_of(GPU)->order.state, WORKER_ORDER_STOPPING);
    ASSERT_INT(worker_of(GPU + 1)->order.state, WORKER_ORDER_PENDING);
    ASSERT(worker_is_available(worker_of(GPU + 1), rig.supervisor.now_ns));
    rig_end(&rig, GPU);
    rig_turn(&rig);
    ASSERT_INT(worker_of(GPU + 1)->order.state, WORKER_ORDER_STOPPING);
    rig_end(&rig, GPU + 1);
    ASSERT_INT(worker_of(GPU + 1)->order.state, WORKER_ORDER_DONE);
    rig_close(&rig);
}

TEST(a_drained_worker_stays_down_until_it_is_resumed)
{
    rig_open(&rig);
    struct worker *worker = worker_of(SYNTH);
    ASSERT_INT(worker_orders_drain(worker, why), 0);
    rig_turn(&rig);
    rig_end(&rig, SYNTH);
    ASSERT_INT(worker->state, WORKER_DOWN);
    ASSERT_INT(worker->order.state, WORKER_ORDER_DONE);
    ASSERT(!worker_orders_wants(worker));
    ASSERT_INT(workers_deadline(&rig.supervisor), UINT64_MAX);
    ASSERT(worker_orders_restart(worker, false, why) < 0);
    ASSERT(strstr(why, "resume synth-0"));
    /* A reload with the same count does not wake it. */
    workers_set_count(&rig.supervisor, WORKER_SYNTH, RIG_SYNTHS);
    ASSERT(!worker_orders_wants(worker));
    ASSERT_INT(worker_orders_resume(worker, why), 0);
    ASSERT(worker_orders_wants(worker));
    ASSERT(worker->restart_at_ns <= rig.supervisor.now_ns);
    rig_start(&rig, SYNTH);
    worker_orders_started(worker);
    ASSERT_INT(worker->order.state, WORKER_ORDER_DONE);
    finish(rig_submit(&rig, 3, REQUEST_PRIORITY_NORMAL));
    rig_close(&rig);
}

TEST(a_drain_taken_back_in_time_costs_nothing)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_SYNTHESIZING);
    struct worker *worker = slot->owner;
    ASSERT_INT(worker_orders_drain(worker, why), 0);
    rig_turn(&rig);
    uint64_t drain = worker->order.number;
    ASSERT_INT(worker_orders_resume(worker, why), 0);
    ASSERT_INT(worker->order.state, WORKER_ORDER_DONE);
    ASSERT(worker->order.number > drain);
    ASSERT(!worker->is_draining);
    rig_turn(&rig);
    finish(number);
    ASSERT_INT(worker->state, WORKER_RUNNING);
    rig_close(&rig);
}

TEST(a_crash_while_draining_counts)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_PROVING);
    struct worker *worker = slot->owner;
    ASSERT_INT(worker_orders_restart(worker, false, why), 0);
    rig_turn(&rig);
    rig_end(&rig, number_of(worker));
    ASSERT_INT(slot->attempts, 1);
    ASSERT_INT(worker->order.state, WORKER_ORDER_DONE); /* it is replaced all the same */
    finish(number);
    rig_close(&rig);
}

TEST(fewer_workers_are_drained_and_absent_and_more_come_back)
{
    rig_open(&rig);
    struct workers *workers = &rig.supervisor.workers;
    uint64_t number = rig_submit(&rig, 2, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig);
    workers_set_count(&rig.supervisor, WORKER_SYNTH, 1);
    ASSERT(workers_find(&rig.supervisor, "synth-1"));
    finish(number);
    rig_turn(&rig);
    ASSERT(rig.workers[SYNTH + 1].is_told_to_stop);
    rig_end(&rig, SYNTH + 1);
    ASSERT(!workers_find(&rig.supervisor, "synth-1"));
    ASSERT_INT(workers_present_count(workers), RIG_WORKERS - 1);
    ASSERT_INT(workers->count, RIG_WORKERS);
    finish(rig_submit(&rig, 5, REQUEST_PRIORITY_NORMAL));
    workers_set_count(&rig.supervisor, WORKER_SYNTH, 2);
    ASSERT(worker_orders_wants(workers_find(&rig.supervisor, "synth-1")));
    ASSERT_INT(workers->count, RIG_WORKERS);
    rig_start(&rig, SYNTH + 1);
    /* A kind that never had so many gets new entries; nothing of the rig can start them. */
    workers_set_count(&rig.supervisor, WORKER_FINALIZER, 3);
    ASSERT_STR(workers->entries[RIG_WORKERS].name, "finalizer-2");
    ASSERT_INT(workers->entries[RIG_WORKERS].state, WORKER_DOWN);
    workers_set_count(&rig.supervisor, WORKER_FINALIZER, 2);
    ASSERT(!worker_is_present(&workers->entries[RIG_WORKERS]));
    rig_close(&rig);
}

/* Turns in which the time moves on and nothing else does. */
static void let_pass(uint64_t seconds)
{
    rig.supervisor.workers.looked_ns = 0; /* rig_turn goes back to the real time */
    for (uint64_t s = 0; s < seconds; s++) {
        rig.supervisor.now_ns += SECOND;
        stalls_tick(&rig.supervisor);
    }
}

TEST(one_that_stands_still_with_work_is_killed_and_one_that_steps_is_not)
{
    rig_open(&rig);
    rig.supervisor.config.stall_timeout_ns = 8 * SECOND;
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_PROVING);
    struct worker *worker = slot->owner;
    for (int i = 0; i < 100; i++) {
        atomic_fetch_add(&worker->channel.layout->progress.compute_steps, 1);
        let_pass(5);
    }
    ASSERT_INT(worker->state, WORKER_RUNNING);
    let_pass(10);
    ASSERT_INT(worker->state, WORKER_KILLED);
    ASSERT(strstr(worker->last_error, "no progress for"));
    for (unsigned i = 0; i < RIG_WORKERS; i++)
        ASSERT(worker_of(i) == worker || worker_of(i)->state == WORKER_RUNNING);
    rig_end(&rig, number_of(worker));
    ASSERT_INT(slot->attempts, 1);
    ASSERT(slot->is_suspect && slot->slab >= 0);
    ASSERT(strstr(slot->last_fault, "no progress for"));
    finish(number);
    rig_close(&rig);
}

TEST(of_several_in_the_hands_of_one_that_stands_still_none_is_counted)
{
    rig_open(&rig);
    rig.supervisor.config.stall_timeout_ns = 8 * SECOND;
    uint64_t number = rig_submit(&rig, 3, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig);
    struct worker *worker = slot_of(number, 0)->owner;
    ASSERT_INT(worker->held_count, 2);
    let_pass(10);
    ASSERT_INT(worker->state, WORKER_KILLED);
    rig_end(&rig, number_of(worker));
    for (uint32_t p = 0; p < 3; p++)
        ASSERT_INT(slot_of(number, p)->attempts, 0);
    ASSERT(slot_of(number, 0)->is_suspect);
    rig.supervisor.config.stall_timeout_ns = 0;
    /* The other one stood still too. */
    rig_end(&rig, SYNTH + 1);
    finish(number);
    rig_close(&rig);
}

TEST(one_that_cannot_be_killed_is_written_off_until_it_is_gone)
{
    static const struct {
        enum slot_state in, back;
    } cases[] = {
        {SLOT_SYNTHESIZING, SLOT_QUEUED},
        {SLOT_PROVING, SLOT_QUEUED},
        {SLOT_UPLOADED, SLOT_QUEUED},
        {SLOT_FINALIZING, SLOT_PROVED},
    };
    rig_open(&rig);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
        struct slot *slot = bring_to(number, cases[c].in);
        struct worker *worker = slot->owner;
        unsigned i = number_of(worker);
        int slab = slot->slab;
        workers_kill_one(worker, "a test wants it");
        let_pass(WORKER_KILL_S_MAX - 1);
        ASSERT_INT(worker->state, WORKER_KILLED);
        ASSERT(slot->owner == worker);
        let_pass(2);
        ASSERT_INT(worker->state, WORKER_WRITTEN_OFF);
        ASSERT_STR(slot_state_to_string(slot->state), slot_state_to_string(cases[c].back));
        ASSERT_INT(slot->attempts, 1);
        bool keeps = worker->kind == WORKER_FINALIZER;
        ASSERT_INT(slot->slab, keeps ? slab : -1);
        ASSERT_INT(memory_slabs_free(&rig.supervisor.memory, 0), RIG_SLABS - 1);
        /* Its late answer is not read, it gets nothing, and orders wait for its end. */
        answer_one(i);
        ASSERT_STR(slot_state_to_string(slot->state), slot_state_to_string(cases[c].back));
        ASSERT(worker_orders_restart(worker, true, why) < 0);
        ASSERT(strstr(why, "does not die"));
        rig_turn(&rig);
        ASSERT(slot->owner != worker);
        ASSERT(slot->slab != slab || keeps);
        rig_end(&rig, i);
        ASSERT_INT(worker->slabs_left_count, 0);
        finish(number);
        ASSERT_INT(worker->state, WORKER_RUNNING);
    }
    rig_close(&rig);
}

TEST(one_that_a_reload_takes_away_is_not_kept_by_an_order)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct worker *worker = bring_to(number, SLOT_SYNTHESIZING)->owner;
    worker_orders_remove(worker);
    ASSERT_INT(worker_orders_resume(worker, why), -EALREADY);
    ASSERT_INT(worker_orders_restart(worker, false, why), -EALREADY);
    ASSERT(worker->is_draining);
    ASSERT_INT(worker->order.kind, WORKER_ORDER_REMOVE);
    worker_orders_keep(worker);
    ASSERT_INT(worker_orders_resume(worker, why), 0);
    finish(number);
    rig_close(&rig);
}

TEST(the_removal_of_one_that_is_written_off_ends_when_it_is_gone)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct worker *worker = bring_to(number, SLOT_SYNTHESIZING)->owner;
    workers_kill_one(worker, "a test wants it");
    let_pass(WORKER_KILL_S_MAX + 1);
    ASSERT_INT(worker->state, WORKER_WRITTEN_OFF);
    worker_orders_remove(worker);
    ASSERT(worker_order_is_open(&worker->order));
    rig_end(&rig, number_of(worker));
    ASSERT_INT(worker->order.state, WORKER_ORDER_DONE);
    ASSERT(!worker_is_present(worker));
    rig_close(&rig);
}

/* A program that never says whether it could start. */
static void install_silent_program(const char *path)
{
    FILE *file = fopen(path, "w");
    ASSERT(file);
    fputs("#!/bin/sh\nexec sleep 100\n", file);
    fclose(file);
    ASSERT_INT(chmod(path, 0700), 0);
}

static void run_loop(void)
{
    ASSERT(loop_wait(rig.supervisor.loop, clock_now_ns() + 20 * SECOND) >= 0);
}

TEST(a_check_of_a_program_that_is_given_up_is_not_waited_for)
{
    char path[128];
    rig_open(&rig);
    struct worker *worker = worker_of(SYNTH);
    snprintf(path, sizeof path, "%s/program", rig.folder);
    install_silent_program(path);
    ASSERT_INT(loop_create(LOOP_PPOLL, &rig.supervisor.loop), 0);
    rig.supervisor.workers.paths[WORKER_SYNTH] = path;

    ASSERT_INT(worker_orders_restart(worker, false, why), 0);
    ASSERT_INT(worker->order.state, WORKER_ORDER_CHECKING);
    const pid_t first = worker->check.child.pid;
    ASSERT_INT(worker_orders_restart(worker, true, why), 0);
    ASSERT_INT(worker->order.state, WORKER_ORDER_CHECKING);
    ASSERT_INT(worker->check.child.pid, first); /* until it is gone */
    run_loop();
    ASSERT(worker_check_is_open(worker) && worker->check.child.pid != first);

    rig.supervisor.now_ns = worker_check_deadline(worker);
    worker_check_tick(worker);
    ASSERT_INT(worker->order.state, WORKER_ORDER_FAILED);
    ASSERT(worker_check_is_open(worker));
    ASSERT(worker_check_deadline(worker) == UINT64_MAX);
    run_loop();
    ASSERT(!worker_check_is_open(worker));

    ASSERT_INT(worker_orders_restart(worker, false, why), 0);
    worker_check_destroy(worker);
    ASSERT(!worker_check_is_open(worker));
    loop_free(rig.supervisor.loop);
    unlink(path);
    rig_close(&rig);
}

TEST(a_cancelled_partition_leaves_one_that_is_written_off_too)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_PROVING);
    struct worker *worker = slot->owner;
    struct job *job = jobs_find(&rig.supervisor.jobs, number);
    ASSERT(jobs_cancel(&rig.supervisor.jobs, job, rig.supervisor.now_ns));
    pipeline_drop_job(&rig.supervisor, job);
    workers_kill_one(worker, "a test wants it");
    let_pass(WORKER_KILL_S_MAX + 1);
    ASSERT_INT(worker->state, WORKER_WRITTEN_OFF);
    ASSERT_INT(rig.supervisor.slots.free_count, SLOTS_MAX);
    ASSERT_INT(memory_slabs_free(&rig.supervisor.memory, 0), RIG_SLABS - 1);
    rig_end(&rig, number_of(worker));
    ASSERT_INT(memory_slabs_free(&rig.supervisor.memory, 0), RIG_SLABS);
    rig_close(&rig);
}

TEST(a_trim_is_answered_once_and_ends_with_its_worker)
{
    rig_open(&rig);
    struct worker *worker = worker_of(FINALIZER);
    ASSERT_INT(worker_calls_trim(worker), 0);
    ASSERT(!worker_holds_nothing(worker));
    struct message answer = {.operation = OPERATION_TRIM,
                             .generation = worker->trim.generation,
                             .numbers = {500, 400, 9000, 6000}};
    rig_take(&rig, FINALIZER);
    rig_say(&rig, FINALIZER, &answer);
    rig_deliver(&rig, FINALIZER);
    ASSERT_INT(worker->trim.state, WORKER_TRIM_DONE);
    ASSERT_INT(worker->trim.given_back_bytes, 3000);
    ASSERT_INT(worker_calls_trim(worker), 0);
    worker_calls_ended(worker);
    ASSERT_INT(worker->trim.state, WORKER_TRIM_FAILED);
    rig_say(&rig, FINALIZER, &answer);
    rig_deliver(&rig, FINALIZER);
    ASSERT_INT(worker->state, WORKER_DOOMED);
    rig_close(&rig);
}

TEST(levels_that_a_worker_does_not_take_leave_its_ring_free)
{
    rig_open(&rig);
    struct worker *worker = worker_of(FINALIZER);
    for (int i = 0; i < 2 * CHANNEL_RING_ENTRIES; i++)
        worker_calls_log_level(worker, i % 2 ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO);
    worker_calls_log_level(worker, LOG_LEVEL_DEBUG);
    ASSERT_INT(worker_calls_trim(worker), 0);
    rig_take(&rig, FINALIZER);
    ASSERT_INT(rig.workers[FINALIZER].log_level, LOG_LEVEL_INFO); /* the first */
    rig_turn(&rig);
    ASSERT_INT(rig.workers[FINALIZER].log_level, LOG_LEVEL_DEBUG);
    rig_close(&rig);
}

TEST_MAIN(CASE(a_restart_lets_the_worker_finish_what_it_holds),
          CASE(a_restart_now_puts_back_at_nobodys_cost_and_keeps_the_synthesis),
          CASE(of_a_kind_one_is_replaced_at_a_time),
          CASE(a_drained_worker_stays_down_until_it_is_resumed),
          CASE(a_drain_taken_back_in_time_costs_nothing), CASE(a_crash_while_draining_counts),
          CASE(fewer_workers_are_drained_and_absent_and_more_come_back),
          CASE(one_that_stands_still_with_work_is_killed_and_one_that_steps_is_not),
          CASE(of_several_in_the_hands_of_one_that_stands_still_none_is_counted),
          CASE(one_that_cannot_be_killed_is_written_off_until_it_is_gone),
          CASE(one_that_a_reload_takes_away_is_not_kept_by_an_order),
          CASE(the_removal_of_one_that_is_written_off_ends_when_it_is_gone),
          CASE(a_check_of_a_program_that_is_given_up_is_not_waited_for),
          CASE(a_cancelled_partition_leaves_one_that_is_written_off_too),
          CASE(a_trim_is_answered_once_and_ends_with_its_worker),
          CASE(levels_that_a_worker_does_not_take_leave_its_ring_free))
