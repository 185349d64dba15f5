/* Requests as typed structs, to and from the bytes of one frame [0, msgid, method, [params]]. The
 * daemon decodes, the client encodes. Decoding is strict: unknown methods, unknown, repeated and
 * missing parameters, wrong types and values out of range are refused with a sentence for the
 * client. PROTOCOL.md describes the same for implementers of other clients. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "runtime/log.h"

enum request_method {
    REQUEST_HELLO,
    REQUEST_SUBMIT,
    REQUEST_WAIT,
    REQUEST_RESULT,
    REQUEST_PUBLIC,
    REQUEST_CANCEL,
    REQUEST_JOBS,
    REQUEST_STATUS,
    REQUEST_WORKERS,
    REQUEST_CIRCUIT_LIST,
    REQUEST_CIRCUIT_ADD,
    REQUEST_CIRCUIT_REMOVE,
    REQUEST_WORKER_RESTART,
    REQUEST_WORKER_DRAIN,
    REQUEST_WORKER_RESUME,
    REQUEST_WORKER_TRIM,
    REQUEST_LOG_LEVEL,
    REQUEST_CHECK,
    REQUEST_RELOAD,
    REQUEST_METHOD_COUNT,
};

enum request_priority {
    REQUEST_PRIORITY_LOW,
    REQUEST_PRIORITY_NORMAL,
    REQUEST_PRIORITY_HIGH,
    REQUEST_PRIORITY_CRITICAL,
    REQUEST_PRIORITY_COUNT,
};

/* States of a job as clients see them. The last three are terminal. */
enum request_job_state {
    REQUEST_JOB_QUEUED,
    REQUEST_JOB_RUNNING,
    REQUEST_JOB_DONE,
    REQUEST_JOB_FAILED,
    REQUEST_JOB_CANCELLED,
    REQUEST_JOB_STATE_COUNT,
};

/* One witness: inline bytes, or the next descriptor of the request (bytes NULL). */
struct request_input {
    const void *bytes; /* borrowed: decoded ones point into the frame */
    uint32_t byte_count;
};

struct request_submit {
    char circuit[NAME_BYTES_MAX + 1];
    enum request_priority priority;
    char client_key[CLIENT_KEY_BYTES_MAX + 1]; /* "" when not given */
    bool is_durable;                           /* true when not given */
    uint64_t deadline_ms;                      /* from now, for the whole job; 0: none */
    uint32_t input_count; /* 1 to JOB_PARTITIONS_MAX */
    struct request_input inputs[JOB_PARTITIONS_MAX];
};

struct request_wait {
    uint64_t job; /* 0: by client key */
    uint32_t timeout_ms; /* up to WAIT_TIMEOUT_MS_MAX */
    bool has_seen;
    uint64_t seen; /* the `version` of the last reply */
    char client_key[CLIENT_KEY_BYTES_MAX + 1];
};

struct request_public {
    uint64_t job;
    uint32_t partition; /* < JOB_PARTITIONS_MAX */
    uint32_t first;     /* <= PUBLIC_INPUTS_MAX */
};

struct request_jobs {
    uint32_t limit; /* 1 to REPLY_JOBS_MAX; 100 when not given */
    bool has_state;
    enum request_job_state state;
};

struct request_circuit {
    char name[NAME_BYTES_MAX + 1];
    bool has_r1cs; /* circuit_add: a second descriptor is the .r1cs */
};

struct request_worker {
    char worker[NAME_BYTES_MAX + 1]; /* "gpu-0", a kind, "all"; log_level: "" for everybody */
    bool is_now;                     /* worker_restart: without draining */
    enum log_level level;            /* log_level */
};

struct request {
    uint32_t message_id;
    enum request_method method;
    uint32_t descriptor_count; /* `fds`: how many queued descriptors this request consumes. After
                                  decoding equal to what submit's inputs or circuit_add need; 0 for
                                  all other methods */
    union {
        struct request_submit submit;
        struct request_wait wait;
        uint64_t job; /* result, cancel */
        struct request_public public;
        struct request_jobs jobs;
        struct request_circuit circuit; /* circuit_add, circuit_remove */
        struct request_worker worker;   /* worker_..., log_level */
    };
};

struct request_fault {
    bool has_message_id; /* false: nothing to answer to, close the connection */
    uint32_t message_id;
    uint32_t descriptor_count; /* what `fds` said, for the caller to drop that many; 0 if unknown */
    char text[256];            /* printable ASCII */
};

const char *request_method_to_string(enum request_method method);
/* Methods that only the admin socket serves. */
bool request_method_is_admin(enum request_method method);
const char *request_priority_to_string(enum request_priority priority);
int request_priority_from_string(const char *text, enum request_priority *ret);
const char *request_job_state_to_string(enum request_job_state state);
int request_job_state_from_string(const char *text, enum request_job_state *ret);

const char *request_level_to_string(enum log_level level);
int request_level_from_string(const char *text, enum log_level *ret);

/* `bytes` is one frame as stream_frame gives it; the decoded request borrows from it. Returns 0;
 * -EBADMSG when it is no request at all (has_message_id false); -EINVAL when it is one to answer
 * with error `usage` and fault text; -ENOMEM. */
int request_decode(const uint8_t *bytes, size_t count, struct request *ret,
                   struct request_fault *ret_fault);

/* *ret_bytes is malloc'd, the caller's. -EMSGSIZE when it exceeds FRAME_BYTES_MAX; -ENOMEM. */
int request_encode(const struct request *request, uint8_t **ret_bytes, size_t *ret_count);
