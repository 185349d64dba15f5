/* What workers say: see completions.h. Upstream: the bell of a worker (workers.c) or its death
 * (recovery.c); downstream: pipeline.c. */
#include "supervisor/completions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "groth16/verify/sums.h"
#include "runtime/log.h"
#include "supervisor/deliveries.h"
#include "supervisor/key_loads.h"
#include "supervisor/outlet.h"
#include "supervisor/pipeline.h"
#include "supervisor/slab_deliveries.h"
#include "supervisor/supervisor.h"

enum {
    TEXT_BYTES = 256,
    ERRNO_MAX = 4095, /* as in the kernel */
};

static const char *take(struct worker *worker, const struct message *message);

void completions_drain(struct worker *worker)
{
    struct message message;
    /* One answer a grant and UPLOADED: more in one go than both rings hold is a flood. */
    for (int i = 0; i < 2 * CHANNEL_RING_ENTRIES; i++) {
        if (worker->state == WORKER_DOOMED || worker->state == WORKER_WRITTEN_OFF ||
            worker->state == WORKER_DOWN)
            return;
        int r = channel_take_completion(&worker->channel, &message);
        if (r == 0)
            return;
        const char *why = r < 0 ? "its completion ring is corrupt" : take(worker, &message);
        if (why)
            workers_doom(worker, why);
    }
    workers_ring_again(worker);
}

/* Text of a message as it may be shown: printable ASCII, bounded. */
static void copy_text(const struct message *message, char ret[TEXT_BYTES])
{
    size_t bytes =
        message->payload_bytes < TEXT_BYTES - 1 ? message->payload_bytes : TEXT_BYTES - 1;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t c = message->payload[i];
        ret[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    ret[bytes] = '\0';
}

/* A text of fixed size as it may be shown. */
static void clean_text(char text[READY_TEXT_BYTES])
{
    text[READY_TEXT_BYTES - 1] = '\0';
    for (char *c = text; *c; c++)
        *c = *c >= 0x20 && *c < 0x7f ? *c : '?';
}

static const char *take_ready(struct worker *worker, const struct message *message)
{
    struct ready_device device = {""};
    if (worker->state == WORKER_KILLED && worker->ready_ns == 0)
        return NULL; /* too late */
    if (worker->state != WORKER_STARTING)
        return "it said READY twice";
    if (message->numbers[1] != CHANNEL_ABI)
        return "it speaks another version of the channel";
    if (worker->kind == WORKER_GPU && message->payload_bytes != sizeof device)
        return "it does not say what its device is";
    if (worker->kind == WORKER_GPU)
        memcpy(&device, message->payload, sizeof device);
    clean_text(device.name);
    clean_text(device.uuid);
    worker->sandbox = message->flags & SANDBOX_ALL;
    workers_ready(worker, message, &device);
    return NULL;
}

static const char *take_load(struct worker *worker, const struct message *message)
{
    uint64_t key = message->numbers[GRANT_KEY];
    char text[TEXT_BYTES];
    if (worker->kind != WORKER_GPU || key >= CIRCUITS_MAX)
        return "it answered a key load that it was not asked for";
    copy_text(message, text);
    bool is_loaded = message->result == 0;
    if (deliveries_key_answered(worker, (uint32_t)key, message->generation, is_loaded) < 0)
        return "it answered a key load that it was not asked for";
    key_loads_answered(worker, (uint32_t)key, is_loaded, text);
    return NULL;
}

/* Nobody uses a key that is dropped: one that cannot be let go of would be in the way of the next
 * under its number. */
static const char *take_drop(struct worker *worker, const struct message *message)
{
    uint64_t key = message->numbers[GRANT_KEY];
    if (key >= CIRCUITS_MAX || deliveries_key_dropped(worker, (uint32_t)key) < 0)
        return "it dropped a key that it was not asked to";
    return message->result == 0 ? NULL : "it cannot let go of a key";
}

static const char *take_key(struct worker *worker, const struct message *message)
{
    if (deliveries_key_call_ended(worker) < 0)
        return "it answered a key call that it was not asked for";
    const char *why = message->operation == OPERATION_LOAD_KEY ? take_load(worker, message)
                                                               : take_drop(worker, message);
    deliveries_flush(worker);
    return why;
}

static const char *take_slab(struct worker *worker, const struct message *message)
{
    char text[TEXT_BYTES];
    copy_text(message, text);
    const char *why = slab_deliveries_answered(worker, message, text);
    if (!why)
        deliveries_flush(worker);
    return why;
}

static void count_phases(const struct worker *worker, struct slot *slot,
                         const struct message *message)
{
    slot->start_us[worker->kind] = message->phase_us[PHASE_WAIT];
    for (int phase = 0; phase < PHASE_COUNT; phase++)
        slot->phase_us[phase] += message->phase_us[phase];
}

static const char *apply(struct supervisor *supervisor, struct slot *slot, enum slot_event event)
{
    return pipeline_apply(supervisor, slot, event) == 0
               ? NULL
               : "its answer does not fit the slot's state";
}

/* The slab holds the whole partition now; its ring's table says of what. */
static void note_synthesis(struct supervisor *supervisor, const struct slot *slot)
{
    const struct circuit *circuit = slot->circuit;
    struct slab_ring_content content = {
        .bytes = circuit_slab_bytes(circuit),
        .has_evaluations = !supervisor->config.device_evaluates,
    };
    memcpy(content.key_digest, circuit->facts.key_digest, sizeof content.key_digest);
    memory_mark_written(&supervisor->memory, (uint32_t)slot->slab, content.bytes);
    memory_mark_ready(&supervisor->memory, (uint32_t)slot->slab, &content);
}

static const char *take_success(struct worker *worker, struct slot *slot,
                                const struct message *message)
{
    struct supervisor *supervisor = worker->supervisor;
    const struct curve *curve = slot->circuit->facts.curve;
    if (message->operation == OPERATION_UPLOADED)
        return slot->granted == OPERATION_PROVE
                   ? apply(supervisor, slot, SLOT_EVENT_UPLOADED)
                   : "it says UPLOADED of a partition that it does not prove";

    count_phases(worker, slot, message);
    /* One that lost its slab with a gpu worker is still a suspect after synthesis. */
    if (slot->state != SLOT_ENDING && slot->granted >= slot->suspected_in) {
        slot->is_suspect = false;
        slot->suspected_in = OPERATION_NONE;
    }
    jobs_touch_number(&supervisor->jobs, slot->job);
    switch (slot->granted) {
    case OPERATION_SYNTHESIZE:
        if (slot->slab < 0)
            return "it wrote no slab";
        note_synthesis(supervisor, slot);
        return apply(supervisor, slot, SLOT_EVENT_SYNTHESIZED);
    case OPERATION_PROVE:
        if (message->payload_bytes != sums_bytes(curve))
            return "its points have the wrong size";
        slot->points_bytes = message->payload_bytes;
        memcpy(slot->points, message->payload, message->payload_bytes);
        return apply(supervisor, slot, SLOT_EVENT_PROVED);
    case OPERATION_FINALIZE:
        if (message->payload_bytes != curve->proof_bytes)
            return "its proof has the wrong size";
        if (slot->state == SLOT_FINALIZING && outlet_store(supervisor, slot, message->payload) < 0)
            return "its public inputs cannot be read";
        return apply(supervisor, slot, SLOT_EVENT_FINALIZED);
    default:
        return "it answers no grant";
    }
}

static const char *take_failure(struct worker *worker, struct slot *slot,
                                const struct message *message)
{
    struct supervisor *supervisor = worker->supervisor;
    char text[TEXT_BYTES], how[TEXT_BYTES + 64];
    copy_text(message, text);
    if (message->operation == OPERATION_UPLOADED)
        return "UPLOADED carries an error";
    switch (message->blame) {
    case BLAME_INPUT:
        return pipeline_refuse(supervisor, slot, REPLY_BAD_INPUT, text) == 0
                   ? NULL
                   : "its answer does not fit the slot's state";
    case BLAME_CHECK:
        log_error("job %" PRIu64 " partition %u: the proof by %s does not verify on %s: %s; key %s",
                  slot->job, slot->partition, slot->prover, worker->name, text,
                  slot->circuit->facts.key_digest);
        snprintf(how, sizeof how, "the proof does not verify: %s", text);
        return pipeline_refuse(supervisor, slot, REPLY_FAILED, how) == 0
                   ? NULL
                   : "its answer does not fit the slot's state";
    case BLAME_DEVICE:
        log_warn("%s: job %" PRIu64 " partition %u: %s (%s); it is tried again", worker->name,
                 slot->job, slot->partition, text, strerror(-message->result));
        snprintf(worker->last_error, sizeof worker->last_error, "%s", text);
        snprintf(how, sizeof how, "%s: %s", worker->name, text);
        pipeline_lost(supervisor, slot, PIPELINE_LOSS_ALONE, how);
        return NULL;
    case BLAME_CANCELLED:
        return apply(supervisor, slot, SLOT_EVENT_DROPPED);
    default:
        return "its error blames nothing";
    }
}

/* NULL, or how the worker broke the contract. */
static const char *take(struct worker *worker, const struct message *message)
{
    struct supervisor *supervisor = worker->supervisor;
    if (message->payload_bytes > MESSAGE_PAYLOAD_BYTES)
        return "its payload is larger than a message";
    if (message->blame >= BLAME_COUNT || message->result > 0 ||
        (message->result == 0) != (message->blame == BLAME_NONE))
        return "its result and blame contradict each other";
    if (message->result < -ERRNO_MAX)
        return "its result is no errno";
    if (message->operation == OPERATION_READY)
        return take_ready(worker, message);
    if (worker->state == WORKER_STARTING)
        return "it answered before it was ready";
    if (message->operation == OPERATION_LOAD_KEY || message->operation == OPERATION_DROP_KEY)
        return take_key(worker, message);
    if (message->operation == OPERATION_TRIM)
        return worker_calls_trimmed(worker, message);
    if (message->operation == OPERATION_ADD_SLAB || message->operation == OPERATION_DROP_SLAB)
        return take_slab(worker, message);
    if (message->operation == OPERATION_STOP)
        return NULL;

    if (message->slot >= SLOTS_MAX)
        return "it names a slot that does not exist";
    struct slot *slot = &supervisor->slots.entries[message->slot];
    if (slot->owner != worker || slot->generation != message->generation)
        return "it names a slot and generation that it does not hold";
    if (message->operation != slot->granted && message->operation != OPERATION_UPLOADED)
        return "it answers another operation than was granted";
    return message->result == 0 ? take_success(worker, slot, message)
                                : take_failure(worker, slot, message);
}
