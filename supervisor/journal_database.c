/* The file, its schema and its upgrade: see journal_database.h. The statements are in
 * journal_rows.c. Upstream: journal.c. */
#include "supervisor/journal_database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/journal_rows.h"

enum {
    APPLICATION_ID = 0x63757a6b, /* "cuzk": `file` shows it */
    DATABASE_BUSY_MS = 5000,     /* that a start waits for another process to close the file */
};

/* One entry a version: what leads from the version before to it. Entries are never edited once
 * released. */
static const char *const upgrades[JOURNAL_SCHEMA + 1] = {
    [1] = "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
          "CREATE TABLE job("
          " number INTEGER PRIMARY KEY, uid INTEGER NOT NULL, client_key TEXT,"
          " digest BLOB NOT NULL, circuit TEXT NOT NULL, key_digest TEXT NOT NULL,"
          " curve INTEGER NOT NULL, priority INTEGER NOT NULL, durable INTEGER NOT NULL,"
          " partitions INTEGER NOT NULL, publics INTEGER NOT NULL, admitted_ms INTEGER NOT NULL,"
          " deadline_ms INTEGER NOT NULL, finished_ms INTEGER NOT NULL, state INTEGER NOT NULL,"
          " error_code TEXT NOT NULL, error_text TEXT NOT NULL, error_partition INTEGER NOT NULL,"
          " result_bytes INTEGER NOT NULL) STRICT;"
          "CREATE UNIQUE INDEX job_key ON job(uid, client_key) WHERE client_key IS NOT NULL;"
          "CREATE INDEX job_active ON job(number) WHERE state < 2;"
          "CREATE INDEX job_finished ON job(finished_ms, result_bytes) WHERE state >= 2;"
          /* id: number << 7 | partition */
          "CREATE TABLE input(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
          " bytes INTEGER NOT NULL, sha256 BLOB NOT NULL, content BLOB) STRICT;"
          "CREATE TABLE proof(id INTEGER PRIMARY KEY, proof BLOB NOT NULL, publics BLOB NOT NULL,"
          " phases BLOB NOT NULL, sha256 BLOB NOT NULL) STRICT;",
};

int database_errno(sqlite3 *handle, int code)
{
    int system_error = handle ? sqlite3_system_errno(handle) : 0;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
    case SQLITE_ERROR: /* a table or column is not there: no file of ours */
        return -EBADMSG;
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS)
            return -EBADMSG;
        return system_error == ENOSPC || system_error == EDQUOT ? -ENOSPC : -EIO;
    case SQLITE_CANTOPEN:
        return system_error ? -system_error : -EIO;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    default:
        return -EIO;
    }
}

int database_run(struct database *database, const char *text)
{
    return database_errno(database->handle, sqlite3_exec(database->handle, text, NULL, NULL, NULL));
}

static int pragma_number(struct database *database, const char *text, int *ret)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database->handle, text, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
            *ret = sqlite3_column_int(statement, 0);
    }
    sqlite3_finalize(statement);
    return database_errno(database->handle, code);
}

int database_upgrade(struct database *database, const char *const *steps, int schema)
{
    int version = 0, application = 0;
    char text[128];
    int r = pragma_number(database, "PRAGMA user_version", &version);
    if (r == 0)
        r = pragma_number(database, "PRAGMA application_id", &application);
    if (r < 0)
        return r;
    if (version > schema)
        return -EPROTONOSUPPORT;
    if (version < 0 || (version > 0 && application != APPLICATION_ID))
        return -EBADMSG;
    while (r == 0 && version < schema) {
        version++;
        snprintf(text, sizeof text, "PRAGMA user_version=%d; PRAGMA application_id=%d; COMMIT",
                 version, APPLICATION_ID);
        r = database_run(database, "BEGIN IMMEDIATE");
        if (r == 0)
            r = database_run(database, steps[version]);
        if (r == 0)
            r = database_run(database, text);
        if (r < 0)
            database_run(database, "ROLLBACK");
    }
    return r;
}

/* SQLite would make it with the umask's mode. */
static int make_file(const char *path, struct stat *ret)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int r = fchmod(fd, 0600) < 0 || fstat(fd, ret) < 0 ? -errno : 0;
    close(fd);
    return r;
}

int database_open(const char *path, struct database *database)
{
    struct stat status;
    *database = (struct database){0};
    snprintf(database->path, sizeof database->path, "%s", path);
    int r = make_file(path, &status);
    if (r < 0)
        return r;
    database->file.device = status.st_dev;
    database->file.inode = status.st_ino;
    int code = sqlite3_open_v2(path, &database->handle,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                                   SQLITE_OPEN_EXRESCODE,
                               NULL);
    r = database_errno(database->handle, code);
    if (r == 0) /* somebody may be reading it: a backup, an operator */
        sqlite3_busy_timeout(database->handle, DATABASE_BUSY_MS);
    /* Exclusive, set before WAL: its index is then kept in this process's memory, and no second
     * process gets between. Deleted content is overwritten: it may have been a witness. */
    if (r == 0)
        r = database_run(database, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
                                   "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
                                   "PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON;"
                                   "PRAGMA trusted_schema=OFF; PRAGMA cache_size=-16384;"
                                   "PRAGMA journal_size_limit=0; PRAGMA wal_autocheckpoint=4000");
    if (r == 0)
        r = database_upgrade(database, upgrades, JOURNAL_SCHEMA);
    if (r == 0)
        r = rows_prepare(database);
    return r;
}

void database_close(struct database *database)
{
    for (int i = 0; i < DATABASE_STATEMENTS_MAX; i++)
        sqlite3_finalize(database->statements[i]);
    sqlite3_close(database->handle);
    *database = (struct database){0};
}

/* ---- transactions ---- */

int database_begin(struct database *database)
{
    return database_run(database, "BEGIN IMMEDIATE");
}

int database_commit(struct database *database)
{
    return database_run(database, "COMMIT");
}

void database_rollback(struct database *database)
{
    if (database->handle && !sqlite3_get_autocommit(database->handle))
        database_run(database, "ROLLBACK");
}

int database_truncate_log(struct database *database)
{
    return database_run(database, "PRAGMA wal_checkpoint(TRUNCATE)");
}

bool database_is_in_place(struct database *database)
{
    char log[PATH_BYTES_MAX + 8];
    struct stat status;
    if (stat(database->path, &status) < 0 || status.st_ino != database->file.inode ||
        status.st_dev != database->file.device)
        return false;
    snprintf(log, sizeof log, "%s-wal", database->path);
    bool is_there = stat(log, &status) == 0;
    if (is_there && database->log.inode == 0) { /* SQLite makes it with the first write */
        database->log.device = status.st_dev;
        database->log.inode = status.st_ino;
    }
    return database->log.inode == 0 || (is_there && status.st_ino == database->log.inode &&
                                        status.st_dev == database->log.device);
}

uint64_t database_bytes(const struct database *database)
{
    struct stat status;
    return stat(database->path, &status) < 0 ? 0 : (uint64_t)status.st_size;
}
