/* The supervisor's heart on the rig: partitions through all stages, deaths, cancels, blame, and
 * workers that break the contract. */
#include <string.h>

#include "supervisor/circuit_helpers.h"
#include "supervisor/pipeline.h"
#include "tests/supervisor/rig.h"
#include "tests/test.h"

static struct rig rig;

enum {
    SYNTH = 0,
    GPU = RIG_SYNTHS,
    FINALIZER = RIG_SYNTHS + RIG_GPUS,
};

static struct job *job_of(uint64_t number)
{
    return jobs_find(&rig.supervisor.jobs, number);
}

static struct slot *slot_of(uint64_t number, uint32_t partition)
{
    return &rig.supervisor.slots.entries[job_of(number)->slots[partition]];
}

static void cancel(uint64_t number)
{
    struct job *job = job_of(number);
    if (jobs_cancel(&rig.supervisor.jobs, job, rig.supervisor.now_ns))
        pipeline_drop_job(&rig.supervisor, job);
}

/* Everything that worker i holds is answered well. */
static void finish_all_of(unsigned i)
{
    rig_deliver(&rig, i);
    while (rig.workers[i].held_count > 0) {
        enum blame blame = rig.workers[i].is_cancelled[0] ? BLAME_CANCELLED : BLAME_NONE;
        struct message answer = rig_answer_to(&rig, i, 0, blame);
        rig_say(&rig, i, &answer);
        rig_deliver(&rig, i);
    }
}

static void run_until_idle(void)
{
    for (int turn = 0; turn < 50000 && rig.supervisor.slots.free_count < SLOTS_MAX; turn++) {
        rig_turn(&rig);
        for (unsigned i = 0; i < RIG_WORKERS; i++)
            finish_all_of(i);
    }
}

static void assert_nothing_is_held(void)
{
    const struct supervisor *supervisor = &rig.supervisor;
    ASSERT_INT(supervisor->slots.free_count, SLOTS_MAX);
    ASSERT_INT(supervisor->slots.state_counts[SLOT_FREE], SLOTS_MAX);
    ASSERT_INT(memory_slabs_free(&supervisor->memory, 0), RIG_SLABS);
    ASSERT_INT(supervisor->jobs.active.count, 0);
    ASSERT_INT(supervisor->inline_bytes, 0);
    ASSERT_INT(supervisor->inputs_open, 0);
    ASSERT_INT(rig.circuit->slot_count, 0);
    ASSERT_INT(supervisor->slots.reclaim_first[0], SLOT_NONE);
    for (unsigned i = 0; i < RIG_WORKERS; i++)
        ASSERT_INT(supervisor->workers.entries[i].held_count, 0);
}

/* Runs the job's first partition until `state` with nothing else in the way. */
static struct slot *bring_to(uint64_t number, enum slot_state state)
{
    struct slot *slot = slot_of(number, 0);
    for (int turn = 0; turn < 50 && slot->state != state; turn++) {
        rig_turn(&rig);
        if (slot->state == state || !slot->owner)
            continue;
        unsigned i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
        struct message answer = rig_answer_to(&rig, i, 0, BLAME_NONE);
        rig_say(&rig, i, &answer);
        rig_deliver(&rig, i);
    }
    return slot;
}

TEST(a_job_goes_through_all_stages)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 12, REQUEST_PRIORITY_NORMAL);
    run_until_idle();
    ASSERT_INT(job_of(number)->state, REQUEST_JOB_DONE);
    ASSERT_INT(job_of(number)->done_count, 12);
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(finalizing_carries_points_and_the_digest_of_the_verifying_key)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    bring_to(number, SLOT_FINALIZING);
    rig_turn(&rig);
    unsigned i = rig.workers[FINALIZER].held_count ? FINALIZER : FINALIZER + 1;
    const struct message *grant = &rig.workers[i].held[0];
    size_t points = 4 * curve_bn254.g1_bytes + curve_bn254.g2_bytes;
    ASSERT_INT(grant->payload_bytes, points + FACTS_DIGEST_BYTES);
    ASSERT_INT(grant->payload[points], 0xaa);
    ASSERT_INT(grant->numbers[GRANT_CURVE], CURVE_BN254);
    run_until_idle();
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(a_death_puts_the_partition_back_where_the_table_says)
{
    static const struct {
        enum slot_state dies_in, comes_back;
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
        struct slot *slot = bring_to(number, cases[c].dies_in);
        ASSERT_STR(slot_state_to_string(slot->state), slot_state_to_string(cases[c].dies_in));
        uint64_t generation = slot->generation;
        rig_kill(&rig, (unsigned)(slot->owner - rig.supervisor.workers.entries));
        ASSERT_STR(slot_state_to_string(slot->state), slot_state_to_string(cases[c].comes_back));
        ASSERT_INT(slot->slab >= 0, cases[c].keeps_slab);
        ASSERT_INT(slot->attempts, 1);
        ASSERT(slot->is_suspect);
        rig_turn(&rig);
        ASSERT(slot->generation > generation);
        run_until_idle();
        ASSERT_INT(job_of(number)->state, REQUEST_JOB_DONE);
    }
    assert_nothing_is_held();
    rig_close(&rig);
}

/* A witness of an earlier, larger partition must not outlive it in the slab. */
TEST(a_synthesis_is_told_how_far_earlier_partitions_wrote)
{
    rig_open(&rig);
    for (uint32_t i = 0; i < RIG_SLABS; i++)
        memory_mark_written(&rig.supervisor.memory, i, 1u << 20);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_SYNTHESIZING);
    const uint32_t slab = (uint32_t)slot->slab;
    unsigned i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
    rig_turn(&rig);
    ASSERT_INT(rig.workers[i].held[0].numbers[GRANT_STALE], 1u << 20);
    rig_kill(&rig, i); /* perhaps before it wiped: the larger reach stays */
    ASSERT_INT(memory_stale_bytes(&rig.supervisor.memory, slab), 1u << 20);
    run_until_idle();
    slot = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t s = 0; s < RIG_SLABS; s++) {
        uint64_t stale = memory_stale_bytes(&rig.supervisor.memory, s);
        least = stale < least ? stale : least;
    }
    ASSERT_INT(least, circuit_slab_bytes(rig.circuit));
    rig_close(&rig);
}

TEST(an_answer_given_before_death_counts)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_SYNTHESIZING);
    unsigned i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
    rig_turn(&rig);
    struct message answer = rig_answer_to(&rig, i, 0, BLAME_NONE);
    rig_say(&rig, i, &answer); /* pushed, not heard yet */
    rig_kill(&rig, i);
    ASSERT_INT(slot->state, SLOT_READY);
    ASSERT_INT(slot->attempts, 0);
    run_until_idle();
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(of_several_each_becomes_a_suspect_and_none_is_counted)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 3, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig); /* three slabs: two to one synthesis worker, one to the other */
    unsigned i = rig.workers[SYNTH].held_count == 2 ? SYNTH : SYNTH + 1;
    ASSERT_INT(rig.workers[i].held_count, 2);
    rig_kill(&rig, i);
    unsigned suspects = 0;
    for (uint32_t p = 0; p < 3; p++) {
        suspects += slot_of(number, p)->is_suspect;
        ASSERT_INT(slot_of(number, p)->attempts, 0);
    }
    ASSERT_INT(suspects, 2);
    rig_turn(&rig);
    for (unsigned w = SYNTH; w < SYNTH + RIG_SYNTHS; w++) {
        if (worker_has_suspect(&rig.supervisor.workers.entries[w]))
            ASSERT_INT(rig.workers[w].held_count, 1); /* alone */
    }
    run_until_idle();
    ASSERT_INT(job_of(number)->state, REQUEST_JOB_DONE);
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(a_partition_that_kills_its_worker_again_and_again_fails_its_job)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    uint64_t other = rig_submit(&rig, 1, REQUEST_PRIORITY_LOW);
    for (unsigned death = 0; death < rig.supervisor.config.attempts_max; death++) {
        struct slot *slot = bring_to(number, SLOT_PROVING);
        ASSERT_INT(slot->state, SLOT_PROVING);
        rig_kill(&rig, (unsigned)(slot->owner - rig.supervisor.workers.entries));
    }
    struct job *job = job_of(number);
    ASSERT_INT(job->state, REQUEST_JOB_FAILED);
    ASSERT_INT(job->error.code, REPLY_FAILED);
    ASSERT(strstr(job->error.text, "it killed its worker 3 times (killed by SIGKILL"));
    run_until_idle();
    ASSERT_INT(job_of(other)->state, REQUEST_JOB_DONE);
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(blame_on_the_input_fails_the_job_and_drops_its_other_partitions)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 20, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig);
    struct message answer = rig_answer_to(&rig, SYNTH, 0, BLAME_INPUT);
    const char *text = "value 3 is not below the prime\n";
    memcpy(answer.payload, text, strlen(text));
    answer.payload_bytes = (uint16_t)strlen(text);
    rig_say(&rig, SYNTH, &answer);
    rig_deliver(&rig, SYNTH);
    struct job *job = job_of(number);
    ASSERT_INT(job->state, REQUEST_JOB_FAILED);
    ASSERT_INT(job->error.code, REPLY_BAD_INPUT);
    ASSERT(strstr(job->error.text, "value 3 is not below the prime?"));
    run_until_idle();
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(a_failed_check_fails_the_job_and_a_device_is_tried_again)
{
    rig_open(&rig);
    uint64_t checked = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(checked, SLOT_FINALIZING);
    unsigned i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
    rig_turn(&rig);
    struct message answer = rig_answer_to(&rig, i, 0, BLAME_CHECK);
    rig_say(&rig, i, &answer);
    rig_deliver(&rig, i);
    ASSERT_INT(job_of(checked)->state, REQUEST_JOB_FAILED);
    ASSERT_INT(job_of(checked)->error.code, REPLY_FAILED);

    uint64_t device = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    slot = bring_to(device, SLOT_PROVING);
    i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
    rig_turn(&rig);
    answer = rig_answer_to(&rig, i, 0, BLAME_DEVICE);
    rig_say(&rig, i, &answer);
    rig_deliver(&rig, i);
    ASSERT_INT(slot->state, SLOT_READY);
    ASSERT_INT(slot->attempts, 1);
    run_until_idle();
    ASSERT_INT(job_of(device)->state, REQUEST_JOB_DONE);
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(a_cancelled_slot_stays_with_its_owner_until_that_answers)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    struct slot *slot = bring_to(number, SLOT_PROVING);
    unsigned i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
    rig_turn(&rig);
    cancel(number);
    ASSERT_INT(job_of(number)->state, REQUEST_JOB_CANCELLED);
    ASSERT_INT(slot->state, SLOT_ENDING);
    ASSERT(slot->owner && slot->slab >= 0);
    rig_take(&rig, i);
    ASSERT(rig.workers[i].is_cancelled[0]);
    /* It was faster: the whole answer comes all the same and changes nothing. */
    struct message answer = rig_answer_to(&rig, i, 0, BLAME_NONE);
    rig_say(&rig, i, &answer);
    rig_deliver(&rig, i);
    ASSERT_INT(slot->state, SLOT_ENDING);
    answer = rig_answer_to(&rig, i, 0, BLAME_NONE);
    rig_say(&rig, i, &answer);
    rig_deliver(&rig, i);
    ASSERT_INT(job_of(number)->state, REQUEST_JOB_CANCELLED);
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(a_slab_is_taken_early_and_a_death_then_costs_the_synthesis)
{
    rig_open(&rig);
    uint64_t first = rig_submit(&rig, RIG_SLABS, REQUEST_PRIORITY_NORMAL);
    /* All slabs at UPLOADED, nobody answers further. */
    for (int turn = 0; turn < 20; turn++) {
        rig_turn(&rig);
        for (unsigned i = 0; i < FINALIZER; i++) {
            for (unsigned h = 0; h < rig.workers[i].held_count;) {
                if (rig.workers[i].held[h].operation == OPERATION_PROVE &&
                    rig.workers[i].is_uploaded[h]) {
                    h++;
                    continue;
                }
                struct message answer = rig_answer_to(&rig, i, h, BLAME_NONE);
                rig_say(&rig, i, &answer);
                rig_deliver(&rig, i);
            }
        }
    }
    ASSERT_INT(rig.supervisor.slots.state_counts[SLOT_UPLOADED], RIG_SLABS);
    ASSERT_INT(memory_slabs_free(&rig.supervisor.memory, 0), 0);
    uint64_t second = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig);
    ASSERT_INT(slot_of(second, 0)->state, SLOT_SYNTHESIZING);
    struct slot *victim = NULL;
    for (uint32_t p = 0; p < RIG_SLABS; p++)
        victim = slot_of(first, p)->slab < 0 ? slot_of(first, p) : victim;
    ASSERT(victim);
    rig_kill(&rig, (unsigned)(victim->owner - rig.supervisor.workers.entries));
    ASSERT_INT(victim->state, SLOT_QUEUED);
    /* Synthesis says nothing of what a gpu worker died of: it proves alone too. */
    for (int turn = 0; turn < 50 && victim->state != SLOT_PROVING; turn++) {
        rig_turn(&rig);
        for (unsigned i = 0; i < RIG_WORKERS && victim->state != SLOT_PROVING; i++)
            finish_all_of(i);
    }
    ASSERT_INT(victim->state, SLOT_PROVING);
    ASSERT(victim->is_suspect);
    ASSERT_INT(victim->owner->held_count, 1);
    run_until_idle();
    ASSERT_INT(job_of(first)->state, REQUEST_JOB_DONE);
    ASSERT_INT(job_of(second)->state, REQUEST_JOB_DONE);
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(priority_acts_at_every_stage)
{
    rig_open(&rig);
    uint64_t low = rig_submit(&rig, 8, REQUEST_PRIORITY_LOW);
    rig_turn(&rig);
    uint64_t critical = rig_submit(&rig, 2, REQUEST_PRIORITY_CRITICAL);
    while (!job_is_terminal(job_of(critical))) {
        rig_turn(&rig);
        for (unsigned i = 0; i < RIG_WORKERS; i++)
            finish_all_of(i);
    }
    ASSERT(job_of(low)->done_count <= RIG_SLABS + 2);
    run_until_idle();
    assert_nothing_is_held();
    rig_close(&rig);
}

/* ---- workers that break the contract ---- */

static void spoil_generation(struct message *m)
{
    m->generation++;
}
static void spoil_slot(struct message *m)
{
    m->slot = SLOTS_MAX;
}
static void spoil_slot_free(struct message *m)
{
    m->slot = m->slot == 77 ? 78 : 77;
}
static void spoil_operation(struct message *m)
{
    m->operation = OPERATION_FINALIZE;
}
static void spoil_operation_unknown(struct message *m)
{
    m->operation = 4711;
}
static void spoil_uploaded(struct message *m)
{
    m->operation = OPERATION_UPLOADED;
}
static void spoil_result(struct message *m)
{
    m->result = 1;
}
static void spoil_errno(struct message *m)
{
    m->result = INT32_MIN;
    m->blame = BLAME_DEVICE;
}
static void spoil_blame(struct message *m)
{
    m->blame = BLAME_COUNT;
}
static void spoil_blame_alone(struct message *m)
{
    m->blame = BLAME_INPUT;
}
static void spoil_payload(struct message *m)
{
    m->payload_bytes = MESSAGE_PAYLOAD_BYTES + 1;
}
static void spoil_dropped(struct message *m)
{
    m->result = -1;
    m->blame = BLAME_CANCELLED;
}
static void spoil_ready(struct message *m)
{
    m->operation = OPERATION_READY;
}
static void spoil_key(struct message *m)
{
    m->operation = OPERATION_LOAD_KEY;
}
static void spoil_drop(struct message *m)
{
    m->operation = OPERATION_DROP_KEY;
}

TEST(whatever_breaks_the_contract_ends_the_worker_and_harms_nobody_else)
{
    static void (*const spoils[])(struct message *) = {
        spoil_generation, spoil_slot,   spoil_slot_free, spoil_operation,   spoil_operation_unknown,
        spoil_uploaded,   spoil_result, spoil_blame,     spoil_blame_alone, spoil_payload,
        spoil_dropped,    spoil_ready,  spoil_key,       spoil_drop,        spoil_errno,
    };
    rig_open(&rig);
    for (size_t s = 0; s < sizeof spoils / sizeof spoils[0]; s++) {
        uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
        struct slot *slot = bring_to(number, SLOT_SYNTHESIZING);
        struct worker *worker = slot->owner;
        unsigned i = (unsigned)(worker - rig.supervisor.workers.entries);
        rig_turn(&rig);
        struct message answer = rig_answer_to(&rig, i, 0, BLAME_NONE), good = answer;
        spoils[s](&answer);
        rig_say(&rig, i, &answer);
        rig_say(&rig, i, &good); /* too late: nothing it says counts any more */
        rig_deliver(&rig, i);
        ASSERT_INT(worker->state, WORKER_DOOMED);
        ASSERT(slot->owner == worker);
        ASSERT_INT(slot->state, SLOT_SYNTHESIZING);
        rig_kill(&rig, i);
        ASSERT_INT(slot->state, SLOT_QUEUED);
        run_until_idle();
        ASSERT_INT(job_of(number)->state, REQUEST_JOB_DONE);
    }
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(points_and_proofs_of_the_wrong_size_are_refused)
{
    static const enum slot_state states[] = {SLOT_UPLOADED, SLOT_FINALIZING};
    rig_open(&rig);
    for (size_t s = 0; s < 2; s++) {
        uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
        struct slot *slot = bring_to(number, states[s]);
        struct worker *worker = slot->owner;
        unsigned i = (unsigned)(worker - rig.supervisor.workers.entries);
        rig_turn(&rig);
        struct message answer = rig_answer_to(&rig, i, 0, BLAME_NONE);
        answer.payload_bytes--;
        rig_say(&rig, i, &answer);
        rig_deliver(&rig, i);
        ASSERT_INT(worker->state, WORKER_DOOMED);
        ASSERT_INT(slot->state, states[s]);
        rig_kill(&rig, i);
        run_until_idle();
        ASSERT_INT(job_of(number)->state, REQUEST_JOB_DONE);
    }
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(another_workers_slot_cannot_be_answered)
{
    rig_open(&rig);
    uint64_t number = rig_submit(&rig, 2, REQUEST_PRIORITY_NORMAL);
    rig_turn(&rig);
    ASSERT_INT(rig.workers[SYNTH].held_count, 1);
    ASSERT_INT(rig.workers[SYNTH + 1].held_count, 1);
    struct message stolen = rig_answer_to(&rig, SYNTH, 0, BLAME_NONE);
    rig_say(&rig, SYNTH + 1, &stolen);
    rig_deliver(&rig, SYNTH + 1);
    ASSERT_INT(rig.supervisor.workers.entries[SYNTH + 1].state, WORKER_DOOMED);
    ASSERT_INT(rig.supervisor.workers.entries[SYNTH].state, WORKER_RUNNING);
    rig_say(&rig, SYNTH, &stolen);
    rig_deliver(&rig, SYNTH);
    rig_kill(&rig, SYNTH + 1);
    run_until_idle();
    ASSERT_INT(job_of(number)->state, REQUEST_JOB_DONE);
    assert_nothing_is_held();
    rig_close(&rig);
}

/* ---- everything at once ---- */

static void random_answer(uint64_t *seed, unsigned i)
{
    struct rig_worker *worker = &rig.workers[i];
    if (worker->held_count == 0)
        return;
    unsigned h = (unsigned)(test_random(seed) % worker->held_count);
    enum blame blame = BLAME_NONE;
    uint64_t dice = test_random(seed) % 100;
    if (worker->is_cancelled[h] && dice < 70)
        blame = BLAME_CANCELLED;
    else if (dice < 2)
        blame = BLAME_INPUT;
    else if (dice < 4)
        blame = BLAME_DEVICE;
    else if (dice < 5 && worker->held[h].operation == OPERATION_FINALIZE)
        blame = BLAME_CHECK;
    struct message answer = rig_answer_to(&rig, i, h, blame);
    rig_say(&rig, i, &answer);
    if (test_random(seed) % 3)
        rig_deliver(&rig, i);
}

TEST(random_work_deaths_and_cancels_leave_nothing_behind)
{
    uint64_t seed = test_seed(), numbers[200];
    unsigned count = 0;
    rig_open(&rig);
    for (int step = 0; step < 20000; step++) {
        uint64_t dice = test_random(&seed) % 1000;
        if (dice < 20 && count < 200)
            numbers[count++] =
                rig_submit(&rig, 1 + (uint32_t)(test_random(&seed) % 6),
                           (enum request_priority)(test_random(&seed) % REQUEST_PRIORITY_COUNT));
        else if (dice < 24 && count > 0)
            cancel(numbers[test_random(&seed) % count]);
        else if (dice < 30)
            rig_kill(&rig, (unsigned)(test_random(&seed) % RIG_WORKERS));
        else if (dice < 500)
            random_answer(&seed, (unsigned)(test_random(&seed) % RIG_WORKERS));
        else
            rig_turn(&rig);
        ASSERT(rig.supervisor.slots.free_count <= SLOTS_MAX);
    }
    run_until_idle();
    for (unsigned i = 0; i < count; i++)
        ASSERT(job_is_terminal(job_of(numbers[i])));
    assert_nothing_is_held();
    rig_close(&rig);
}

TEST(a_full_slot_table_refuses_and_stays_quick)
{
    rig_open(&rig);
    unsigned jobs = 0;
    while (rig_submit(&rig, JOB_PARTITIONS_MAX, REQUEST_PRIORITY_NORMAL))
        jobs++;
    ASSERT_INT(jobs, SLOTS_MAX / JOB_PARTITIONS_MAX);
    ASSERT_INT(rig.supervisor.slots.free_count, 0);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int turn = 0; turn < 500; turn++) {
        rig_turn(&rig);
        for (unsigned i = 0; i < RIG_WORKERS; i++)
            finish_all_of(i);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    uint32_t moved = rig.supervisor.slots.free_count;
    printf("  %u partitions through all stages in %.1f ms with %u queued\n", moved, ms, SLOTS_MAX);
    ASSERT(moved > 500);
    run_until_idle();
    assert_nothing_is_held();
    rig_close(&rig);
}

/* The size that is asked for is one that the configuration takes: a multiple of the page. */
TEST(a_circuit_that_fits_no_slab_names_the_size_to_set)
{
    rig_open(&rig);
    rig.supervisor.memory.pages = SLAB_PAGES_PREFER;
    rig.circuit->facts.variable_count = 32000;
    rig.circuit->facts.domain_log2 = 15; /* 1000 KiB of witness, 2 MiB of evaluations */
    circuit_settle_prepared(rig.circuit);
    ASSERT_INT(rig.circuit->state, CIRCUIT_FAILED);
    ASSERT(strstr(rig.circuit->error, "needs a slab of 3048K and the largest has 16K"));
    ASSERT(strstr(rig.circuit->error, "set SlabSize=4M or more"));
    rig.supervisor.config.device_evaluates = true;
    circuit_settle_prepared(rig.circuit);
    ASSERT_INT(rig.circuit->state, CIRCUIT_FAILED);
    ASSERT(strstr(rig.circuit->error, "needs a slab of 1000K and the largest has 16K"));
    rig_close(&rig);
}

TEST(grants_say_who_evaluates)
{
    for (int device_evaluates = 0; device_evaluates < 2; device_evaluates++) {
        rig_open(&rig);
        rig.supervisor.config.device_evaluates = device_evaluates;
        rig.circuit->facts.variable_count = 8;
        const uint16_t expected = device_evaluates ? 0 : MESSAGE_HAS_EVALUATIONS;
        uint64_t number = rig_submit(&rig, 1, REQUEST_PRIORITY_NORMAL);
        static const enum slot_state states[] = {SLOT_SYNTHESIZING, SLOT_PROVING};
        struct slot *slot = NULL;
        for (int s = 0; s < 2; s++) {
            slot = bring_to(number, states[s]);
            unsigned i = (unsigned)(slot->owner - rig.supervisor.workers.entries);
            rig_turn(&rig);
            ASSERT_INT(rig.workers[i].held[0].flags & MESSAGE_HAS_EVALUATIONS, expected);
        }
        /* With both, 64 bytes a point of the domain lie behind the witness. */
        ASSERT_INT(memory_stale_bytes(&rig.supervisor.memory, (uint32_t)slot->slab),
                   device_evaluates ? 4096 : 3 * 4096);
        run_until_idle();
        rig_close(&rig);
    }
}

TEST_MAIN(CASE(a_job_goes_through_all_stages),
          CASE(finalizing_carries_points_and_the_digest_of_the_verifying_key),
          CASE(a_death_puts_the_partition_back_where_the_table_says),
          CASE(a_synthesis_is_told_how_far_earlier_partitions_wrote),
          CASE(an_answer_given_before_death_counts),
          CASE(of_several_each_becomes_a_suspect_and_none_is_counted),
          CASE(a_partition_that_kills_its_worker_again_and_again_fails_its_job),
          CASE(blame_on_the_input_fails_the_job_and_drops_its_other_partitions),
          CASE(a_failed_check_fails_the_job_and_a_device_is_tried_again),
          CASE(a_cancelled_slot_stays_with_its_owner_until_that_answers),
          CASE(a_slab_is_taken_early_and_a_death_then_costs_the_synthesis),
          CASE(priority_acts_at_every_stage),
          CASE(whatever_breaks_the_contract_ends_the_worker_and_harms_nobody_else),
          CASE(points_and_proofs_of_the_wrong_size_are_refused),
          CASE(another_workers_slot_cannot_be_answered),
          CASE(random_work_deaths_and_cancels_leave_nothing_behind),
          CASE(a_circuit_that_fits_no_slab_names_the_size_to_set), CASE(grants_say_who_evaluates),
          CASE(a_full_slot_table_refuses_and_stays_quick))
