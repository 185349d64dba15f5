/* Job records: see jobs.h. */
#include "supervisor/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/check.h"
#include "supervisor/slots.h"

int jobs_init(struct jobs *jobs)
{
    *jobs = (struct jobs){0};
    jobs->buckets = calloc(JOBS_HASH_BUCKETS, sizeof(struct job *));
    return jobs->buckets ? 0 : -ENOMEM;
}

static void job_free(struct job *job)
{
    free(job->slots);
    free(job->proofs);
    free(job->publics);
    free(job->phases_us);
    free(job);
}

static void list_append(struct jobs_list *list, struct job *job)
{
    job->next = NULL;
    job->previous = list->last;
    if (list->last)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
    list->count++;
}

static void list_remove(struct jobs_list *list, struct job *job)
{
    if (job->previous)
        job->previous->next = job->next;
    else
        list->first = job->next;
    if (job->next)
        job->next->previous = job->previous;
    else
        list->last = job->previous;
    list->count--;
}

static void list_free(struct jobs_list *list)
{
    for (struct job *job = list->first, *next; job; job = next) {
        next = job->next;
        job_free(job);
    }
    *list = (struct jobs_list){0};
}

void jobs_destroy(struct jobs *jobs)
{
    list_free(&jobs->active);
    list_free(&jobs->finished);
    free(jobs->buckets);
    *jobs = (struct jobs){0};
}

static struct job **bucket_of(const struct jobs *jobs, uint64_t number)
{
    return &jobs->buckets[number % JOBS_HASH_BUCKETS];
}

static int64_t realtime_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool job_allocate(struct job *job)
{
    size_t n = job->partition_count;
    size_t proof_bytes = n * job->curve->proof_bytes;
    size_t public_bytes = n * job->public_count * CURVE_FR_BYTES;
    job->slots = malloc(n * sizeof job->slots[0]);
    job->proofs = calloc(1, proof_bytes);
    job->publics = calloc(1, public_bytes ? public_bytes : 1);
    job->phases_us = calloc(n, sizeof job->phases_us[0]);
    job->result_bytes = sizeof *job + n * sizeof job->slots[0] + proof_bytes + public_bytes +
                        n * sizeof job->phases_us[0];
    if (!job->slots || !job->proofs || !job->publics || !job->phases_us)
        return false;
    for (uint32_t i = 0; i < n; i++)
        job->slots[i] = SLOT_NONE;
    return true;
}

struct job *jobs_create(struct jobs *jobs, const struct job_plan *plan)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->uid = plan->uid;
    job->priority = plan->priority;
    job->state = REQUEST_JOB_QUEUED;
    job->version = 1;
    job->curve = plan->curve;
    job->partition_count = plan->partition_count;
    job->public_count = plan->public_count;
    job->order_key = plan->order_key;
    job->admitted_ns = plan->now_ns;
    job->admitted_realtime_ms = realtime_ms();
    snprintf(job->circuit, sizeof job->circuit, "%s", plan->circuit);
    if (!job_allocate(job)) {
        job_free(job);
        return NULL;
    }
    job->number = plan->number;
    struct job **bucket = bucket_of(jobs, job->number);
    job->hash_next = *bucket;
    *bucket = job;
    list_append(&jobs->active, job);
    jobs->active_bytes += job->result_bytes;
    return job;
}

struct job *jobs_find(const struct jobs *jobs, uint64_t number)
{
    struct job *job = *bucket_of(jobs, number);
    while (job && job->number != number)
        job = job->hash_next;
    return job;
}

void jobs_touch(struct jobs *jobs, struct job *job)
{
    job->version++;
    if (jobs->on_change)
        jobs->on_change(jobs->context, job);
}

void jobs_touch_number(struct jobs *jobs, uint64_t number)
{
    struct job *job = jobs_find(jobs, number);
    if (job && !job_is_terminal(job))
        jobs_touch(jobs, job);
}

void jobs_start(struct jobs *jobs, struct job *job, uint64_t now_ns)
{
    if (job->state != REQUEST_JOB_QUEUED)
        return;
    job->state = REQUEST_JOB_RUNNING;
    job->started_ns = now_ns;
    jobs_touch(jobs, job);
}

static bool finish(struct jobs *jobs, struct job *job, enum request_job_state state,
                   uint64_t now_ns)
{
    if (job_is_terminal(job))
        return false;
    job->state = state;
    job->finished_ns = now_ns;
    jobs->totals[state]++;
    list_remove(&jobs->active, job);
    list_append(&jobs->finished, job);
    jobs->active_bytes -= job->result_bytes;
    if (state != REQUEST_JOB_DONE) { /* no partial results: they would only hold memory */
        size_t proof_bytes = job->partition_count * job->curve->proof_bytes;
        size_t public_bytes = (size_t)job->partition_count * job->public_count * CURVE_FR_BYTES;
        free(job->proofs);
        free(job->publics);
        job->proofs = NULL;
        job->publics = NULL;
        job->result_bytes -= proof_bytes + public_bytes;
    }
    jobs->finished_bytes += job->result_bytes;
    jobs_touch(jobs, job);
    return true;
}

bool jobs_partition_done(struct jobs *jobs, struct job *job, uint64_t now_ns)
{
    if (job_is_terminal(job))
        return false;
    CHECK(job->done_count < job->partition_count);
    if (++job->done_count == job->partition_count)
        return finish(jobs, job, REQUEST_JOB_DONE, now_ns);
    jobs_touch(jobs, job);
    return false;
}

bool jobs_fail(struct jobs *jobs, struct job *job, enum reply_code code, uint32_t partition,
               const char *text, uint64_t now_ns)
{
    if (job_is_terminal(job))
        return false;
    job->error.code = code;
    job->error.partition = partition;
    snprintf(job->error.text, sizeof job->error.text, "%s", text);
    return finish(jobs, job, REQUEST_JOB_FAILED, now_ns);
}

bool jobs_cancel(struct jobs *jobs, struct job *job, uint64_t now_ns)
{
    if (job_is_terminal(job))
        return false;
    job->error.code = REPLY_CANCELLED;
    job->error.partition = JOB_PARTITION_NONE;
    snprintf(job->error.text, sizeof job->error.text, "the job was cancelled");
    return finish(jobs, job, REQUEST_JOB_CANCELLED, now_ns);
}

void job_slot_released(struct job *job, uint32_t partition)
{
    CHECK(job->slots[partition] != SLOT_NONE);
    job->slots[partition] = SLOT_NONE;
    job->released_count++;
}

static void drop_oldest(struct jobs *jobs)
{
    struct job *job = jobs->finished.first;
    struct job **link = bucket_of(jobs, job->number);
    while (*link != job)
        link = &(*link)->hash_next;
    *link = job->hash_next;
    list_remove(&jobs->finished, job);
    jobs->finished_bytes -= job->result_bytes;
    job_free(job);
}

void jobs_expire(struct jobs *jobs, uint64_t now_ns)
{
    const uint64_t age_ns_max = (uint64_t)JOBS_FINISHED_AGE_S_MAX * 1000000000u;
    while (jobs->finished.first) {
        struct job *oldest = jobs->finished.first;
        bool is_too_old = now_ns - oldest->finished_ns > age_ns_max;
        /* The newest result is kept whatever its size: its client has not had a chance yet. */
        bool is_too_much =
            jobs->finished.count > 1 && jobs->finished_bytes > (size_t)JOBS_FINISHED_MIB_MAX << 20;
        if (!is_too_old && !is_too_much && jobs->finished.count <= JOBS_FINISHED_MAX)
            return;
        drop_oldest(jobs);
    }
}
