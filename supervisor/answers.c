/* From one request to its reply: see answers.h and PROTOCOL.md. Upstream: control.c; downstream:
 * admission.c, jobs.c, circuits.c, status.c, outlet.c. */
#include "supervisor/answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Jobs of others do not exist for a caller of the submit socket. */
static struct job *find_job(const struct answers_caller *caller, uint64_t number)
{
    struct job *job = jobs_find(&caller->supervisor->jobs, number);
    return job && (caller->is_admin || job->uid == caller->uid) ? job : NULL;
}

bool answers_may_see(const struct answers_caller *caller, uint64_t job)
{
    return find_job(caller, job) != NULL;
}

static void no_such_job(struct reply *reply, uint32_t message_id, uint64_t number)
{
    char text[160];
    snprintf(text, sizeof text,
             "there is no job %llu of yours, or its result is no longer kept (the newest %d, for "
             "%d hours)",
             (unsigned long long)number, JOBS_FINISHED_MAX, JOBS_FINISHED_AGE_S_MAX / 3600);
    reply_error(reply, message_id, REPLY_NOT_FOUND, text, 0);
}

static void write_job_error(struct reply *reply, const struct job *job)
{
    if (job->state != REQUEST_JOB_FAILED && job->state != REQUEST_JOB_CANCELLED)
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

static void make_submit(const struct answers_caller *caller, const struct request *request,
                        int *descriptors, struct reply *reply)
{
    struct admission_refusal refusal = {0};
    uint64_t job;
    if (admission_submit(caller->supervisor, caller->uid, &request->submit, descriptors,
                         request->descriptor_count, &job, &refusal) < 0) {
        reply_error(reply, request->message_id, refusal.code, refusal.text, refusal.retry_after_ms);
        return;
    }
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", job);
    reply_close(reply);
}

bool answers_wait_is_due(const struct answers_caller *caller, uint64_t number, bool has_seen,
                         uint64_t seen)
{
    const struct job *job = find_job(caller, number);
    return !job || job_is_terminal(job) || (has_seen && job->version != seen);
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
        no_such_job(reply, message_id, number);
        return;
    }
    reply_begin(reply, message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", job->number);
    reply_string(reply, "state", request_job_state_to_string(job->state));
    reply_integer(reply, "partitions", job->partition_count);
    reply_integer(reply, "done", job->done_count);
    write_stages(reply, caller->supervisor, job);
    reply_integer(reply, "version", job->version);
    write_job_error(reply, job);
    reply_close(reply);
}

static enum answers_when make_wait(const struct answers_caller *caller,
                                   const struct request *request, struct reply *reply)
{
    const struct request_wait *wait = &request->wait;
    if (wait->timeout_ms > 0 && !answers_wait_is_due(caller, wait->job, wait->has_seen, wait->seen))
        return ANSWERS_LATER;
    answers_wait(caller, request->message_id, wait->job, reply);
    return ANSWERS_NOW;
}

/* A job that is done, or NULL and the error reply. */
static struct job *find_done(const struct answers_caller *caller, uint32_t message_id,
                             uint64_t number, struct reply *reply)
{
    struct job *job = find_job(caller, number);
    if (!job) {
        no_such_job(reply, message_id, number);
        return NULL;
    }
    if (!job_is_terminal(job)) {
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
    return job;
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

static void make_cancel(const struct answers_caller *caller, const struct request *request,
                        struct reply *reply)
{
    struct supervisor *supervisor = caller->supervisor;
    struct job *job = find_job(caller, request->job);
    if (!job) {
        no_such_job(reply, request->message_id, request->job);
        return;
    }
    bool is_cancelled = jobs_cancel(&supervisor->jobs, job, supervisor->now_ns);
    if (is_cancelled) {
        report_job(job);
        pipeline_drop_job(supervisor, job);
    }
    /* Asked twice, the second answer is the first one's truth. */
    bool stays_cancelled = job->state == REQUEST_JOB_CANCELLED;
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_integer(reply, "job", job->number);
    reply_string(reply, "outcome", stays_cancelled ? "cancelled" : "too_late");
    reply_close(reply);
}

static void write_job(struct reply *reply, const struct supervisor *supervisor,
                      const struct job *job)
{
    reply_map(reply, NULL);
    reply_integer(reply, "job", job->number);
    reply_string(reply, "circuit", job->circuit);
    reply_string(reply, "state", request_job_state_to_string(job->state));
    reply_string(reply, "priority", request_priority_to_string(job->priority));
    reply_integer(reply, "partitions", job->partition_count);
    reply_integer(reply, "done", job->done_count);
    reply_integer(reply, "uid", job->uid);
    reply_integer(reply, "age_ms", (supervisor->now_ns - job->admitted_ns) / 1000000);
    if (job_is_terminal(job))
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
        if ((!caller->is_admin && job->uid != caller->uid) ||
            (wanted->has_state && job->state != wanted->state))
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
                                          struct reply *reply)
{
    struct circuit *circuit;
    char why[256], text[320];
    uint64_t bytes;
    const char *const names[2] = {"proving key (.zkey)", "constraints (.r1cs)"};
    for (uint32_t i = 0; i < request->descriptor_count; i++) {
        if (input_file_check(descriptors[i], INT64_MAX, &bytes, why, sizeof why) == 0)
            continue;
        for (uint32_t j = 0; j < request->descriptor_count; j++)
            close(descriptors[j]);
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
        close(descriptors[i]);
}

enum answers_when answers_make(const struct answers_caller *caller, const struct request *request,
                               int *descriptors, struct reply *reply)
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
        make_submit(caller, request, descriptors, reply);
        break;
    case REQUEST_WAIT:
        return make_wait(caller, request, reply);
    case REQUEST_RESULT:
        make_result(caller, request, reply);
        break;
    case REQUEST_PUBLIC:
        make_public(caller, request, reply);
        break;
    case REQUEST_CANCEL:
        make_cancel(caller, request, reply);
        break;
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
        return make_circuit_add(caller, request, descriptors, reply);
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
