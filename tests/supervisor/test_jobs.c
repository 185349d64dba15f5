/* Job records: one terminal state, results, retention. */
#include "supervisor/jobs.h"

#include "tests/test.h"

#define AGE_NS (UINT64_C(86400) * 1000000000u)

static int changes;

static void on_change(void *context, struct job *job)
{
    (void)context;
    (void)job;
    changes++;
}

static struct job *make(struct jobs *jobs, uint64_t number, uint32_t partitions)
{
    const struct job_plan plan = {
        .number = number,
        .circuit = "c",
        .curve = &curve_bn254,
        .priority = REQUEST_PRIORITY_NORMAL,
        .partition_count = partitions,
        .public_count = 2,
        .now_ns = 1000,
    };
    return jobs_create(jobs, &plan);
}

static void set_up(struct jobs *jobs)
{
    ASSERT_INT(jobs_init(jobs), 0);
    jobs->on_change = on_change;
    changes = 0;
}

TEST(a_job_is_done_with_its_last_partition)
{
    struct jobs jobs;
    set_up(&jobs);
    struct job *job = make(&jobs, 1, 2);
    ASSERT(jobs_find(&jobs, 1) == job);
    jobs_start(&jobs, job, 2000);
    ASSERT_INT(job->state, REQUEST_JOB_RUNNING);
    ASSERT(!jobs_partition_done(&jobs, job, 3000));
    ASSERT(jobs_partition_done(&jobs, job, 4000));
    ASSERT_INT(job->state, REQUEST_JOB_DONE);
    ASSERT_INT(changes, 3);
    ASSERT_INT(jobs.active.count, 0);
    ASSERT_INT(jobs.finished.count, 1);
    ASSERT_INT(jobs.active_bytes, 0);
    jobs_destroy(&jobs);
}

TEST(the_terminal_state_is_taken_once)
{
    struct jobs jobs;
    set_up(&jobs);
    struct job *job = make(&jobs, 1, 1);
    ASSERT(jobs_cancel(&jobs, job, 2000));
    ASSERT(!jobs_cancel(&jobs, job, 2000));
    ASSERT(!jobs_fail(&jobs, job, REPLY_FAILED, 0, "late", 3000));
    ASSERT(!jobs_partition_done(&jobs, job, 3000));
    jobs_start(&jobs, job, 3000);
    ASSERT_INT(job->state, REQUEST_JOB_CANCELLED);
    ASSERT_INT(job->finished_ns, 2000);
    ASSERT_INT(jobs.totals[REQUEST_JOB_CANCELLED], 1);
    ASSERT_INT(jobs.totals[REQUEST_JOB_FAILED], 0);
    jobs_destroy(&jobs);
}

TEST(a_failed_job_keeps_its_reason_and_no_results)
{
    struct jobs jobs;
    set_up(&jobs);
    struct job *job = make(&jobs, 1, 3);
    size_t before = job->result_bytes;
    ASSERT(jobs_fail(&jobs, job, REPLY_BAD_INPUT, 2, "value 7 is not reduced", 2000));
    ASSERT_INT(job->error.code, REPLY_BAD_INPUT);
    ASSERT_INT(job->error.partition, 2);
    ASSERT_STR(job->error.text, "value 7 is not reduced");
    ASSERT(!job->proofs && !job->publics);
    ASSERT(job->result_bytes < before);
    ASSERT_INT(jobs.finished_bytes, job->result_bytes);
    jobs_destroy(&jobs);
}

TEST(retention_by_count_keeps_the_newest)
{
    struct jobs jobs;
    set_up(&jobs);
    for (uint64_t i = 1; i <= JOBS_FINISHED_MAX + 10; i++) {
        struct job *job = make(&jobs, i, 1);
        jobs_partition_done(&jobs, job, 1000 + i);
        jobs_expire(&jobs, 1000 + i, AGE_NS);
    }
    ASSERT_INT(jobs.finished.count, JOBS_FINISHED_MAX);
    ASSERT(!jobs_find(&jobs, 10));
    ASSERT(jobs_find(&jobs, 11));
    jobs_destroy(&jobs);
}

TEST(retention_by_age_drops_the_old_and_not_the_active)
{
    struct jobs jobs;
    set_up(&jobs);
    struct job *old = make(&jobs, 1, 1);
    make(&jobs, 2, 1);
    jobs_partition_done(&jobs, old, 5000);
    jobs_expire(&jobs, 5000 + AGE_NS, AGE_NS);
    ASSERT(jobs_find(&jobs, 1));
    jobs_expire(&jobs, 5001 + AGE_NS, AGE_NS);
    ASSERT(!jobs_find(&jobs, 1));
    ASSERT(jobs_find(&jobs, 2));
    ASSERT_INT(jobs.finished_bytes, 0);
    jobs_destroy(&jobs);
}

TEST(retention_by_bytes_keeps_at_least_the_newest)
{
    struct jobs jobs;
    const struct job_plan plan = {
        .circuit = "c",
        .curve = &curve_bn254,
        .partition_count = JOB_PARTITIONS_MAX,
        .public_count = PUBLIC_INPUTS_MAX,
        .now_ns = 1,
    };
    set_up(&jobs);
    for (uint64_t i = 1; i <= 6; i++) { /* 256 MiB each, never touched */
        struct job_plan numbered = plan;
        numbered.number = i;
        struct job *job = jobs_create(&jobs, &numbered);
        ASSERT(job);
        job->done_count = JOB_PARTITIONS_MAX - 1;
        jobs_partition_done(&jobs, job, i);
        jobs_expire(&jobs, i, AGE_NS);
    }
    ASSERT(jobs.finished_bytes <= (size_t)JOBS_FINISHED_MIB_MAX << 20);
    ASSERT(jobs.finished.count >= 1);
    ASSERT(jobs_find(&jobs, 6));
    jobs_destroy(&jobs);
}

TEST_MAIN(CASE(a_job_is_done_with_its_last_partition), CASE(the_terminal_state_is_taken_once),
          CASE(a_failed_job_keeps_its_reason_and_no_results),
          CASE(retention_by_count_keeps_the_newest),
          CASE(retention_by_age_drops_the_old_and_not_the_active),
          CASE(retention_by_bytes_keeps_at_least_the_newest))
