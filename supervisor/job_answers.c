/* See job_answers.h. Upstream: answers.c, control_waits.c; downstream: admission.c, jobs.c,
 * durable.c, outlet.c. */
#include "supervisor/job_answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/outlet.h"
#include "supervisor/pipeline.h"
#include "supervisor/report.h"
#include "supervisor/supervisor.h"

enum {
    RETRY_JOURNAL_MS = 5000,
    RETRY_FETCH_MS = 200,
};

/* Jobs of others do not exist for a caller of the submit socket, and reserved ones for nobody. */
static struct job *find_job(const struct answers_caller *caller, uint64_t number)
{
    struct job *job = jobs_find(&caller->supervisor->jobs, number);
    return job && !job->is_pending && (caller->is_admin || job->uid == caller->uid) ? job : NULL;
}

bool job_answers_may_see(const struct answers_caller *caller, uint64_t job)
{
    return find_job(caller, job) != NULL;
}

/* The journal may have it, and could not be asked: too many do. */
static bool was_not_looked_up(const struct answers_caller *caller, uint64_t number)
{
    const struct supervisor *supervisor = caller->supervisor;
    bool may_be_kept = number == 0 || number < supervisor->job_numbers.next;
    return may_be_kept && supervisor->durable.journal && !caller->was_fetched;
}

static void refuse_look_up(struct reply *reply, uint32_t message_id)
{
    reply_error(reply, message_id, REPLY_BUSY,
                "too many jobs are looked up in the journal at once; ask again", RETRY_FETCH_MS);
}

static void no_such_job(const struct answers_caller *caller, struct reply *reply,
                        uint32_t message_id, uint64_t number)
{
    const struct supervisor *supervisor = caller->supervisor;
    char text[200];
    if (caller->was_fetched && caller->fetch_result < 0 && caller->fetch_result != -ENOENT) {
        snprintf(text, sizeof text, "job %llu cannot be read from the journal: %s",
                 (unsigned long long)number,
                 caller->fetch_result == -EBADMSG ? "its record is damaged"
                                                  : strerror(-caller->fetch_result));
        reply_error(reply, message_id, REPLY_FAILED, text, 0);
        return;
    }
    if (supervisor->durable.waits_for_space) {
        reply_error(reply, message_id, REPLY_BUSY,
                    "jobs of before are not known until the journal can be opened: the disk of "
                    "the state folder is full or read-only",
                    RETRY_JOURNAL_MS);
        return;
    }
    if (was_not_looked_up(caller, number)) {
        refuse_look_up(reply, message_id);
        return;
    }
    if (number && number <= supervisor->durable.counts.expired_number) {
        snprintf(text, sizeof text,
                 "job %llu is no longer kept, or was never one of yours: results are kept for "
                 "%llu s (ResultsAge=)",
                 (unsigned long long)number,
                 (unsigned long long)(supervisor->config.results_age_ns / 1000000000u));
        reply_error(reply, message_id, REPLY_EXPIRED, text, 0);
        return;
    }
    if (number)
        snprintf(text, sizeof text, "there is no job %llu of yours", (unsigned long long)number);
    else
        snprintf(text, sizeof text, "there is no job of yours with that client key");
    reply_error(reply, message_id, REPLY_NOT_FOUND, text, 0);
}

/* Whether the request has to wait for the journal: the job is not in memory, or its result is not,
 * and it may be there. */
static bool fetch(const struct answers_caller *caller, uint64_t number, const char *client_key,
                  struct answers_later *ret_later)
{
    struct supervisor *supervisor = caller->supervisor;
    if (caller->was_fetched || (number && number >= supervisor->job_numbers.next) ||
        !durable_fetch(supervisor, number, caller->uid, client_key))
        return false;
    *ret_later = (struct answers_later){.kind = CONTROL_WAIT_FETCH, .job = number};
    return true;
}

static void write_client_key(struct reply *reply, const struct job *job)
{
    if (job->client_key[0])
        reply_string(reply, "client_key", job->client_key);
}

static void write_job_error(struct reply *reply, const struct job *job)
{
    enum request_job_state state = job_state_shown(job);
    if (state != REQUEST_JOB_FAILED && state != REQUEST_JOB_CANCELLED)
        return;
    reply_map(reply, "error");
    reply_string(reply, "code", reply_code_to_string(job->error.code));
    reply_string(reply, "message", job->error.text);
    if (job->error.partition != JOB_PARTITION_NONE)
        reply_integer(reply, "partition", job->error.partition);
    reply_close(reply);
}

void job_answers_submitted(const struct admission_outcome *outcome, uint32_t message_id,
                           struct reply *reply)
{
    const struct admission_refusal *refusal = &outcome->refusal;
    if (!outcome->is_taken) {
        reply_error(reply, message_id, refusal->code, refusal->text, refusal->retry_after_ms);
        return;
    }
    reply_begin(reply, message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", outcome->job);
    if (outcome->is_existing)
        reply_bool(reply, "existing", true);
    reply_close(reply);
}

static enum answers_when make_submit(const struct answers_caller *caller,
                                     const struct request *request, int *descriptors,
                                     struct reply *reply, struct answers_later *ret_later)
{
    struct admission_outcome outcome;
    admission_submit(caller->supervisor, caller->uid, &request->submit, descriptors,
                     request->descriptor_count, &ret_later->ticket, &outcome);
    if (ret_later->ticket) {
        ret_later->kind = CONTROL_WAIT_SUBMIT;
        return ANSWERS_LATER;
    }
    job_answers_submitted(&outcome, request->message_id, reply);
    return ANSWERS_NOW;
}

bool job_answers_wait_is_due(const struct answers_caller *caller, uint64_t number, bool has_seen,
                             uint64_t seen)
{
    const struct job *job = find_job(caller, number);
    return !job || (job_is_terminal(job) && !job->is_settling) ||
           (has_seen && job->version != seen);
}

static void write_stages(struct reply *reply, const struct supervisor *supervisor,
                         const struct job *job)
{
    uint32_t counts[SLOT_STATE_COUNT] = {0};
    for (uint32_t i = 0; i < job->partition_count; i++) {
        if (job->slots[i] != SLOT_NONE)
            counts[supervisor->slots.entries[job->slots[i]].state]++;
    }
    counts[SLOT_DONE] = job->done_count;
    reply_map(reply, "stages");
    for (int state = SLOT_QUEUED; state < SLOT_STATE_COUNT; state++) {
        if (counts[state] > 0 && state != SLOT_ENDING)
            reply_integer(reply, slot_state_to_string((enum slot_state)state), counts[state]);
    }
    reply_close(reply);
}

void job_answers_waited(const struct answers_caller *caller, uint32_t message_id, uint64_t number,
                        struct reply *reply)
{
    const struct job *job = find_job(caller, number);
    if (!job) {
        no_such_job(caller, reply, message_id, number);
        return;
    }
    reply_begin(reply, message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", job->number);
    write_client_key(reply, job);
    reply_string(reply, "state", request_job_state_to_string(job_state_shown(job)));
    reply_integer(reply, "partitions", job->partition_count);
    reply_integer(reply, "done", job->done_count);
    write_stages(reply, caller->supervisor, job);
    reply_integer(reply, "version", job->version);
    write_job_error(reply, job);
    reply_close(reply);
}

/* The number of a job of the caller's own in memory; 0. */
static uint64_t find_client_key(const struct answers_caller *caller, const char *client_key)
{
    const struct jobs *jobs = &caller->supervisor->jobs;
    for (const struct job *job = jobs->active.first; job; job = job->next) {
        if (!job->is_pending && job->uid == caller->uid && strcmp(job->client_key, client_key) == 0)
            return job->number;
    }
    return 0;
}

static enum answers_when make_wait(const struct answers_caller *caller,
                                   const struct request *request, struct reply *reply,
                                   struct answers_later *ret_later)
{
    const struct request_wait *wait = &request->wait;
    uint64_t number = wait->job;
    if (number == 0)
        number = find_client_key(caller, wait->client_key);
    const struct job *job = number ? find_job(caller, number) : NULL;
    if (!job && fetch(caller, wait->job, wait->client_key, ret_later))
        return ANSWERS_LATER;
    if (job && wait->timeout_ms > 0 &&
        !job_answers_wait_is_due(caller, number, wait->has_seen, wait->seen)) {
        *ret_later = (struct answers_later){.kind = CONTROL_WAIT_JOB, .job = number};
        return ANSWERS_LATER;
    }
    job_answers_waited(caller, request->message_id, number, reply);
    return ANSWERS_NOW;
}

/* A job that is done, with its result in memory, or NULL and the error reply. */
static struct job *find_done(const struct answers_caller *caller, uint32_t message_id,
                             uint64_t number, struct reply *reply)
{
    struct job *job = find_job(caller, number);
    if (!job) {
        no_such_job(caller, reply, message_id, number);
        return NULL;
    }
    if (!job_is_terminal(job) || job->is_settling) {
        reply_error(reply, message_id, REPLY_TIMEOUT, "the job is not finished", 0);
        return NULL;
    }
    if (job->state != REQUEST_JOB_DONE) {
        char text[sizeof job->error.text + 32];
        bool has_partition = job->error.partition != JOB_PARTITION_NONE;
        if (has_partition)
            snprintf(text, sizeof text, "partition %u: %s", job->error.partition, job->error.text);
        else
            snprintf(text, sizeof text, "%s", job->error.text);
        reply_error(reply, message_id, job->error.code, text, 0);
        return NULL;
    }
    if (!job->has_results && was_not_looked_up(caller, number)) {
        refuse_look_up(reply, message_id);
        return NULL;
    }
    if (!job->has_results) {
        reply_error(reply, message_id, REPLY_FAILED,
                    "its result cannot be read from the journal; the daemon's log says why", 0);
        return NULL;
    }
    return job;
}

/* result and public: whether the journal has to be asked first. */
static bool fetch_result(const struct answers_caller *caller, uint64_t number,
                         struct answers_later *ret_later)
{
    const struct job *job = find_job(caller, number);
    bool is_here = job && (job->has_results || job->state != REQUEST_JOB_DONE);
    return !is_here && fetch(caller, number, NULL, ret_later);
}

static void make_result(const struct answers_caller *caller, const struct request *request,
                        struct reply *reply)
{
    const struct job *job = find_done(caller, request->message_id, request->job, reply);
    if (!job)
        return;
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", job->number);
    write_client_key(reply, job);
    reply_string(reply, "state", request_job_state_to_string(job->state));
    reply_string(reply, "circuit", job->circuit);
    reply_string(reply, "curve", job->curve->name);
    reply_integer(reply, "public_count", job->public_count);
    outlet_write_proofs(reply, job);
    outlet_write_phases(reply, job);
    reply_close(reply);
}

static void make_public(const struct answers_caller *caller, const struct request *request,
                        struct reply *reply)
{
    const struct request_public *wanted = &request->public;
    const struct job *job = find_done(caller, request->message_id, wanted->job, reply);
    if (!job)
        return;
    if (wanted->partition >= job->partition_count) {
        reply_error(reply, request->message_id, REPLY_NOT_FOUND,
                    "the job has fewer partitions than that", 0);
        return;
    }
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "total", job->public_count);
    outlet_write_public(reply, job, wanted->partition, wanted->first, REPLY_PUBLIC_VALUES_MAX);
    reply_close(reply);
}

bool job_answers_cancel_is_due(const struct answers_caller *caller, uint64_t number)
{
    const struct job *job = find_job(caller, number);
    return !job || !job->is_settling;
}

static void write_outcome(struct reply *reply, uint32_t message_id, uint64_t job,
                          const char *outcome)
{
    reply_begin(reply, message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", job);
    reply_string(reply, "outcome", outcome);
    reply_close(reply);
}

void job_answers_cancelled(uint32_t message_id, uint64_t job, struct reply *reply)
{
    write_outcome(reply, message_id, job, "cancelled");
}

static enum answers_when make_cancel(const struct answers_caller *caller,
                                     const struct request *request, struct reply *reply,
                                     struct answers_later *ret_later)
{
    struct supervisor *supervisor = caller->supervisor;
    struct job *job = find_job(caller, request->job);
    if (!job && fetch(caller, request->job, NULL, ret_later))
        return ANSWERS_LATER;
    if (!job) {
        no_such_job(caller, reply, request->message_id, request->job);
        return ANSWERS_NOW;
    }
    bool is_cancelled = jobs_cancel(&supervisor->jobs, job, supervisor->now_ns);
    if (is_cancelled) {
        report_job(job);
        pipeline_drop_job(supervisor, job);
    }
    /* Asked twice, the second answer is the first one's truth. */
    bool stays_cancelled = job->state == REQUEST_JOB_CANCELLED;
    if (stays_cancelled && job->is_settling) {
        *ret_later = (struct answers_later){.kind = CONTROL_WAIT_CANCEL, .job = job->number};
        return ANSWERS_LATER;
    }
    write_outcome(reply, request->message_id, job->number,
                  stays_cancelled ? "cancelled" : "too_late");
    return ANSWERS_NOW;
}

static void write_job(struct reply *reply, const struct supervisor *supervisor,
                      const struct job *job)
{
    reply_map(reply, NULL);
    reply_integer(reply, "job", job->number);
    write_client_key(reply, job);
    reply_string(reply, "circuit", job->circuit);
    reply_string(reply, "state", request_job_state_to_string(job_state_shown(job)));
    reply_string(reply, "priority", request_priority_to_string(job->priority));
    reply_integer(reply, "partitions", job->partition_count);
    reply_integer(reply, "done", job->done_count);
    reply_integer(reply, "uid", job->uid);
    reply_integer(reply, "age_ms", (supervisor->now_ns - job->admitted_ns) / 1000000);
    if (job_is_terminal(job) && !job->is_settling)
        reply_integer(reply, "took_ms", (job->finished_ns - job->admitted_ns) / 1000000);
    write_job_error(reply, job);
    reply_close(reply);
}

/* The later of two by number, NULL counting as none. */
static const struct job *later(const struct job *a, const struct job *b)
{
    if (!a || !b)
        return a ? a : b;
    return a->number > b->number ? a : b;
}

/* Newest first over both lists. The finished one is in order of ending, nearly that of numbers; a
 * page shows the exact order within it. */
static void make_jobs(const struct answers_caller *caller, const struct request *request,
                      struct reply *reply)
{
    const struct jobs *jobs = &caller->supervisor->jobs;
    const struct request_jobs *wanted = &request->jobs;
    const struct job *active = jobs->active.last, *finished = jobs->finished.last;
    uint32_t left = wanted->limit;
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_array(reply, "jobs");
    while ((active || finished) && left > 0) {
        const struct job *job = later(active, finished);
        if (job == active)
            active = active->previous;
        else
            finished = finished->previous;
        if (job->is_pending || (!caller->is_admin && job->uid != caller->uid) ||
            (wanted->has_state && job_state_shown(job) != wanted->state))
            continue;
        write_job(reply, caller->supervisor, job);
        left--;
    }
    reply_close(reply);
    reply_close(reply);
}

enum answers_when job_answers_make(const struct answers_caller *caller,
                                   const struct request *request, int *descriptors,
                                   struct reply *reply, struct answers_later *ret_later)
{
    switch (request->method) {
    case REQUEST_SUBMIT:
        return make_submit(caller, request, descriptors, reply, ret_later);
    case REQUEST_WAIT:
        return make_wait(caller, request, reply, ret_later);
    case REQUEST_RESULT:
        if (fetch_result(caller, request->job, ret_later))
            return ANSWERS_LATER;
        make_result(caller, request, reply);
        return ANSWERS_NOW;
    case REQUEST_PUBLIC:
        if (fetch_result(caller, request->public.job, ret_later))
            return ANSWERS_LATER;
        make_public(caller, request, reply);
        return ANSWERS_NOW;
    case REQUEST_CANCEL:
        return make_cancel(caller, request, reply, ret_later);
    default:
        make_jobs(caller, request, reply);
        return ANSWERS_NOW;
    }
}
