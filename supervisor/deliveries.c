/* Slabs, keys and cancels on their way to workers: see deliveries.h. */
#include "supervisor/deliveries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/log.h"
#include "shm/courier.h"
#include "supervisor/slab_deliveries.h"
#include "supervisor/supervisor.h"

void deliveries_delay(struct worker *worker)
{
    worker->delayed_until_ns =
        worker->supervisor->now_ns + (uint64_t)WORKER_DELIVERY_RETRY_MS * 1000000u;
}

/* Still to be sent, asked for or told. */
static bool is_open_key(enum worker_key_state state)
{
    return state == WORKER_KEY_WANTED || state == WORKER_KEY_ASKED || state == WORKER_KEY_DROPPING;
}

static void set_key(struct worker *worker, uint32_t key, enum worker_key_state state)
{
    enum worker_key_state before = (enum worker_key_state)worker->keys[key];
    bool was_open = is_open_key(before), is_open = is_open_key(state);
    worker->keys_open += (uint32_t)is_open;
    worker->keys_open -= (uint32_t)was_open;
    worker->keys[key] = (uint8_t)state;
}

void deliveries_begin(struct worker *worker)
{
    const struct circuits *circuits = &worker->supervisor->circuits;
    worker->is_caught_up = false;
    for (uint32_t key = 0; key < CIRCUITS_MAX; key++) {
        const struct circuit *circuit = circuits->entries[key];
        if (circuit && ((circuit->state == CIRCUIT_SHARING && circuit->is_shared) ||
                        circuit->state == CIRCUIT_LOADED))
            set_key(worker, key, WORKER_KEY_WANTED);
    }
    deliveries_flush(worker);
}

/* 0, or -EAGAIN when the courier is full or memory short for now. After anything else nothing more
 * is sent to the worker. */
int deliveries_send(struct worker *worker, const struct courier_tag *tag, int fd)
{
    int r = courier_send(worker->courier, tag, &fd, 1);
    if (r == -EAGAIN || r == -ENOMEM) {
        deliveries_delay(worker);
        return -EAGAIN;
    }
    if (r < 0) /* its end is closed: the notice of its death is on the way */
        log_debug("%s: cannot send a descriptor: %s", worker->name, strerror(-r));
    return r;
}

/* 0; -EBUSY when enough calls are open: their answers bring us back here. */
static int push_key_call(struct worker *worker, const struct message *grant)
{
    if (worker->key_calls >= KEY_CALLS_HELD_MAX)
        return -EBUSY;
    int r = workers_push(worker, grant);
    if (r == 0)
        worker->key_calls++;
    else
        deliveries_delay(worker);
    return r;
}

/* A key under suspicion of having ended a worker is loaded with no other, so that the next death
 * tells. */
static bool may_ask(const struct worker *worker, const struct circuit *circuit)
{
    return worker->key_calls < KEY_CALLS_HELD_MAX && !worker->loads_alone &&
           !(circuit->is_key_suspect && worker->key_calls > 0);
}

static int send_key(struct worker *worker, uint32_t key)
{
    struct supervisor *supervisor = worker->supervisor;
    const struct circuit *circuit = supervisor->circuits.entries[key];
    uint64_t generation = slots_next_generation(&supervisor->slots);
    struct courier_tag tag = {
        .kind = COURIER_KEY,
        .index = key,
        .generation = generation,
        .bytes = circuit->memory.bytes,
    };
    if (worker->kind == WORKER_GPU && !may_ask(worker, circuit))
        return -EBUSY;
    int r = deliveries_send(worker, &tag, circuit->shared_fd);
    if (r < 0)
        return r;
    if (worker->kind != WORKER_GPU) {
        set_key(worker, key, WORKER_KEY_HELD);
        return 0;
    }
    struct message grant = {
        .operation = OPERATION_LOAD_KEY,
        .generation = generation,
        .numbers = {key, circuit->memory.bytes},
        .payload_bytes = (uint16_t)strlen(circuit->name),
    };
    memcpy(grant.payload, circuit->name, grant.payload_bytes);
    r = push_key_call(worker, &grant);
    if (r < 0)
        return r; /* the ring has room for all its calls: only a corrupt one, whose worker ends */
    worker->loads_alone = circuit->is_key_suspect;
    worker->key_generations[key] = generation;
    set_key(worker, key, WORKER_KEY_ASKED);
    return 0;
}

static const struct circuits *sorted_circuits; /* for by_load; there is one thread */

static int by_load(const void *a, const void *b)
{
    const uint64_t x = sorted_circuits->entries[*(const uint32_t *)a]->load_number;
    const uint64_t y = sorted_circuits->entries[*(const uint32_t *)b]->load_number;
    return (x > y) - (x < y);
}

/* In the order in which they were loaded first: what a device has room for depends on what came
 * before, and a new process shall find room for all that the one before it held. */
static int send_wanted_keys(struct worker *worker)
{
    uint32_t wanted[CIRCUITS_MAX], count = 0;
    for (uint32_t key = 0; worker->keys_open > 0 && key < CIRCUITS_MAX; key++)
        if (worker->keys[key] == WORKER_KEY_WANTED)
            wanted[count++] = key;
    sorted_circuits = &worker->supervisor->circuits;
    qsort(wanted, count, sizeof wanted[0], by_load);
    for (uint32_t i = 0; i < count; i++) {
        int r = send_key(worker, wanted[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Drops first: they make room. */
static int send_keys(struct worker *worker)
{
    for (uint32_t key = 0; worker->keys_open > 0 && key < CIRCUITS_MAX; key++) {
        if (worker->keys[key] != WORKER_KEY_DROPPING)
            continue;
        struct message drop = {.operation = OPERATION_DROP_KEY, .numbers = {key}};
        int r = push_key_call(worker, &drop);
        if (r < 0)
            return r;
        set_key(worker, key, WORKER_KEY_GOING);
    }
    return send_wanted_keys(worker);
}

static void send_cancels(struct worker *worker)
{
    if (!worker->has_untold)
        return;
    worker->has_untold = false;
    for (uint32_t i = 0; i < worker->held_count; i++) {
        struct slot *slot = &worker->supervisor->slots.entries[worker->held[i]];
        if (slot->state == SLOT_ENDING && !slot->is_told)
            workers_tell_cancel(worker, slot);
    }
    if (worker->has_untold)
        deliveries_delay(worker);
}

void deliveries_flush(struct worker *worker)
{
    worker->delayed_until_ns = 0;
    /* A device registers the slabs before the worker is ready, so that nothing waits for that
     * later; everybody else gets them when it is. */
    if (worker->state == WORKER_STARTING && worker->kind == WORKER_GPU)
        slab_deliveries_flush(worker);
    if (worker->state != WORKER_RUNNING)
        return;
    int r = slab_deliveries_flush(worker);
    if (r < 0 && r != -EBUSY)
        return;
    if (send_keys(worker) < 0)
        return;
    send_cancels(worker);
    if (!worker->is_caught_up && worker->keys_open == 0 && slab_deliveries_are_done(worker)) {
        worker->is_caught_up = true;
        worker_orders_started(worker);
        log_info("%s is ready (process %d%s%s)", worker->name, (int)worker->child.pid,
                 worker->device.name[0] ? ", " : "", worker->device.name);
    }
}

void deliveries_share_key(struct supervisor *supervisor, const struct circuit *circuit)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (worker->state != WORKER_RUNNING)
            continue;
        set_key(worker, circuit->key, WORKER_KEY_WANTED);
        deliveries_flush(worker);
    }
}

void deliveries_drop_key(struct supervisor *supervisor, uint32_t key)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (worker->state != WORKER_RUNNING || worker->keys[key] == WORKER_KEY_ABSENT)
            continue;
        if (worker->keys[key] == WORKER_KEY_DROPPING || worker->keys[key] == WORKER_KEY_GOING)
            continue;
        /* One that was never sent needs no word. */
        bool was_sent = worker->keys[key] != WORKER_KEY_WANTED;
        set_key(worker, key, was_sent ? WORKER_KEY_DROPPING : WORKER_KEY_ABSENT);
        deliveries_flush(worker);
    }
}

void deliveries_unwant_key(struct supervisor *supervisor, uint32_t key)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (worker->keys[key] == WORKER_KEY_WANTED)
            set_key(worker, key, WORKER_KEY_ABSENT);
    }
}

bool deliveries_key_is_held(const struct supervisor *supervisor, uint32_t key)
{
    bool is_held_by_gpu = false;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        if (worker->state != WORKER_RUNNING)
            continue;
        /* One that is still catching up gets the key before its first grant. */
        if (worker->is_caught_up && worker->keys[key] != WORKER_KEY_HELD)
            return false;
        is_held_by_gpu |= worker->kind == WORKER_GPU && worker->keys[key] == WORKER_KEY_HELD;
    }
    return is_held_by_gpu;
}

bool deliveries_key_is_gone(const struct supervisor *supervisor, uint32_t key)
{
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        if (supervisor->workers.entries[i].keys[key] != WORKER_KEY_ABSENT)
            return false;
    }
    return true;
}

int deliveries_key_call_ended(struct worker *worker)
{
    if (worker->key_calls == 0)
        return -EPROTO;
    worker->key_calls--;
    if (worker->key_calls == 0)
        worker->loads_alone = false;
    return 0;
}

int deliveries_key_dropped(struct worker *worker, uint32_t key)
{
    if (worker->keys[key] != WORKER_KEY_GOING)
        return -EPROTO;
    set_key(worker, key, WORKER_KEY_ABSENT);
    return 0;
}

int deliveries_key_answered(struct worker *worker, uint32_t key, uint64_t generation,
                            bool is_loaded)
{
    if (key >= CIRCUITS_MAX || worker->key_generations[key] != generation)
        return -EPROTO;
    if (worker->keys[key] == WORKER_KEY_DROPPING || worker->keys[key] == WORKER_KEY_GOING)
        return 0; /* the circuit was removed or given up meanwhile */
    if (worker->keys[key] != WORKER_KEY_ASKED)
        return -EPROTO;
    set_key(worker, key, is_loaded ? WORKER_KEY_HELD : WORKER_KEY_ABSENT);
    return 0;
}
