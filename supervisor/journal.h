/* The journal: every job that was accepted and what became of it, in an SQLite database of the
 * state folder (WAL, synchronous=FULL). One thread writes, in groups: what has come in while the
 * disk was busy becomes one transaction. The event loop hands operations over and hears of their
 * end through an eventfd; none of its calls blocks once the thread runs.
 *
 * A proof is stored with a digest of its own and each input with that of its witness, so that
 * what comes back from a damaged disk is not taken for good. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/journal_record.h"

enum {
    JOURNAL_SCHEMA = 1,
    JOURNAL_QUEUE_OPERATIONS_MAX = 8192, /* beyond either, journal_has_room says no */
    JOURNAL_QUEUE_MIB_MAX = 256,
    JOURNAL_BATCH_OPERATIONS_MAX = 512, /* of one transaction */
    JOURNAL_BATCH_MIB_MAX = 16,
    JOURNAL_FETCHED_MIB_MAX = 64, /* results read that the loop has not taken, and one more */
    JOURNAL_RETRY_MS = 500,
    /* A damaged database is replaced at once, but not sooner than this after the last time, ... */
    JOURNAL_REPLACE_MS = 10000,
    JOURNAL_REPLACES_MAX = 3,  /* and this often between two starts */
    JOURNAL_EXPIRE_ROWS = 200, /* deleted in one operation */
    JOURNAL_FUTURE_MS = 60000, /* by which a job may have ended later than now */
    /* Left free on the disk for the results of jobs that are accepted already. */
    JOURNAL_RESERVE_MIB = 32,
};

enum journal_kind {
    JOURNAL_SUBMIT, /* job: all of it; partitions with contents */
    JOURNAL_PROVED, /* job.number, partition, proved */
    JOURNAL_END,    /* job.number, state, error..., finished_ms, result_bytes */
    JOURNAL_FETCH,  /* job.number, or uid and client_key; gives the job with its proofs */
    JOURNAL_EXPIRE, /* cutoff_ms: ended before; gives counts. latest_ms: now */
    JOURNAL_FORGET, /* job.number: as if it had never been submitted */
    JOURNAL_CALL,   /* call(context): something else that takes the disk's time */
};

struct journal_operation {
    enum journal_kind kind;
    struct journal_job job;
    uint32_t partition;
    struct journal_partition proved;
    int64_t cutoff_ms, latest_ms;
    int (*call)(struct journal_operation *operation); /* on the writer's thread */
    void *context;                                    /* the caller's, as is the next */
    bool has_spool;

    /* On the loop, from journal_run; the operation is freed behind it. May be NULL.
     * result: 0. SUBMIT: -EEXIST: the client key is taken by `existing`; -ENOSPC, -EIO, -ESTALE:
     * nothing was written. FETCH: -ENOENT, -EBADMSG when the record is damaged.
     * PROVED and END are kept until they are written; -ENOSPC then says "not yet" and comes once,
     * with `is_final` false, ahead of the end. */
    void (*on_done)(struct journal_operation *operation, int result);
    bool is_final;
    /* SUBMIT, -EEXIST */
    uint64_t existing;
    bool is_same_input;
    /* EXPIRE */
    uint32_t expired_count;
    uint64_t expired_bytes, expired_last; /* the highest number among them */

    /* the journal's */
    struct journal_operation *next;
    int result;
    size_t bytes;
    bool has_been_told, is_record_damaged;
};

enum journal_health {
    JOURNAL_GOOD,
    JOURNAL_UNWRITABLE, /* the disk is full, or nearly, or read-only: recovers by itself */
    JOURNAL_MOVED,      /* its file is not where a start would look: until it is back */
    JOURNAL_BROKEN,     /* the database is damaged and not replaced yet, or too often: the next
                           start sets it aside */
};

struct journal_counts {
    uint64_t last_number;    /* the highest ever written */
    uint64_t expired_number; /* the highest that was deleted for its age */
    uint32_t finished_count;
    uint64_t finished_bytes;
};

struct journal;

/* What was found, for the log: "" or sentences. `is_set_aside`: a damaged database was renamed. */
struct journal_note {
    bool is_set_aside;
    char text[1024];
};

/* Opens or makes FOLDER/journal.db. A damaged one is renamed with the date, what can be read of it
 * is taken over, and ret_note says so. -EPROTONOSUPPORT: a newer program has made it; else negative
 * errno; ret_note says why. Blocking. */
int journal_open(const char *folder, struct journal **ret, struct journal_note *ret_note);
/* Before journal_start. */
void journal_count(const struct journal *journal, struct journal_counts *ret);
/* Hands out the jobs that have not ended, oldest first, with inputs and what is proved; the
 * callback takes the record over. Returns how many records were damaged and are left out (their
 * jobs are failed in the journal), or negative errno. */
int journal_load_active(struct journal *journal,
                        void (*on_job)(void *context, struct journal_job *job), void *context);
/* The newest of those that ended, oldest of them first, without partitions. */
int journal_load_recent(struct journal *journal, uint32_t count,
                        void (*on_job)(void *context, struct journal_job *job), void *context);
/* Starts the writer. */
int journal_start(struct journal *journal);
/* Writes what is queued, as far as the disk lets it, ends the writer and closes. Callbacks that
 * have not run do not run any more. Accepts NULL. */
void journal_close(struct journal *journal);

/* Zeroed; NULL: memory is short. */
struct journal_operation *journal_operation_new(enum journal_kind kind);
void journal_operation_free(struct journal_operation *operation);
/* Takes the operation over. */
void journal_push(struct journal *journal, struct journal_operation *operation);
/* Whether one more submit is to be taken. */
bool journal_has_room(const struct journal *journal);
enum journal_health journal_health(const struct journal *journal);
const char *journal_health_to_string(enum journal_health health);
/* What the writer has found and done about it since the last call. False: nothing. */
bool journal_take_note(struct journal *journal, struct journal_note *ret);
/* Readable when journal_run has something to do. */
int journal_event_fd(const struct journal *journal);
/* Runs callbacks of what has been written. */
void journal_run(struct journal *journal);

struct journal_figures {
    uint64_t operations, commits, bytes; /* written since start; bytes of the database file */
    uint32_t queued;
};
void journal_figures(const struct journal *journal, struct journal_figures *ret);
