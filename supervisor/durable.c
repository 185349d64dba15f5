/* Between jobs and the journal: see durable.h. */
#include "supervisor/durable.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "supervisor/admission.h"
#include "supervisor/pipeline.h"
#include "supervisor/report.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"

enum {
    RETRY_DISK_MS = 5000,
    RETRY_KEPT_MS = 60000,
    RETRY_QUEUE_MS = 200,
};

struct durable_waiting {
    struct journal_job record;
    struct durable_waiting *next;
};

static int64_t realtime_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void open_clock(struct supervisor *supervisor);

static void on_journal(struct loop_watch *watch, uint32_t events)
{
    struct supervisor *supervisor =
        (struct supervisor *)((char *)watch - offsetof(struct supervisor, durable.watch));
    (void)events;
    supervisor_take_time(supervisor);
    journal_run(supervisor->durable.journal);
}

/* Reasons that pass: the daemon runs, takes no durable jobs, and tries again. */
static bool is_short(int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EROFS;
}

static int open_journal(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    struct journal_note note;
    int r = journal_open(supervisor->config.state_directory, &durable->journal, &note);
    bool is_news = !(r < 0 && is_short(r) && durable->waits_for_space);
    if (note.text[0] && is_news)
        log_error("%s", note.text);
    else if (r < 0 && is_news)
        log_error("cannot open the journal: %s", strerror(-r));
    if (r < 0) {
        durable->journal = NULL;
        return r;
    }
    durable->was_set_aside = note.is_set_aside;
    journal_count(durable->journal, &durable->counts);
    job_numbers_raise(&supervisor->job_numbers, durable->counts.last_number + 1);
    attempts_open(&durable->attempts, supervisor->config.state_directory);
    open_clock(supervisor);
    durable->watch = (struct loop_watch){
        .fd = journal_event_fd(durable->journal),
        .events = POLLIN,
        .on_ready = on_journal,
    };
    r = loop_add(supervisor->loop, &durable->watch);
    if (r < 0)
        durable->watch.on_ready = NULL;
    return r;
}

int durable_open(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    int r = open_journal(supervisor);
    if (r == 0 || !is_short(r))
        return r;
    durable->waits_for_space = true;
    durable->next_open_ns = supervisor->now_ns + RETRY_DISK_MS * UINT64_C(1000000);
    log_error("the journal cannot be opened before there is space in %s: until then no durable "
              "jobs are taken, and those of before wait; this goes on by itself",
              supervisor->config.state_directory);
    return 0;
}

/* As at a start, but while clients are connected: nobody has a durable job yet. */
static void open_late(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    if (supervisor->now_ns < durable->next_open_ns || supervisor->phase >= SUPERVISOR_FINISHING)
        return;
    durable->next_open_ns = supervisor->now_ns + RETRY_DISK_MS * UINT64_C(1000000);
    int r = open_journal(supervisor);
    if (r < 0 && is_short(r))
        return;
    durable->waits_for_space = false;
    supervisor->check_baseline.is_there = false; /* more is open from here on */
    if (r == 0)
        r = durable_restore(supervisor);
    if (r < 0)
        supervisor_fail(supervisor);
    else
        log_info("the journal is open; durable jobs are taken");
}

void durable_close(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    if (durable->watch.on_ready)
        loop_remove(supervisor->loop, &durable->watch);
    journal_close(durable->journal);
    attempts_close(&durable->attempts);
    while (durable->waiting) {
        struct durable_waiting *waiting = durable->waiting;
        durable->waiting = waiting->next;
        journal_job_destroy(&waiting->record);
        free(waiting);
    }
    *durable = (struct durable){0};
}

/* ---- from jobs to records ---- */

static void describe(const struct job *job, struct journal_job *record)
{
    record->number = job->number;
    record->uid = job->uid;
    record->curve = job->curve->id;
    record->priority = job->priority;
    record->is_durable = job->is_durable;
    record->partition_count = job->partition_count;
    record->public_count = job->public_count;
    record->admitted_ms = job->admitted_realtime_ms;
    record->deadline_ms = job->deadline_realtime_ms;
    snprintf(record->client_key, sizeof record->client_key, "%s", job->client_key);
    snprintf(record->circuit, sizeof record->circuit, "%s", job->circuit);
}

static bool copy_input(const struct slot *slot, const uint8_t sha256[JOURNAL_DIGEST_BYTES],
                       struct journal_partition *ret)
{
    if (!slot->input.inline_bytes) {
        ret->kind = sha256 ? JOURNAL_INPUT_SPOOL : JOURNAL_INPUT_DIRECT;
        ret->bytes = slot->input.file_bytes;
        if (sha256)
            memcpy(ret->sha256, sha256, JOURNAL_DIGEST_BYTES);
        return true;
    }
    ret->kind = JOURNAL_INPUT_INLINE;
    ret->content = malloc(slot->input.inline_count);
    if (!ret->content)
        return false;
    memcpy(ret->content, slot->input.inline_bytes, slot->input.inline_count);
    ret->bytes = slot->input.inline_count;
    return true;
}

struct journal_operation *durable_record(const struct supervisor *supervisor, const struct job *job,
                                         const uint8_t (*sha256s)[JOURNAL_DIGEST_BYTES])
{
    struct journal_operation *operation = journal_operation_new(JOURNAL_SUBMIT);
    if (!operation)
        return NULL;
    struct journal_job *record = &operation->job;
    describe(job, record);
    if (!journal_job_allocate(record))
        goto fail;
    for (uint32_t i = 0; i < job->partition_count; i++) {
        const struct slot *slot = &supervisor->slots.entries[job->slots[i]];
        if (i == 0)
            snprintf(record->key_digest, sizeof record->key_digest, "%s",
                     slot->circuit->facts.key_digest);
        if (!copy_input(slot, sha256s ? sha256s[i] : NULL, &record->partitions[i]))
            goto fail;
    }
    return operation;

fail:
    journal_operation_free(operation);
    return NULL;
}

uint64_t durable_result_bytes(const struct job *job)
{
    uint64_t partition = job->curve->proof_bytes + (uint64_t)job->public_count * CURVE_FR_BYTES +
                         DURABLE_PARTITION_BYTES;
    return DURABLE_JOB_BYTES + (job->state == REQUEST_JOB_DONE || !job_is_terminal(job)
                                    ? job->partition_count * partition
                                    : 0);
}

void durable_proved(struct supervisor *supervisor, const struct job *job, uint32_t partition)
{
    if (!supervisor->durable.journal || !job->is_journalled)
        return;
    struct journal_operation *operation = journal_operation_new(JOURNAL_PROVED);
    if (!operation)
        return; /* it is proved again after a restart */
    struct journal_partition *proved = &operation->proved;
    proved->proof_bytes = job->curve->proof_bytes;
    proved->public_bytes = (size_t)job->public_count * CURVE_FR_BYTES;
    proved->proof = malloc(proved->proof_bytes);
    proved->publics = malloc(proved->public_bytes ? proved->public_bytes : 1);
    if (!proved->proof || !proved->publics) {
        journal_operation_free(operation);
        return;
    }
    memcpy(proved->proof, job->proofs + partition * proved->proof_bytes, proved->proof_bytes);
    memcpy(proved->publics, (const uint8_t *)job->publics + partition * proved->public_bytes,
           proved->public_bytes);
    memcpy(proved->phases_us, job->phases_us[partition], sizeof proved->phases_us);
    operation->job.number = job->number;
    operation->partition = partition;
    journal_push(supervisor->durable.journal, operation);
}

/* The end is on disk, or waits there for space: then clients are told all the same. */
static void on_end_written(struct journal_operation *operation, int result)
{
    struct supervisor *supervisor = operation->context;
    struct job *job = jobs_find(&supervisor->jobs, operation->job.number);
    if (result < 0)
        log_warn("the end of job %" PRIu64 " cannot be written to the journal yet: %s",
                 operation->job.number, strerror(-result));
    /* Not before: until then a restart takes the job up again, and wants its inputs. */
    if (operation->is_final && operation->has_spool)
        spool_job_remove(supervisor, operation->job.number, operation->job.partition_count);
    if (job)
        jobs_settle(&supervisor->jobs, job);
}

void durable_ended(struct supervisor *supervisor, struct job *job)
{
    struct durable *durable = &supervisor->durable;
    if (!durable->journal || !job->is_journalled)
        return;
    uint64_t bytes = durable_result_bytes(job);
    durable->counts.finished_count++;
    durable->counts.finished_bytes += bytes;
    struct journal_operation *operation = journal_operation_new(JOURNAL_END);
    if (!operation)
        return; /* after a restart it is run to its end once more */
    struct journal_job *record = &operation->job;
    describe(job, record);
    record->state = job->state;
    record->finished_ms = job->finished_realtime_ms;
    record->result_bytes = bytes;
    if (job->state != REQUEST_JOB_DONE) {
        snprintf(record->error_code, sizeof record->error_code, "%s",
                 reply_code_to_string(job->error.code));
        snprintf(record->error_text, sizeof record->error_text, "%s", job->error.text);
        record->error_partition = job->error.partition;
    }
    operation->context = supervisor;
    operation->has_spool = job->has_spool;
    operation->on_done = on_end_written;
    job->is_settling = true;
    journal_push(durable->journal, operation);
}

void durable_attempt(struct supervisor *supervisor, const struct slot *slot, int granted)
{
    attempts_write(&supervisor->durable.attempts, slot, granted);
}

/* ---- from records to jobs ---- */

static struct job *make_job(struct supervisor *supervisor, const struct journal_job *record,
                            bool is_bare)
{
    int64_t age_ms = realtime_ms() - record->admitted_ms;
    uint64_t age_ns = age_ms > 0 ? (uint64_t)age_ms * 1000000u : 0;
    uint64_t now_ns = supervisor->now_ns;
    uint64_t admitted_ns = now_ns > age_ns ? now_ns - age_ns : 1;
    struct job_plan plan = {
        .number = record->number,
        .uid = record->uid,
        .priority = record->priority,
        .circuit = record->circuit,
        .curve = curve_by_id(record->curve),
        .partition_count = record->partition_count,
        .public_count = record->public_count,
        .now_ns = admitted_ns,
        .client_key = record->client_key,
        .is_durable = record->is_durable,
        .is_bare = is_bare,
    };
    for (uint32_t i = 0; record->partitions && i < record->partition_count; i++)
        plan.input_bytes += record->partitions[i].bytes;
    if (record->state < REQUEST_JOB_DONE) {
        plan.order_key = order_admit(&supervisor->order, record->priority, admitted_ns);
        int64_t left_ms = record->deadline_ms - realtime_ms();
        if (record->deadline_ms > 0)
            plan.deadline_ns = now_ns + (left_ms > 0 ? (uint64_t)left_ms * 1000000u : 0);
    }
    struct job *job = jobs_create(&supervisor->jobs, &plan);
    if (!job)
        return NULL;
    job->is_journalled = true;
    job->admitted_realtime_ms = record->admitted_ms;
    job->deadline_realtime_ms = record->deadline_ms;
    return job;
}

static void take_proof(struct job *job, const struct journal_job *record, uint32_t i)
{
    const struct journal_partition *partition = &record->partitions[i];
    memcpy(job->proofs + i * partition->proof_bytes, partition->proof, partition->proof_bytes);
    memcpy((uint8_t *)job->publics + i * partition->public_bytes, partition->publics,
           partition->public_bytes);
    memcpy(job->phases_us[i], partition->phases_us, sizeof partition->phases_us);
}

static struct job *adopt_finished(struct supervisor *supervisor, const struct journal_job *record)
{
    bool has_parts = record->partitions && record->state == REQUEST_JOB_DONE;
    struct job *job = make_job(supervisor, record, !has_parts);
    if (!job)
        return NULL;
    int64_t took_ms = record->finished_ms - record->admitted_ms;
    job->finished_ns = job->admitted_ns + (took_ms > 0 ? (uint64_t)took_ms * 1000000u : 0);
    job->finished_realtime_ms = record->finished_ms;
    job->done_count = record->state == REQUEST_JOB_DONE ? record->partition_count : 0;
    job->released_count = record->partition_count;
    bool is_known = reply_code_from_string(record->error_code, &job->error.code) == 0;
    if (!is_known || (job->error.code == REPLY_OK && record->state != REQUEST_JOB_DONE))
        job->error.code = record->state == REQUEST_JOB_DONE ? REPLY_OK : REPLY_FAILED;
    snprintf(job->error.text, sizeof job->error.text, "%s", record->error_text);
    job->error.partition = record->error_partition;
    for (uint32_t i = 0; has_parts && i < record->partition_count; i++)
        take_proof(job, record, i);
    jobs_adopt_finished(&supervisor->jobs, job, record->state);
    return job;
}

static void on_recent(void *context, struct journal_job *record)
{
    adopt_finished(context, record);
    journal_job_destroy(record);
}

/* NULL, or why the job cannot go on. */
static const char *find_circuit(struct supervisor *supervisor, const struct journal_job *record,
                                struct circuit **ret, char *text, size_t room)
{
    struct circuit *circuit = circuits_find(&supervisor->circuits, record->circuit);
    if (!record->is_durable)
        return "not durable; the daemon restarted";
    if (!circuit)
        return "its circuit is not there any more; the daemon restarted";
    if (circuit->state == CIRCUIT_FAILED) {
        snprintf(text, room, "its circuit cannot be used: %.400s", circuit->error);
        return text;
    }
    if (strcmp(circuit->facts.key_digest, record->key_digest) != 0)
        return "its circuit has another key now; the daemon restarted";
    if (circuit->facts.curve->id != record->curve ||
        circuit->facts.public_count != record->public_count)
        return "its record in the journal does not fit its circuit; submit it again";
    *ret = circuit;
    return NULL;
}

/* A slot for a partition that is not proved; NULL, or why there is none. */
static const char *restore_partition(struct supervisor *supervisor, struct job *job,
                                     struct circuit *circuit, struct journal_partition *partition,
                                     uint32_t index)
{
    struct slot_input input = {.fd = -1};
    if (partition->kind == JOURNAL_INPUT_INLINE) {
        input.inline_bytes = partition->content;
        input.inline_count = partition->bytes;
    } else if (partition->kind == JOURNAL_INPUT_SPOOL) {
        job->has_spool = true;
        input.fd = spool_file_open(supervisor, job->number, index);
        input.file_bytes = partition->bytes;
        if (input.fd < 0)
            return "its stored input is gone from the spool";
    } else {
        return "its input was not stored; the daemon restarted";
    }
    struct slot *slot = admission_reserve_slot(supervisor, job, circuit, index, &input);
    if (!slot) {
        if (input.fd >= 0)
            close(input.fd);
        return "there are more partitions than this version holds";
    }
    partition->content = NULL; /* the slot's now */
    slot->generation = slots_next_generation(&supervisor->slots);
    slot->slab = adoption_take(supervisor, slot);
    attempts_restore(&supervisor->durable.attempts, slot);
    if (slot->attempts > 0 || slot->is_suspect)
        durable_attempt(supervisor, slot, OPERATION_NONE);
    return NULL;
}

/* Its partitions get slots, or it fails. Takes the record over. */
static void restore_job(struct supervisor *supervisor, struct job *job, struct journal_job *record)
{
    struct circuit *circuit = NULL;
    char text[512];
    uint32_t failed = JOB_PARTITION_NONE;
    const char *why = find_circuit(supervisor, record, &circuit, text, sizeof text);
    for (uint32_t i = 0; !why && i < record->partition_count; i++) {
        if (record->partitions[i].is_proved) {
            take_proof(job, record, i);
            job->done_count++;
            continue;
        }
        why = restore_partition(supervisor, job, circuit, &record->partitions[i], i);
        failed = why ? i : JOB_PARTITION_NONE;
    }
    job->waits_for_circuit = false;
    job->released_count = 0;
    for (uint32_t i = 0; i < job->partition_count; i++)
        job->released_count += job->slots[i] == SLOT_NONE;
    journal_job_destroy(record);
    if (!why && job->done_count == job->partition_count) {
        job->done_count--; /* only its end was not written */
        jobs_partition_done(&supervisor->jobs, job, supervisor->now_ns);
        return;
    }
    admission_queue(supervisor, job);
    if (why) {
        jobs_fail(&supervisor->jobs, job, REPLY_FAILED, failed, why, supervisor->now_ns);
        report_job(job);
        pipeline_drop_job(supervisor, job);
    }
}

/* Until then it has no slots; it can be cancelled, and its deadline counts. */
static bool wait_for_circuit(struct supervisor *supervisor, struct job *job,
                             const struct journal_job *record)
{
    struct durable_waiting *waiting = malloc(sizeof *waiting);
    if (!waiting)
        return false;
    waiting->record = *record;
    waiting->next = supervisor->durable.waiting;
    supervisor->durable.waiting = waiting;
    for (uint32_t i = 0; i < record->partition_count; i++)
        job->has_spool |= record->partitions[i].kind == JOURNAL_INPUT_SPOOL;
    job->waits_for_circuit = true;
    job->released_count = job->partition_count;
    admission_queue(supervisor, job);
    return true;
}

static void on_active(void *context, struct journal_job *record)
{
    struct supervisor *supervisor = context;
    const struct circuit *circuit = circuits_find(&supervisor->circuits, record->circuit);
    bool waits = record->is_durable && circuit && circuit->state == CIRCUIT_PREPARING;
    struct job *job = make_job(supervisor, record, false);
    if (!job || (waits && !wait_for_circuit(supervisor, job, record))) {
        log_error("job %" PRIu64 " is left for the next start: memory is short", record->number);
        journal_job_destroy(record);
        return;
    }
    supervisor->durable.restored++;
    if (!waits)
        restore_job(supervisor, job, record);
}

void durable_circuit_settled(struct supervisor *supervisor, const char *circuit)
{
    struct durable_waiting **at = &supervisor->durable.waiting;
    while (*at) {
        struct durable_waiting *waiting = *at;
        if (strcmp(waiting->record.circuit, circuit) != 0) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        struct job *job = jobs_find(&supervisor->jobs, waiting->record.number);
        if (job && !job_is_terminal(job))
            restore_job(supervisor, job, &waiting->record);
        else
            journal_job_destroy(&waiting->record);
        free(waiting);
    }
}

/* Ended jobs too, until their end is on disk: that removes their files. */
static bool is_wanted(void *context, uint64_t number, uint32_t partition)
{
    const struct supervisor *supervisor = context;
    const struct job *job = jobs_find(&supervisor->jobs, number);
    return job && job->has_spool && partition < job->partition_count;
}

int durable_restore(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    if (!durable->journal)
        return 0;
    int r = journal_load_recent(durable->journal, DURABLE_RECENT_JOBS, on_recent, supervisor);
    if (r >= 0)
        r = journal_load_active(durable->journal, on_active, supervisor);
    attempts_forget_old(&durable->attempts);
    if (r < 0) {
        log_error("cannot read the journal: %s", strerror(-r));
        return r;
    }
    if (r > 0)
        log_error("%d records of the journal were damaged: their jobs have failed", r);
    durable->counts.finished_count += (uint32_t)r; /* those have ended since they were counted */
    int removed = spool_collect(supervisor, is_wanted, supervisor);
    if (removed > 0)
        log_info("%d files of the spool belonged to no unfinished job and are removed", removed);
    if (durable->restored > 0)
        log_info("%u jobs that had not ended are taken up again", durable->restored);
    return journal_start(durable->journal);
}

/* ---- looking up ---- */

/* The operation's `existing` is the number that was asked for, 0: by client key. */
static void on_fetched(struct journal_operation *operation, int result)
{
    struct supervisor *supervisor = operation->context;
    const struct journal_job *record = &operation->job;
    supervisor->durable.fetches--;
    if (result < 0 && result != -ENOENT)
        log_warn("job %" PRIu64 " cannot be read from the journal: %s", record->number,
                 result == -EBADMSG ? "its record is damaged" : strerror(-result));
    if (result == 0 && record->state >= REQUEST_JOB_DONE) {
        /* A row of large results must not pile up in memory until the tick. */
        jobs_expire(&supervisor->jobs, supervisor->now_ns, supervisor->config.results_age_ns);
        struct job *job = jobs_find(&supervisor->jobs, record->number);
        if (job && !job->has_results && job->state == REQUEST_JOB_DONE && !job->is_settling) {
            jobs_drop(&supervisor->jobs, job); /* known by its name only: now whole */
            job = NULL;
        }
        if (!job)
            adopt_finished(supervisor, record);
    }
    const struct control_waits_fetched fetched = {
        .number = operation->existing,
        .uid = record->uid,
        .client_key = record->client_key,
        .found = result == 0 ? record->number : 0,
        .result = result,
    };
    control_waits_fetched(supervisor, &fetched);
}

bool durable_fetch(struct supervisor *supervisor, uint64_t number, uid_t uid,
                   const char *client_key)
{
    struct durable *durable = &supervisor->durable;
    if (!durable->journal || durable->fetches >= DURABLE_FETCHES_MAX)
        return false;
    struct journal_operation *operation = journal_operation_new(JOURNAL_FETCH);
    if (!operation)
        return false;
    operation->existing = operation->job.number = number;
    operation->job.uid = uid;
    snprintf(operation->job.client_key, sizeof operation->job.client_key, "%s",
             client_key ? client_key : "");
    operation->context = supervisor;
    operation->on_done = on_fetched;
    durable->fetches++;
    journal_push(durable->journal, operation);
    return true;
}

/* ---- admission and retention ---- */

const char *durable_refusal(const struct supervisor *supervisor, uint64_t result_bytes,
                            uint32_t *ret_retry_ms)
{
    const struct durable *durable = &supervisor->durable;
    const struct config *config = &supervisor->config;
    const struct jobs *jobs = &supervisor->jobs;
    *ret_retry_ms = RETRY_DISK_MS;
    if (durable->waits_for_space)
        return "the disk of the state folder is full or read-only: the journal is not open";
    if (!durable->journal)
        return NULL;
    if (journal_health(durable->journal) == JOURNAL_BROKEN)
        return "the journal is damaged (it is set aside at once, where that can be done; see the "
               "log; a restart does it too)";
    if (journal_health(durable->journal) == JOURNAL_MOVED)
        return "the journal was moved or removed under the daemon (put the state folder back, or "
               "restart cuzkd: it begins a new one)";
    if (journal_health(durable->journal) != JOURNAL_GOOD)
        return "the disk of the state folder is full or read-only";
    *ret_retry_ms = RETRY_QUEUE_MS;
    if (!journal_has_room(durable->journal))
        return "the disk of the state folder does not keep up";
    *ret_retry_ms = RETRY_KEPT_MS;
    if (durable->counts.finished_count + jobs->active.count >= config->results_max)
        return "as many results are kept as ResultsMax= allows";
    if (durable->counts.finished_bytes + jobs->active_bytes + result_bytes > config->results_bytes)
        return "as many bytes of results are kept as ResultsSize= allows";
    return NULL;
}

bool durable_is_unwritable(const struct supervisor *supervisor)
{
    const struct durable *durable = &supervisor->durable;
    const struct job_numbers *numbers = &supervisor->job_numbers;
    return durable->waits_for_space ||
           (durable->journal && (journal_health(durable->journal) == JOURNAL_UNWRITABLE ||
                                 numbers->next >= numbers->reserved));
}

static void on_expired(struct journal_operation *operation, int result)
{
    struct supervisor *supervisor = operation->context;
    struct journal_counts *counts = &supervisor->durable.counts;
    supervisor->durable.is_expiring = false;
    if (result < 0)
        return;
    /* Rows of a disk, not of ours alone: they bound what is counted, and are not trusted. */
    counts->finished_count -= operation->expired_count < counts->finished_count
                                  ? operation->expired_count
                                  : counts->finished_count;
    counts->finished_bytes -= operation->expired_bytes < counts->finished_bytes
                                  ? operation->expired_bytes
                                  : counts->finished_bytes;
    if (operation->expired_last > counts->expired_number)
        counts->expired_number = operation->expired_last;
    if (operation->expired_count == JOURNAL_EXPIRE_ROWS)
        supervisor->next_tick_ns = supervisor->now_ns; /* there is more */
}

static int64_t results_age_ms(const struct supervisor *supervisor)
{
    return (int64_t)(supervisor->config.results_age_ns / 1000000u);
}

static int64_t elapsed_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* "-" where the kernel does not say. */
static void read_boot_id(char ret[64])
{
    char *text = NULL;
    size_t bytes;
    strcpy(ret, "-");
    if (files_read("/proc/sys/kernel/random/boot_id", 4096, &text, &bytes) == 0)
        sscanf(text, "%63s", ret);
    free(text);
}

static void clock_path(const struct supervisor *supervisor, char ret[PATH_BYTES_MAX])
{
    snprintf(ret, PATH_BYTES_MAX, "%.*s/clock", PATH_BYTES_MAX - 16,
             supervisor->config.state_directory);
}

static void open_clock(struct supervisor *supervisor)
{
    char path[PATH_BYTES_MAX], boot_id[64], *text = NULL;
    size_t bytes;
    clock_path(supervisor, path);
    read_boot_id(boot_id);
    if (files_read(path, RETENTION_TEXT_BYTES, &text, &bytes) == 0)
        retention_parse(text, boot_id, elapsed_ms(), &supervisor->durable.retention);
    free(text);
}

/* The text travels in the operation. */
static int write_clock(struct journal_operation *operation)
{
    char path[PATH_BYTES_MAX];
    clock_path(operation->context, path);
    return files_write(path, operation->job.error_text, strlen(operation->job.error_text), 0600);
}

static void save_clock(struct supervisor *supervisor)
{
    static_assert((int)RETENTION_TEXT_BYTES <= (int)JOURNAL_ERROR_BYTES, "it has room there");
    char boot_id[64];
    struct journal_operation *operation = journal_operation_new(JOURNAL_CALL);
    if (!operation)
        return; /* with the next jump */
    read_boot_id(boot_id);
    retention_format(&supervisor->durable.retention, boot_id, operation->job.error_text);
    operation->call = write_clock;
    operation->context = supervisor;
    journal_push(supervisor->durable.journal, operation);
}

static void look_at_clock(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    int64_t jump_ms = retention_look(&durable->retention, realtime_ms(), elapsed_ms(),
                                     results_age_ms(supervisor));
    if (jump_ms != 0)
        log_warn("the host's clock was set %s by %" PRId64 " s: no result ends early by that",
                 jump_ms < 0 ? "back" : "ahead", (jump_ms < 0 ? -jump_ms : jump_ms) / 1000);
    /* Between jumps the two clocks go alike: one look a start and one a jump say all. */
    if (jump_ms != 0 || !durable->has_saved_clock)
        save_clock(supervisor);
    durable->has_saved_clock = true;
}

static void expire(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    if (durable->is_expiring || durable->counts.finished_count == 0)
        return;
    struct journal_operation *operation = journal_operation_new(JOURNAL_EXPIRE);
    if (!operation)
        return;
    operation->latest_ms = realtime_ms();
    operation->cutoff_ms = retention_cutoff_ms(&durable->retention, results_age_ms(supervisor));
    operation->context = supervisor;
    operation->on_done = on_expired;
    durable->is_expiring = true;
    journal_push(durable->journal, operation);
}

static int write_numbers(struct journal_operation *operation)
{
    struct supervisor *supervisor = operation->context;
    return job_numbers_write(&supervisor->job_numbers, operation->job.number);
}

static void on_reserved(struct journal_operation *operation, int result)
{
    struct supervisor *supervisor = operation->context;
    supervisor->durable.is_reserving = false;
    if (result == 0)
        supervisor->job_numbers.reserved = operation->job.number;
    else
        log_warn("no more job numbers can be reserved in the state folder: %s", strerror(-result));
}

static void reserve_numbers(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    struct job_numbers *numbers = &supervisor->job_numbers;
    if (durable->is_reserving || numbers->reserved - numbers->next > JOB_NUMBERS_BLOCK / 2)
        return;
    struct journal_operation *operation = journal_operation_new(JOURNAL_CALL);
    if (!operation)
        return;
    operation->job.number = numbers->next + JOB_NUMBERS_BLOCK;
    operation->call = write_numbers;
    operation->context = supervisor;
    operation->on_done = on_reserved;
    durable->is_reserving = true;
    journal_push(durable->journal, operation);
}

static void tell_health(struct durable *durable, const char *folder)
{
    enum journal_health health = journal_health(durable->journal);
    if (health == durable->told)
        return;
    durable->told = health;
    if (health == JOURNAL_GOOD)
        log_info("the journal can be written again; jobs are taken");
    else if (health == JOURNAL_MOVED)
        log_error("the journal in %s was moved, removed or replaced under the daemon: no jobs are "
                  "taken until it is back, those there go on and their ends are kept in memory; a "
                  "restart would begin a new one, which knows of none of them",
                  folder);
    else if (health == JOURNAL_UNWRITABLE)
        log_error("the journal cannot be written, or less than %d MiB are free where it lies: no "
                  "jobs are taken until there is space, those there go on",
                  JOURNAL_RESERVE_MIB);
    else
        log_error("the journal is damaged: no jobs are taken before it is set aside and a new one "
                  "begun, which is tried at once and %d times in all; a restart does it too",
                  JOURNAL_REPLACES_MAX);
}

static void tell_replaced(struct durable *durable)
{
    struct journal_note note;
    if (!journal_take_note(durable->journal, &note))
        return;
    durable->was_set_aside |= note.is_set_aside;
    log_error("%s%s", note.text,
              note.is_set_aside
                  ? "; jobs under way go on, those among them that could not be taken "
                    "over are known until the next start only"
                  : "");
}

void durable_tick(struct supervisor *supervisor)
{
    struct durable *durable = &supervisor->durable;
    if (durable->waits_for_space)
        open_late(supervisor);
    if (!durable->journal)
        return;
    look_at_clock(supervisor);
    reserve_numbers(supervisor);
    tell_health(durable, supervisor->config.state_directory);
    tell_replaced(durable);
    if (journal_health(durable->journal) == JOURNAL_GOOD)
        expire(supervisor);
}
