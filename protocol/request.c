/* One table says which parameters each method takes; decoding walks it. Encoding is the mirror
 * image below it. Upstream: stream.c. Downstream: the daemon's control server. */
#include "protocol/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <msgpack.h>

#include "config/name.h"
#include "config/nearest.h"

/* Reads one parameter's value. 0 or request_refuse(). */
typedef int (*request_reader)(struct request *request, const char *key, const msgpack_object *value,
                              struct request_fault *fault);

static int read_circuit(struct request *, const char *, const msgpack_object *,
                        struct request_fault *);
static int read_name(struct request *, const char *, const msgpack_object *,
                     struct request_fault *);
static int read_priority(struct request *, const char *, const msgpack_object *,
                         struct request_fault *);
static int read_client_key(struct request *, const char *, const msgpack_object *,
                           struct request_fault *);
static int read_durable(struct request *, const char *, const msgpack_object *,
                        struct request_fault *);
static int read_deadline(struct request *, const char *, const msgpack_object *,
                         struct request_fault *);
static int read_inputs(struct request *, const char *, const msgpack_object *,
                       struct request_fault *);
static int read_fds(struct request *, const char *, const msgpack_object *, struct request_fault *);
static int read_job(struct request *, const char *, const msgpack_object *, struct request_fault *);
static int read_timeout(struct request *, const char *, const msgpack_object *,
                        struct request_fault *);
static int read_seen(struct request *, const char *, const msgpack_object *,
                     struct request_fault *);
static int read_partition(struct request *, const char *, const msgpack_object *,
                          struct request_fault *);
static int read_first(struct request *, const char *, const msgpack_object *,
                      struct request_fault *);
static int read_limit(struct request *, const char *, const msgpack_object *,
                      struct request_fault *);
static int read_state(struct request *, const char *, const msgpack_object *,
                      struct request_fault *);
static int read_r1cs(struct request *, const char *, const msgpack_object *,
                     struct request_fault *);

static int read_worker(struct request *, const char *, const msgpack_object *,
                       struct request_fault *);
static int read_now(struct request *, const char *, const msgpack_object *, struct request_fault *);
static int read_level(struct request *, const char *, const msgpack_object *,
                      struct request_fault *);

static const struct parameter {
    enum request_method method;
    const char *key;
    bool is_required;
    request_reader read;
} parameters[] = {
    {REQUEST_SUBMIT, "circuit", true, read_circuit},
    {REQUEST_SUBMIT, "priority", false, read_priority},
    {REQUEST_SUBMIT, "client_key", false, read_client_key},
    {REQUEST_SUBMIT, "durable", false, read_durable},
    {REQUEST_SUBMIT, "deadline_ms", false, read_deadline},
    {REQUEST_SUBMIT, "inputs", true, read_inputs},
    {REQUEST_SUBMIT, "fds", false, read_fds},
    {REQUEST_WAIT, "job", false, read_job},
    {REQUEST_WAIT, "client_key", false, read_client_key},
    {REQUEST_WAIT, "timeout_ms", true, read_timeout},
    {REQUEST_WAIT, "seen", false, read_seen},
    {REQUEST_RESULT, "job", true, read_job},
    {REQUEST_PUBLIC, "job", true, read_job},
    {REQUEST_PUBLIC, "partition", true, read_partition},
    {REQUEST_PUBLIC, "first", true, read_first},
    {REQUEST_CANCEL, "job", true, read_job},
    {REQUEST_JOBS, "limit", false, read_limit},
    {REQUEST_JOBS, "state", false, read_state},
    {REQUEST_CIRCUIT_ADD, "name", true, read_name},
    {REQUEST_CIRCUIT_ADD, "r1cs", false, read_r1cs},
    {REQUEST_CIRCUIT_ADD, "fds", true, read_fds},
    {REQUEST_CIRCUIT_REMOVE, "name", true, read_name},
    {REQUEST_WORKER_RESTART, "worker", true, read_worker},
    {REQUEST_WORKER_RESTART, "now", false, read_now},
    {REQUEST_WORKER_DRAIN, "worker", true, read_worker},
    {REQUEST_WORKER_RESUME, "worker", true, read_worker},
    {REQUEST_WORKER_TRIM, "worker", true, read_worker},
    {REQUEST_LOG_LEVEL, "level", true, read_level},
    {REQUEST_LOG_LEVEL, "worker", false, read_worker},
};

enum {
    PARAMETER_COUNT = sizeof parameters / sizeof parameters[0],
    REQUEST_JOBS_LIMIT_DEFAULT = 100,
};

static const char *const method_names[REQUEST_METHOD_COUNT] = {
    [REQUEST_HELLO] = "hello",
    [REQUEST_SUBMIT] = "submit",
    [REQUEST_WAIT] = "wait",
    [REQUEST_RESULT] = "result",
    [REQUEST_PUBLIC] = "public",
    [REQUEST_CANCEL] = "cancel",
    [REQUEST_JOBS] = "jobs",
    [REQUEST_STATUS] = "status",
    [REQUEST_WORKERS] = "workers",
    [REQUEST_CIRCUIT_LIST] = "circuit_list",
    [REQUEST_CIRCUIT_ADD] = "circuit_add",
    [REQUEST_CIRCUIT_REMOVE] = "circuit_remove",
    [REQUEST_WORKER_RESTART] = "worker_restart",
    [REQUEST_WORKER_DRAIN] = "worker_drain",
    [REQUEST_WORKER_RESUME] = "worker_resume",
    [REQUEST_WORKER_TRIM] = "worker_trim",
    [REQUEST_LOG_LEVEL] = "log_level",
    [REQUEST_CHECK] = "check",
    [REQUEST_RELOAD] = "reload",
};

static const char *const priority_names[REQUEST_PRIORITY_COUNT] = {
    [REQUEST_PRIORITY_LOW] = "low",
    [REQUEST_PRIORITY_NORMAL] = "normal",
    [REQUEST_PRIORITY_HIGH] = "high",
    [REQUEST_PRIORITY_CRITICAL] = "critical",
};

static const char *const job_state_names[REQUEST_JOB_STATE_COUNT] = {
    [REQUEST_JOB_QUEUED] = "queued",       [REQUEST_JOB_RUNNING] = "running",
    [REQUEST_JOB_DONE] = "done",           [REQUEST_JOB_FAILED] = "failed",
    [REQUEST_JOB_CANCELLED] = "cancelled",
};

/* As in LogLevel=. */
static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

/* Decoding. */

static int decode_envelope(const msgpack_object *frame, struct request *ret,
                           const msgpack_object **ret_parameters, struct request_fault *fault);
static int decode_parameters(const msgpack_object_map *map, struct request *request,
                             struct request_fault *fault);
static int check_together(const struct request *request, struct request_fault *fault);
static int check_descriptors(const struct request *request, struct request_fault *fault);

/* Fills the fault's text, other bytes than printable ASCII replaced. */
static int __attribute__((format(printf, 2, 3)))
request_refuse(struct request_fault *fault, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    for (char *c = fault->text; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    return -EINVAL;
}

int request_decode(const uint8_t *bytes, size_t count, struct request *ret,
                   struct request_fault *ret_fault)
{
    msgpack_unpacked unpacked;
    const msgpack_object *map;
    size_t off = 0;

    *ret_fault = (struct request_fault){0};
    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return unpacking =
        msgpack_unpack_next(&unpacked, (const char *)bytes, count, &off);
    int r = unpacking == MSGPACK_UNPACK_NOMEM_ERROR ? -ENOMEM : -EBADMSG;
    if (unpacking == MSGPACK_UNPACK_SUCCESS && off == count)
        r = decode_envelope(&unpacked.data, ret, &map, ret_fault);
    if (r == 0)
        r = decode_parameters(&map->via.map, ret, ret_fault);
    if (r == 0)
        r = check_together(ret, ret_fault);
    if (r == 0)
        r = check_descriptors(ret, ret_fault);
    /* Strings and bins point into `bytes`; the rest has been copied. */
    msgpack_unpacked_destroy(&unpacked);
    return r;
}

static bool is_text(const msgpack_object *value, const char *text)
{
    return value->type == MSGPACK_OBJECT_STR && value->via.str.size == strlen(text) &&
           memcmp(value->via.str.ptr, text, value->via.str.size) == 0;
}

/* A name of a fixed list, or -1. */
static int find_text(const msgpack_object *value, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (is_text(value, names[i]))
            return i;
    return -1;
}

/* For messages: at most 64 bytes of a string from the client. */
static const char *shown(const msgpack_object *value, char ret[NAME_BYTES_MAX + 1])
{
    size_t bytes = value->type == MSGPACK_OBJECT_STR ? value->via.str.size : 0;
    if (bytes > NAME_BYTES_MAX)
        bytes = NAME_BYTES_MAX;
    if (bytes > 0)
        memcpy(ret, value->via.str.ptr, bytes);
    ret[bytes] = '\0';
    return ret;
}

static int read_integer(const msgpack_object *value, const char *key, uint64_t min, uint64_t max,
                        uint64_t *ret, struct request_fault *fault)
{
    if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER && value->via.u64 >= min &&
        value->via.u64 <= max) {
        *ret = value->via.u64;
        return 0;
    }
    return request_refuse(fault, "%s is to be an integer from %llu to %llu", key,
                          (unsigned long long)min, (unsigned long long)max);
}

/* How many descriptors a refused request brought, so that its caller can drop them. */
static uint32_t peek_descriptors(const msgpack_object_map *map)
{
    for (uint32_t i = 0; i < map->size; i++) {
        const msgpack_object *value = &map->ptr[i].val;
        if (is_text(&map->ptr[i].key, "fds") && value->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
            value->via.u64 <= JOB_PARTITIONS_MAX)
            return (uint32_t)value->via.u64;
    }
    return 0;
}

static int decode_envelope(const msgpack_object *frame, struct request *ret,
                           const msgpack_object **ret_parameters, struct request_fault *fault)
{
    char text[NAME_BYTES_MAX + 1];

    if (frame->type != MSGPACK_OBJECT_ARRAY || frame->via.array.size != 4)
        return -EBADMSG;
    const msgpack_object *parts = frame->via.array.ptr;
    if (parts[0].type != MSGPACK_OBJECT_POSITIVE_INTEGER || parts[0].via.u64 != 0 ||
        parts[1].type != MSGPACK_OBJECT_POSITIVE_INTEGER || parts[1].via.u64 > UINT32_MAX)
        return -EBADMSG;
    fault->has_message_id = true;
    fault->message_id = (uint32_t)parts[1].via.u64;

    if (parts[3].type != MSGPACK_OBJECT_ARRAY || parts[3].via.array.size != 1 ||
        parts[3].via.array.ptr[0].type != MSGPACK_OBJECT_MAP)
        return request_refuse(fault, "params is to be an array with one map");
    *ret_parameters = &parts[3].via.array.ptr[0];
    fault->descriptor_count = peek_descriptors(&(*ret_parameters)->via.map);
    if (parts[2].type != MSGPACK_OBJECT_STR)
        return request_refuse(fault, "method is to be a string");
    int method = find_text(&parts[2], method_names, REQUEST_METHOD_COUNT);
    if (method < 0) {
        struct nearest nearest;
        nearest_init(&nearest, shown(&parts[2], text));
        for (int i = 0; i < REQUEST_METHOD_COUNT; i++)
            nearest_offer(&nearest, method_names[i]);
        return request_refuse(fault, "unknown method \"%s\"%s%s%s", text,
                              nearest.best ? "; did you mean " : "",
                              nearest.best ? nearest.best : "", nearest.best ? "?" : "");
    }
    memset(ret, 0, sizeof *ret);
    ret->message_id = fault->message_id;
    ret->method = (enum request_method)method;
    if (ret->method == REQUEST_SUBMIT) {
        ret->submit.priority = REQUEST_PRIORITY_NORMAL;
        ret->submit.is_durable = true;
    }
    if (ret->method == REQUEST_JOBS)
        ret->jobs.limit = REQUEST_JOBS_LIMIT_DEFAULT;
    return 0;
}

static int refuse_parameter(const struct request *request, const msgpack_object *key,
                            struct request_fault *fault)
{
    char text[NAME_BYTES_MAX + 1];
    struct nearest nearest;

    nearest_init(&nearest, shown(key, text));
    for (int i = 0; i < PARAMETER_COUNT; i++)
        if (parameters[i].method == request->method)
            nearest_offer(&nearest, parameters[i].key);
    return request_refuse(fault, "%s has no parameter \"%s\"%s%s%s", method_names[request->method],
                          text, nearest.best ? "; did you mean " : "",
                          nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

static int decode_parameters(const msgpack_object_map *map, struct request *request,
                             struct request_fault *fault)
{
    bool has[PARAMETER_COUNT] = {false};

    for (uint32_t i = 0; i < map->size; i++) {
        int k = 0;
        while (k < PARAMETER_COUNT && (parameters[k].method != request->method ||
                                       !is_text(&map->ptr[i].key, parameters[k].key)))
            k++;
        if (k == PARAMETER_COUNT)
            return refuse_parameter(request, &map->ptr[i].key, fault);
        if (has[k])
            return request_refuse(fault, "%s is given twice", parameters[k].key);
        has[k] = true;
        int r = parameters[k].read(request, parameters[k].key, &map->ptr[i].val, fault);
        if (r < 0)
            return r;
    }
    for (int k = 0; k < PARAMETER_COUNT; k++)
        if (parameters[k].method == request->method && parameters[k].is_required && !has[k])
            return request_refuse(fault, "%s needs the parameter %s", method_names[request->method],
                                  parameters[k].key);
    return 0;
}

/* What no parameter can say alone. */
static int check_together(const struct request *request, struct request_fault *fault)
{
    if (request->method == REQUEST_WAIT &&
        (request->wait.job != 0) == (request->wait.client_key[0] != '\0'))
        return request_refuse(fault, "wait needs either job or client_key");
    if (request->method == REQUEST_SUBMIT && request->submit.client_key[0] &&
        !request->submit.is_durable)
        return request_refuse(fault, "client_key needs a durable job: what is not kept cannot be "
                                     "found again");
    return 0;
}

static uint32_t descriptors_needed(const struct request *request)
{
    uint32_t count = 0;

    if (request->method == REQUEST_SUBMIT)
        for (uint32_t i = 0; i < request->submit.input_count; i++)
            count += request->submit.inputs[i].bytes ? 0 : 1;
    if (request->method == REQUEST_CIRCUIT_ADD)
        count = request->circuit.has_r1cs ? 2 : 1;
    return count;
}

static int check_descriptors(const struct request *request, struct request_fault *fault)
{
    uint32_t needed = descriptors_needed(request);

    if (needed == request->descriptor_count)
        return 0;
    return request_refuse(fault, "fds is %u, but this %s takes %u descriptors",
                          request->descriptor_count, method_names[request->method], needed);
}

static int read_name_into(char ret[NAME_BYTES_MAX + 1], const char *key,
                          const msgpack_object *value, struct request_fault *fault)
{
    if (value->type != MSGPACK_OBJECT_STR ||
        !name_is_valid(value->via.str.ptr, value->via.str.size))
        return request_refuse(fault, "%s is to be a string of 1 to %d of A-Z a-z 0-9 . _ -", key,
                              NAME_BYTES_MAX);
    memcpy(ret, value->via.str.ptr, value->via.str.size);
    ret[value->via.str.size] = '\0';
    return 0;
}

static int read_circuit(struct request *request, const char *key, const msgpack_object *value,
                        struct request_fault *fault)
{
    return read_name_into(request->submit.circuit, key, value, fault);
}

static int read_name(struct request *request, const char *key, const msgpack_object *value,
                     struct request_fault *fault)
{
    return read_name_into(request->circuit.name, key, value, fault);
}

static int read_priority(struct request *request, const char *key, const msgpack_object *value,
                         struct request_fault *fault)
{
    int priority = find_text(value, priority_names, REQUEST_PRIORITY_COUNT);
    if (priority < 0)
        return request_refuse(fault, "%s is to be low, normal, high or critical", key);
    request->submit.priority = (enum request_priority)priority;
    return 0;
}

static int read_client_key(struct request *request, const char *key, const msgpack_object *value,
                           struct request_fault *fault)
{
    char *ret =
        request->method == REQUEST_WAIT ? request->wait.client_key : request->submit.client_key;
    bool is_valid = value->type == MSGPACK_OBJECT_STR &&
                    client_key_is_valid(value->via.str.ptr, value->via.str.size);
    if (!is_valid)
        return request_refuse(fault,
                              "%s is to be a string of 1 to %d printable ASCII characters without "
                              "spaces",
                              key, CLIENT_KEY_BYTES_MAX);
    memcpy(ret, value->via.str.ptr, value->via.str.size);
    ret[value->via.str.size] = '\0';
    return 0;
}

static int read_durable(struct request *request, const char *key, const msgpack_object *value,
                        struct request_fault *fault)
{
    if (value->type != MSGPACK_OBJECT_BOOLEAN)
        return request_refuse(fault, "%s is to be true or false", key);
    request->submit.is_durable = value->via.boolean;
    return 0;
}

static int read_deadline(struct request *request, const char *key, const msgpack_object *value,
                         struct request_fault *fault)
{
    return read_integer(value, key, 1, DEADLINE_MS_MAX, &request->submit.deadline_ms, fault);
}

static int read_input(const msgpack_object *value, uint32_t index, struct request_input *ret,
                      struct request_fault *fault)
{
    if (value->type == MSGPACK_OBJECT_MAP && value->via.map.size == 1) {
        const msgpack_object *key = &value->via.map.ptr[0].key;
        const msgpack_object *content = &value->via.map.ptr[0].val;
        if (is_text(key, "fd") && content->type == MSGPACK_OBJECT_BOOLEAN && content->via.boolean) {
            *ret = (struct request_input){0};
            return 0;
        }
        if (is_text(key, "inline") && content->type == MSGPACK_OBJECT_BIN) {
            uint32_t bytes = content->via.bin.size;
            if (bytes == 0 || bytes > INPUT_INLINE_BYTES_MAX)
                return request_refuse(fault,
                                      "inputs[%u].inline has %u bytes; allowed: 1 to %d; larger "
                                      "inputs go as descriptors",
                                      index, bytes, INPUT_INLINE_BYTES_MAX);
            *ret = (struct request_input){content->via.bin.ptr, bytes};
            return 0;
        }
    }
    return request_refuse(fault, "inputs[%u] is to be {inline: bin} or {fd: true}", index);
}

static int read_inputs(struct request *request, const char *key, const msgpack_object *value,
                       struct request_fault *fault)
{
    if (value->type != MSGPACK_OBJECT_ARRAY)
        return request_refuse(fault, "%s is to be an array", key);
    uint32_t count = value->via.array.size;
    if (count == 0 || count > JOB_PARTITIONS_MAX)
        return request_refuse(fault, "%s has %u entries; allowed: 1 to %d", key, count,
                              JOB_PARTITIONS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        int r = read_input(&value->via.array.ptr[i], i, &request->submit.inputs[i], fault);
        if (r < 0)
            return r;
    }
    request->submit.input_count = count;
    return 0;
}

static int read_u32(const msgpack_object *value, const char *key, uint32_t min, uint32_t max,
                    uint32_t *ret, struct request_fault *fault)
{
    uint64_t number;
    int r = read_integer(value, key, min, max, &number, fault);
    if (r == 0)
        *ret = (uint32_t)number;
    return r;
}

static int read_fds(struct request *request, const char *key, const msgpack_object *value,
                    struct request_fault *fault)
{
    return read_u32(value, key, 0, JOB_PARTITIONS_MAX, &request->descriptor_count, fault);
}

static int read_job(struct request *request, const char *key, const msgpack_object *value,
                    struct request_fault *fault)
{
    uint64_t *job = request->method == REQUEST_WAIT     ? &request->wait.job
                    : request->method == REQUEST_PUBLIC ? &request->public.job
                                                        : &request->job;
    return read_integer(value, key, 1, UINT64_MAX, job, fault);
}

static int read_timeout(struct request *request, const char *key, const msgpack_object *value,
                        struct request_fault *fault)
{
    return read_u32(value, key, 0, WAIT_TIMEOUT_MS_MAX, &request->wait.timeout_ms, fault);
}

static int read_seen(struct request *request, const char *key, const msgpack_object *value,
                     struct request_fault *fault)
{
    request->wait.has_seen = true;
    return read_integer(value, key, 0, UINT64_MAX, &request->wait.seen, fault);
}

static int read_partition(struct request *request, const char *key, const msgpack_object *value,
                          struct request_fault *fault)
{
    return read_u32(value, key, 0, JOB_PARTITIONS_MAX - 1, &request->public.partition, fault);
}

static int read_first(struct request *request, const char *key, const msgpack_object *value,
                      struct request_fault *fault)
{
    return read_u32(value, key, 0, PUBLIC_INPUTS_MAX, &request->public.first, fault);
}

static int read_limit(struct request *request, const char *key, const msgpack_object *value,
                      struct request_fault *fault)
{
    return read_u32(value, key, 1, REPLY_JOBS_MAX, &request->jobs.limit, fault);
}

static int read_state(struct request *request, const char *key, const msgpack_object *value,
                      struct request_fault *fault)
{
    int state = find_text(value, job_state_names, REQUEST_JOB_STATE_COUNT);
    if (state < 0)
        return request_refuse(fault, "%s is to be queued, running, done, failed or cancelled", key);
    request->jobs.has_state = true;
    request->jobs.state = (enum request_job_state)state;
    return 0;
}

static int read_r1cs(struct request *request, const char *key, const msgpack_object *value,
                     struct request_fault *fault)
{
    if (value->type != MSGPACK_OBJECT_BOOLEAN)
        return request_refuse(fault, "%s is to be true or false", key);
    request->circuit.has_r1cs = value->via.boolean;
    return 0;
}

static int read_worker(struct request *request, const char *key, const msgpack_object *value,
                       struct request_fault *fault)
{
    return read_name_into(request->worker.worker, key, value, fault);
}

static int read_now(struct request *request, const char *key, const msgpack_object *value,
                    struct request_fault *fault)
{
    if (value->type != MSGPACK_OBJECT_BOOLEAN)
        return request_refuse(fault, "%s is to be true or false", key);
    request->worker.is_now = value->via.boolean;
    return 0;
}

static int read_level(struct request *request, const char *key, const msgpack_object *value,
                      struct request_fault *fault)
{
    int level = find_text(value, level_names, LOG_LEVEL_DEBUG + 1);
    if (level < 0)
        return request_refuse(fault, "%s is to be error, warn, info or debug", key);
    request->worker.level = (enum log_level)level;
    return 0;
}

/* Names. */

const char *request_method_to_string(enum request_method method)
{
    return method < REQUEST_METHOD_COUNT ? method_names[method] : "?";
}

bool request_method_is_admin(enum request_method method)
{
    switch (method) {
    case REQUEST_CIRCUIT_ADD:
    case REQUEST_CIRCUIT_REMOVE:
    case REQUEST_WORKER_RESTART:
    case REQUEST_WORKER_DRAIN:
    case REQUEST_WORKER_RESUME:
    case REQUEST_WORKER_TRIM:
    case REQUEST_LOG_LEVEL:
    case REQUEST_CHECK:
    case REQUEST_RELOAD:
        return true;
    default:
        return false;
    }
}

const char *request_priority_to_string(enum request_priority priority)
{
    return priority < REQUEST_PRIORITY_COUNT ? priority_names[priority] : "?";
}

int request_priority_from_string(const char *text, enum request_priority *ret)
{
    for (int i = 0; i < REQUEST_PRIORITY_COUNT; i++)
        if (strcmp(priority_names[i], text) == 0) {
            *ret = (enum request_priority)i;
            return 0;
        }
    return -EINVAL;
}

const char *request_job_state_to_string(enum request_job_state state)
{
    return state < REQUEST_JOB_STATE_COUNT ? job_state_names[state] : "?";
}

int request_job_state_from_string(const char *text, enum request_job_state *ret)
{
    for (int i = 0; i < REQUEST_JOB_STATE_COUNT; i++)
        if (strcmp(job_state_names[i], text) == 0) {
            *ret = (enum request_job_state)i;
            return 0;
        }
    return -EINVAL;
}

const char *request_level_to_string(enum log_level level)
{
    return (unsigned)level <= LOG_LEVEL_DEBUG ? level_names[level] : "?";
}

int request_level_from_string(const char *text, enum log_level *ret)
{
    for (int i = 0; i <= LOG_LEVEL_DEBUG; i++)
        if (strcmp(level_names[i], text) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    return -EINVAL;
}
