/* Whether a job is taken: see admission.h. Upstream: answers.c; downstream: the queue of the first
 * stage (pipeline.c), from where the policy (dispatch.c) takes it. */
#include "supervisor/admission.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/log.h"
#include "supervisor/input_file.h"
#include "supervisor/pipeline.h"
#include "supervisor/supervisor.h"

enum {
    RETRY_FULL_MS = 1000,
    RETRY_PREPARING_MS = 2000,
};

static int refuse(struct admission_refusal *refusal, enum reply_code code, uint32_t retry_after_ms,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
static int check_circuit(const struct supervisor *supervisor, const char *name,
                         struct circuit **ret, struct admission_refusal *refusal);
static int check_room(const struct supervisor *supervisor, const struct circuit *circuit,
                      const struct request_submit *submit, uint32_t descriptor_count,
                      struct admission_refusal *refusal);
static int check_files(const int *descriptors, uint32_t count, struct admission_refusal *refusal);
static int admit(struct supervisor *supervisor, uid_t uid, struct circuit *circuit,
                 const struct request_submit *submit, int *descriptors, uint64_t *ret_job,
                 struct admission_refusal *refusal);

int admission_submit(struct supervisor *supervisor, uid_t uid, const struct request_submit *submit,
                     int *descriptors, uint32_t descriptor_count, uint64_t *ret_job,
                     struct admission_refusal *ret_refusal)
{
    struct circuit *circuit = NULL;
    int r = 0;
    if (supervisor->phase >= SUPERVISOR_FINISHING)
        r = refuse(ret_refusal, REPLY_SHUTTING_DOWN, 0, "the daemon is stopping");
    if (r == 0)
        r = check_circuit(supervisor, submit->circuit, &circuit, ret_refusal);
    if (r == 0)
        r = check_room(supervisor, circuit, submit, descriptor_count, ret_refusal);
    if (r == 0)
        r = check_files(descriptors, descriptor_count, ret_refusal);
    if (r == 0)
        r = admit(supervisor, uid, circuit, submit, descriptors, ret_job, ret_refusal);
    for (uint32_t i = 0; i < descriptor_count; i++) {
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    }
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

static int check_room(const struct supervisor *supervisor, const struct circuit *circuit,
                      const struct request_submit *submit, uint32_t descriptor_count,
                      struct admission_refusal *refusal)
{
    uint32_t count = submit->input_count;
    uint64_t inputs_open_max = supervisor->descriptors_max / 2 > ADMISSION_DESCRIPTORS_RESERVED
                                   ? supervisor->descriptors_max - ADMISSION_DESCRIPTORS_RESERVED
                                   : supervisor->descriptors_max / 2;
    uint64_t result_bytes =
        (uint64_t)count *
        ((uint64_t)circuit->facts.public_count * CURVE_FR_BYTES + CURVE_PROOF_BYTES_MAX);
    const char *what = NULL;
    if (supervisor->jobs.active.count >= JOBS_ACTIVE_MAX)
        what = "jobs";
    else if (supervisor->slots.free_count < count)
        what = "partitions";
    else if (supervisor->inputs_open + descriptor_count > inputs_open_max)
        what = "open witness files (raise LimitNOFILE=)";
    else if (supervisor->inline_bytes + inline_bytes_of(submit) > (uint64_t)ADMISSION_INLINE_MIB_MAX
                                                                      << 20)
        what = "inline witnesses";
    else if (supervisor->jobs.active_bytes + result_bytes > (uint64_t)ADMISSION_RESULT_MIB_MAX
                                                                << 20 &&
             supervisor->jobs.active.count > 0)
        what = "results to come";
    if (what)
        return refuse(refusal, REPLY_BUSY, RETRY_FULL_MS,
                      "the queue is full: too many %s; nothing was accepted", what);
    return 0;
}

static int check_files(const int *descriptors, uint32_t count, struct admission_refusal *refusal)
{
    char why[256];
    uint64_t bytes;
    for (uint32_t i = 0; i < count; i++) {
        if (input_file_check(descriptors[i], (uint64_t)ADMISSION_WITNESS_GIB_MAX << 30, &bytes, why,
                             sizeof why) < 0)
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

static void admit_partition(struct supervisor *supervisor, struct job *job, struct circuit *circuit,
                            uint32_t partition, const struct slot_input *input)
{
    struct slot *slot = slots_take(&supervisor->slots);
    CHECK(slot);
    slot->job = job->number;
    slot->partition = partition;
    slot->order_key = job->order_key + partition;
    slot->circuit = circuit;
    slot->input = *input;
    slot->queued_ns = supervisor->now_ns;
    job->slots[partition] = slot->index;
    circuit->slot_count++;
    supervisor->inline_bytes += input->inline_count;
    supervisor->inputs_open += input->fd >= 0;
    CHECK(pipeline_apply(supervisor, slot, SLOT_EVENT_ADMIT) == 0);
}

static int admit(struct supervisor *supervisor, uid_t uid, struct circuit *circuit,
                 const struct request_submit *submit, int *descriptors, uint64_t *ret_job,
                 struct admission_refusal *refusal)
{
    void *copies[JOB_PARTITIONS_MAX];
    struct job_plan plan = {
        .number = job_numbers_take(&supervisor->job_numbers),
        .uid = uid,
        .priority = submit->priority,
        .circuit = circuit->name,
        .curve = circuit->facts.curve,
        .partition_count = submit->input_count,
        .public_count = circuit->facts.public_count,
        .order_key = order_admit(&supervisor->order, submit->priority, supervisor->now_ns),
        .now_ns = supervisor->now_ns,
    };
    struct job *job = NULL;
    if (plan.number == 0)
        return refuse(refusal, REPLY_BUSY, RETRY_PREPARING_MS,
                      "the state folder cannot be written; nothing was accepted");
    if (copy_inline(submit, copies) == 0) {
        job = jobs_create(&supervisor->jobs, &plan);
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
            input.fd = descriptors[next_descriptor];
            descriptors[next_descriptor++] = -1;
        }
        admit_partition(supervisor, job, circuit, i, &input);
    }
    log_debug("job %llu of circuit %s: %u partitions, priority %s", (unsigned long long)job->number,
              job->circuit, job->partition_count, request_priority_to_string(job->priority));
    *ret_job = job->number;
    return 0;
}
