/* Whether a job is taken: see admission.h. Upstream: answers.c; downstream: intake.c for
 * large inputs, the journal (durable.c), then the queue of the first stage (pipeline.c), from where
 * the policy (dispatch.c) takes it. */
#include "supervisor/admission.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/close_later.h"
#include "runtime/log.h"
#include "supervisor/input_file.h"
#include "supervisor/pipeline.h"
#include "supervisor/supervisor.h"

enum {
    RETRY_FULL_MS = 1000,
    RETRY_PREPARING_MS = 2000,
    RETRY_DISK_MS = 5000,
};

/* One submit, while it is looked at. */
struct admission_request {
    uid_t uid;
    const struct request_submit *submit;
    struct circuit *circuit;
    int *descriptors;
    uint32_t descriptor_count;
    uint64_t sizes[JOB_PARTITIONS_MAX]; /* of the descriptors' files */
    bool is_direct;                     /* descriptors go to workers as they are */
};

static void take_direct(struct supervisor *supervisor, struct job *job,
                        struct admission_outcome *ret);
static int ticket_begin(struct supervisor *supervisor, struct admission_request *request,
                        struct job *job, struct admission_ticket **ret,
                        struct admission_refusal *refusal);
static void ticket_advance(struct admission_ticket *ticket);
static int refuse(struct admission_refusal *refusal, enum reply_code code, uint32_t retry_after_ms,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
static int check_circuit(const struct supervisor *supervisor, const char *name,
                         struct circuit **ret, struct admission_refusal *refusal);
static int check_files(const int *descriptors, uint32_t count, uint64_t *ret_sizes,
                       struct admission_refusal *refusal);
static int check_room(struct supervisor *supervisor, const struct admission_request *request,
                      struct admission_refusal *refusal);
static int reserve(struct supervisor *supervisor, struct admission_request *request,
                   struct job **ret_job, struct admission_refusal *refusal);

int admission_submit(struct supervisor *supervisor, uid_t uid, const struct request_submit *submit,
                     int *descriptors, uint32_t descriptor_count,
                     struct admission_ticket **ret_ticket, struct admission_outcome *ret)
{
    static struct admission_request request; /* some KiB, and there is one thread */
    struct job *job = NULL;
    int r = 0;
    request = (struct admission_request){
        .uid = uid,
        .submit = submit,
        .descriptors = descriptors,
        .descriptor_count = descriptor_count,
        .is_direct = !submit->is_durable || !supervisor->durable.journal,
    };
    *ret = (struct admission_outcome){0};
    *ret_ticket = NULL;
    if (supervisor->phase >= SUPERVISOR_FINISHING)
        r = refuse(&ret->refusal, REPLY_SHUTTING_DOWN, 0, "the daemon is stopping");
    if (r == 0)
        r = check_circuit(supervisor, submit->circuit, &request.circuit, &ret->refusal);
    if (r == 0)
        r = check_files(descriptors, descriptor_count, request.sizes, &ret->refusal);
    if (r == 0)
        r = check_room(supervisor, &request, &ret->refusal);
    if (r == 0)
        r = reserve(supervisor, &request, &job, &ret->refusal);
    if (r == 0 && request.is_direct)
        take_direct(supervisor, job, ret);
    else if (r == 0)
        r = ticket_begin(supervisor, &request, job, ret_ticket, &ret->refusal);
    for (uint32_t i = 0; i < descriptor_count; i++)
        close_later(descriptors[i]);
    return r;
}

static int refuse(struct admission_refusal *refusal, enum reply_code code, uint32_t retry_after_ms,
                  const char *format, ...)
{
    va_list arguments;
    refusal->code = code;
    refusal->retry_after_ms = retry_after_ms;
    va_start(arguments, format);
    vsnprintf(refusal->text, sizeof refusal->text, format, arguments);
    va_end(arguments);
    return -EAGAIN;
}

static int check_circuit(const struct supervisor *supervisor, const char *name,
                         struct circuit **ret, struct admission_refusal *refusal)
{
    struct circuit *circuit = circuits_find(&supervisor->circuits, name);
    if (!circuit)
        return refuse(refusal, REPLY_NOT_FOUND, 0, "there is no circuit \"%s\"", name);
    if (circuit->state == CIRCUIT_PREPARING)
        return refuse(refusal, REPLY_BUSY, RETRY_PREPARING_MS, "circuit %s is being prepared",
                      name);
    if (circuit->state == CIRCUIT_FAILED)
        return refuse(refusal, REPLY_FAILED, 0, "circuit %s cannot be used: %s", name,
                      circuit->error);
    if (circuit->is_too_large)
        return refuse(refusal, REPLY_FAILED, 0,
                      "circuit %s fits no slab of the configuration any more; its jobs that were "
                      "taken are finished",
                      name);
    *ret = circuit;
    return 0;
}

static uint64_t inline_bytes_of(const struct request_submit *submit)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < submit->input_count; i++)
        sum += submit->inputs[i].bytes ? submit->inputs[i].byte_count : 0;
    return sum;
}

static uint64_t input_bytes_of(const struct admission_request *request)
{
    uint64_t sum = inline_bytes_of(request->submit);
    for (uint32_t i = 0; i < request->descriptor_count; i++)
        sum += request->sizes[i];
    return sum;
}

static int check_room(struct supervisor *supervisor, const struct admission_request *request,
                      struct admission_refusal *refusal)
{
    const struct request_submit *submit = request->submit;
    const struct config *config = &supervisor->config;
    const struct jobs *jobs = &supervisor->jobs;
    uint32_t count = submit->input_count;
    uint64_t inputs_open_max = supervisor->descriptors_max / 2 > ADMISSION_DESCRIPTORS_RESERVED
                                   ? supervisor->descriptors_max - ADMISSION_DESCRIPTORS_RESERVED
                                   : supervisor->descriptors_max / 2;
    uint64_t result_bytes =
        (uint64_t)count *
        ((uint64_t)request->circuit->facts.public_count * CURVE_FR_BYTES + CURVE_PROOF_BYTES_MAX);
    const struct jobs_user *user = jobs_user_find(jobs, request->uid);
    const char *what = NULL;
    if (jobs->active.count >= JOBS_ACTIVE_MAX)
        what = "jobs";
    else if (supervisor->slots.free_count < count)
        what = "partitions";
    else if (supervisor->inputs_open + request->descriptor_count > inputs_open_max)
        what = "open witness files (raise LimitNOFILE=)";
    else if (supervisor->inline_bytes + inline_bytes_of(submit) > (uint64_t)ADMISSION_INLINE_MIB_MAX
                                                                      << 20)
        what = "inline witnesses";
    else if (jobs->active_bytes + result_bytes > (uint64_t)ADMISSION_RESULT_MIB_MAX << 20 &&
             jobs->active.count > 0)
        what = "results to come";
    else if (user && config->user_jobs_max && user->jobs >= config->user_jobs_max)
        what = "jobs of this user (UserJobsMax=)";
    else if (user && config->user_bytes_max &&
             user->bytes + input_bytes_of(request) > config->user_bytes_max)
        what = "bytes of witnesses of this user (UserBytesMax=)";
    if (what)
        return refuse(refusal, REPLY_BUSY, RETRY_FULL_MS,
                      "the queue is full: too many %s; nothing was accepted", what);
    if (supervisor->durable.journal && result_bytes > config->results_bytes)
        return refuse(refusal, REPLY_FAILED, 0,
                      "the results of this job alone are more than ResultsSize= allows to keep; "
                      "split it, or raise ResultsSize=");
    uint32_t retry_ms = RETRY_FULL_MS;
    what = durable_refusal(supervisor, result_bytes, &retry_ms);
    if (what && submit->is_durable)
        return refuse(refusal, REPLY_BUSY, retry_ms, "%s; nothing was accepted", what);
    if (request->is_direct || request->descriptor_count == 0)
        return 0;
    char why[256];
    uint64_t spool_bytes = input_bytes_of(request) - inline_bytes_of(submit);
    if (spool_check_room(supervisor, spool_bytes, why, sizeof why) < 0)
        return refuse(refusal, REPLY_BUSY, RETRY_DISK_MS, "%s; nothing was accepted", why);
    return 0;
}

static int check_files(const int *descriptors, uint32_t count, uint64_t *ret_sizes,
                       struct admission_refusal *refusal)
{
    char why[256];
    for (uint32_t i = 0; i < count; i++) {
        if (input_file_check(descriptors[i], (uint64_t)ADMISSION_WITNESS_GIB_MAX << 30,
                             &ret_sizes[i], why, sizeof why) < 0)
            return refuse(refusal, REPLY_BAD_INPUT, 0, "witness file %u cannot be used: %s", i,
                          why);
    }
    return 0;
}

/* The first `count` copies of a job that is not taken after all. */
static void free_copies(const struct request_submit *submit, void **copies, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (copies[i])
            explicit_bzero(copies[i], submit->inputs[i].byte_count); /* a witness */
        free(copies[i]);
    }
}

/* Copies inline witnesses before anything is changed. */
static int copy_inline(const struct request_submit *submit, void **ret_copies)
{
    for (uint32_t i = 0; i < submit->input_count; i++) {
        const struct request_input *input = &submit->inputs[i];
        ret_copies[i] = NULL;
        if (!input->bytes)
            continue;
        ret_copies[i] = malloc(input->byte_count);
        if (!ret_copies[i]) {
            free_copies(submit, ret_copies, i);
            return -ENOMEM;
        }
        memcpy(ret_copies[i], input->bytes, input->byte_count);
    }
    return 0;
}

/* ---- reserving ---- */

struct slot *admission_reserve_slot(struct supervisor *supervisor, struct job *job,
                                    struct circuit *circuit, uint32_t partition,
                                    const struct slot_input *input)
{
    struct slot *slot = slots_take(&supervisor->slots);
    if (!slot)
        return NULL;
    slot->is_reserved = true;
    slot->job = job->number;
    slot->partition = partition;
    slot->order_key = job->order_key + partition;
    slot->circuit = circuit;
    slot->input = *input;
    job->slots[partition] = slot->index;
    circuit->slot_count++;
    supervisor->inline_bytes += input->inline_count;
    supervisor->inputs_open += !input->inline_bytes;
    return slot;
}

void admission_queue(struct supervisor *supervisor, struct job *job)
{
    job->is_pending = false;
    if (job->deadline_ns < supervisor->jobs.first_deadline_ns)
        supervisor->jobs.first_deadline_ns = job->deadline_ns;
    for (uint32_t i = 0; i < job->partition_count; i++) {
        if (job->slots[i] == SLOT_NONE)
            continue;
        struct slot *slot = &supervisor->slots.entries[job->slots[i]];
        slot->queued_ns = supervisor->now_ns;
        slot->is_reserved = false;
        enum slot_event event = slot->slab >= 0 ? SLOT_EVENT_ADOPT : SLOT_EVENT_ADMIT;
        CHECK(pipeline_apply(supervisor, slot, event) == 0);
    }
    log_debug("job %llu of circuit %s: %u partitions, priority %s", (unsigned long long)job->number,
              job->circuit, job->partition_count, request_priority_to_string(job->priority));
}

/* Gives everything back that a job holds which is not taken after all. */
static void unreserve(struct supervisor *supervisor, struct job *job)
{
    for (uint32_t i = 0; i < job->partition_count; i++) {
        struct slot *slot = &supervisor->slots.entries[job->slots[i]];
        slot->circuit->slot_count--;
        supervisor->inline_bytes -= slot->input.inline_count;
        supervisor->inputs_open -= !slot->input.inline_bytes;
        slots_put_back(&supervisor->slots, slot);
    }
    jobs_discard(&supervisor->jobs, job);
}

static int64_t realtime_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct job *make_job(struct supervisor *supervisor, const struct admission_request *request,
                            uint64_t number)
{
    const struct request_submit *submit = request->submit;
    const struct circuit *circuit = request->circuit;
    const struct job_plan plan = {
        .number = number,
        .uid = request->uid,
        .priority = submit->priority,
        .circuit = circuit->name,
        .curve = circuit->facts.curve,
        .partition_count = submit->input_count,
        .public_count = circuit->facts.public_count,
        .order_key = order_admit(&supervisor->order, submit->priority, supervisor->now_ns),
        .now_ns = supervisor->now_ns,
        .client_key = submit->client_key,
        .input_bytes = input_bytes_of(request),
        .deadline_ns =
            submit->deadline_ms ? supervisor->now_ns + submit->deadline_ms * 1000000u : 0,
        .is_pending = true,
        .is_durable = submit->is_durable,
    };
    struct job *job = jobs_create(&supervisor->jobs, &plan);
    if (job && submit->deadline_ms)
        job->deadline_realtime_ms = realtime_ms() + (int64_t)submit->deadline_ms;
    return job;
}

static int reserve(struct supervisor *supervisor, struct admission_request *request,
                   struct job **ret_job, struct admission_refusal *refusal)
{
    const struct request_submit *submit = request->submit;
    void *copies[JOB_PARTITIONS_MAX];
    struct job *job = NULL;
    uint64_t number = job_numbers_take(&supervisor->job_numbers);
    if (number == 0)
        return refuse(refusal, REPLY_BUSY, RETRY_PREPARING_MS,
                      "no job number is free until the state folder can be written; nothing was "
                      "accepted");
    if (copy_inline(submit, copies) == 0) {
        job = make_job(supervisor, request, number);
        if (!job)
            free_copies(submit, copies, submit->input_count);
    }
    if (!job)
        return refuse(refusal, REPLY_BUSY, RETRY_FULL_MS, "memory is short");

    uint32_t next_descriptor = 0;
    for (uint32_t i = 0; i < submit->input_count; i++) {
        struct slot_input input = {.fd = -1};
        if (copies[i]) {
            input.inline_bytes = copies[i];
            input.inline_count = submit->inputs[i].byte_count;
        } else {
            uint32_t d = next_descriptor++;
            input.file_bytes = request->sizes[d];
            if (request->is_direct) {
                input.fd = request->descriptors[d];
                request->descriptors[d] = -1;
            }
        }
        struct slot *slot = admission_reserve_slot(supervisor, job, request->circuit, i, &input);
        CHECK(slot);
    }
    *ret_job = job;
    return 0;
}

/* ---- taking ---- */

/* Not durable: taken at once, and the journal gets to know for the record. */
static void take_direct(struct supervisor *supervisor, struct job *job,
                        struct admission_outcome *ret)
{
    struct journal_operation *operation = NULL;
    if (supervisor->durable.journal && journal_health(supervisor->durable.journal) == JOURNAL_GOOD)
        operation = durable_record(supervisor, job, NULL);
    job->is_journalled = operation != NULL;
    admission_queue(supervisor, job);
    if (operation)
        journal_push(supervisor->durable.journal, operation);
    ret->is_taken = true;
    ret->job = job->number;
}

static void ticket_unlink(struct admission_ticket *ticket)
{
    struct admission *admission = &ticket->supervisor->admission;
    if (ticket->previous)
        ticket->previous->next = ticket->next;
    else
        admission->first = ticket->next;
    if (ticket->next)
        ticket->next->previous = ticket->previous;
    else
        admission->last = ticket->previous;
    admission->ticket_count--;
}

static bool has_same_key(const struct admission_ticket *a, const struct admission_ticket *b)
{
    return a->client_key[0] && a->uid == b->uid && strcmp(a->client_key, b->client_key) == 0;
}

/* The end of a submit, either way. The next one of its client key may go on. */
static void ticket_settle(struct admission_ticket *ticket, const struct admission_outcome *outcome)
{
    struct supervisor *supervisor = ticket->supervisor;
    struct admission_ticket *next = ticket->client_key[0] ? ticket->next : NULL;
    struct job *job = jobs_find(&supervisor->jobs, ticket->job);
    CHECK(job && job->is_pending);
    uint32_t partitions = job->partition_count;
    if (outcome->is_taken && !outcome->is_existing) {
        job->is_journalled = true;
        job->has_spool = ticket->has_intake;
        admission_queue(supervisor, job);
    } else {
        unreserve(supervisor, job);
        if (ticket->has_intake)
            spool_job_remove(supervisor, ticket->job, partitions);
    }
    ticket_unlink(ticket);
    if (ticket->on_settled)
        ticket->on_settled(ticket, outcome);
    while (next && !(next->step == ADMISSION_WAITING && has_same_key(next, ticket)))
        next = next->next;
    free(ticket);
    if (next)
        ticket_advance(next);
}

static void ticket_refuse(struct admission_ticket *ticket, enum reply_code code,
                          uint32_t retry_after_ms, const char *text)
{
    struct admission_outcome outcome = {.refusal = {code, retry_after_ms, ""}};
    snprintf(outcome.refusal.text, sizeof outcome.refusal.text, "%s", text);
    ticket_settle(ticket, &outcome);
}

static void on_journalled(struct journal_operation *operation, int result)
{
    struct admission_ticket *ticket = operation->context;
    char text[320];
    if (result == 0) {
        ticket_settle(ticket, &(struct admission_outcome){.is_taken = true, .job = ticket->job});
    } else if (result == -EEXIST && operation->is_same_input) {
        ticket_settle(ticket, &(struct admission_outcome){
                                  .is_taken = true,
                                  .is_existing = true,
                                  .job = operation->existing,
                              });
    } else if (result == -EEXIST) {
        snprintf(text, sizeof text,
                 "client key \"%s\" belongs to job %llu, which has another circuit, key or input; "
                 "nothing was accepted",
                 ticket->client_key, (unsigned long long)operation->existing);
        ticket_refuse(ticket, REPLY_KEY_CONFLICT, 0, text);
    } else {
        snprintf(text, sizeof text,
                 "the journal in the state folder cannot be written (%s); nothing was accepted",
                 strerror(-result));
        ticket_refuse(ticket, REPLY_BUSY, RETRY_DISK_MS, text);
    }
}

/* What is in the spool becomes the slots' own. False: it is more than its user may have. */
static bool take_files(struct admission_ticket *ticket, struct job *job,
                       uint8_t (*ret_sha256s)[JOURNAL_DIGEST_BYTES])
{
    struct supervisor *supervisor = ticket->supervisor;
    uint64_t more = 0, bytes_max = supervisor->config.user_bytes_max;
    for (uint32_t i = 0; i < ticket->intake.count; i++) {
        const struct intake_file *file = &ticket->intake.files[i];
        uint32_t partition = ticket->intake.partitions[i];
        struct slot *slot = &supervisor->slots.entries[job->slots[partition]];
        more += file->bytes - slot->input.file_bytes; /* than was known at admission */
        slot->input.fd = file->fd;
        slot->input.file_bytes = file->bytes;
        memcpy(ret_sha256s[partition], file->sha256, JOURNAL_DIGEST_BYTES);
    }
    const struct jobs_user *user = jobs_user_find(&supervisor->jobs, job->uid);
    if (bytes_max && more && user->jobs > 1 && user->bytes + more > bytes_max)
        return false;
    jobs_add_input(&supervisor->jobs, job, more);
    return true;
}

static void ticket_journal(struct admission_ticket *ticket)
{
    struct supervisor *supervisor = ticket->supervisor;
    static uint8_t sha256s[JOB_PARTITIONS_MAX][JOURNAL_DIGEST_BYTES];
    struct job *job = jobs_find(&supervisor->jobs, ticket->job);
    if (!take_files(ticket, job, sha256s)) {
        ticket_refuse(ticket, REPLY_BUSY, RETRY_FULL_MS,
                      "the queue is full: too many bytes of witnesses of this user "
                      "(UserBytesMax=); nothing was accepted");
        return;
    }
    struct journal_operation *operation = durable_record(supervisor, job, sha256s);
    if (!operation) {
        ticket_refuse(ticket, REPLY_BUSY, RETRY_FULL_MS, "memory is short");
        return;
    }
    ticket->step = ADMISSION_JOURNAL;
    operation->context = ticket;
    operation->on_done = on_journalled;
    journal_push(supervisor->durable.journal, operation);
}

static void on_intake(struct intake_batch *batch, int result, const char *why)
{
    struct admission_ticket *ticket =
        (struct admission_ticket *)((char *)batch - offsetof(struct admission_ticket, intake));
    char text[400];
    if (result == 0) {
        ticket_journal(ticket);
        return;
    }
    ticket->has_intake = false; /* it leaves nothing */
    if (result == -EBADMSG) {
        ticket_refuse(ticket, REPLY_BAD_INPUT, 0, why);
        return;
    }
    snprintf(text, sizeof text,
             "its witnesses cannot be copied into the spool: %s; nothing was "
             "accepted",
             why);
    ticket_refuse(ticket, REPLY_BUSY, RETRY_DISK_MS, text);
}

static void ticket_advance(struct admission_ticket *ticket)
{
    if (ticket->intake.count == 0) {
        ticket_journal(ticket);
        return;
    }
    ticket->step = ADMISSION_INTAKE;
    ticket->has_intake = true;
    intake_start(ticket->supervisor, &ticket->intake);
}

static int ticket_begin(struct supervisor *supervisor, struct admission_request *request,
                        struct job *job, struct admission_ticket **ret,
                        struct admission_refusal *refusal)
{
    struct admission *admission = &supervisor->admission;
    struct admission_ticket *ticket = calloc(1, sizeof *ticket);
    if (!ticket) {
        unreserve(supervisor, job);
        return refuse(refusal, REPLY_BUSY, RETRY_FULL_MS, "memory is short");
    }
    ticket->supervisor = supervisor;
    ticket->job = job->number;
    ticket->uid = request->uid;
    memcpy(ticket->client_key, job->client_key, sizeof ticket->client_key);
    ticket->intake.job = job->number;
    ticket->intake.uid = request->uid;
    ticket->intake.on_done = on_intake;
    for (uint32_t i = 0; i < request->submit->input_count; i++) {
        if (request->submit->inputs[i].bytes)
            continue;
        uint32_t d = ticket->intake.count++;
        ticket->intake.descriptors[d] = request->descriptors[d];
        ticket->intake.partitions[d] = i;
        ticket->intake.files[d].bytes = request->sizes[d];
        request->descriptors[d] = -1;
    }
    ticket->step = ADMISSION_WAITING;
    ticket->previous = admission->last;
    if (admission->last)
        admission->last->next = ticket;
    else
        admission->first = ticket;
    admission->last = ticket;
    admission->ticket_count++;
    *ret = ticket;
    return 0;
}

void admission_begin(struct admission_ticket *ticket)
{
    /* One submit of a client key at a time: the others find its job. */
    for (const struct admission_ticket *other = ticket->client_key[0] ? ticket->previous : NULL;
         other; other = other->previous) {
        if (has_same_key(ticket, other))
            return;
    }
    ticket_advance(ticket);
}

/* ---- stopping ---- */

/* What has not reached the journal is nobody's job yet. */
static void ticket_drop(struct admission_ticket *ticket)
{
    if (ticket->step == ADMISSION_INTAKE)
        intake_cancel(ticket->supervisor, &ticket->intake);
    for (uint32_t i = 0; ticket->step == ADMISSION_WAITING && i < ticket->intake.count; i++)
        close_later(ticket->intake.descriptors[i]);
    ticket->has_intake = false;
}

void admission_stop(struct supervisor *supervisor)
{
    struct admission_ticket *next;
    for (struct admission_ticket *ticket = supervisor->admission.last; ticket; ticket = next) {
        next = ticket->previous; /* from the last: a waiting one is not let go on */
        if (ticket->step == ADMISSION_JOURNAL)
            continue;
        ticket_drop(ticket);
        ticket_refuse(ticket, REPLY_SHUTTING_DOWN, 0, "the daemon is stopping");
    }
}

void admission_destroy(struct supervisor *supervisor)
{
    struct admission *admission = &supervisor->admission;
    while (admission->first) {
        struct admission_ticket *ticket = admission->first;
        ticket_drop(ticket);
        unreserve(supervisor, jobs_find(&supervisor->jobs, ticket->job));
        ticket_unlink(ticket);
        free(ticket);
    }
}
