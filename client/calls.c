/* The calls of libcuzk: arguments into requests, replies into the caller's outputs. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/connection.h"
#include "client/failure.h"
#include "client/input.h"
#include "client/libcuzk.h"
#include "runtime/clock.h"

static_assert(CUZK_INPUTS_MAX == JOB_PARTITIONS_MAX, "what the header promises");
static_assert(CUZK_INPUT_INLINE_MAX == INPUT_INLINE_BYTES_MAX, "what the header promises");
static_assert((int)CUZK_PRIORITY_CRITICAL == (int)REQUEST_PRIORITY_CRITICAL, "same order");
static_assert((int)CUZK_JOB_CANCELLED == (int)REQUEST_JOB_CANCELLED, "same order");

const char *cuzk_version(void)
{
    return CUZK_VERSION;
}

void cuzk_free(void *text)
{
    free(text);
}

const char *cuzk_job_state_to_string(enum cuzk_job_state state)
{
    return request_job_state_to_string((enum request_job_state)state);
}

/* ---- wait ---- */

static int read_state(const json_t *reply, struct cuzk_job *ret)
{
    const char *text = json_string_value(json_object_get(reply, "state"));
    enum request_job_state state;

    if (!text || request_job_state_from_string(text, &state) < 0)
        return -EBADMSG;
    ret->state = (enum cuzk_job_state)state;
    return 0;
}

static int read_job(const json_t *reply, struct cuzk_job *ret_job, struct cuzk_error *ret_error)
{
    struct cuzk_job job = {.failed_partition = -1};
    uint64_t partitions, done, failed;

    if (connection_integer(reply, "job", &job.job) < 0)
        return connection_strange(ret_error, "wait", "job");
    if (read_state(reply, &job) < 0)
        return connection_strange(ret_error, "wait", "state");
    if (connection_integer(reply, "partitions", &partitions) < 0 || partitions == 0 ||
        partitions > JOB_PARTITIONS_MAX || connection_integer(reply, "done", &done) < 0 ||
        done > partitions)
        return connection_strange(ret_error, "wait", "partitions or done");
    if (connection_integer(reply, "version", &job.version) < 0)
        return connection_strange(ret_error, "wait", "version");
    job.partitions = (uint32_t)partitions;
    job.done = (uint32_t)done;
    if (job.state == CUZK_JOB_CANCELLED)
        job.code = CUZK_CANCELLED;
    if (job.state == CUZK_JOB_FAILED)
        job.code = CUZK_FAILED;
    const json_t *error = json_object_get(reply, "error");
    if (json_is_object(error) && job.code != CUZK_OK) {
        const char *code = json_string_value(json_object_get(error, "code"));
        const char *message = json_string_value(json_object_get(error, "message"));
        if (code)
            job.code = connection_code(code);
        snprintf(job.message, sizeof job.message, "%s", message ? message : "");
        if (connection_integer(error, "partition", &failed) == 0 && failed < partitions)
            job.failed_partition = (int32_t)failed;
    }
    *ret_job = job;
    return CUZK_OK;
}

int cuzk_wait(struct cuzk *cuzk, uint64_t job, uint32_t timeout_ms, const uint64_t *seen,
              struct cuzk_job *ret_job, struct cuzk_error *ret_error)
{
    uint64_t deadline_ns =
        timeout_ms == CUZK_FOREVER ? UINT64_MAX : clock_now_ns() + timeout_ms * 1000000ull;

    for (;;) {
        uint64_t now_ns = clock_now_ns();
        uint64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns + 999999) / 1000000u : 0;
        struct request request = {.method = REQUEST_WAIT};
        struct cuzk_job answer;
        json_t *result;

        request.wait.job = job;
        request.wait.timeout_ms =
            left_ms > WAIT_TIMEOUT_MS_MAX ? WAIT_TIMEOUT_MS_MAX : (uint32_t)left_ms;
        request.wait.has_seen = seen != NULL;
        request.wait.seen = seen ? *seen : 0;
        int r = connection_call(cuzk, &request, NULL, request.wait.timeout_ms, &result, ret_error);
        if (r != CUZK_OK)
            return r;
        r = read_job(result, &answer, ret_error);
        json_decref(result);
        if (r != CUZK_OK)
            return r;
        if (answer.state >= CUZK_JOB_DONE || (seen && answer.version != *seen) ||
            clock_now_ns() >= deadline_ns) {
            *ret_job = answer;
            return CUZK_OK;
        }
    }
}

/* ---- results ---- */

static int dump(json_t *value, size_t flags, char **ret_json, struct cuzk_error *ret_error)
{
    char *text = value ? json_dumps(value, flags) : NULL;

    json_decref(value);
    if (!text)
        return failure(ret_error, CUZK_NO_MEMORY, "out of memory");
    *ret_json = text;
    return CUZK_OK;
}

static int call_job(struct cuzk *cuzk, enum request_method method, uint64_t job, json_t **ret,
                    struct cuzk_error *ret_error)
{
    struct request request = {.method = method, .job = job};
    return connection_call(cuzk, &request, NULL, 0, ret, ret_error);
}

int cuzk_result(struct cuzk *cuzk, uint64_t job, char **ret_json, struct cuzk_error *ret_error)
{
    json_t *result;
    int r = call_job(cuzk, REQUEST_RESULT, job, &result, ret_error);
    return r == CUZK_OK ? dump(result, JSON_COMPACT, ret_json, ret_error) : r;
}

/* A decimal number, or (depth > 0) an array of `count` of what is one less deep: what a coordinate
 * or point of a proof is. Nothing else of the daemon's goes into a file. */
static bool is_point(const json_t *value, unsigned depth, size_t count)
{
    if (depth == 0) {
        const char *text = json_string_value(value);
        return text && *text && strspn(text, "0123456789") == strlen(text) &&
               strlen(text) == json_string_length(value);
    }
    if (json_array_size(value) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_point(json_array_get(value, i), depth - 1, depth == 2 ? 2 : count))
            return false;
    return true;
}

/* One proof with snarkjs's keys in snarkjs's order. NULL when something is missing. */
static json_t *proof_of(const json_t *from)
{
    json_t *pi_a = json_object_get(from, "pi_a"), *pi_b = json_object_get(from, "pi_b"),
           *pi_c = json_object_get(from, "pi_c");
    const char *curve = json_string_value(json_object_get(from, "curve"));

    if (!is_point(pi_a, 1, 3) || !is_point(pi_b, 2, 3) || !is_point(pi_c, 1, 3) || !curve)
        return NULL;
    return json_pack("{s:O, s:O, s:O, s:s, s:s}", "pi_a", pi_a, "pi_b", pi_b, "pi_c", pi_c,
                     "protocol", "groth16", "curve", curve);
}

int cuzk_proof(struct cuzk *cuzk, uint64_t job, char **ret_json, struct cuzk_error *ret_error)
{
    json_t *result, *proofs = json_array();
    int r = call_job(cuzk, REQUEST_RESULT, job, &result, ret_error);

    if (r != CUZK_OK) {
        json_decref(proofs);
        return r;
    }
    json_t *from = json_object_get(result, "proofs");
    size_t count = json_array_size(from);
    bool is_good = count > 0;
    for (size_t i = 0; i < count && is_good; i++)
        is_good = json_array_append_new(proofs, proof_of(json_array_get(from, i))) == 0;
    json_decref(result);
    if (!is_good) {
        json_decref(proofs);
        return connection_strange(ret_error, "result", "well-formed proofs");
    }
    if (count == 1) {
        json_t *one = json_incref(json_array_get(proofs, 0));
        json_decref(proofs);
        proofs = one;
    }
    /* One space a level is how snarkjs writes its files: JSON.stringify(value, null, 1). */
    return dump(proofs, JSON_INDENT(1), ret_json, ret_error);
}

/* Appends the values of one proof to *values, piece by piece. */
static int fetch_public(struct cuzk *cuzk, uint64_t job, uint32_t partition, json_t *values,
                        struct cuzk_error *ret_error)
{
    uint64_t total = 0;

    do {
        struct request request = {.method = REQUEST_PUBLIC};
        json_t *result;
        request.public.job = job;
        request.public.partition = partition;
        request.public.first = (uint32_t)json_array_size(values);
        int r = connection_call(cuzk, &request, NULL, 0, &result, ret_error);
        if (r != CUZK_OK)
            return r;
        json_t *piece = json_object_get(result, "values");
        bool is_good = connection_integer(result, "total", &total) == 0 &&
                       total <= PUBLIC_INPUTS_MAX && json_is_array(piece) &&
                       json_array_size(values) + json_array_size(piece) <= total &&
                       (json_array_size(piece) > 0 || json_array_size(values) == total) &&
                       is_point(piece, 1, json_array_size(piece));
        if (is_good)
            is_good = json_array_extend(values, piece) == 0;
        json_decref(result);
        if (!is_good)
            return connection_strange(ret_error, "public", "well-formed values");
    } while (json_array_size(values) < total);
    return CUZK_OK;
}

int cuzk_public(struct cuzk *cuzk, uint64_t job, char **ret_json, struct cuzk_error *ret_error)
{
    struct cuzk_job state;
    json_t *all = json_array();
    int r = cuzk_wait(cuzk, job, 0, NULL, &state, ret_error);

    for (uint32_t i = 0; r == CUZK_OK && i < state.partitions; i++) {
        json_t *values = json_array();
        r = fetch_public(cuzk, job, i, values, ret_error);
        if (r == CUZK_OK && json_array_append(all, values) < 0)
            r = failure(ret_error, CUZK_NO_MEMORY, "out of memory");
        json_decref(values);
    }
    if (r != CUZK_OK) {
        json_decref(all);
        return r;
    }
    if (state.partitions == 1) {
        json_t *one = json_incref(json_array_get(all, 0));
        json_decref(all);
        all = one;
    }
    r = dump(all, JSON_INDENT(1), ret_json, ret_error);
    /* snarkjs writes an empty list on two lines; the text is the one place where they differ. */
    if (r == CUZK_OK && strcmp(*ret_json, "[]") == 0) {
        free(*ret_json);
        *ret_json = strdup("[\n]");
        if (!*ret_json)
            r = failure(ret_error, CUZK_NO_MEMORY, "out of memory");
    }
    return r;
}

int cuzk_cancel(struct cuzk *cuzk, uint64_t job, struct cuzk_error *ret_error)
{
    json_t *result;
    int r = call_job(cuzk, REQUEST_CANCEL, job, &result, ret_error);

    if (r != CUZK_OK)
        return r;
    const char *outcome = json_string_value(json_object_get(result, "outcome"));
    if (outcome && strcmp(outcome, "too_late") == 0)
        r = failure(ret_error, CUZK_TOO_LATE, "job %llu had already ended",
                    (unsigned long long)job);
    else if (!outcome || strcmp(outcome, "cancelled") != 0)
        r = connection_strange(ret_error, "cancel", "outcome");
    json_decref(result);
    return r;
}

/* ---- looking around ---- */

static int call_json(struct cuzk *cuzk, struct request *request, const int *descriptors,
                     uint32_t wait_ms, char **ret_json, struct cuzk_error *ret_error)
{
    json_t *result;
    int r = connection_call(cuzk, request, descriptors, wait_ms, &result, ret_error);
    return r == CUZK_OK ? dump(result, JSON_COMPACT, ret_json, ret_error) : r;
}

int cuzk_jobs(struct cuzk *cuzk, uint32_t limit, const enum cuzk_job_state *state, char **ret_json,
              struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_JOBS};

    if (limit > REPLY_JOBS_MAX)
        return failure(ret_error, CUZK_USAGE, "%u jobs are too many at once; allowed: 1 to %d",
                       limit, REPLY_JOBS_MAX);
    request.jobs.limit = limit ? limit : 100;
    request.jobs.has_state = state != NULL;
    request.jobs.state = state ? (enum request_job_state) * state : REQUEST_JOB_QUEUED;
    return call_json(cuzk, &request, NULL, 0, ret_json, ret_error);
}

int cuzk_status(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_STATUS};
    return call_json(cuzk, &request, NULL, 0, ret_json, ret_error);
}

int cuzk_workers(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_WORKERS};
    return call_json(cuzk, &request, NULL, 0, ret_json, ret_error);
}

int cuzk_check(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_CHECK};
    return call_json(cuzk, &request, NULL, 0, ret_json, ret_error);
}

int cuzk_reload(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_RELOAD};
    return call_json(cuzk, &request, NULL, 0, ret_json, ret_error);
}

int cuzk_circuit_list(struct cuzk *cuzk, char **ret_json, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_CIRCUIT_LIST};
    return call_json(cuzk, &request, NULL, 0, ret_json, ret_error);
}

int cuzk_circuit_add(struct cuzk *cuzk, const char *name, const char *zkey_path,
                     const char *r1cs_path, char **ret_json, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_CIRCUIT_ADD};
    int files[2];
    uint64_t bytes;
    int r = input_name(request.circuit.name, name, ret_error);

    if (r == CUZK_OK)
        r = input_open(zkey_path, "the proving key", &files[0], &bytes, ret_error);
    if (r != CUZK_OK)
        return r;
    request.descriptor_count = 1;
    if (r1cs_path) {
        r = input_open(r1cs_path, "the r1cs", &files[1], &bytes, ret_error);
        if (r == CUZK_OK)
            request.descriptor_count = 2;
        request.circuit.has_r1cs = true;
    }
    if (r == CUZK_OK)
        r = call_json(cuzk, &request, files, CUZK_FOREVER, ret_json, ret_error);
    for (uint32_t i = 0; i < request.descriptor_count; i++)
        close(files[i]);
    return r;
}

int cuzk_circuit_remove(struct cuzk *cuzk, const char *name, struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_CIRCUIT_REMOVE};
    json_t *result = NULL;
    int r = input_name(request.circuit.name, name, ret_error);

    if (r == CUZK_OK)
        r = connection_call(cuzk, &request, NULL, 0, &result, ret_error);
    json_decref(result);
    return r;
}

int cuzk_worker_order(struct cuzk *cuzk, enum cuzk_worker_order order, const char *worker,
                      char **ret_json, struct cuzk_error *ret_error)
{
    static const enum request_method methods[] = {
        [CUZK_WORKER_RESTART] = REQUEST_WORKER_RESTART,
        [CUZK_WORKER_RESTART_NOW] = REQUEST_WORKER_RESTART,
        [CUZK_WORKER_DRAIN] = REQUEST_WORKER_DRAIN,
        [CUZK_WORKER_RESUME] = REQUEST_WORKER_RESUME,
        [CUZK_WORKER_TRIM] = REQUEST_WORKER_TRIM,
    };
    struct request request = {0};

    if ((unsigned)order > CUZK_WORKER_TRIM)
        return failure(ret_error, CUZK_USAGE, "%d is no order", (int)order);
    request.method = methods[order];
    request.worker.is_now = order == CUZK_WORKER_RESTART_NOW;
    int r = input_name(request.worker.worker, worker, ret_error);
    return r == CUZK_OK ? call_json(cuzk, &request, NULL, 0, ret_json, ret_error) : r;
}

int cuzk_log_level(struct cuzk *cuzk, const char *level, const char *worker,
                   struct cuzk_error *ret_error)
{
    struct request request = {.method = REQUEST_LOG_LEVEL};
    json_t *result = NULL;
    int r = CUZK_OK;

    if (request_level_from_string(level, &request.worker.level) < 0)
        return failure(ret_error, CUZK_USAGE,
                       "\"%.32s\" is no log level; there are error, warn, info and debug", level);
    if (worker)
        r = input_name(request.worker.worker, worker, ret_error);
    if (r == CUZK_OK)
        r = connection_call(cuzk, &request, NULL, 0, &result, ret_error);
    json_decref(result);
    return r;
}
