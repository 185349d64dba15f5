/* Requests to bytes: the client's half of request.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "protocol/request.h"

static void pack_text(msgpack_packer *packer, const char *text)
{
    msgpack_pack_str_with_body(packer, text, strlen(text));
}

static void pack_integer(msgpack_packer *packer, const char *key, uint64_t value)
{
    pack_text(packer, key);
    msgpack_pack_uint64(packer, value);
}

static void pack_named_text(msgpack_packer *packer, const char *key, const char *value)
{
    pack_text(packer, key);
    pack_text(packer, value);
}

static void pack_submit(msgpack_packer *packer, const struct request *request)
{
    const struct request_submit *submit = &request->submit;

    msgpack_pack_map(packer, 4u + (submit->client_key[0] != '\0') + !submit->is_durable +
                                 (submit->deadline_ms != 0));
    pack_named_text(packer, "circuit", submit->circuit);
    pack_named_text(packer, "priority", request_priority_to_string(submit->priority));
    if (submit->client_key[0])
        pack_named_text(packer, "client_key", submit->client_key);
    if (!submit->is_durable) {
        pack_text(packer, "durable");
        msgpack_pack_false(packer);
    }
    if (submit->deadline_ms)
        pack_integer(packer, "deadline_ms", submit->deadline_ms);
    pack_text(packer, "inputs");
    msgpack_pack_array(packer, submit->input_count);
    for (uint32_t i = 0; i < submit->input_count; i++) {
        const struct request_input *input = &submit->inputs[i];
        msgpack_pack_map(packer, 1);
        if (input->bytes) {
            pack_text(packer, "inline");
            msgpack_pack_bin_with_body(packer, input->bytes, input->byte_count);
        } else {
            pack_text(packer, "fd");
            msgpack_pack_true(packer);
        }
    }
    pack_integer(packer, "fds", request->descriptor_count);
}

static void pack_wait(msgpack_packer *packer, const struct request_wait *wait)
{
    msgpack_pack_map(packer, wait->has_seen ? 3 : 2);
    if (wait->job)
        pack_integer(packer, "job", wait->job);
    else
        pack_named_text(packer, "client_key", wait->client_key);
    pack_integer(packer, "timeout_ms", wait->timeout_ms);
    if (wait->has_seen)
        pack_integer(packer, "seen", wait->seen);
}

static void pack_jobs(msgpack_packer *packer, const struct request_jobs *jobs)
{
    msgpack_pack_map(packer, jobs->has_state ? 2 : 1);
    pack_integer(packer, "limit", jobs->limit);
    if (jobs->has_state)
        pack_named_text(packer, "state", request_job_state_to_string(jobs->state));
}

static void pack_worker(msgpack_packer *packer, const struct request *request)
{
    const struct request_worker *worker = &request->worker;
    const bool has_worker = worker->worker[0], has_level = request->method == REQUEST_LOG_LEVEL;

    msgpack_pack_map(packer, has_worker + worker->is_now + has_level);
    if (has_worker)
        pack_named_text(packer, "worker", worker->worker);
    if (worker->is_now) {
        pack_text(packer, "now");
        msgpack_pack_true(packer);
    }
    if (has_level)
        pack_named_text(packer, "level", request_level_to_string(worker->level));
}

static void pack_parameters(msgpack_packer *packer, const struct request *request)
{
    switch (request->method) {
    case REQUEST_SUBMIT:
        pack_submit(packer, request);
        break;
    case REQUEST_WAIT:
        pack_wait(packer, &request->wait);
        break;
    case REQUEST_RESULT:
    case REQUEST_CANCEL:
        msgpack_pack_map(packer, 1);
        pack_integer(packer, "job", request->job);
        break;
    case REQUEST_PUBLIC:
        msgpack_pack_map(packer, 3);
        pack_integer(packer, "job", request->public.job);
        pack_integer(packer, "partition", request->public.partition);
        pack_integer(packer, "first", request->public.first);
        break;
    case REQUEST_JOBS:
        pack_jobs(packer, &request->jobs);
        break;
    case REQUEST_CIRCUIT_ADD:
        msgpack_pack_map(packer, 3);
        pack_named_text(packer, "name", request->circuit.name);
        pack_text(packer, "r1cs");
        if (request->circuit.has_r1cs)
            msgpack_pack_true(packer);
        else
            msgpack_pack_false(packer);
        pack_integer(packer, "fds", request->descriptor_count);
        break;
    case REQUEST_CIRCUIT_REMOVE:
        msgpack_pack_map(packer, 1);
        pack_named_text(packer, "name", request->circuit.name);
        break;
    case REQUEST_WORKER_RESTART:
    case REQUEST_WORKER_DRAIN:
    case REQUEST_WORKER_RESUME:
    case REQUEST_WORKER_TRIM:
    case REQUEST_LOG_LEVEL:
        pack_worker(packer, request);
        break;
    case REQUEST_HELLO:
    case REQUEST_STATUS:
    case REQUEST_WORKERS:
    case REQUEST_CIRCUIT_LIST:
    case REQUEST_CHECK:
    case REQUEST_RELOAD:
    case REQUEST_METHOD_COUNT:
        msgpack_pack_map(packer, 0);
        break;
    }
}

/* The sbuffer's own writer, remembering a failure: packing goes on and is thrown away. */
struct sink {
    msgpack_sbuffer buffer;
    bool has_failed;
};

static int sink_write(void *context, const char *bytes, size_t count)
{
    struct sink *sink = context;
    if (msgpack_sbuffer_write(&sink->buffer, bytes, count) != 0)
        sink->has_failed = true;
    return 0;
}

int request_encode(const struct request *request, uint8_t **ret_bytes, size_t *ret_count)
{
    struct sink sink = {0};
    msgpack_packer packer;

    msgpack_sbuffer_init(&sink.buffer);
    msgpack_packer_init(&packer, &sink, sink_write);
    msgpack_pack_array(&packer, 4);
    msgpack_pack_uint8(&packer, 0);
    msgpack_pack_uint32(&packer, request->message_id);
    pack_text(&packer, request_method_to_string(request->method));
    msgpack_pack_array(&packer, 1);
    pack_parameters(&packer, request);

    int r = sink.has_failed ? -ENOMEM : 0;
    if (r == 0 && sink.buffer.size > FRAME_BYTES_MAX)
        r = -EMSGSIZE;
    if (r < 0) {
        msgpack_sbuffer_destroy(&sink.buffer);
        return r;
    }
    *ret_bytes = (uint8_t *)sink.buffer.data;
    *ret_count = sink.buffer.size;
    return 0;
}
