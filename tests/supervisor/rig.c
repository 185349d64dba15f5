/* A supervisor without processes: see rig.h. */
#include "tests/supervisor/rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/clock.h"
#include "shm/bell.h"
#include "shm/courier.h"
#include "supervisor/admission.h"
#include "supervisor/completions.h"
#include "supervisor/grants.h"
#include "supervisor/recovery.h"
#include "supervisor/slab_deliveries.h"

static void worker_up(struct rig *rig, unsigned i)
{
    struct worker *worker = &rig->supervisor.workers.entries[i];
    int courier[2];
    CHECK(channel_create(worker->kind, worker->index, &worker->channel) == 0);
    worker->bell_in = bell_create();
    worker->bell_out = bell_create();
    CHECK(worker->bell_in >= 0 && worker->bell_out >= 0 && courier_create(courier) == 0);
    worker->courier = courier[0];
    rig->workers[i] = (struct rig_worker){.courier = courier[1]};
    worker->state = WORKER_RUNNING;
    worker->is_caught_up = true;
    worker->ready_ns = 1;
    worker->delayed_until_ns = 0;
    memset(worker->keys, WORKER_KEY_ABSENT, sizeof worker->keys);
    worker->keys_open = worker->key_calls = 0;
    slab_deliveries_forget(worker);
    if (worker->kind != WORKER_FINALIZER)
        memset(worker->slabs, WORKER_SLAB_HELD, rig->supervisor.memory.slab_count);
    worker->slabs_revision = rig->supervisor.memory.revision;
    worker->slab_calls = 0;
    worker->loads_alone = false;
    worker->keys[rig->circuit->key] = WORKER_KEY_HELD;
}

static void worker_down(struct rig *rig, unsigned i)
{
    struct worker *worker = &rig->supervisor.workers.entries[i];
    close(worker->bell_in);
    close(worker->bell_out);
    close(worker->courier);
    close(rig->workers[i].courier);
    channel_destroy(&worker->channel);
    worker->channel = (struct channel){.fd = -1};
    worker->bell_in = worker->bell_out = worker->courier = -1;
}

static void add_worker(struct rig *rig, enum worker_kind kind, uint32_t index)
{
    struct worker *worker = &rig->supervisor.workers.entries[rig->supervisor.workers.count++];
    worker->supervisor = &rig->supervisor;
    worker->kind = kind;
    worker->index = index;
    worker->child.pidfd = -1;
    snprintf(worker->name, sizeof worker->name, "%s-%u", worker_kind_to_string(kind), index);
    worker_up(rig, rig->supervisor.workers.count - 1);
}

void rig_open(struct rig *rig)
{
    struct supervisor *supervisor = &rig->supervisor;
    struct slab_fault fault;
    memset(rig, 0, sizeof *rig);
    log_init("rig", LOG_LEVEL_ERROR);
    supervisor->config.attempts_max = 3;
    supervisor->config.huge_pages = CONFIG_HUGE_PAGES_OFF;
    supervisor->config.huge_page_bytes = 2 << 20;
    supervisor->config.ring_count = 1;
    supervisor->config.rings[0] =
        (struct config_ring){.name = "default", .slab_count = RIG_SLABS, .slab_bytes = 16384};
    supervisor->phase = SUPERVISOR_SERVING;
    supervisor->descriptors_max = 100000;
    supervisor->now_ns = clock_now_ns();
    CHECK(memory_init(&supervisor->memory, &supervisor->config, NULL, &fault) == 0);
    CHECK(slots_init(&supervisor->slots) == 0);
    CHECK(jobs_init(&supervisor->jobs) == 0);
    strcpy(rig->folder, "/tmp/cuzkd-rig-XXXXXX");
    CHECK(mkdtemp(rig->folder));
    CHECK(job_numbers_open(&supervisor->job_numbers, rig->folder) == 0);
    supervisor->workers.entries = calloc(WORKERS_MAX, sizeof supervisor->workers.entries[0]);
    CHECK(supervisor->workers.entries);

    rig->circuit = circuits_create(supervisor, "c");
    CHECK(rig->circuit);
    rig->circuit->state = CIRCUIT_LOADED;
    rig->circuit->facts.curve = &curve_bn254;
    rig->circuit->facts.public_count = RIG_PUBLIC;
    memset(rig->circuit->facts.vk_digest, 'a', FACTS_DIGEST_TEXT_BYTES - 1);
    for (uint32_t i = 0; i < RIG_SYNTHS; i++)
        add_worker(rig, WORKER_SYNTH, i);
    for (uint32_t i = 0; i < RIG_GPUS; i++)
        add_worker(rig, WORKER_GPU, i);
    for (uint32_t i = 0; i < RIG_FINALIZERS; i++)
        add_worker(rig, WORKER_FINALIZER, i);
}

void rig_close(struct rig *rig)
{
    struct supervisor *supervisor = &rig->supervisor;
    char path[128];
    for (unsigned i = 0; i < RIG_WORKERS; i++) {
        if (supervisor->workers.entries[i].channel.layout)
            worker_down(rig, i);
    }
    free(supervisor->workers.entries);
    free(rig->circuit);
    slots_destroy(&supervisor->slots);
    jobs_destroy(&supervisor->jobs);
    job_numbers_close(&supervisor->job_numbers);
    memory_destroy(&supervisor->memory);
    snprintf(path, sizeof path, "%s/next-job", rig->folder);
    unlink(path);
    rmdir(rig->folder);
}

static uint64_t submit_to(struct rig *rig, const char *circuit, uint32_t partitions,
                          enum request_priority priority)
{
    static struct request_submit submit;
    struct admission_ticket *ticket;
    struct admission_outcome outcome;
    submit = (struct request_submit){.priority = priority, .input_count = partitions};
    snprintf(submit.circuit, sizeof submit.circuit, "%s", circuit);
    for (uint32_t i = 0; i < partitions; i++)
        submit.inputs[i] = (struct request_input){.bytes = "witness", .byte_count = 7};
    /* Without a journal every job is taken at once. */
    if (admission_submit(&rig->supervisor, 1000, &submit, NULL, 0, &ticket, &outcome) < 0)
        return 0;
    CHECK(!ticket && outcome.is_taken);
    return outcome.job;
}

uint64_t rig_submit(struct rig *rig, uint32_t partitions, enum request_priority priority)
{
    return submit_to(rig, "c", partitions, priority);
}

uint64_t rig_submit_to(struct rig *rig, const char *circuit, uint32_t partitions)
{
    return submit_to(rig, circuit, partitions, REQUEST_PRIORITY_NORMAL);
}

static void close_descriptors(int courier)
{
    struct courier_tag tag;
    int fds[2];
    unsigned count;
    while (courier_receive(courier, &tag, fds, &count) > 0) {
        for (unsigned i = 0; i < count; i++)
            close(fds[i]);
    }
}

static void note_cancel(struct rig_worker *worker, const struct message *cancel)
{
    for (unsigned h = 0; h < worker->held_count; h++) {
        if (worker->held[h].generation == cancel->generation)
            worker->is_cancelled[h] = true;
    }
}

void rig_take(struct rig *rig, unsigned i)
{
    struct rig_worker *worker = &rig->workers[i];
    struct message message;
    close_descriptors(worker->courier);
    while (channel_take_grant(&rig->supervisor.workers.entries[i].channel, &message) > 0) {
        if (message.operation == OPERATION_STOP || message.operation == OPERATION_TRIM) {
            worker->is_told_to_stop |= message.operation == OPERATION_STOP;
            continue;
        }
        if (message.operation == OPERATION_LOG_LEVEL) {
            worker->log_level = (enum log_level)message.numbers[0];
            continue;
        }
        if (message.operation == OPERATION_CANCEL) {
            note_cancel(worker, &message);
            continue;
        }
        CHECK(worker->held_count < GRANTS_HELD_MAX);
        worker->is_uploaded[worker->held_count] = false;
        worker->is_cancelled[worker->held_count] = false;
        worker->held[worker->held_count++] = message;
    }
}

void rig_turn(struct rig *rig)
{
    rig->supervisor.now_ns = clock_now_ns();
    workers_tick(&rig->supervisor);
    grants_run(&rig->supervisor);
    for (unsigned i = 0; i < RIG_WORKERS; i++) {
        if (rig->supervisor.workers.entries[i].channel.layout)
            rig_take(rig, i);
    }
}

static void forget(struct rig_worker *worker, unsigned h)
{
    unsigned last = --worker->held_count;
    worker->held[h] = worker->held[last];
    worker->is_uploaded[h] = worker->is_uploaded[last];
    worker->is_cancelled[h] = worker->is_cancelled[last];
}

struct message rig_answer_to(struct rig *rig, unsigned i, unsigned h, enum blame blame)
{
    struct rig_worker *worker = &rig->workers[i];
    struct message answer = worker->held[h];
    answer.blame = (uint16_t)blame;
    answer.result = blame == BLAME_NONE ? 0 : -5;
    answer.payload_bytes = 0;
    if (blame == BLAME_NONE && answer.operation == OPERATION_PROVE && !worker->is_uploaded[h]) {
        worker->is_uploaded[h] = true;
        answer.operation = OPERATION_UPLOADED;
        return answer;
    }
    if (blame == BLAME_NONE && answer.operation == OPERATION_PROVE)
        answer.payload_bytes = (uint16_t)(4 * curve_bn254.g1_bytes + curve_bn254.g2_bytes);
    if (blame == BLAME_NONE && answer.operation == OPERATION_FINALIZE)
        answer.payload_bytes = (uint16_t)curve_bn254.proof_bytes;
    forget(worker, h);
    return answer;
}

/* Past the checks that a well-built worker's side makes: a broken one writes what it likes. */
void rig_say(struct rig *rig, unsigned i, const struct message *message)
{
    struct channel_layout *layout = rig->supervisor.workers.entries[i].channel.layout;
    CHECK(spsc_push(&layout->completion, layout->completion_entries, CHANNEL_RING_ENTRIES,
                    sizeof *message, message, sizeof *message) == 0);
}

void rig_deliver(struct rig *rig, unsigned i)
{
    completions_drain(&rig->supervisor.workers.entries[i]);
}

void rig_start(struct rig *rig, unsigned i)
{
    worker_up(rig, i);
}

void rig_end(struct rig *rig, unsigned i)
{
    struct worker *worker = &rig->supervisor.workers.entries[i];
    recovery_run(worker, worker->state == WORKER_STOPPING ? 0 : SIGKILL);
    worker_down(rig, i);
    worker->state = WORKER_DOWN;
    worker->killed_ns = 0;
    worker->killed_why[0] = '\0';
    worker_orders_ended(worker);
    if (!worker_orders_wants(worker))
        return;
    worker_up(rig, i);
    worker_orders_started(worker);
}

void rig_kill(struct rig *rig, unsigned i)
{
    recovery_run(&rig->supervisor.workers.entries[i], SIGKILL);
    worker_down(rig, i);
    worker_up(rig, i);
}
