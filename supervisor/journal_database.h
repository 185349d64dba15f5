/* The database under the journal: its schema, and one function a statement. Used by one thread at a
 * time: the main thread until journal_start, then the writer. All functions block on the disk.
 *
 * Errors: -ESTALE see database_is_in_place, -EBADMSG the database is damaged, -ENOSPC the disk is
 * full, -EIO, -ENOMEM, and -EPROTONOSUPPORT for a schema that is newer than this program. */
#pragma once

#include <sqlite3.h>
#include <sys/types.h>

#include "supervisor/journal.h"

enum {
    DATABASE_STATEMENTS_MAX = 24,
};

struct database {
    sqlite3 *handle;
    sqlite3_stmt *statements[DATABASE_STATEMENTS_MAX];
    char path[PATH_BYTES_MAX];
    struct {
        dev_t device;
        ino_t inode; /* 0: not seen yet */
    } file, log;     /* as they were opened */
};

/* Opens or makes the file, mode 0600, and brings its schema up to date. *database need not be
 * initialised; database_close accepts what a failure leaves. */
int database_open(const char *path, struct database *database);
void database_close(struct database *database);
/* Brings the schema of an open file from its version to `schema`, one transaction a step; steps[v]
 * leads from v - 1 to v. -EPROTONOSUPPORT: it is newer. */
int database_upgrade(struct database *database, const char *const *steps, int schema);
/* Statements without results. */
int database_run(struct database *database, const char *text);

int database_begin(struct database *database);
int database_commit(struct database *database);
void database_rollback(struct database *database);

/* Inside a transaction. */
int database_submit(struct database *database, struct journal_operation *operation);
int database_proved(struct database *database, const struct journal_operation *operation);
int database_end(struct database *database, const struct journal_job *job);
int database_forget(struct database *database, uint64_t number);
int database_expire(struct database *database, struct journal_operation *operation);

/* By number, or where that is 0 by uid and client key. -ENOENT. with_parts: partitions that are
 * not proved come with their inputs, proved ones with their proofs. `is_damaged` with -EBADMSG: it
 * is the record that is, not the database. */
int database_read(struct database *database, struct journal_job *job, bool with_parts,
                  bool *ret_is_damaged);
/* The next job after `number` that has not ended; 0: no more. */
int database_next_active(struct database *database, uint64_t number, uint64_t *ret);
/* The numbers of the newest that ended, newest first. Returns how many. */
int database_newest(struct database *database, uint64_t *ret, uint32_t count);
int database_counts(struct database *database, struct journal_counts *ret);
/* After contents were deleted: they are gone from the write-ahead log too. */
int database_truncate_log(struct database *database);
/* Whether the files that are written are those that a start would find. False once the state folder
 * or one of them was moved, removed or replaced: what is written then is lost with this process. */
bool database_is_in_place(struct database *database);
uint64_t database_bytes(const struct database *database);
