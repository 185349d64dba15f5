/* See keys.h. Upstream: LOAD_KEY and DROP_KEY of the supervisor; downstream: the backend. */
#include "gpu-worker/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpu-worker/slabs.h"
#include "runtime/clock.h"

static void gpu_load_key(struct gpu_worker *worker, struct gpu_key_call *call);
static void gpu_drop_key(struct gpu_worker *worker, struct gpu_key_call *call);

/* "circuit NAME (key 3)": the supervisor sends the name along. */
static const char *gpu_key_name(const struct message *grant, char ret[128])
{
    snprintf(ret, 128, "circuit %.*s (key %u)",
             grant->payload_bytes > NAME_BYTES_MAX ? NAME_BYTES_MAX : grant->payload_bytes,
             (const char *)grant->payload, (unsigned)grant->numbers[GRANT_KEY]);
    return ret;
}

/* text: the reason, or of a loaded key where it lies on the device. */
static void gpu_key_answer(struct gpu_worker *worker, struct gpu_key_call *call, enum blame blame,
                           int result, const char *text)
{
    char name[128];
    const uint64_t took_ns = clock_now_ns() - call->taken_ns;
    port_answer_fail(&call->answer, blame, result, text);
    if (blame != BLAME_NONE)
        log_warn("%s: %s", gpu_key_name(&call->grant, name), text);
    else if (call->grant.operation == OPERATION_LOAD_KEY)
        log_info("%s is loaded in %.3f ms%s%s", gpu_key_name(&call->grant, name),
                 (double)took_ns / 1e6, *text ? ": " : "", text);
    call->answer.phase_us[PHASE_TOTAL] = (uint32_t)(took_ns / 1000);
    port_complete(&worker->frame.port, &call->answer);
    call->is_open = false;
}

static struct gpu_key_call *gpu_find_call(struct gpu_worker *worker, enum operation operation,
                                          uint32_t key)
{
    for (unsigned i = 0; i < BACKEND_KEY_CALLS_MAX; i++) {
        struct gpu_key_call *call = &worker->key_calls[i];
        if (call->is_open && call->grant.operation == operation &&
            call->grant.numbers[GRANT_KEY] == key)
            return call;
    }
    return NULL;
}

/* Grants. */

static void gpu_load_key(struct gpu_worker *worker, struct gpu_key_call *call)
{
    const uint64_t id = call->grant.numbers[GRANT_KEY];
    struct gpu_key *key = &worker->keys[id];
    const struct port_key *mapped = &worker->frame.port.keys[id];
    struct reason reason;
    if (key->is_attached) {
        gpu_key_answer(worker, call, BLAME_DEVICE, -EEXIST, "the key is loaded already");
        return;
    }
    if (!mapped->memory) {
        gpu_key_answer(worker, call, BLAME_DEVICE, -ENOENT, "the key's memory did not arrive");
        return;
    }
    enum blame blame = BLAME_INPUT;
    int error = prepared_attach(mapped->memory, mapped->bytes, &key->prepared, &reason);
    if (error == 0) {
        blame = BLAME_DEVICE;
        error = worker->ops->load_key(worker->backend, (uint32_t)id, &key->prepared);
        if (error == 0) {
            key->is_attached = true; /* answered by the backend's event */
            return;
        }
        reason_set(&reason, error, "the %s backend refused the key: %s", worker->ops->name,
                   strerror(-error));
    }
    /* As after a refusal by event: another may come under this number. */
    port_drop_key(&worker->frame.port, (uint32_t)id);
    gpu_key_answer(worker, call, blame, error, reason.text);
}

static void gpu_drop_key(struct gpu_worker *worker, struct gpu_key_call *call)
{
    const uint64_t id = call->grant.numbers[GRANT_KEY];
    if (!worker->keys[id].is_attached) {
        port_drop_key(&worker->frame.port, (uint32_t)id);
        gpu_key_answer(worker, call, BLAME_NONE, 0, "");
        return;
    }
    if (!worker->keys[id].is_loaded)
        return; /* it is being loaded: dropped when that has ended (gpu_keys_on_event) */
    const int error = worker->ops->drop_key(worker->backend, (uint32_t)id);
    if (error < 0)
        gpu_key_answer(worker, call, BLAME_DEVICE, error, strerror(-error));
}

int gpu_keys_on_grant(struct gpu_worker *worker, const struct message *grant,
                      const struct message *answer)
{
    if (grant->numbers[GRANT_KEY] >= CIRCUITS_MAX)
        return -EPROTO;
    for (unsigned i = 0; i < BACKEND_KEY_CALLS_MAX; i++) {
        struct gpu_key_call *call = &worker->key_calls[i];
        if (call->is_open)
            continue;
        *call = (struct gpu_key_call){
            .is_open = true,
            .grant = *grant,
            .answer = *answer,
            .taken_ns = worker->frame.turn_ns,
        };
        if (grant->operation == OPERATION_LOAD_KEY)
            gpu_load_key(worker, call);
        else
            gpu_drop_key(worker, call);
        return 0;
    }
    return -EPROTO;
}

/* Events. */

/* The figures of the keys that the device holds. */
static void gpu_count_key(struct gpu_worker *worker, uint32_t id, bool add)
{
    struct channel_progress *progress = &worker->frame.port.channel.layout->progress;
    const struct gpu_key *key = &worker->keys[id];
    gpu_slabs_count(worker, worker->frame.port.keys[id].bytes, key->is_unpinned, add);
    atomic_fetch_add_explicit(&progress->keys, add ? 1 : -1, memory_order_relaxed);
}

void gpu_keys_on_event(struct gpu_worker *worker, const struct backend_event *event)
{
    const uint32_t id = (uint32_t)event->id;
    if (event->id >= CIRCUITS_MAX)
        return;
    const uint16_t operation =
        event->kind == BACKEND_KEY_DROPPED ? OPERATION_DROP_KEY : OPERATION_LOAD_KEY;
    struct gpu_key *key = &worker->keys[id];
    if (key->is_loaded)
        gpu_count_key(worker, id, false);
    key->is_loaded = event->kind == BACKEND_KEY_LOADED;
    key->is_unpinned = event->is_unpinned;
    if (key->is_loaded) {
        gpu_count_key(worker, id, true);
        if (key->is_unpinned)
            log_warn("key %u is not pinned: it is read by ordinary copies, several times slower: "
                     "%s",
                     id, event->text);
    } else {
        key->is_attached = false;
        port_drop_key(&worker->frame.port, id);
    }
    struct gpu_key_call *call = gpu_find_call(worker, operation, id);
    if (call)
        gpu_key_answer(worker, call, gpu_worker_blame(event->fault),
                       event->fault == BACKEND_FAULT_NONE ? 0 : -EIO, event->text);
    /* A drop that came while it was being loaded. */
    call = operation == OPERATION_LOAD_KEY ? gpu_find_call(worker, OPERATION_DROP_KEY, id) : NULL;
    if (call)
        gpu_drop_key(worker, call);
}
