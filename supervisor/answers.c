/* From one request to its reply: see answers.h and PROTOCOL.md. Upstream: control.c; downstream:
 * job_answers.c, worker_answers.c, circuits.c, status.c, reload.c, check.c. */
#include "supervisor/answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/close_later.h"
#include "runtime/log.h"
#include "supervisor/input_file.h"
#include "supervisor/job_answers.h"
#include "supervisor/reload.h"
#include "supervisor/status.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_answers.h"

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
    case REQUEST_WAIT:
    case REQUEST_RESULT:
    case REQUEST_PUBLIC:
    case REQUEST_CANCEL:
    case REQUEST_JOBS:
        return job_answers_make(caller, request, descriptors, reply, ret_later);
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
