/* From one request to its reply: see answers.h and PROTOCOL.md. Upstream: control.c; downstream:
 * admission.c, jobs.c, circuits.c, status.c, outlet.c. */
#include "supervisor/answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/close_later.h"
#include "runtime/log.h"
#include "supervisor/admission.h"
#include "supervisor/input_file.h"
#include "supervisor/outlet.h"
#include "supervisor/pipeline.h"
#include "supervisor/reload.h"
#include "supervisor/report.h"
#include "supervisor/status.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_answers.h"

/* Jobs of others do not exist for a caller of the submit socket, and reserved ones for nobody. */
static struct job *find_job(const struct answers_caller *caller, uint64_t number)
{
    struct job *job = jobs_find(&caller->supervisor->jobs, number);
    return job && !job->is_pending && (caller->is_admin || job->uid == caller->uid) ? job : NULL;
}

bool answers_may_see(const struct answers_caller *caller, uint64_t job)
{
    return find_job(caller, job) != NULL;
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

static void make_hello(const struct answers_caller *caller, const struct request *request,
                       struct reply *reply)
{
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_string(reply, "version", CUZK_VERSION);
    reply_integer(reply, "abi", STATUS_PROTOCOL_ABI);
    reply_integer(reply, "pid", (uint64_t)getpid());
    reply_string(reply, "event_loop", loop_kind_to_string(loop_kind(caller->supervisor->loop)));
    reply_bool(reply, "admin", caller->is_admin);
    reply_close(reply);
}

void answers_submit(const struct admission_outcome *outcome, uint32_t message_id,
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
    answers_submit(&outcome, request->message_id, reply);
    return ANSWERS_NOW;
}

bool answers_wait_is_due(const struct answers_caller *caller, uint64_t number, bool has_seen,
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

void answers_wait(const struct answers_caller *caller, uint32_t message_id, uint64_t number,
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
        !answers_wait_is_due(caller, number, wait->has_seen, wait->seen)) {
        *ret_later = (struct answers_later){.kind = CONTROL_WAIT_JOB, .job = number};
        return ANSWERS_LATER;
    }
    answers_wait(caller, request->message_id, number, reply);
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

bool answers_cancel_is_due(const struct answers_caller *caller, uint64_t number)
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

void answers_cancelled(uint32_t message_id, uint64_t job, struct reply *reply)
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

void answers_circuit(const struct circuit *circuit, uint32_t message_id, struct reply *reply)
{
    if (circuit->state == CIRCUIT_FAILED) {
        reply_error(reply, message_id, circuit->error_code, circuit->error, 0);
        return;
    }
    reply_begin(reply, message_id);
    status_write_circuit(reply, circuit);
}

static enum answers_when make_circuit_add(const struct answers_caller *caller,
                                          const struct request *request, int *descriptors,
                                          struct reply *reply, struct answers_later *ret_later)
{
    ret_later->kind = CONTROL_WAIT_CIRCUIT;
    struct circuit *circuit;
    char why[256], text[320];
    uint64_t bytes;
    const char *const names[2] = {"proving key (.zkey)", "constraints (.r1cs)"};
    for (uint32_t i = 0; i < request->descriptor_count; i++) {
        if (input_file_check(descriptors[i], INT64_MAX, &bytes, why, sizeof why) == 0)
            continue;
        for (uint32_t j = 0; j < request->descriptor_count; j++)
            close_later(descriptors[j]);
        snprintf(text, sizeof text, "the %s cannot be used: %s", names[i], why);
        reply_error(reply, request->message_id, REPLY_BAD_INPUT, text, 0);
        return ANSWERS_NOW;
    }
    int r1cs_fd = request->circuit.has_r1cs ? descriptors[1] : -1;
    int r =
        circuits_add(caller->supervisor, request->circuit.name, descriptors[0], r1cs_fd, &circuit);
    if (r == 0)
        return ANSWERS_LATER;
    if (r == -EEXIST)
        reply_error(reply, request->message_id, REPLY_EXISTS,
                    "a circuit of that name exists; remove it first", 0);
    else
        reply_error(reply, request->message_id, REPLY_FAILED, "there is no room for a circuit", 0);
    return ANSWERS_NOW;
}

static void make_circuit_remove(const struct answers_caller *caller, const struct request *request,
                                struct reply *reply)
{
    const char *name = request->circuit.name;
    struct circuit *circuit = circuits_find(&caller->supervisor->circuits, name);
    if (!circuit) {
        reply_error(reply, request->message_id, REPLY_NOT_FOUND, "there is no such circuit", 0);
        return;
    }
    int r = circuits_remove(caller->supervisor, circuit);
    if (r == -EBUSY) {
        reply_error(reply, request->message_id, REPLY_BUSY,
                    "it is in use: jobs of it are queued or running, or its key is being made or "
                    "loaded",
                    1000);
        return;
    }
    if (r < 0) {
        reply_error(reply, request->message_id, REPLY_FAILED,
                    "its record in the state folder cannot be removed", 0);
        return;
    }
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_string(reply, "name", name);
    reply_close(reply);
}

static void close_all(const int *descriptors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        close_later(descriptors[i]);
}

bool answers_may_wait(enum request_method method)
{
    switch (method) {
    case REQUEST_SUBMIT:
    case REQUEST_WAIT:
    case REQUEST_RESULT:
    case REQUEST_PUBLIC:
    case REQUEST_CANCEL:
    case REQUEST_CIRCUIT_ADD:
        return true;
    default:
        return false;
    }
}

enum answers_when answers_make(const struct answers_caller *caller, const struct request *request,
                               int *descriptors, struct reply *reply,
                               struct answers_later *ret_later)
{
    if (request_method_is_admin(request->method) && !caller->is_admin) {
        close_all(descriptors, request->descriptor_count);
        reply_error(reply, request->message_id, REPLY_DENIED, "this needs the admin socket", 0);
        return ANSWERS_NOW;
    }
    switch (request->method) {
    case REQUEST_HELLO:
        make_hello(caller, request, reply);
        break;
    case REQUEST_SUBMIT:
        return make_submit(caller, request, descriptors, reply, ret_later);
    case REQUEST_WAIT:
        return make_wait(caller, request, reply, ret_later);
    case REQUEST_RESULT:
        if (fetch_result(caller, request->job, ret_later))
            return ANSWERS_LATER;
        make_result(caller, request, reply);
        break;
    case REQUEST_PUBLIC:
        if (fetch_result(caller, request->public.job, ret_later))
            return ANSWERS_LATER;
        make_public(caller, request, reply);
        break;
    case REQUEST_CANCEL:
        return make_cancel(caller, request, reply, ret_later);
    case REQUEST_JOBS:
        make_jobs(caller, request, reply);
        break;
    case REQUEST_STATUS:
    case REQUEST_WORKERS:
    case REQUEST_CIRCUIT_LIST:
        reply_begin(reply, request->message_id);
        status_write(reply, caller, request->method);
        break;
    case REQUEST_CHECK:
        reply_begin(reply, request->message_id);
        check_write(reply, caller->supervisor);
        break;
    case REQUEST_RELOAD:
        reload_answer(caller, request, reply);
        break;
    case REQUEST_CIRCUIT_ADD:
        return make_circuit_add(caller, request, descriptors, reply, ret_later);
    case REQUEST_CIRCUIT_REMOVE:
        make_circuit_remove(caller, request, reply);
        break;
    case REQUEST_WORKER_RESTART:
    case REQUEST_WORKER_DRAIN:
    case REQUEST_WORKER_RESUME:
    case REQUEST_WORKER_TRIM:
    case REQUEST_LOG_LEVEL:
        worker_answers_make(caller, request, reply);
        break;
    case REQUEST_METHOD_COUNT:
        break;
    }
    return ANSWERS_NOW;
}
