/* Records to rows and back: see journal_database.h. What is read is input from a disk: every value
 * is checked, and a record that is not whole is refused, never believed. */
#include "supervisor/journal_rows.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "groth16/curve/curve.h"
#include "runtime/check.h"
#include "supervisor/facts.h"

enum statement {
    KEY_FIND,
    KEY_FREE,
    JOB_INSERT,
    INPUT_INSERT,
    PROOF_INSERT,
    INPUT_DELETE,
    INPUTS_DELETE,
    PROOFS_DELETE,
    JOB_DELETE,
    JOB_END,
    JOB_BY_NUMBER,
    JOB_BY_KEY,
    INPUT_READ,
    PROOF_READ,
    ACTIVE_NEXT,
    NEWEST,
    EXPIRED_NEXT,
    FUTURE_PULL,
    META_SET,
    META_GET,
    LAST_NUMBER,
    FINISHED_COUNT,
    STATEMENT_COUNT,
};

static_assert((int)STATEMENT_COUNT <= (int)DATABASE_STATEMENTS_MAX, "all statements have a place");
static_assert((int)REQUEST_JOB_DONE == 2 && (int)REQUEST_JOB_CANCELLED == 4,
              "the numbers are kept on disk, and the schema's indices name them");
static_assert(JOB_PARTITIONS_MAX <= 128, "a partition fits seven bits of an id");

/* A sum of what was edited by hand must not run over: that would be an error of its own. */
#define RESULT_BYTES                                                                               \
    "CASE WHEN result_bytes BETWEEN 0 AND 1099511627776 THEN result_bytes ELSE 0 END"

#define JOB_COLUMNS                                                                                \
    "number, uid, client_key, digest, circuit, key_digest, curve, priority, durable, partitions,"  \
    " publics, admitted_ms, deadline_ms, finished_ms, state, error_code, error_text,"              \
    " error_partition, result_bytes"

static const char *const texts[STATEMENT_COUNT] = {
    [KEY_FIND] = "SELECT number, digest, state, error_code FROM job"
                 " WHERE uid=?1 AND client_key=?2",
    [KEY_FREE] = "UPDATE job SET client_key=NULL WHERE number=?1",
    [JOB_INSERT] = "INSERT INTO job(" JOB_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,"
                   "?12,?13,?14,?15,?16,?17,?18,?19)",
    [INPUT_INSERT] = "INSERT INTO input(id, kind, bytes, sha256, content) VALUES(?1,?2,?3,?4,?5)",
    [PROOF_INSERT] = "INSERT OR REPLACE INTO proof(id, proof, publics, phases, sha256)"
                     " VALUES(?1,?2,?3,?4,?5)",
    [INPUT_DELETE] = "DELETE FROM input WHERE id=?1",
    [INPUTS_DELETE] = "DELETE FROM input WHERE id BETWEEN ?1 AND ?2",
    [PROOFS_DELETE] = "DELETE FROM proof WHERE id BETWEEN ?1 AND ?2",
    [JOB_DELETE] = "DELETE FROM job WHERE number=?1",
    [JOB_END] = "UPDATE job SET state=?2, error_code=?3, error_text=?4, error_partition=?5,"
                " finished_ms=?6, result_bytes=?7 WHERE number=?1 AND state<2",
    [JOB_BY_NUMBER] = "SELECT " JOB_COLUMNS " FROM job WHERE number=?1",
    [JOB_BY_KEY] = "SELECT " JOB_COLUMNS " FROM job WHERE uid=?1 AND client_key=?2",
    [INPUT_READ] = "SELECT kind, bytes, sha256, content FROM input WHERE id=?1",
    [PROOF_READ] = "SELECT proof, publics, phases, sha256 FROM proof WHERE id=?1",
    [ACTIVE_NEXT] = "SELECT number FROM job WHERE state<2 AND number>?1 ORDER BY number LIMIT 1",
    [NEWEST] = "SELECT number FROM job WHERE state>=2 ORDER BY number DESC LIMIT ?1",
    [EXPIRED_NEXT] = "SELECT number, " RESULT_BYTES " FROM job WHERE state>=2 AND finished_ms<?1"
                     " ORDER BY finished_ms LIMIT ?2",
    [FUTURE_PULL] = "UPDATE job SET finished_ms=?1 WHERE number IN"
                    " (SELECT number FROM job WHERE state>=2 AND finished_ms>?2 LIMIT ?3)",
    [META_SET] = "INSERT INTO meta(name, value) VALUES(?1,?2) ON CONFLICT(name) DO UPDATE SET"
                 " value=max(value, excluded.value)",
    [META_GET] = "SELECT value FROM meta WHERE name=?1",
    [LAST_NUMBER] = "SELECT coalesce(max(number), 0) FROM job WHERE number<=?1",
    [FINISHED_COUNT] = "SELECT count(*), coalesce(sum(" RESULT_BYTES "), 0) FROM job"
                       " WHERE state>=2",
};

int rows_prepare(struct database *database)
{
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        int code = sqlite3_prepare_v3(database->handle, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &database->statements[i], NULL);
        if (code != SQLITE_OK)
            return database_errno(database->handle, code);
    }
    return 0;
}

/* ---- statements ---- */

static sqlite3_stmt *statement_of(struct database *database, enum statement statement)
{
    return database->statements[statement];
}

static void bind_number(sqlite3_stmt *statement, int index, uint64_t value)
{
    sqlite3_bind_int64(statement, index, (sqlite3_int64)value);
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static void bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t count)
{
    if (count == 0)
        sqlite3_bind_zeroblob(statement, index, 0);
    else
        sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_STATIC);
}

/* One step: 1 a row, 0 done, or negative errno. */
static int step(struct database *database, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    return code == SQLITE_ROW ? 1 : database_errno(database->handle, code);
}

static void end(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

/* A statement that gives no rows. */
static int finish(struct database *database, sqlite3_stmt *statement)
{
    int r = step(database, statement);
    end(statement);
    return r > 0 ? 0 : r;
}

static uint64_t id_of(uint64_t number, uint32_t partition)
{
    return number << 7 | partition;
}

static int delete_range(struct database *database, enum statement which, uint64_t number)
{
    sqlite3_stmt *statement = statement_of(database, which);
    if (number > JOURNAL_NUMBER_MAX)
        return 0; /* no number of ours; its ids would be those of another job */
    bind_number(statement, 1, id_of(number, 0));
    bind_number(statement, 2, id_of(number, 127));
    return finish(database, statement);
}

/* ---- writing ---- */

/* Whether an ended job stands in the way of a new one under its key. What the input was to blame
 * for would come out the same; anything else may be tried again. */
static bool may_be_replaced(int state, const char *code)
{
    if (state == REQUEST_JOB_CANCELLED)
        return true;
    return state == REQUEST_JOB_FAILED && strcmp(code, "bad_input") != 0;
}

/* -EEXIST when the key is taken; 0 when it is free (again). */
static int claim_key(struct database *database, struct journal_operation *operation)
{
    const struct journal_job *job = &operation->job;
    sqlite3_stmt *statement = statement_of(database, KEY_FIND);
    bool is_free = false;
    bind_number(statement, 1, job->uid);
    bind_text(statement, 2, job->client_key);
    int r = step(database, statement);
    if (r > 0) {
        const char *code = (const char *)sqlite3_column_text(statement, 3);
        operation->existing = (uint64_t)sqlite3_column_int64(statement, 0);
        operation->is_same_input =
            sqlite3_column_bytes(statement, 1) == JOURNAL_DIGEST_BYTES &&
            memcmp(sqlite3_column_blob(statement, 1), job->digest, JOURNAL_DIGEST_BYTES) == 0;
        is_free = operation->is_same_input &&
                  may_be_replaced(sqlite3_column_int(statement, 2), code ? code : "");
    }
    end(statement);
    if (r <= 0)
        return r;
    if (!is_free)
        return -EEXIST;
    statement = statement_of(database, KEY_FREE);
    bind_number(statement, 1, operation->existing);
    return finish(database, statement);
}

static int insert_job(struct database *database, const struct journal_job *job)
{
    sqlite3_stmt *statement = statement_of(database, JOB_INSERT);
    bind_number(statement, 1, job->number);
    bind_number(statement, 2, job->uid);
    if (job->client_key[0])
        bind_text(statement, 3, job->client_key);
    bind_bytes(statement, 4, job->digest, sizeof job->digest);
    bind_text(statement, 5, job->circuit);
    bind_text(statement, 6, job->key_digest);
    bind_number(statement, 7, job->curve);
    bind_number(statement, 8, job->priority);
    bind_number(statement, 9, job->is_durable);
    bind_number(statement, 10, job->partition_count);
    bind_number(statement, 11, job->public_count);
    sqlite3_bind_int64(statement, 12, job->admitted_ms);
    sqlite3_bind_int64(statement, 13, job->deadline_ms);
    sqlite3_bind_int64(statement, 14, job->finished_ms);
    bind_number(statement, 15, job->state);
    bind_text(statement, 16, job->error_code);
    bind_text(statement, 17, job->error_text);
    bind_number(statement, 18, job->error_partition);
    bind_number(statement, 19, job->result_bytes);
    return finish(database, statement);
}

static int insert_inputs(struct database *database, const struct journal_job *job)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < job->partition_count; i++) {
        const struct journal_partition *partition = &job->partitions[i];
        sqlite3_stmt *statement = statement_of(database, INPUT_INSERT);
        bind_number(statement, 1, id_of(job->number, i));
        bind_number(statement, 2, partition->kind);
        bind_number(statement, 3, partition->bytes);
        bind_bytes(statement, 4, partition->sha256, sizeof partition->sha256);
        if (partition->content)
            bind_bytes(statement, 5, partition->content, partition->bytes);
        r = finish(database, statement);
    }
    return r;
}

int database_submit(struct database *database, struct journal_operation *operation)
{
    int r = operation->job.client_key[0] ? claim_key(database, operation) : 0;
    if (r == 0)
        r = insert_job(database, &operation->job);
    if (r == 0 && operation->job.is_durable)
        r = insert_inputs(database, &operation->job);
    return r;
}

static void phases_to_bytes(const uint32_t phases_us[PHASE_COUNT], uint8_t ret[4 * PHASE_COUNT])
{
    for (int i = 0; i < PHASE_COUNT; i++) {
        uint32_t value = htole32(phases_us[i]);
        memcpy(ret + 4 * i, &value, sizeof value);
    }
}

static void proof_digest(uint64_t id, const struct journal_partition *partition,
                         const uint8_t phases[4 * PHASE_COUNT], uint8_t ret[JOURNAL_DIGEST_BYTES])
{
    uint64_t id_bytes = htole64(id);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    EVP_DigestUpdate(context, &id_bytes, sizeof id_bytes);
    EVP_DigestUpdate(context, partition->proof, partition->proof_bytes);
    EVP_DigestUpdate(context, partition->publics, partition->public_bytes);
    EVP_DigestUpdate(context, phases, 4 * PHASE_COUNT);
    CHECK(EVP_DigestFinal_ex(context, ret, NULL) == 1);
    EVP_MD_CTX_free(context);
}

int database_proved(struct database *database, const struct journal_operation *operation)
{
    const struct journal_partition *proved = &operation->proved;
    uint64_t id = id_of(operation->job.number, operation->partition);
    uint8_t phases[4 * PHASE_COUNT], digest[JOURNAL_DIGEST_BYTES];
    phases_to_bytes(proved->phases_us, phases);
    proof_digest(id, proved, phases, digest);
    sqlite3_stmt *statement = statement_of(database, PROOF_INSERT);
    bind_number(statement, 1, id);
    bind_bytes(statement, 2, proved->proof, proved->proof_bytes);
    bind_bytes(statement, 3, proved->publics, proved->public_bytes);
    bind_bytes(statement, 4, phases, sizeof phases);
    bind_bytes(statement, 5, digest, sizeof digest);
    int r = finish(database, statement);
    if (r < 0)
        return r;
    statement = statement_of(database, INPUT_DELETE);
    bind_number(statement, 1, id);
    return finish(database, statement);
}

int database_end(struct database *database, const struct journal_job *job)
{
    sqlite3_stmt *statement = statement_of(database, JOB_END);
    bind_number(statement, 1, job->number);
    bind_number(statement, 2, job->state);
    bind_text(statement, 3, job->error_code);
    bind_text(statement, 4, job->error_text);
    bind_number(statement, 5, job->error_partition);
    sqlite3_bind_int64(statement, 6, job->finished_ms);
    bind_number(statement, 7, job->result_bytes);
    int r = finish(database, statement);
    if (r == 0)
        r = delete_range(database, INPUTS_DELETE, job->number);
    if (r == 0 && job->state != REQUEST_JOB_DONE)
        r = delete_range(database, PROOFS_DELETE, job->number);
    return r;
}

int database_forget(struct database *database, uint64_t number)
{
    int r = delete_range(database, INPUTS_DELETE, number);
    if (r == 0)
        r = delete_range(database, PROOFS_DELETE, number);
    if (r < 0)
        return r;
    sqlite3_stmt *statement = statement_of(database, JOB_DELETE);
    bind_number(statement, 1, number);
    return finish(database, statement);
}

static int meta_set(struct database *database, const char *name, uint64_t value)
{
    sqlite3_stmt *statement = statement_of(database, META_SET);
    bind_text(statement, 1, name);
    bind_number(statement, 2, value);
    return finish(database, statement);
}

/* Ended by a clock that was ahead and has been set back: they would stay for that much longer,
 * which may be years. They have ended now. */
static int pull_from_future(struct database *database, int64_t now_ms)
{
    sqlite3_stmt *statement = statement_of(database, FUTURE_PULL);
    sqlite3_bind_int64(statement, 1, now_ms);
    sqlite3_bind_int64(statement, 2, now_ms + JOURNAL_FUTURE_MS);
    bind_number(statement, 3, JOURNAL_EXPIRE_ROWS);
    return finish(database, statement);
}

int database_expire(struct database *database, struct journal_operation *operation)
{
    int pulled = pull_from_future(database, operation->latest_ms);
    if (pulled < 0)
        return pulled;
    uint64_t numbers[JOURNAL_EXPIRE_ROWS], bytes = 0, last = 0;
    uint32_t count = 0;
    sqlite3_stmt *statement = statement_of(database, EXPIRED_NEXT);
    sqlite3_bind_int64(statement, 1, operation->cutoff_ms);
    bind_number(statement, 2, JOURNAL_EXPIRE_ROWS);
    int r;
    while ((r = step(database, statement)) > 0 && count < JOURNAL_EXPIRE_ROWS) {
        numbers[count] = (uint64_t)sqlite3_column_int64(statement, 0);
        last = numbers[count] > last ? numbers[count] : last;
        bytes += (uint64_t)sqlite3_column_int64(statement, 1);
        count++;
    }
    end(statement);
    for (uint32_t i = 0; r >= 0 && i < count; i++)
        r = database_forget(database, numbers[i]);
    if (r >= 0 && count > 0)
        r = meta_set(database, "expired", last);
    if (r < 0)
        return r;
    operation->expired_count = count;
    operation->expired_bytes = bytes;
    operation->expired_last = last;
    return 0;
}

/* ---- reading ---- */

/* A value that is out of its range makes the record a damaged one. */
struct reader {
    sqlite3_stmt *statement;
    bool is_damaged;
};

static uint64_t read_number(struct reader *reader, int column, uint64_t max)
{
    sqlite3_int64 value = sqlite3_column_int64(reader->statement, column);
    if (sqlite3_column_type(reader->statement, column) != SQLITE_INTEGER || value < 0 ||
        (uint64_t)value > max) {
        reader->is_damaged = true;
        return 0;
    }
    return (uint64_t)value;
}

static void read_text(struct reader *reader, int column, char *ret, size_t room)
{
    const char *text = (const char *)sqlite3_column_text(reader->statement, column);
    size_t bytes = (size_t)sqlite3_column_bytes(reader->statement, column);
    ret[0] = '\0';
    if (sqlite3_column_type(reader->statement, column) == SQLITE_NULL)
        return;
    if (!text || bytes >= room || memchr(text, '\0', bytes)) {
        reader->is_damaged = true;
        return;
    }
    memcpy(ret, text, bytes);
    ret[bytes] = '\0';
}

static void read_digest(struct reader *reader, int column, uint8_t ret[JOURNAL_DIGEST_BYTES])
{
    if (sqlite3_column_bytes(reader->statement, column) != JOURNAL_DIGEST_BYTES)
        reader->is_damaged = true;
    else
        memcpy(ret, sqlite3_column_blob(reader->statement, column), JOURNAL_DIGEST_BYTES);
}

static void read_job(struct reader *reader, struct journal_job *job)
{
    job->number = read_number(reader, 0, JOURNAL_NUMBER_MAX);
    job->uid = (uint32_t)read_number(reader, 1, UINT32_MAX);
    read_text(reader, 2, job->client_key, sizeof job->client_key);
    read_digest(reader, 3, job->digest);
    read_text(reader, 4, job->circuit, sizeof job->circuit);
    read_text(reader, 5, job->key_digest, sizeof job->key_digest);
    job->curve = (uint32_t)read_number(reader, 6, UINT32_MAX);
    job->priority = (enum request_priority)read_number(reader, 7, REQUEST_PRIORITY_COUNT - 1);
    job->is_durable = read_number(reader, 8, 1) != 0;
    job->partition_count = (uint32_t)read_number(reader, 9, JOB_PARTITIONS_MAX);
    job->public_count = (uint32_t)read_number(reader, 10, PUBLIC_INPUTS_MAX);
    job->admitted_ms = (int64_t)read_number(reader, 11, INT64_MAX);
    job->deadline_ms = (int64_t)read_number(reader, 12, INT64_MAX);
    job->finished_ms = (int64_t)read_number(reader, 13, INT64_MAX);
    job->state = (enum request_job_state)read_number(reader, 14, REQUEST_JOB_STATE_COUNT - 1);
    read_text(reader, 15, job->error_code, sizeof job->error_code);
    read_text(reader, 16, job->error_text, sizeof job->error_text);
    job->error_partition = (uint32_t)read_number(reader, 17, UINT32_MAX);
    job->result_bytes = read_number(reader, 18, INT64_MAX);
    if (job->number == 0 || job->partition_count == 0 || !curve_by_id(job->curve) ||
        !facts_digest_is_valid(job->key_digest))
        reader->is_damaged = true;
}

static uint8_t *copy_bytes(struct reader *reader, int column, size_t *ret_count, int *error)
{
    size_t count = (size_t)sqlite3_column_bytes(reader->statement, column);
    const void *bytes = sqlite3_column_blob(reader->statement, column);
    uint8_t *copy = malloc(count ? count : 1);
    if (!copy)
        *error = -ENOMEM;
    else if (count)
        memcpy(copy, bytes, count);
    *ret_count = count;
    return copy;
}

static int read_proof(struct database *database, const struct journal_job *job, uint32_t index,
                      bool *ret_is_damaged)
{
    struct journal_partition *partition = &job->partitions[index];
    uint8_t digest[JOURNAL_DIGEST_BYTES], stored[JOURNAL_DIGEST_BYTES] = {0};
    struct reader reader = {statement_of(database, PROOF_READ), false};
    uint64_t id = id_of(job->number, index);
    bind_number(reader.statement, 1, id);
    int r = step(database, reader.statement), error = 0;
    if (r > 0) {
        const uint8_t *phases = sqlite3_column_blob(reader.statement, 2);
        partition->proof = copy_bytes(&reader, 0, &partition->proof_bytes, &error);
        partition->publics = copy_bytes(&reader, 1, &partition->public_bytes, &error);
        read_digest(&reader, 3, stored);
        if (sqlite3_column_bytes(reader.statement, 2) != 4 * PHASE_COUNT ||
            partition->proof_bytes != curve_by_id(job->curve)->proof_bytes ||
            partition->public_bytes != (size_t)job->public_count * CURVE_FR_BYTES)
            reader.is_damaged = true;
        if (error == 0 && !reader.is_damaged) {
            proof_digest(id, partition, phases, digest);
            reader.is_damaged = memcmp(digest, stored, sizeof digest) != 0;
            for (int i = 0; i < PHASE_COUNT; i++) {
                uint32_t value;
                memcpy(&value, phases + 4 * i, sizeof value);
                partition->phases_us[i] = le32toh(value);
            }
        }
        partition->is_proved = true;
    }
    end(reader.statement);
    if (r > 0 && error == 0 && reader.is_damaged) {
        *ret_is_damaged = true;
        return -EBADMSG;
    }
    return error < 0 ? error : r;
}

/* The witness of a partition that is not proved. Its absence is for the caller to judge. */
static int read_input(struct database *database, const struct journal_job *job, uint32_t index,
                      bool *ret_is_damaged)
{
    struct journal_partition *partition = &job->partitions[index];
    uint8_t digest[JOURNAL_DIGEST_BYTES];
    struct reader reader = {statement_of(database, INPUT_READ), false};
    bind_number(reader.statement, 1, id_of(job->number, index));
    int r = step(database, reader.statement), error = 0;
    if (r > 0) {
        size_t count = 0;
        partition->kind =
            (enum journal_input_kind)read_number(&reader, 0, JOURNAL_INPUT_KIND_COUNT - 1);
        partition->bytes = read_number(&reader, 1, INT64_MAX);
        read_digest(&reader, 2, partition->sha256);
        if (partition->kind == JOURNAL_INPUT_INLINE && !reader.is_damaged) {
            partition->content = copy_bytes(&reader, 3, &count, &error);
            if (count != partition->bytes || count == 0)
                reader.is_damaged = true;
            partition->bytes = count;
        }
        if (partition->content && error == 0 && !reader.is_damaged) {
            CHECK(EVP_Digest(partition->content, count, digest, NULL, EVP_sha256(), NULL) == 1);
            reader.is_damaged = memcmp(digest, partition->sha256, sizeof digest) != 0;
        }
    }
    end(reader.statement);
    if (error < 0 || r < 0)
        return error < 0 ? error : r;
    if (r == 0 || reader.is_damaged) {
        *ret_is_damaged = true;
        return -EBADMSG;
    }
    return 0;
}

static int read_parts(struct database *database, struct journal_job *job, bool *ret_is_damaged)
{
    if (!journal_job_allocate(job))
        return -ENOMEM;
    bool is_active = job->state < REQUEST_JOB_DONE;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < job->partition_count; i++) {
        r = read_proof(database, job, i, ret_is_damaged);
        if (r == 0 && is_active && job->is_durable)
            r = read_input(database, job, i, ret_is_damaged);
        else if (r == 0 && job->state == REQUEST_JOB_DONE) {
            *ret_is_damaged = true;
            r = -EBADMSG;
        }
    }
    return r < 0 ? r : 0;
}

int database_read(struct database *database, struct journal_job *job, bool with_parts,
                  bool *ret_is_damaged)
{
    struct reader reader = {statement_of(database, job->number ? JOB_BY_NUMBER : JOB_BY_KEY),
                            false};
    char client_key[CLIENT_KEY_BYTES_MAX + 1];
    *ret_is_damaged = false;
    memcpy(client_key, job->client_key, sizeof client_key);
    if (job->number) {
        bind_number(reader.statement, 1, job->number);
    } else {
        bind_number(reader.statement, 1, job->uid);
        bind_text(reader.statement, 2, client_key);
    }
    int r = step(database, reader.statement);
    if (r > 0)
        read_job(&reader, job);
    end(reader.statement);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    if (reader.is_damaged) {
        *ret_is_damaged = true;
        return -EBADMSG;
    }
    return with_parts ? read_parts(database, job, ret_is_damaged) : 0;
}

int database_next_active(struct database *database, uint64_t number, uint64_t *ret)
{
    sqlite3_stmt *statement = statement_of(database, ACTIVE_NEXT);
    bind_number(statement, 1, number);
    int r = step(database, statement);
    *ret = r > 0 ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    end(statement);
    return r > 0 ? 0 : r;
}

int database_newest(struct database *database, uint64_t *ret, uint32_t count)
{
    sqlite3_stmt *statement = statement_of(database, NEWEST);
    uint32_t found = 0;
    bind_number(statement, 1, count);
    int r;
    while ((r = step(database, statement)) > 0 && found < count)
        ret[found++] = (uint64_t)sqlite3_column_int64(statement, 0);
    end(statement);
    return r < 0 ? r : (int)found;
}

int database_counts(struct database *database, struct journal_counts *ret)
{
    *ret = (struct journal_counts){0};
    sqlite3_stmt *statement = statement_of(database, FINISHED_COUNT);
    int r = step(database, statement);
    if (r > 0) {
        ret->finished_count = (uint32_t)sqlite3_column_int64(statement, 0);
        ret->finished_bytes = (uint64_t)sqlite3_column_int64(statement, 1);
    }
    end(statement);
    statement = statement_of(database, LAST_NUMBER);
    bind_number(statement, 1, JOURNAL_NUMBER_MAX);
    if (r >= 0)
        r = step(database, statement);
    if (r > 0)
        ret->last_number = (uint64_t)sqlite3_column_int64(statement, 0);
    end(statement);
    statement = statement_of(database, META_GET);
    bind_text(statement, 1, "expired");
    if (r >= 0)
        r = step(database, statement);
    if (r > 0)
        ret->expired_number = (uint64_t)sqlite3_column_int64(statement, 0);
    end(statement);
    return r < 0 ? r : 0;
}
