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
    jobs->first_deadline_ns = UINT64_MAX;
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

static void list_prepend(struct jobs_list *list, struct job *job)
{
    job->previous = NULL;
    job->next = list->first;
    if (list->first)
        list->first->previous = job;
    else
        list->last = job;
    list->first = job;
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
    free(jobs->users);
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

static struct jobs_user *find_user(const struct jobs *jobs, uid_t uid)
{
    for (uint32_t i = 0; i < jobs->user_count; i++) {
        if (jobs->users[i].uid == uid)
            return &jobs->users[i];
    }
    return NULL;
}

const struct jobs_user *jobs_user_find(const struct jobs *jobs, uid_t uid)
{
    return find_user(jobs, uid);
}

static bool user_add(struct jobs *jobs, const struct job *job)
{
    struct jobs_user *user = find_user(jobs, job->uid);
    if (!user && jobs->user_count == jobs->user_room) {
        uint32_t room = jobs->user_room ? 2 * jobs->user_room : 16;
        struct jobs_user *users = realloc(jobs->users, room * sizeof users[0]);
        if (!users)
            return false;
        jobs->users = users;
        jobs->user_room = room;
    }
    if (!user) {
        user = &jobs->users[jobs->user_count++];
        *user = (struct jobs_user){.uid = job->uid};
    }
    user->jobs++;
    user->bytes += job->input_bytes;
    return true;
}

static void user_remove(struct jobs *jobs, const struct job *job)
{
    struct jobs_user *user = find_user(jobs, job->uid);
    CHECK(user && user->jobs > 0 && user->bytes >= job->input_bytes);
    user->bytes -= job->input_bytes;
    if (--user->jobs == 0)
        *user = jobs->users[--jobs->user_count];
}

void jobs_add_input(struct jobs *jobs, struct job *job, uint64_t bytes)
{
    struct jobs_user *user = find_user(jobs, job->uid);
    CHECK(user && !job_is_terminal(job));
    job->input_bytes += bytes;
    user->bytes += bytes;
}

static bool job_allocate(struct job *job, bool is_bare)
{
    size_t n = job->partition_count;
    size_t proof_bytes = is_bare ? 0 : n * job->curve->proof_bytes;
    size_t public_bytes = is_bare ? 0 : n * job->public_count * CURVE_FR_BYTES;
    job->slots = malloc(n * sizeof job->slots[0]);
    job->phases_us = calloc(n, sizeof job->phases_us[0]);
    job->result_bytes = sizeof *job + n * sizeof job->slots[0] + proof_bytes + public_bytes +
                        n * sizeof job->phases_us[0];
    if (!is_bare) {
        job->proofs = calloc(1, proof_bytes);
        job->publics = calloc(1, public_bytes ? public_bytes : 1);
    }
    job->has_results = !is_bare;
    if (!job->slots || !job->phases_us || (!is_bare && (!job->proofs || !job->publics)))
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
    job->input_bytes = plan->input_bytes;
    job->deadline_ns = plan->deadline_ns ? plan->deadline_ns : UINT64_MAX;
    job->is_pending = plan->is_pending;
    job->is_durable = plan->is_durable;
    snprintf(job->circuit, sizeof job->circuit, "%s", plan->circuit);
    snprintf(job->client_key, sizeof job->client_key, "%s",
             plan->client_key ? plan->client_key : "");
    if (!job_allocate(job, plan->is_bare) || !user_add(jobs, job)) {
        job_free(job);
        return NULL;
    }
    job->number = plan->number;
    struct job **bucket = bucket_of(jobs, job->number);
    job->hash_next = *bucket;
    *bucket = job;
    list_append(&jobs->active, job);
    jobs->active_bytes += job->result_bytes;
    if (job->deadline_ns < jobs->first_deadline_ns)
        jobs->first_deadline_ns = job->deadline_ns;
    return job;
}

static void unhash(struct jobs *jobs, struct job *job)
{
    struct job **link = bucket_of(jobs, job->number);
    while (*link != job)
        link = &(*link)->hash_next;
    *link = job->hash_next;
}

/* Leaves the active ones, and what is counted of those. */
static void deactivate(struct jobs *jobs, struct job *job)
{
    list_remove(&jobs->active, job);
    jobs->active_bytes -= job->result_bytes;
    user_remove(jobs, job);
}

void jobs_discard(struct jobs *jobs, struct job *job)
{
    CHECK(job->is_pending);
    unhash(jobs, job);
    deactivate(jobs, job);
    job_free(job);
}

void jobs_adopt_finished(struct jobs *jobs, struct job *job, enum request_job_state state)
{
    CHECK(!job_is_terminal(job) && state >= REQUEST_JOB_DONE);
    deactivate(jobs, job);
    job->state = state;
    job->is_pending = false;
    /* `jobs` shows the list from its end, newest first. */
    if (jobs->finished.last && jobs->finished.last->number > job->number)
        list_prepend(&jobs->finished, job);
    else
        list_append(&jobs->finished, job);
    jobs->finished_bytes += job->result_bytes;
}

enum request_job_state job_state_shown(const struct job *job)
{
    return job->is_settling ? REQUEST_JOB_RUNNING : job->state;
}

void jobs_settle(struct jobs *jobs, struct job *job)
{
    if (!job->is_settling)
        return;
    CHECK(jobs->settling_count > 0);
    jobs->settling_count--;
    job->is_settling = false;
    jobs_touch(jobs, job);
}

struct job *jobs_overdue(struct jobs *jobs, uint64_t now_ns)
{
    if (now_ns < jobs->first_deadline_ns)
        return NULL;
    jobs->first_deadline_ns = UINT64_MAX;
    for (struct job *job = jobs->active.first; job; job = job->next) {
        if (job->is_pending && job->deadline_ns <= now_ns) {
            jobs->first_deadline_ns = now_ns + 100000000; /* it is not a job yet */
        } else if (job->deadline_ns <= now_ns) {
            jobs->first_deadline_ns = 0; /* there may be more */
            return job;
        } else if (job->deadline_ns < jobs->first_deadline_ns) {
            jobs->first_deadline_ns = job->deadline_ns;
        }
    }
    return NULL;
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
    job->finished_realtime_ms = realtime_ms();
    jobs->totals[state]++;
    deactivate(jobs, job);
    list_append(&jobs->finished, job);
    if (state != REQUEST_JOB_DONE) { /* no partial results: they would only hold memory */
        size_t proof_bytes = job->partition_count * job->curve->proof_bytes;
        size_t public_bytes = (size_t)job->partition_count * job->public_count * CURVE_FR_BYTES;
        free(job->proofs);
        free(job->publics);
        job->proofs = NULL;
        job->publics = NULL;
        if (job->has_results)
            job->result_bytes -= proof_bytes + public_bytes;
        job->has_results = false;
    }
    jobs->finished_bytes += job->result_bytes;
    if (jobs->on_end)
        jobs->on_end(jobs->context, job);
    jobs->settling_count += job->is_settling;
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

void jobs_drop(struct jobs *jobs, struct job *job)
{
    unhash(jobs, job);
    list_remove(&jobs->finished, job);
    jobs->finished_bytes -= job->result_bytes;
    job_free(job);
}

void jobs_expire(struct jobs *jobs, uint64_t now_ns, uint64_t age_ns_max)
{
    struct job *next;
    for (struct job *oldest = jobs->finished.first; oldest; oldest = next) {
        bool is_too_old = now_ns > oldest->finished_ns && now_ns - oldest->finished_ns > age_ns_max;
        /* The newest result is kept whatever its size: its client has not had a chance yet. */
        bool is_too_much =
            jobs->finished.count > 1 && jobs->finished_bytes > (size_t)JOBS_FINISHED_MIB_MAX << 20;
        if (!is_too_old && !is_too_much && jobs->finished.count <= JOBS_FINISHED_MAX)
            return;
        next = oldest->next;
        /* One whose end is not on disk is nowhere else. A few, while the disk is full. */
        if (!oldest->is_settling)
            jobs_drop(jobs, oldest);
    }
}
