/* The finalizer's loop. Upstream: grants with the five sums and the client's witness file;
 * downstream: the supervisor, which completes the job. */
#include "finalizer/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "finalizer/finalize.h"
#include "finalizer/public.h"
#include "groth16/verify/sums.h"
#include "runtime/clock.h"

static_assert((int)CURVE_PROOF_BYTES_MAX <= (int)MESSAGE_PAYLOAD_BYTES, "a proof fits an answer");

static int finalizer_take(struct finalizer_worker *worker);
static unsigned finalizer_work(struct finalizer_worker *worker);
static unsigned finalizer_held_count(const struct finalizer_worker *worker);

int finalizer_worker_run(struct finalizer_worker *worker)
{
    int error = 0;
    while (error >= 0) {
        worker_turn(&worker->frame);
        error = finalizer_take(worker);
        if (error < 0)
            break;
        unsigned work = (unsigned)error;
        work += finalizer_work(worker);
        worker_publish(&worker->frame);
        if (worker->frame.is_stopping && finalizer_held_count(worker) == 0)
            return WORKER_EXIT_STOPPED;
        if (work == 0)
            error = worker_wait(&worker->frame, UINT64_MAX);
    }
    log_error("the channel to the supervisor broke: %s; this worker ends", strerror(-error));
    return WORKER_EXIT_PROTOCOL;
}

static unsigned finalizer_held_count(const struct finalizer_worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        count += worker->held[i].is_held;
    return count;
}

/* Answers. */

static void finalizer_answer(struct finalizer_worker *worker, struct finalizer_partition *partition)
{
    if (partition->witness_fd >= 0)
        close(partition->witness_fd);
    if (partition->public_fd >= 0)
        close(partition->public_fd);
    worker_trim(&worker->frame, finalizer_held_count(worker) == 1, &partition->grant,
                &partition->answer);
    if (worker->current == partition)
        worker->current = NULL;
    partition->is_held = false;
    worker_stage(&worker->frame, PHASE_COUNT, 0);
    worker_answer(&worker->frame, &partition->grant, &partition->answer, partition->taken_ns);
}

static void finalizer_answer_failed(struct finalizer_worker *worker,
                                    struct finalizer_partition *partition, enum blame blame,
                                    int result, const char *text)
{
    port_answer_fail(&partition->answer, blame, result, text);
    finalizer_answer(worker, partition);
}

/* Grants. */

/* Keys arrive with the courier and are attached when first used. NULL with the reason. */
static const struct prepared *finalizer_key(struct finalizer_worker *worker, uint64_t id,
                                            struct reason *reason)
{
    if (id >= CIRCUITS_MAX || !worker->frame.port.keys[id].memory) {
        reason_set(reason, -ENOENT, "key %u did not arrive in this worker", (unsigned)id);
        return NULL;
    }
    const struct port_key *mapped = &worker->frame.port.keys[id];
    return attached_key_use(&worker->keys[id], mapped->memory, mapped->bytes, mapped->serial,
                            reason);
}

/* What must agree before anything is computed. The payload is the five sums, and after them the
 * digest of the verifying key that the circuit was registered with. */
static int finalizer_check_grant(const struct finalizer_partition *partition, struct reason *reason)
{
    const struct message *grant = &partition->grant;
    const struct prepared *key = partition->key;
    const size_t digest_off = sums_bytes(key->curve);
    const size_t digest_bytes = sizeof key->verify_key_digest;
    if (grant->numbers[GRANT_CURVE] != (uint64_t)key->curve->id)
        return reason_set(reason, -EINVAL, "the job is for another curve than its key");
    if (grant->payload_bytes != digest_off + digest_bytes)
        return reason_set(reason, -EINVAL,
                          "the sums and the verifying key's digest have %u bytes, not %zu",
                          (unsigned)grant->payload_bytes, digest_off + digest_bytes);
    if (memcmp(grant->payload + digest_off, key->verify_key_digest, digest_bytes) != 0)
        return reason_set(reason, -EINVAL,
                          "the key in memory has another verifying key than the "
                          "circuit was registered with");
    if (key->shape.public_count > PUBLIC_INPUTS_MAX)
        return reason_set(reason, -EINVAL, "%u public inputs are more than the %d supported",
                          key->shape.public_count, PUBLIC_INPUTS_MAX);
    if (partition->witness_fd < 0 || (partition->public_fd < 0 && key->shape.public_count))
        return reason_set(reason, -ENOENT, "the descriptors did not arrive");
    return 0;
}

static int finalizer_on_finalize(struct finalizer_worker *worker, const struct message *grant,
                                 const struct message *answer)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct finalizer_partition *partition = &worker->held[i];
        int fds[2] = {-1, -1};
        if (partition->is_held)
            continue;
        port_take_input(&worker->frame.port, grant, fds);
        *partition = (struct finalizer_partition){
            .is_held = true,
            .step = FINALIZER_QUEUED,
            .grant = *grant,
            .answer = *answer,
            .taken_ns = worker->frame.turn_ns,
            .witness_fd = fds[0],
            .public_fd = fds[1],
        };
        return 0;
    }
    return -EPROTO; /* more grants than the contract allows */
}

static void finalizer_on_cancel(struct finalizer_worker *worker, const struct message *grant)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct finalizer_partition *partition = &worker->held[i];
        if (partition->is_held && partition->grant.generation == grant->generation &&
            partition->grant.slot == grant->slot)
            finalizer_answer_failed(worker, partition, BLAME_CANCELLED, -ECANCELED, "cancelled");
    }
}

static bool finalizer_key_is_used(const struct finalizer_worker *worker, uint64_t id)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        if (worker->held[i].is_held && worker->held[i].grant.numbers[GRANT_KEY] == id)
            return true;
    }
    return false;
}

static int finalizer_take(struct finalizer_worker *worker)
{
    struct message grant, answer;
    int count = 0, error;
    while ((error = worker_take_grant(&worker->frame, &grant, &answer)) > 0) {
        switch (grant.operation) {
        case OPERATION_FINALIZE:
            error = finalizer_on_finalize(worker, &grant, &answer);
            break;
        case OPERATION_CANCEL:
            finalizer_on_cancel(worker, &grant);
            break;
        case OPERATION_DROP_KEY:
            error = worker_drop_key(&worker->frame, &grant, &answer,
                                    finalizer_key_is_used(worker, grant.numbers[GRANT_KEY]));
            break;
        default:
            error = -EPROTO;
        }
        if (error < 0)
            return error;
        count++;
    }
    return error < 0 ? error : count;
}

/* Work: one phase of the current partition. */

static struct finalizer_partition *finalizer_pick(struct finalizer_worker *worker)
{
    struct finalizer_partition *best = worker->current;
    for (unsigned i = 0; i < GRANTS_HELD_MAX && !worker->current; i++) {
        struct finalizer_partition *partition = &worker->held[i];
        if (!partition->is_held)
            continue;
        if (!best || message_is_before(&partition->grant, &best->grant))
            best = partition;
    }
    return best;
}

static void finalizer_phase(struct finalizer_worker *worker, struct finalizer_partition *partition,
                            enum phase phase, uint64_t begin_ns, uint64_t bytes)
{
    worker_phase(&worker->frame, phase, begin_ns, clock_now_ns(), bytes, &partition->grant,
                 &partition->answer);
}

static void finalizer_read(struct finalizer_worker *worker, struct finalizer_partition *partition)
{
    const uint64_t begin_ns = clock_now_ns();
    struct reason reason;
    worker_stage(&worker->frame, PHASE_READ, partition->grant.slot);
    partition->key = finalizer_key(worker, partition->grant.numbers[GRANT_KEY], &reason);
    if (!partition->key || finalizer_check_grant(partition, &reason) < 0) {
        finalizer_answer_failed(worker, partition, BLAME_DEVICE, -EINVAL, reason.text);
        return;
    }
    const int error =
        public_read(partition->witness_fd, partition->key, worker->public_scalars, &reason);
    finalizer_phase(worker, partition, PHASE_READ, begin_ns,
                    (uint64_t)partition->key->shape.public_count * CURVE_FR_BYTES);
    if (error < 0) {
        finalizer_answer_failed(worker, partition, BLAME_INPUT, error, reason.text);
        return;
    }
    partition->step = FINALIZER_ASSEMBLE;
}

static void finalizer_assemble(struct finalizer_worker *worker,
                               struct finalizer_partition *partition)
{
    const uint64_t begin_ns = clock_now_ns();
    struct reason reason;
    worker_stage(&worker->frame, PHASE_ASSEMBLE, partition->grant.slot);
    const int error =
        finalize_assemble(partition->key, partition->grant.payload, worker->proof, &reason);
    finalizer_phase(worker, partition, PHASE_ASSEMBLE, begin_ns, 0);
    if (error < 0) {
        finalizer_answer_failed(worker, partition, error == -EBADMSG ? BLAME_CHECK : BLAME_DEVICE,
                                error, reason.text);
        return;
    }
    partition->step = FINALIZER_VERIFY;
}

static void finalizer_verify(struct finalizer_worker *worker, struct finalizer_partition *partition)
{
    const struct prepared *key = partition->key;
    const uint64_t begin_ns = clock_now_ns();
    struct reason reason;
    worker_stage(&worker->frame, PHASE_VERIFY, partition->grant.slot);
    int error = finalize_verify(key, worker->public_scalars, worker->proof, &reason);
    finalizer_phase(worker, partition, PHASE_VERIFY, begin_ns, 0);
    if (error < 0) {
        finalizer_answer_failed(worker, partition, BLAME_CHECK, error, reason.text);
        return;
    }
    error = public_write(partition->public_fd, worker->public_scalars, key->shape.public_count);
    if (error < 0) {
        reason_set(&reason, error, "the public inputs cannot be handed back: %s", strerror(-error));
        finalizer_answer_failed(worker, partition, BLAME_DEVICE, error, reason.text);
        return;
    }
    memcpy(partition->answer.payload, worker->proof, key->curve->proof_bytes);
    partition->answer.payload_bytes = (uint16_t)key->curve->proof_bytes;
    finalizer_answer(worker, partition);
}

static unsigned finalizer_work(struct finalizer_worker *worker)
{
    struct finalizer_partition *partition = finalizer_pick(worker);
    if (!partition)
        return 0;
    worker->current = partition;
    worker_step(&worker->frame);
    switch (partition->step) {
    case FINALIZER_QUEUED:
        finalizer_read(worker, partition);
        break;
    case FINALIZER_ASSEMBLE:
        finalizer_assemble(worker, partition);
        break;
    case FINALIZER_VERIFY:
        finalizer_verify(worker, partition);
        break;
    }
    return 1;
}
