/* Between jobs and the journal: what is written when, what comes back at a start, and how a job
 * that is not in memory any more is found. Upstream: admission.c, jobs.c, outlet.c, answers.c;
 * downstream: journal.c. Without a journal (unit tests) every call is a no-op and jobs live in
 * memory alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/loop.h"
#include "supervisor/attempts.h"
#include "supervisor/journal.h"
#include "supervisor/retention.h"

struct supervisor;
struct slot;
struct job;

enum {
    DURABLE_RECENT_JOBS = 1000, /* ended ones, known again to `jobs` after a start */
    DURABLE_FETCHES_MAX = 256,  /* looked up in the journal at once */
    /* On disk, on top of proof and public inputs. */
    DURABLE_JOB_BYTES = 640,
    DURABLE_PARTITION_BYTES = 128,
};

struct durable {
    struct journal *journal; /* NULL: none, or not yet */
    /* There was no space to open it at the start: tried again, and no durable job is taken. */
    bool waits_for_space;
    uint64_t next_open_ns;
    struct attempts attempts;
    struct loop_watch watch;
    struct retention retention;
    struct journal_counts counts; /* of what has ended and is kept */
    uint32_t restored;            /* jobs that an earlier life left unfinished */
    uint32_t fetches;             /* under way */
    bool was_set_aside, is_expiring, is_reserving, has_saved_clock;
    enum journal_health told;        /* what the log has said */
    struct durable_waiting *waiting; /* restored jobs whose circuits are being prepared */
};

/* Opens the journal, ahead of everything that makes jobs. Logs what failed. Where only space is
 * wanting that is no failure: durable_tick goes on with it. */
int durable_open(struct supervisor *supervisor);
/* Circuits are known, nobody is connected: jobs of earlier lives come back, and the writer
 * starts. */
int durable_restore(struct supervisor *supervisor);
/* A circuit is prepared, or it failed: jobs of earlier lives that waited for it go on or fail. */
void durable_circuit_settled(struct supervisor *supervisor, const char *circuit);
/* Waits for the disk. */
void durable_close(struct supervisor *supervisor);
/* Retention, job numbers, words to the log. Once a second. */
void durable_tick(struct supervisor *supervisor);

/* Bytes that the job's result takes on disk. */
uint64_t durable_result_bytes(const struct job *job);
/* NULL, or why no job can be taken now. */
const char *durable_refusal(const struct supervisor *supervisor, uint64_t result_bytes,
                            uint32_t *ret_retry_ms);
/* The state folder takes no more: no job is taken until it does. */
bool durable_is_unwritable(const struct supervisor *supervisor);
/* The record of a reserved job whose slots have their inputs, as an operation to push; NULL when
 * memory is short. sha256s: of inputs in the spool, by partition; may be NULL. */
struct journal_operation *durable_record(const struct supervisor *supervisor, const struct job *job,
                                         const uint8_t (*sha256s)[JOURNAL_DIGEST_BYTES]);

/* A partition's proof is in the job record. */
void durable_proved(struct supervisor *supervisor, const struct job *job, uint32_t partition);
/* jobs.on_end */
void durable_ended(struct supervisor *supervisor, struct job *job);
/* Before a grant, and when a worker has let go of the slot. */
void durable_attempt(struct supervisor *supervisor, const struct slot *slot, int granted);

/* Asks the journal for a job: by number, or where that is 0 by uid and client key. True: it is
 * being looked up, and control_waits_fetched is called when it is here or known not to be. */
bool durable_fetch(struct supervisor *supervisor, uint64_t number, uid_t uid,
                   const char *client_key);
