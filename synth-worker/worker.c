/* The synthesis worker's loop. Upstream: the supervisor's grant, the client's file; downstream: the
 * slab, which a backend reads once the partition is READY. */
#include "synth-worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "synth-worker/check.h"
#include "synth-worker/evaluate.h"

/* Pieces of work of one turn, for each thread: from 1 ms, so that waking the threads costs little,
 * to some 10 ms. */
enum {
    SYNTH_VALUES_PIECE = 1 << 19,
    SYNTH_ROWS_PIECE = 1 << 15,
    SYNTH_WORK_PIECE = 1 << 19, /* of prepared_check_work: 2 to 25 ns each */
    SYNTH_WIPE_PIECE = 64 << 20,
};

static unsigned synth_reap(struct synth_worker *worker);
static int synth_take(struct synth_worker *worker);
static unsigned synth_work(struct synth_worker *worker);
static unsigned synth_held_count(const struct synth_worker *worker);

int synth_worker_run(struct synth_worker *worker)
{
    int error = 0;
    while (error >= 0) {
        worker_turn(&worker->frame);
        unsigned work = synth_reap(worker);
        error = synth_take(worker);
        if (error < 0)
            break;
        work += (unsigned)error;
        work += synth_work(worker);
        worker_publish(&worker->frame);
        if (worker->frame.is_stopping && synth_held_count(worker) == 0)
            return WORKER_EXIT_STOPPED;
        /* With work at hand this does not wait, only moves the reads in the background on. */
        error = worker_wait(&worker->frame, work ? 0 : UINT64_MAX);
    }
    log_error("the channel to the supervisor broke: %s; this worker ends", strerror(-error));
    return WORKER_EXIT_PROTOCOL;
}

static unsigned synth_held_count(const struct synth_worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        count += worker->held[i].is_held;
    return count;
}

/* Answers. */

static void synth_stage_next(struct synth_worker *worker)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        if (worker->held[i].is_held) {
            worker_stage(&worker->frame, PHASE_READ, worker->held[i].grant.slot);
            return;
        }
    }
    worker_stage(&worker->frame, PHASE_COUNT, 0);
}

static void synth_answer(struct synth_worker *worker, struct synth_partition *partition)
{
    read_end(&partition->read);
    worker_trim(&worker->frame, synth_held_count(worker) == 1, &partition->grant,
                &partition->answer);
    partition->is_held = false;
    synth_stage_next(worker);
    worker_answer(&worker->frame, &partition->grant, &partition->answer, partition->taken_ns);
}

static void synth_answer_failed(struct synth_worker *worker, struct synth_partition *partition,
                                enum blame blame, int result, const char *text)
{
    port_answer_fail(&partition->answer, blame, result, text);
    synth_answer(worker, partition);
}

/* Closes the phase that a step belongs to, and goes on to the next step. */
static void synth_next_step(struct synth_worker *worker, struct synth_partition *partition,
                            enum phase phase, uint64_t bytes, enum synth_step next)
{
    const uint64_t now_ns = clock_now_ns();
    worker_phase(&worker->frame, phase, partition->step_began_ns, now_ns, bytes, &partition->grant,
                 &partition->answer);
    partition->step = next;
    partition->step_began_ns = now_ns;
    partition->position = 0;
}

/* Reap: reads that have moved on. */

static unsigned synth_reap(struct synth_worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct synth_partition *partition = &worker->held[i];
        if (!partition->is_held || partition->step != SYNTH_READ)
            continue;
        if (!read_step(&partition->read) && partition->read.state < READ_DONE)
            continue;
        count++;
        worker_step(&worker->frame);
        if (partition->read.state == READ_FAILED) {
            synth_next_step(worker, partition, PHASE_READ, 0, SYNTH_READ);
            synth_answer_failed(worker, partition, BLAME_INPUT, -EBADMSG,
                                partition->read.reason.text);
        } else if (partition->read.state == READ_DONE) {
            synth_next_step(worker, partition, PHASE_READ, partition->read.wtns.data_bytes,
                            SYNTH_VALUES);
        }
    }
    return count;
}

/* Grants. */

static size_t synth_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Keys arrive with the courier and are attached when first used. NULL with the reason. */
static const struct prepared *synth_key(struct synth_worker *worker, uint64_t id,
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

static void synth_begin(struct synth_worker *worker, struct synth_partition *partition)
{
    const struct message *grant = &partition->grant;
    const uint64_t slab = grant->numbers[GRANT_SLAB];
    struct reason reason;
    int fds[2] = {-1, -1};
    const unsigned fd_count = port_take_input(&worker->frame.port, grant, fds);
    if (fd_count == 2)
        close(fds[1]);
    partition->read.fd = fd_count ? fds[0] : -1;
    partition->read.is_flying = false;
    partition->step = SYNTH_READ;
    partition->step_began_ns = worker->frame.turn_ns;
    partition->position = 0;

    partition->key = synth_key(worker, grant->numbers[GRANT_KEY], &reason);
    if (!partition->key) {
        synth_answer_failed(worker, partition, BLAME_DEVICE, -ENOENT, reason.text);
        return;
    }
    if (fd_count == 0) {
        synth_answer_failed(worker, partition, BLAME_DEVICE, -ENOENT,
                            "the witness's descriptor did not arrive");
        return;
    }
    const struct slab_layout layout = prepared_slab_layout(partition->key);
    partition->has_evaluations = grant->flags & MESSAGE_HAS_EVALUATIONS;
    partition->used_bytes = slab_layout_used_bytes(&layout, partition->has_evaluations);
    if (slab >= SLABS_MAX || !worker->frame.port.slabs[slab].memory ||
        worker->frame.port.slabs[slab].bytes < partition->used_bytes) {
        reason_set(&reason, -ENOENT,
                   "slab %u did not arrive in this worker or is smaller than %llu", (unsigned)slab,
                   (unsigned long long)partition->used_bytes);
        synth_answer_failed(worker, partition, BLAME_DEVICE, -ENOENT, reason.text);
        return;
    }
    partition->slab = worker->frame.port.slabs[slab].memory;
    partition->stale_bytes =
        synth_min(grant->numbers[GRANT_STALE], worker->frame.port.slabs[slab].bytes);
    read_start(&partition->read, worker->frame.loop, partition->read.fd, partition->key,
               partition->slab + layout.witness_off);
    synth_stage_next(worker);
}

static int synth_on_synthesize(struct synth_worker *worker, const struct message *grant,
                               const struct message *answer)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct synth_partition *partition = &worker->held[i];
        if (partition->is_held)
            continue;
        partition->is_held = true;
        partition->grant = *grant;
        partition->answer = *answer;
        partition->taken_ns = worker->frame.turn_ns;
        synth_begin(worker, partition);
        return 0;
    }
    return -EPROTO; /* more grants than the contract allows */
}

static void synth_on_cancel(struct synth_worker *worker, const struct message *grant)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct synth_partition *partition = &worker->held[i];
        if (partition->is_held && partition->grant.generation == grant->generation &&
            partition->grant.slot == grant->slot)
            synth_answer_failed(worker, partition, BLAME_CANCELLED, -ECANCELED, "cancelled");
    }
}

static bool synth_key_is_used(const struct synth_worker *worker, uint64_t id)
{
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        if (worker->held[i].is_held && worker->held[i].grant.numbers[GRANT_KEY] == id)
            return true;
    }
    return false;
}

/* The courier has brought and mapped it before the call is seen. */
static int synth_on_add_slab(struct synth_worker *worker, const struct message *grant,
                             struct message *answer)
{
    const uint64_t slab = grant->numbers[SLAB_CALL_INDEX];
    if (slab >= SLABS_MAX)
        return -EPROTO;
    if (worker->frame.port.slabs[slab].bytes != grant->numbers[SLAB_CALL_BYTES])
        port_answer_fail(answer, BLAME_DEVICE, -ENOENT, "the slab did not arrive");
    port_complete(&worker->frame.port, answer);
    return 0;
}

static int synth_on_drop_slab(struct synth_worker *worker, const struct message *grant,
                              struct message *answer)
{
    const uint64_t slab = grant->numbers[SLAB_CALL_INDEX];
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        if (worker->held[i].is_held && worker->held[i].grant.numbers[GRANT_SLAB] == slab)
            return -EPROTO; /* the supervisor takes a slab away that a partition lies in */
    }
    const int error = port_drop_slab(&worker->frame.port, slab);
    if (error == 0)
        port_complete(&worker->frame.port, answer);
    return error;
}

static int synth_take(struct synth_worker *worker)
{
    struct message grant, answer;
    int count = 0, error;
    while ((error = worker_take_grant(&worker->frame, &grant, &answer)) > 0) {
        switch (grant.operation) {
        case OPERATION_SYNTHESIZE:
            error = synth_on_synthesize(worker, &grant, &answer);
            break;
        case OPERATION_CANCEL:
            synth_on_cancel(worker, &grant);
            break;
        case OPERATION_DROP_KEY:
            error = worker_drop_key(&worker->frame, &grant, &answer,
                                    synth_key_is_used(worker, grant.numbers[GRANT_KEY]));
            break;
        case OPERATION_ADD_SLAB:
            error = synth_on_add_slab(worker, &grant, &answer);
            break;
        case OPERATION_DROP_SLAB:
            error = synth_on_drop_slab(worker, &grant, &answer);
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

/* Work: one piece of the most urgent partition whose values are there. */

static struct synth_partition *synth_pick(struct synth_worker *worker)
{
    struct synth_partition *best = NULL;
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct synth_partition *partition = &worker->held[i];
        if (!partition->is_held || partition->step == SYNTH_READ)
            continue;
        if (!best || message_is_before(&partition->grant, &best->grant))
            best = partition;
    }
    return best;
}

/* Where the piece that begins at the partition's position ends. */
static size_t synth_piece_end(const struct synth_worker *worker,
                              const struct synth_partition *partition, size_t piece, size_t total)
{
    return synth_min(total, partition->position + piece * pool_threads(worker->pool));
}

static void synth_values_piece(struct synth_worker *worker, struct synth_partition *partition)
{
    const struct slab_layout layout = prepared_slab_layout(partition->key);
    const size_t total = partition->key->shape.variable_count;
    const size_t end = synth_piece_end(worker, partition, SYNTH_VALUES_PIECE, total);
    struct reason reason;
    worker_stage(&worker->frame, PHASE_CHECK, partition->grant.slot);
    if (check_values(worker->pool, &partition->read.wtns,
                     (const uint64_t *)(partition->slab + layout.witness_off), partition->position,
                     end, &reason) < 0) {
        synth_next_step(worker, partition, PHASE_CHECK, 0, SYNTH_VALUES);
        synth_answer_failed(worker, partition, BLAME_INPUT, -EBADMSG, reason.text);
        return;
    }
    partition->position = end;
    if (end == total)
        synth_next_step(worker, partition, PHASE_CHECK, 0, SYNTH_EVALUATE);
}

static void synth_evaluate_piece(struct synth_worker *worker, struct synth_partition *partition)
{
    const bool has_evaluations = partition->has_evaluations;
    const size_t total = has_evaluations ? (size_t)1 << partition->key->shape.domain_log2 : 0;
    const size_t end = synth_piece_end(worker, partition, SYNTH_ROWS_PIECE, total);
    worker_stage(&worker->frame, PHASE_EVALUATE, partition->grant.slot);
    if (has_evaluations)
        evaluate_rows(worker->pool, partition->key, partition->slab, partition->position, end);
    partition->position = end;
    if (end < total)
        return;
    evaluate_pad(partition->key, partition->slab, has_evaluations);
    partition->step = SYNTH_WIPE;
    partition->position = partition->used_bytes;
}

/* Belongs to the phase of evaluation: both write the slab. */
static void synth_wipe_piece(struct synth_worker *worker, struct synth_partition *partition)
{
    const size_t total = partition->stale_bytes;
    if (partition->position < total) {
        const size_t end = synth_piece_end(worker, partition, SYNTH_WIPE_PIECE, total);
        evaluate_wipe(worker->pool, partition->slab, partition->position, end);
        partition->position = end;
        if (end < total)
            return;
    }
    synth_next_step(worker, partition, PHASE_EVALUATE, 0, SYNTH_CONSTRAINTS);
    if (!partition->key->has_c)
        synth_answer(worker, partition);
}

static void synth_constraints_piece(struct synth_worker *worker, struct synth_partition *partition)
{
    const size_t total = partition->key->shape.constraint_count;
    const size_t end = prepared_check_row(partition->key, partition->position,
                                          (uint64_t)SYNTH_WORK_PIECE * pool_threads(worker->pool));
    struct reason reason;
    worker_stage(&worker->frame, PHASE_CHECK, partition->grant.slot);
    const int error =
        check_constraints(worker->pool, partition->key, partition->slab, partition->has_evaluations,
                          partition->position, end, &reason);
    partition->position = end;
    if (error == 0 && end < total)
        return;
    synth_next_step(worker, partition, PHASE_CHECK, 0, SYNTH_CONSTRAINTS);
    if (error < 0)
        synth_answer_failed(worker, partition, BLAME_INPUT, error, reason.text);
    else
        synth_answer(worker, partition);
}

static unsigned synth_work(struct synth_worker *worker)
{
    struct synth_partition *partition = synth_pick(worker);
    if (!partition)
        return 0;
    worker_step(&worker->frame);
    switch (partition->step) {
    case SYNTH_VALUES:
        synth_values_piece(worker, partition);
        break;
    case SYNTH_EVALUATE:
        synth_evaluate_piece(worker, partition);
        break;
    case SYNTH_WIPE:
        synth_wipe_piece(worker, partition);
        break;
    case SYNTH_CONSTRAINTS:
        synth_constraints_piece(worker, partition);
        break;
    case SYNTH_READ:
        break;
    }
    return 1;
}
