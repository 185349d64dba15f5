/* Out of a damaged database: see journal_salvage.h. */
#include "supervisor/journal_salvage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/files.h"
#include "supervisor/journal_rows.h"

enum {
    NUMBERS_MAX = 1 << 20, /* of one walk over the damaged table */
    COMMIT_JOBS = 1000,
    PARTS = 3, /* the row of the job, its inputs, its proofs */
    NAME_BYTES = PATH_BYTES_MAX + 16,
};

static const char *const suffixes[] = {"", "-wal", "-shm"};

static int fill(struct database *fresh, const char *path, struct journal_salvage *ret);
static uint32_t collect(struct database *fresh, const char *text, uint64_t *numbers);
static int copy_all(struct database *fresh, const uint64_t *numbers, uint32_t count,
                    struct journal_salvage *ret);
static uint8_t probe_one(struct database *fresh, uint64_t number);
static int copy_one(struct database *fresh, uint64_t number, uint8_t readable,
                    struct journal_salvage *ret);
static int take_place(const char *path, char ret_aside[PATH_BYTES_MAX]);

static void remove_all(const char *path)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

int journal_salvage_settle(const char *path)
{
    char name[PATH_BYTES_MAX], aside[PATH_BYTES_MAX];
    struct stat status;
    snprintf(name, sizeof name, "%.*s.salvage", PATH_BYTES_MAX - 16, path);
    remove_all(name);
    snprintf(name, sizeof name, "%.*s.salvaged", PATH_BYTES_MAX - 16, path);
    return stat(name, &status) == 0 ? take_place(path, aside) : 0;
}

int journal_salvage_run(const char *path, struct journal_salvage *ret)
{
    struct database fresh;
    char name[PATH_BYTES_MAX], whole[PATH_BYTES_MAX];
    *ret = (struct journal_salvage){0};
    snprintf(name, sizeof name, "%.*s.salvage", PATH_BYTES_MAX - 16, path);
    snprintf(whole, sizeof whole, "%.*s.salvaged", PATH_BYTES_MAX - 16, path);
    remove_all(name);
    int r = database_open(name, &fresh);
    if (r == 0)
        r = fill(&fresh, path, ret);
    if (r == 0) /* out of its log, which does not move with it */
        r = database_truncate_log(&fresh);
    database_close(&fresh);
    if (r == 0 && rename(name, whole) < 0)
        r = -errno;
    if (r == 0)
        r = take_place(path, ret->aside);
    else
        remove_all(name);
    return r;
}

/* Renames what is at path, with what belongs to it; then the whole new one is path. */
static int take_place(const char *path, char ret_aside[PATH_BYTES_MAX])
{
    char from[NAME_BYTES], to[NAME_BYTES], date[32];
    time_t now = time(NULL);
    struct tm parts;
    struct stat status;
    gmtime_r(&now, &parts);
    strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &parts);
    int used =
        snprintf(ret_aside, PATH_BYTES_MAX, "%.*s.damaged-%s", PATH_BYTES_MAX - 48, path, date);
    for (int i = 2; stat(ret_aside, &status) == 0; i++) /* two within a second */
        snprintf(ret_aside + used, PATH_BYTES_MAX - (size_t)used, ".%d", i);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(from, sizeof from, "%s%s", path, suffixes[i]);
        snprintf(to, sizeof to, "%s%s", ret_aside, suffixes[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return -errno;
    }
    snprintf(from, sizeof from, "%s.salvaged", path);
    if (rename(from, path) < 0)
        return -errno;
    return files_sync_folder_of(path);
}

/* ---- copying ---- */

static int fill(struct database *fresh, const char *path, struct journal_salvage *ret)
{
    static const char *const walks[] = {
        "SELECT number FROM old.job INDEXED BY job_active WHERE state < 2",
        "SELECT number FROM old.job ORDER BY number DESC",
        "SELECT number FROM old.job ORDER BY number ASC",
    };
    char *text = sqlite3_mprintf("ATTACH %Q AS old", path);
    uint64_t *numbers = sqlite3_malloc64(sizeof numbers[0] * NUMBERS_MAX);
    int r = text && numbers ? 0 : -ENOMEM;
    if (r == 0) {
        ret->reading = database_run(fresh, text);
        for (size_t i = 0; r == 0 && ret->reading == 0 && i < sizeof walks / sizeof walks[0]; i++)
            r = copy_all(fresh, numbers, collect(fresh, walks[i], numbers), ret);
        if (r == 0 && ret->reading == 0)
            database_run(fresh, "INSERT OR IGNORE INTO main.meta SELECT * FROM old.meta");
        database_rollback(fresh);
        database_run(fresh, "DETACH old");
    }
    sqlite3_free(numbers);
    sqlite3_free(text);
    return r;
}

/* Numbers from either end of the table up to where it cannot be read. */
static uint32_t collect(struct database *fresh, const char *text, uint64_t *numbers)
{
    sqlite3_stmt *statement = NULL;
    uint32_t count = 0;
    if (sqlite3_prepare_v2(fresh->handle, text, -1, &statement, NULL) == SQLITE_OK)
        while (count < NUMBERS_MAX && sqlite3_step(statement) == SQLITE_ROW)
            numbers[count++] = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

static int copy_all(struct database *fresh, const uint64_t *numbers, uint32_t count,
                    struct journal_salvage *ret)
{
    static uint8_t readable[COMMIT_JOBS];
    int r = 0;
    for (uint32_t first = 0; r == 0 && first < count; first += COMMIT_JOBS) {
        uint32_t end = count - first < COMMIT_JOBS ? count : first + COMMIT_JOBS;
        /* Read ahead: a transaction that has met damage cannot be committed any more. */
        for (uint32_t i = first; i < end; i++)
            readable[i - first] = probe_one(fresh, numbers[i]);
        r = database_begin(fresh);
        for (uint32_t i = first; r == 0 && i < end; i++)
            r = copy_one(fresh, numbers[i], readable[i - first], ret);
        if (r == 0)
            r = database_commit(fresh);
    }
    return r;
}

/* How many of the job's three parts can be read to their last byte. */
static uint8_t probe_one(struct database *fresh, uint64_t number)
{
    static const char *const texts[PARTS] = {
        "SELECT * FROM old.job WHERE number=%1$lld",
        "SELECT hex(sha256), hex(content) FROM old.input"
        " WHERE id BETWEEN %1$lld<<7 AND (%1$lld<<7)+127",
        "SELECT hex(proof), hex(publics), hex(sha256) FROM old.proof"
        " WHERE id BETWEEN %1$lld<<7 AND (%1$lld<<7)+127",
    };
    char text[256];
    for (uint8_t i = 0; i < PARTS; i++) {
        snprintf(text, sizeof text, texts[i], (long long)number);
        if (database_run(fresh, text) < 0)
            return i;
    }
    return PARTS;
}

/* The disk of the new one is at fault, not the old one. */
static bool is_short(int r)
{
    return r == -ENOSPC || r == -ENOMEM || r == -EROFS;
}

static int copy_one(struct database *fresh, uint64_t number, uint8_t readable,
                    struct journal_salvage *ret)
{
    static const char *const texts[PARTS] = {
        "INSERT OR IGNORE INTO main.job SELECT * FROM old.job WHERE number=%1$lld",
        "INSERT OR IGNORE INTO main.input SELECT * FROM old.input"
        " WHERE id BETWEEN %1$lld<<7 AND (%1$lld<<7)+127",
        "INSERT OR IGNORE INTO main.proof SELECT * FROM old.proof"
        " WHERE id BETWEEN %1$lld<<7 AND (%1$lld<<7)+127",
    };
    char text[256];
    for (size_t i = 0; i < PARTS; i++) {
        snprintf(text, sizeof text, texts[i], (long long)number);
        int r = i < readable ? database_run(fresh, text) : -EBADMSG;
        if (is_short(r))
            return r;
        if (r < 0) {
            ret->lost++;
            ret->taken += i > 0; /* it is known, and failed for want of its parts */
            return 0;
        }
        if (i == 0 && sqlite3_changes(fresh->handle) == 0)
            return 0; /* seen from the other end already */
    }
    ret->taken++;
    return 0;
}
