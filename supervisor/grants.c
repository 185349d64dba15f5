/* From the policy's decision to a grant in a worker's ring: see grants.h. Upstream: dispatch.c;
 * downstream: courier and channel of the worker. */
#include "supervisor/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/log.h"
#include "shm/courier.h"
#include "supervisor/dispatch.h"
#include "supervisor/pipeline.h"
#include "supervisor/supervisor.h"

static_assert(4 * CURVE_G1_BYTES_MAX + CURVE_G2_BYTES_MAX + FACTS_DIGEST_BYTES <=
                  MESSAGE_PAYLOAD_BYTES,
              "five points and the digest of the verifying key fit a grant");

enum {
    /* Descriptors or memory are short: worth another try soon, not at once. */
    GRANTS_RETRY_MS = 20,
};

static void view_make(const struct supervisor *supervisor, struct dispatch_view *view);
static int perform(struct supervisor *supervisor, const struct dispatch_action *action);

void grants_run(struct supervisor *supervisor)
{
    static struct dispatch_view view; /* a few KiB, and there is one thread */
    if (supervisor->phase <= SUPERVISOR_STARTING || supervisor->phase >= SUPERVISOR_STOPPING)
        return;
    if (supervisor->grants_delayed_until_ns > supervisor->now_ns)
        return;
    supervisor->grants_delayed_until_ns = 0;
    for (;;) {
        view_make(supervisor, &view);
        struct dispatch_action action = dispatch_next(&view);
        if (action.kind == DISPATCH_NONE)
            return;
        int r = perform(supervisor, &action);
        if (r == -EAGAIN) /* that worker is marked; the others go on */
            continue;
        if (r < 0) {
            log_warn("a grant is delayed: %s", strerror(-r));
            supervisor->grants_delayed_until_ns =
                supervisor->now_ns + (uint64_t)GRANTS_RETRY_MS * 1000000u;
            return;
        }
    }
}

static void view_make(const struct supervisor *supervisor, struct dispatch_view *view)
{
    const struct slots *slots = &supervisor->slots;
    view->ring_count = supervisor->memory.ring_count;
    for (uint32_t i = 0; i < view->ring_count; i++) {
        view->rings[i] = (struct dispatch_ring){
            .queued = slots_heads(&slots->queued[i]),
            .slabs_free = memory_slabs_free(&supervisor->memory, i),
            /* Of a ring that has too many it would be retired, and not be there for us. */
            .has_reclaimable =
                slots->reclaim_first[i] != SLOT_NONE &&
                supervisor->memory.rings[i].count <= supervisor->memory.rings[i].target,
            .reclaimable_slot = slots->reclaim_first[i],
        };
    }
    view->ready = slots_heads(&slots->ready);
    view->proved = slots_heads(&slots->proved);
    view->worker_count = supervisor->workers.count;
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const struct worker *worker = &supervisor->workers.entries[i];
        view->workers[i] = (struct dispatch_worker){
            .kind = worker->kind,
            .is_available = worker_is_available(worker, supervisor->now_ns),
            .has_suspect = worker_has_suspect(worker),
            .held = worker->held_count,
        };
    }
    view->loads_running = supervisor->circuits.loads_running;
    view->has_load = slots->parked.count > 0;
    if (view->has_load)
        view->load_circuit = slots->entries[slots->parked.entries[0].slot].circuit->key;
}

/* A sealed memfd of a witness that came inline. */
static int inline_memfd(const struct slot *slot)
{
    int fd = memfd_create("cuzkd-witness", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, slot->input.inline_bytes, slot->input.inline_count);
    int error = 0;
    if (written < 0)
        error = -errno;
    else if ((size_t)written != slot->input.inline_count)
        error = -ENOMEM;
    else if (fchmod(fd, 0600) < 0 ||
             fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        error = -errno;
    if (error < 0)
        close(fd);
    return error < 0 ? error : fd;
}

/* The memfd that the finalizer writes the public inputs into. Its size is fixed here. */
static int public_memfd(const struct slot *slot)
{
    off_t bytes = (off_t)slot->circuit->facts.public_count * CURVE_FR_BYTES;
    int fd = memfd_create("cuzkd-public", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (fchmod(fd, 0600) < 0 || ftruncate(fd, bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

/* Sends the witness, and for the finalizer the memfd, ahead of the grant. */
static int send_input(struct worker *worker, struct slot *slot, bool with_public,
                      uint64_t generation)
{
    int fds[2], made = -1;
    fds[0] = slot->input.fd;
    if (fds[0] < 0)
        fds[0] = made = inline_memfd(slot);
    if (fds[0] < 0)
        return fds[0];
    fds[1] = slot->public_fd;
    const struct courier_tag tag = {
        .kind = COURIER_INPUT,
        .index = slot->index,
        .generation = generation,
    };
    int r = courier_send(worker->courier, &tag, fds, with_public ? 2 : 1);
    if (made >= 0)
        close(made);
    /* Full, or its end is closed because it is dead: either way not now and not this worker. */
    if (r < 0) {
        worker->delayed_until_ns =
            worker->supervisor->now_ns + (uint64_t)WORKER_DELIVERY_RETRY_MS * 1000000u;
        return -EAGAIN;
    }
    return 0;
}

/* The attempt is on record before the worker can take it. */
static int push(struct worker *worker, const struct message *grant)
{
    const struct slot *slot = &worker->supervisor->slots.entries[grant->slot];
    durable_attempt(worker->supervisor, slot, grant->operation);
    int r = workers_push(worker, grant);
    if (r < 0)
        worker->delayed_until_ns =
            worker->supervisor->now_ns + (uint64_t)WORKER_DELIVERY_RETRY_MS * 1000000u;
    return r < 0 ? -EAGAIN : 0;
}

static struct message message_for(const struct supervisor *supervisor, const struct slot *slot,
                                  enum operation operation, uint64_t generation)
{
    const bool has_evaluations =
        (operation == OPERATION_SYNTHESIZE || operation == OPERATION_PROVE) &&
        !supervisor->config.device_evaluates;
    return (struct message){
        .generation = generation,
        .slot = slot->index,
        .operation = (uint16_t)operation,
        .flags = has_evaluations ? MESSAGE_HAS_EVALUATIONS : 0,
        .order_key = slot->order_key,
        .numbers =
            {
                [GRANT_KEY] = slot->circuit->key,
                [GRANT_SLAB] = (uint64_t)slot->slab,
                [GRANT_JOB] = slot->job,
                [GRANT_PARTITION] = slot->partition,
                [GRANT_TIME] = supervisor->now_ns,
            },
    };
}

static int grant_synthesize(struct supervisor *supervisor, const struct dispatch_action *action)
{
    struct slot *slot = &supervisor->slots.entries[action->slot];
    struct worker *worker = &supervisor->workers.entries[action->worker];
    uint64_t generation = slots_next_generation(&supervisor->slots);
    int r = send_input(worker, slot, false, generation);
    if (r < 0)
        return r;
    if (action->needs_reclaim) {
        struct slot *victim = &supervisor->slots.entries[action->reclaim_slot];
        CHECK(pipeline_apply(supervisor, victim, SLOT_EVENT_RECLAIM) == 0);
    }
    int slab = memory_bind(&supervisor->memory, slot->circuit->ring, slot, generation);
    CHECK(slab >= 0);
    slot->slab = slab;
    slot->ring = slot->circuit->ring;
    struct message grant = message_for(supervisor, slot, OPERATION_SYNTHESIZE, generation);
    grant.numbers[GRANT_STALE] = memory_stale_bytes(&supervisor->memory, (uint32_t)slab);
    r = push(worker, &grant);
    if (r < 0) {
        memory_release(&supervisor->memory, (uint32_t)slab);
        slot->slab = -1;
        return r;
    }
    memory_mark_begun(&supervisor->memory, (uint32_t)slab, circuit_slab_bytes(slot->circuit));
    memset(slot->phase_us, 0, sizeof slot->phase_us);
    pipeline_grant(supervisor, slot, SLOT_EVENT_GRANT_SYNTHESIZE, worker, OPERATION_SYNTHESIZE,
                   generation);
    return 0;
}

static int grant_prove(struct supervisor *supervisor, const struct dispatch_action *action)
{
    struct slot *slot = &supervisor->slots.entries[action->slot];
    struct worker *worker = &supervisor->workers.entries[action->worker];
    uint64_t generation = slots_next_generation(&supervisor->slots);
    struct message grant = message_for(supervisor, slot, OPERATION_PROVE, generation);
    int r = push(worker, &grant);
    if (r < 0)
        return r;
    memory_rebind(&supervisor->memory, (uint32_t)slot->slab, generation);
    strcpy(slot->prover, worker->name);
    pipeline_grant(supervisor, slot, SLOT_EVENT_GRANT_PROVE, worker, OPERATION_PROVE, generation);
    return 0;
}

static int grant_finalize(struct supervisor *supervisor, const struct dispatch_action *action)
{
    struct slot *slot = &supervisor->slots.entries[action->slot];
    struct worker *worker = &supervisor->workers.entries[action->worker];
    uint64_t generation = slots_next_generation(&supervisor->slots);
    /* A new one a grant: an earlier finalizer may still hold, and write, the last. */
    int fd = public_memfd(slot);
    if (fd < 0)
        return fd;
    if (slot->public_fd >= 0)
        close(slot->public_fd);
    slot->public_fd = fd;
    int r = send_input(worker, slot, true, generation);
    if (r < 0)
        return r;
    struct message grant = message_for(supervisor, slot, OPERATION_FINALIZE, generation);
    grant.numbers[GRANT_CURVE] = slot->circuit->facts.curve->id;
    memcpy(grant.payload, slot->points, slot->points_bytes);
    facts_vk_digest(&slot->circuit->facts, grant.payload + slot->points_bytes);
    grant.payload_bytes = (uint16_t)(slot->points_bytes + FACTS_DIGEST_BYTES);
    r = push(worker, &grant);
    if (r < 0)
        return r;
    pipeline_grant(supervisor, slot, SLOT_EVENT_GRANT_FINALIZE, worker, OPERATION_FINALIZE,
                   generation);
    return 0;
}

static int perform(struct supervisor *supervisor, const struct dispatch_action *action)
{
    switch (action->kind) {
    case DISPATCH_SYNTHESIZE:
        return grant_synthesize(supervisor, action);
    case DISPATCH_PROVE:
        return grant_prove(supervisor, action);
    case DISPATCH_FINALIZE:
        return grant_finalize(supervisor, action);
    case DISPATCH_LOAD:
        circuits_load(supervisor, supervisor->circuits.entries[action->circuit]);
        return 0;
    default:
        return 0;
    }
}
