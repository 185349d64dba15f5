/* The journal on a folder of its own: what is written comes back, damage is set aside, keys are
 * claimed once, old results go. */
#include "supervisor/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "groth16/curve/curve.h"
#include "supervisor/attempts.h"
#include "supervisor/journal_database.h"
#include "supervisor/journal_salvage.h"
#include "supervisor/slots.h"
#include "tests/test.h"

#define KEY_DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

enum {
    PUBLICS = 2,
};

static char folder[64], path[96];
static struct journal *journal;

/* ---- what callbacks saw ---- */

static struct {
    int result, count;
    uint64_t existing, number;
    bool is_same;
    uint32_t expired;
    uint8_t first_proof_byte;
} seen;

static void on_done(struct journal_operation *operation, int result)
{
    seen.result = result;
    seen.count++;
    seen.existing = operation->existing;
    seen.is_same = operation->is_same_input;
    seen.expired = operation->expired_count;
    seen.number = operation->job.number;
    if (result == 0 && operation->kind == JOURNAL_FETCH && operation->job.partitions &&
        operation->job.partitions[0].proof)
        seen.first_proof_byte = operation->job.partitions[0].proof[0];
}

static void open_journal(struct journal_note *note)
{
    ASSERT_INT(journal_open(folder, &journal, note), 0);
}

static void start(void)
{
    struct journal_note note;
    open_journal(&note);
    ASSERT_STR(note.text, "");
    ASSERT_INT(journal_start(journal), 0);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/cuzkd-journal-XXXXXX");
    ASSERT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/journal.db", folder);
}

static void stop(void)
{
    journal_close(journal);
    journal = NULL;
}

static void tear_down(void)
{
    char file[512];
    struct dirent *entry;
    stop();
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
        unlink(file);
    }
    closedir(dir);
    rmdir(folder);
}

/* Pushes and waits for the callback. */
static int run(struct journal_operation *operation)
{
    int before = seen.count;
    operation->on_done = on_done;
    journal_push(journal, operation);
    while (seen.count == before) {
        struct pollfd bell = {.fd = journal_event_fd(journal), .events = POLLIN};
        ASSERT(poll(&bell, 1, 20000) == 1);
        journal_run(journal);
    }
    return seen.result;
}

static struct journal_operation *submit_of(uint64_t number, const char *key, const char *input)
{
    struct journal_operation *operation = journal_operation_new(JOURNAL_SUBMIT);
    struct journal_job *job = &operation->job;
    ASSERT(operation);
    job->number = number;
    job->uid = 1000;
    job->curve = CURVE_BN254;
    job->priority = REQUEST_PRIORITY_NORMAL;
    job->is_durable = true;
    job->partition_count = 2;
    job->public_count = PUBLICS;
    job->admitted_ms = 1000;
    strcpy(job->circuit, "c");
    strcpy(job->key_digest, KEY_DIGEST);
    strcpy(job->client_key, key);
    ASSERT(journal_job_allocate(job));
    for (uint32_t i = 0; i < 2; i++) {
        job->partitions[i].content = strdup(input);
        job->partitions[i].bytes = strlen(input);
    }
    return operation;
}

static int submit(uint64_t number, const char *key, const char *input)
{
    return run(submit_of(number, key, input));
}

static int prove(uint64_t number, uint32_t partition)
{
    struct journal_operation *operation = journal_operation_new(JOURNAL_PROVED);
    struct journal_partition *proved = &operation->proved;
    operation->job.number = number;
    operation->partition = partition;
    proved->proof_bytes = curve_bn254.proof_bytes;
    proved->public_bytes = PUBLICS * CURVE_FR_BYTES;
    proved->proof = malloc(proved->proof_bytes);
    proved->publics = malloc(proved->public_bytes);
    memset(proved->proof, 0x40 + (int)partition, proved->proof_bytes);
    memset(proved->publics, 0x50, proved->public_bytes);
    proved->phases_us[PHASE_READ] = 7;
    return run(operation);
}

static int finish(uint64_t number, enum request_job_state state, const char *code, int64_t when_ms)
{
    struct journal_operation *operation = journal_operation_new(JOURNAL_END);
    operation->job.number = number;
    operation->job.state = state;
    operation->job.finished_ms = when_ms;
    operation->job.result_bytes = 100;
    strcpy(operation->job.error_code, code);
    return run(operation);
}

static int fetch(uint64_t number)
{
    struct journal_operation *operation = journal_operation_new(JOURNAL_FETCH);
    operation->job.number = number;
    return run(operation);
}

static struct journal_job loaded[8];
static uint32_t loaded_count;

static void on_loaded(void *context, struct journal_job *job)
{
    (void)context;
    loaded[loaded_count++] = *job;
}

static int load(void)
{
    loaded_count = 0;
    return journal_load_active(journal, on_loaded, NULL);
}

static void free_loaded(void)
{
    for (uint32_t i = 0; i < loaded_count; i++)
        journal_job_destroy(&loaded[i]);
    loaded_count = 0;
}

/* Something that is not the journal changes its file. */
static void execute(const char *text)
{
    sqlite3 *handle;
    ASSERT_INT(sqlite3_open(path, &handle), SQLITE_OK);
    ASSERT_INT(sqlite3_exec(handle, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(handle);
}

/* ---- cases ---- */

TEST(what_was_accepted_comes_back_with_its_inputs_and_proofs)
{
    struct journal_note note;
    struct stat status;
    set_up();
    start();
    ASSERT_INT(submit(5, "key", "witness"), 0);
    ASSERT_INT(submit(6, "", "other"), 0);
    ASSERT_INT(prove(5, 1), 0);
    stop();
    ASSERT_INT(stat(path, &status), 0);
    ASSERT_INT(status.st_mode & 0777, 0600);
    open_journal(&note);
    ASSERT_STR(note.text, "");
    ASSERT_INT(load(), 0);
    ASSERT_INT(loaded_count, 2);
    ASSERT_INT(loaded[0].number, 5);
    ASSERT_STR(loaded[0].client_key, "key");
    ASSERT_INT(loaded[0].partitions[0].is_proved, 0);
    ASSERT(memcmp(loaded[0].partitions[0].content, "witness", 7) == 0);
    ASSERT_INT(loaded[0].partitions[1].is_proved, 1);
    ASSERT_INT(loaded[0].partitions[1].proof[0], 0x41);
    ASSERT_INT(loaded[0].partitions[1].phases_us[PHASE_READ], 7);
    ASSERT_INT(loaded[1].number, 6);
    free_loaded();
    tear_down();
}

TEST(an_ended_job_gives_its_result_and_is_not_taken_up_again)
{
    struct journal_note note;
    struct journal_counts counts;
    set_up();
    start();
    submit(1, "", "w");
    prove(1, 0);
    prove(1, 1);
    ASSERT_INT(finish(1, REQUEST_JOB_DONE, "", 5000), 0);
    ASSERT_INT(fetch(1), 0);
    ASSERT_INT(seen.first_proof_byte, 0x40);
    ASSERT_INT(fetch(2), -ENOENT);
    stop();
    open_journal(&note);
    ASSERT_INT(load(), 0);
    ASSERT_INT(loaded_count, 0);
    journal_count(journal, &counts);
    ASSERT_INT(counts.finished_count, 1);
    ASSERT_INT(counts.finished_bytes, 100);
    ASSERT_INT(counts.last_number, 1);
    tear_down();
}

TEST(a_client_key_is_claimed_once)
{
    set_up();
    start();
    ASSERT_INT(submit(1, "k", "witness"), 0);
    ASSERT_INT(submit(2, "k", "witness"), -EEXIST);
    ASSERT_INT(seen.existing, 1);
    ASSERT(seen.is_same);
    ASSERT_INT(submit(3, "k", "other"), -EEXIST);
    ASSERT(!seen.is_same);
    ASSERT_INT(submit(4, "K", "other"), 0);
    ASSERT_INT(submit(5, "", "witness"), 0); /* no key, no claim */
    ASSERT_INT(submit(6, "", "witness"), 0);
    tear_down();
}

TEST(only_a_failure_that_is_not_the_inputs_frees_the_key)
{
    set_up();
    start();
    submit(1, "bad", "w");
    finish(1, REQUEST_JOB_FAILED, "bad_input", 1);
    ASSERT_INT(submit(2, "bad", "w"), -EEXIST);
    ASSERT_INT(seen.existing, 1);
    submit(3, "broke", "w");
    finish(3, REQUEST_JOB_FAILED, "failed", 1);
    ASSERT_INT(submit(4, "broke", "other"), -EEXIST); /* the key names an input */
    ASSERT(!seen.is_same);
    ASSERT_INT(submit(4, "broke", "w"), 0);
    submit(5, "gone", "w");
    finish(5, REQUEST_JOB_CANCELLED, "cancelled", 1);
    ASSERT_INT(submit(6, "gone", "w"), 0);
    submit(7, "done", "w");
    finish(7, REQUEST_JOB_DONE, "", 1);
    ASSERT_INT(submit(8, "done", "w"), -EEXIST);
    ASSERT_INT(seen.existing, 7);
    tear_down();
}

TEST(the_digest_covers_order_and_borders_of_inputs)
{
    struct journal_operation *a = submit_of(1, "", "x"), *b = submit_of(1, "", "x");
    struct journal_partition *parts = b->job.partitions;
    journal_job_digest(&a->job);
    journal_job_digest(&b->job);
    ASSERT(memcmp(a->job.digest, b->job.digest, JOURNAL_DIGEST_BYTES) == 0);
    ((char *)parts[1].content)[0] = 'y';
    journal_job_digest(&b->job);
    ASSERT(memcmp(a->job.digest, b->job.digest, JOURNAL_DIGEST_BYTES) != 0);
    memcpy(a->job.digest, b->job.digest, JOURNAL_DIGEST_BYTES);
    ((char *)parts[0].content)[0] = 'y';
    ((char *)parts[1].content)[0] = 'x';
    journal_job_digest(&b->job);
    ASSERT(memcmp(a->job.digest, b->job.digest, JOURNAL_DIGEST_BYTES) != 0);
    journal_operation_free(a);
    journal_operation_free(b);
}

TEST(old_results_go_and_young_ones_stay)
{
    set_up();
    start();
    for (uint64_t i = 1; i <= JOURNAL_EXPIRE_ROWS + 10; i++) {
        ASSERT_INT(submit(i, "", "w"), 0);
        finish(i, REQUEST_JOB_FAILED, "failed", (int64_t)i);
    }
    for (int round = 0; round < 2; round++) {
        struct journal_operation *operation = journal_operation_new(JOURNAL_EXPIRE);
        operation->cutoff_ms = operation->latest_ms = JOURNAL_EXPIRE_ROWS + 6;
        ASSERT_INT(run(operation), 0);
        ASSERT_INT(seen.expired, round == 0 ? JOURNAL_EXPIRE_ROWS : 5);
    }
    ASSERT_INT(fetch(1), -ENOENT);
    ASSERT_INT(fetch(JOURNAL_EXPIRE_ROWS + 5), -ENOENT);
    ASSERT_INT(fetch(JOURNAL_EXPIRE_ROWS + 6), 0);
    tear_down();
}

static uint32_t expire(int64_t cutoff_ms, int64_t now_ms)
{
    struct journal_operation *operation = journal_operation_new(JOURNAL_EXPIRE);
    operation->cutoff_ms = cutoff_ms;
    operation->latest_ms = now_ms;
    ASSERT_INT(run(operation), 0);
    return seen.expired;
}

TEST(results_of_a_clock_that_was_ahead_have_ended_when_it_is_set_back)
{
    const int64_t now_ms = 1000000, ahead_ms = now_ms + INT64_C(1000) * 3600 * 24 * 365 * 30;
    set_up();
    start();
    submit(1, "", "w");
    submit(2, "", "w");
    finish(1, REQUEST_JOB_FAILED, "failed", ahead_ms);
    finish(2, REQUEST_JOB_FAILED, "failed", now_ms + 10); /* no jump */
    ASSERT_INT(expire(1, now_ms), 0);
    ASSERT_INT(expire(now_ms + 1, now_ms + 5), 1);
    ASSERT_INT(fetch(1), -ENOENT);
    ASSERT_INT(fetch(2), 0);
    tear_down();
}

static bool file_holds(const char *file, const char *text)
{
    static char bytes[1 << 20];
    int fd = open(file, O_RDONLY);
    ssize_t got = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
    if (fd >= 0)
        close(fd);
    return got > 0 && memmem(bytes, (size_t)got, text, strlen(text));
}

TEST(a_witness_is_gone_from_the_disk_when_its_job_has_ended)
{
    char log[128];
    struct timespec pause = {.tv_nsec = 50000000};
    set_up();
    start();
    snprintf(log, sizeof log, "%s-wal", path);
    submit(1, "", "a-witness-nobody-may-see");
    ASSERT(file_holds(path, "nobody-may") || file_holds(log, "nobody-may"));
    finish(1, REQUEST_JOB_FAILED, "failed", 1);
    for (int i = 0; i < 200 && file_holds(log, "nobody-may"); i++)
        nanosleep(&pause, NULL);
    ASSERT(!file_holds(log, "nobody-may"));
    ASSERT(!file_holds(path, "nobody-may"));
    tear_down();
}

TEST(a_damaged_proof_is_refused_and_a_damaged_input_fails_its_job)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    prove(1, 0);
    prove(1, 1);
    finish(1, REQUEST_JOB_DONE, "", 1);
    submit(2, "", "w");
    submit(3, "", "w");
    submit(4, "", "w");
    stop();
    execute("UPDATE proof SET proof=zeroblob(256) WHERE id=(1<<7)+1;"
            "UPDATE input SET content=x'00' WHERE id=(2<<7);"
            "UPDATE job SET curve=77 WHERE number=3");
    open_journal(&note);
    ASSERT_INT(load(), 2);
    ASSERT_INT(loaded_count, 1);
    ASSERT_INT(loaded[0].number, 4);
    free_loaded();
    ASSERT_INT(journal_start(journal), 0);
    ASSERT_INT(fetch(1), -EBADMSG);
    ASSERT_INT(fetch(2), 0); /* failed, and says so */
    ASSERT_INT(fetch(4), 0);
    tear_down();
}

TEST(a_newer_schema_is_refused_and_left_alone)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    stop();
    execute("PRAGMA user_version=99");
    ASSERT_INT(journal_open(folder, &journal, &note), -EPROTONOSUPPORT);
    ASSERT(strstr(note.text, "newer cuzkd"));
    journal = NULL;
    execute("PRAGMA user_version=1");
    open_journal(&note);
    ASSERT_INT(load(), 0);
    ASSERT_INT(loaded_count, 1);
    free_loaded();
    tear_down();
}

TEST(an_empty_file_is_brought_up_to_date)
{
    struct journal_note note;
    set_up();
    close(open(path, O_CREAT | O_WRONLY, 0644));
    open_journal(&note);
    ASSERT_STR(note.text, "");
    ASSERT_INT(journal_start(journal), 0);
    ASSERT_INT(submit(1, "", "w"), 0);
    tear_down();
}

static void overwrite(off_t offset, size_t count)
{
    static const char junk[8192] = "not a database, and nothing like it";
    int fd = open(path, O_WRONLY);
    ASSERT(fd >= 0);
    ASSERT(pwrite(fd, junk, count, offset) == (ssize_t)count);
    close(fd);
}

static uint32_t files_set_aside(void)
{
    uint32_t count = 0;
    struct dirent *entry;
    DIR *dir = opendir(folder);
    while ((entry = readdir(dir)))
        count += strstr(entry->d_name, ".damaged-") && !strstr(entry->d_name, "-wal");
    closedir(dir);
    return count;
}

TEST(what_is_no_database_is_set_aside)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    stop();
    overwrite(0, 4096);
    open_journal(&note);
    ASSERT(note.is_set_aside);
    ASSERT(strstr(note.text, ".damaged-2"));
    ASSERT_INT(files_set_aside(), 1);
    ASSERT_INT(journal_start(journal), 0);
    ASSERT_INT(submit(1, "", "w"), 0);
    tear_down();
}

/* The page at the root of a table or index. */
static off_t page_of(const char *name)
{
    sqlite3 *handle;
    sqlite3_stmt *statement;
    char text[128];
    ASSERT_INT(sqlite3_open(path, &handle), SQLITE_OK);
    snprintf(text, sizeof text, "SELECT rootpage FROM sqlite_schema WHERE name='%s'", name);
    ASSERT_INT(sqlite3_prepare_v2(handle, text, -1, &statement, NULL), SQLITE_OK);
    ASSERT_INT(sqlite3_step(statement), SQLITE_ROW);
    off_t page = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
    return (page - 1) * 4096;
}

TEST(the_rest_of_a_torn_database_is_taken_over)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    prove(1, 0);
    prove(1, 1);
    finish(1, REQUEST_JOB_DONE, "", 1);
    submit(2, "k", "w");
    stop();
    overwrite(page_of("job_finished"), 4096); /* an index: every row can still be read */
    open_journal(&note);
    ASSERT(note.is_set_aside);
    ASSERT(strstr(note.text, "2 jobs of it are taken over"));
    ASSERT_INT(load(), 0);
    ASSERT_INT(loaded_count, 1);
    ASSERT_INT(loaded[0].number, 2);
    free_loaded();
    ASSERT_INT(journal_start(journal), 0);
    ASSERT_INT(fetch(1), 0);
    tear_down();
}

TEST(jobs_whose_inputs_are_torn_fail_and_the_rest_goes_on)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    prove(1, 0);
    prove(1, 1);
    finish(1, REQUEST_JOB_DONE, "", 1);
    submit(2, "k", "w");
    stop();
    overwrite(page_of("input"), 4096);
    open_journal(&note);
    int damaged = load();
    ASSERT(note.is_set_aside || damaged > 0 || damaged == -EBADMSG);
    free_loaded();
    tear_down();
}

static void name_of(char ret[128], const char *suffix)
{
    snprintf(ret, 128, "%s%s", path, suffix);
}

/* Two jobs, of which the index of ended ones is torn. */
static void make_torn(void)
{
    start();
    submit(1, "", "w");
    prove(1, 0);
    prove(1, 1);
    finish(1, REQUEST_JOB_DONE, "", 1);
    submit(2, "k", "w");
    stop();
    overwrite(page_of("job_finished"), 4096);
}

static void expect_both_jobs(void)
{
    ASSERT_INT(load(), 0);
    ASSERT_INT(loaded_count, 1);
    ASSERT_INT(loaded[0].number, 2);
    free_loaded();
    ASSERT_INT(journal_start(journal), 0);
    ASSERT_INT(fetch(1), 0);
}

TEST(a_crash_while_a_torn_database_is_read_loses_nothing)
{
    struct journal_note note;
    char file[128];
    set_up();
    make_torn();
    name_of(file, ".salvage"); /* half written */
    close(open(file, O_CREAT | O_WRONLY, 0600));
    open_journal(&note);
    ASSERT(strstr(note.text, "2 jobs of it are taken over"));
    ASSERT(access(file, F_OK) < 0);
    expect_both_jobs();
    tear_down();
}

TEST(a_crash_between_the_renames_loses_nothing)
{
    struct journal_note note;
    char whole[128], moved[128];
    for (int moved_count = 0; moved_count < 2; moved_count++) {
        set_up();
        make_torn();
        open_journal(&note);
        stop();
        name_of(whole, ".salvaged");
        ASSERT_INT(rename(path, whole), 0);
        name_of(moved, "-wal");
        close(open(moved_count ? moved : path, O_CREAT | O_WRONLY, 0600));
        open_journal(&note); /* what lay at its place is set aside too */
        expect_both_jobs();
        ASSERT(access(whole, F_OK) < 0);
        tear_down();
    }
}

TEST(a_damaged_database_stays_while_no_new_one_can_be_written)
{
    struct journal_note note;
    char file[128];
    set_up();
    make_torn();
    name_of(file, ".salvage");
    ASSERT_INT(mkdir(file, 0700), 0); /* in its way */
    ASSERT(journal_open(folder, &journal, &note) < 0);
    ASSERT(strstr(note.text, "damaged"));
    ASSERT_INT(files_set_aside(), 0);
    journal = NULL;
    ASSERT_INT(rmdir(file), 0);
    open_journal(&note);
    expect_both_jobs();
    tear_down();
}

static int version_of(struct database *database)
{
    sqlite3_stmt *statement;
    ASSERT_INT(sqlite3_prepare_v2(database->handle, "PRAGMA user_version", -1, &statement, NULL),
               SQLITE_OK);
    ASSERT_INT(sqlite3_step(statement), SQLITE_ROW);
    int version = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return version;
}

/* Versions that follow on this program's, as those of a later one would. */
static const char *const later_steps[] = {
    [JOURNAL_SCHEMA] = "SELECT no_such_function()", /* never run: the file has it */
    [JOURNAL_SCHEMA + 1] = "ALTER TABLE job ADD COLUMN note TEXT NOT NULL DEFAULT '-'",
    [JOURNAL_SCHEMA + 2] = "UPDATE job SET note='job ' || number; CREATE TABLE extra(a) STRICT",
    [JOURNAL_SCHEMA + 3] = "CREATE TABLE extra(a INTEGER) STRICT; UPDATE job SET note='step 3'",
};

TEST(an_older_schema_is_brought_up_step_by_step_with_its_rows)
{
    struct database database;
    set_up();
    start();
    submit(1, "k", "w");
    submit(2, "", "w");
    stop();
    /* The second step fails (a column without a type), and leaves the first one done. */
    ASSERT_INT(database_open(path, &database), 0);
    ASSERT(database_upgrade(&database, later_steps, JOURNAL_SCHEMA + 3) < 0);
    ASSERT_INT(version_of(&database), JOURNAL_SCHEMA + 1);
    ASSERT_INT(database_run(&database, "INSERT INTO job SELECT number+10, uid, NULL, digest,"
                                       " circuit, key_digest, curve, priority, durable, partitions,"
                                       " publics, admitted_ms, deadline_ms, finished_ms, state,"
                                       " error_code, error_text, error_partition, result_bytes,"
                                       " 'new' FROM job WHERE note='-'"),
               0);
    ASSERT_INT(sqlite3_changes(database.handle), 2); /* nothing of the failed step is there */
    /* Mended, it goes on from there, and does not do the first one again. */
    const char *const mended[] = {
        [JOURNAL_SCHEMA + 1] = later_steps[JOURNAL_SCHEMA],
        [JOURNAL_SCHEMA + 2] = "UPDATE job SET note='job ' || number WHERE note='-'",
        [JOURNAL_SCHEMA + 3] = later_steps[JOURNAL_SCHEMA + 3],
    };
    ASSERT_INT(database_upgrade(&database, mended, JOURNAL_SCHEMA + 3), 0);
    ASSERT_INT(version_of(&database), JOURNAL_SCHEMA + 3);
    ASSERT_INT(database_run(&database, "UPDATE job SET note='x' WHERE note='step 3'"), 0);
    ASSERT_INT(sqlite3_changes(database.handle), 4);
    ASSERT_INT(database_upgrade(&database, mended, JOURNAL_SCHEMA + 2), -EPROTONOSUPPORT);
    database_close(&database);
    tear_down();
}

/* What no cuzkd writes: from a hand with sqlite3. */
TEST(odd_rows_are_left_out_and_harm_no_other)
{
    struct journal_note note;
    struct journal_counts counts;
    set_up();
    start();
    for (uint64_t i = 1; i <= 5; i++)
        submit(i, "", "w");
    finish(4, REQUEST_JOB_FAILED, "failed", 1);
    finish(5, REQUEST_JOB_FAILED, "failed", 1);
    stop();
    execute("UPDATE job SET partitions=1000000 WHERE number=1;"
            "UPDATE job SET state=-5 WHERE number=2;"
            "UPDATE job SET state=99, result_bytes=0x7fffffffffffffff WHERE number=4;"
            "UPDATE job SET result_bytes=0x7fffffffffffffff WHERE number=5;"
            /* number << 7 wraps around to the inputs of job 3 */
            "INSERT INTO job SELECT (1<<57)+number, uid, 'x', digest, circuit, key_digest, 99,"
            " priority, durable, partitions, publics, admitted_ms, deadline_ms, finished_ms, state,"
            " error_code, error_text, error_partition, result_bytes FROM job WHERE number=3");
    for (int i = 0; i < 2; i++) {
        open_journal(&note);
        ASSERT_STR(note.text, "");
        journal_count(journal, &counts);
        ASSERT_INT(counts.last_number, 5);
        ASSERT(counts.finished_bytes < (UINT64_C(1) << 50));
        ASSERT_INT(load(), i == 0 ? 3 : 0);
        ASSERT_INT(loaded_count, 1);
        ASSERT_INT(loaded[0].number, 3);
        free_loaded();
        ASSERT_INT(journal_start(journal), 0);
        ASSERT_INT(fetch(3), 0);
        ASSERT_INT(fetch(4), -EBADMSG);
        ASSERT_INT(fetch(1), -EBADMSG);
        stop();
    }
    tear_down();
}

static void expect_replaced(void)
{
    struct journal_note note = {0};
    ASSERT(journal_take_note(journal, &note));
    ASSERT(note.is_set_aside);
    ASSERT(!journal_take_note(journal, &note));
    ASSERT_INT(journal_health(journal), JOURNAL_GOOD);
}

TEST(damage_that_shows_while_it_runs_is_set_aside_and_nothing_waiting_is_lost)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    submit(2, "k", "w");
    finish(2, REQUEST_JOB_FAILED, "bad_input", 1);
    stop();
    overwrite(page_of("input"), 4096); /* nothing that the start looks at */
    start();
    ASSERT_INT(prove(1, 0), -EBADMSG); /* not yet */
    int before = seen.count;
    while (seen.count == before) {
        struct pollfd bell = {.fd = journal_event_fd(journal), .events = POLLIN};
        ASSERT(poll(&bell, 1, 20000) == 1);
        journal_run(journal);
    }
    ASSERT_INT(seen.result, 0);
    expect_replaced();
    ASSERT_INT(files_set_aside(), 1);
    ASSERT_INT(prove(1, 1), 0);
    ASSERT_INT(finish(1, REQUEST_JOB_DONE, "", 1), 0);
    ASSERT_INT(submit(3, "", "w"), 0);
    ASSERT_INT(submit(4, "k", "w"), -EEXIST);
    ASSERT_INT(fetch(1), 0);
    ASSERT_INT(seen.first_proof_byte, 0x40);
    stop();
    open_journal(&note);
    ASSERT_STR(note.text, "");
    ASSERT_INT(load(), 0);
    ASSERT_INT(loaded_count, 1);
    free_loaded();
    tear_down();
}

TEST(a_damaged_record_does_not_set_the_journal_aside)
{
    struct journal_note note;
    set_up();
    start();
    submit(1, "", "w");
    finish(1, REQUEST_JOB_FAILED, "failed", 1);
    stop();
    execute("UPDATE job SET curve=77");
    start();
    ASSERT_INT(fetch(1), -EBADMSG);
    ASSERT_INT(submit(2, "", "w"), 0);
    ASSERT_INT(journal_health(journal), JOURNAL_GOOD);
    ASSERT(!journal_take_note(journal, &note));
    tear_down();
}

TEST(a_restart_in_mid_writing_loses_nothing_that_was_confirmed)
{
    char copy[64] = "/tmp/cuzkd-journal-XXXXXX", command[256];
    struct journal_note note;
    set_up();
    start();
    for (uint64_t i = 1; i <= 6; i++)
        submit(i, "", "w");
    /* What the disk would hold if the process died here; the write-ahead log torn at its end. */
    ASSERT(mkdtemp(copy));
    snprintf(command, sizeof command, "cp %s/journal.db* %s/ && truncate -s -100 %s/journal.db-wal",
             folder, copy, copy);
    ASSERT_INT(system(command), 0);
    tear_down();
    strcpy(folder, copy);
    snprintf(path, sizeof path, "%s/journal.db", folder);
    open_journal(&note);
    ASSERT_INT(load(), 0);
    ASSERT(loaded_count >= 5); /* the torn one at most */
    free_loaded();
    tear_down();
}

TEST(attempts_survive_and_a_torn_record_does_not)
{
    struct attempts attempts;
    struct slot slot = {.index = 3, .job = 9, .partition = 1, .attempts = 2};
    struct slot other = {.job = 9, .partition = 1};
    char file[128];
    set_up();
    strcpy(slot.last_fault, "killed by SIGKILL in msm_a of gpu-0");
    attempts_open(&attempts, folder);
    attempts_write(&attempts, &slot, OPERATION_PROVE);
    attempts_close(&attempts);
    attempts_open(&attempts, folder);
    attempts_restore(&attempts, &other);
    ASSERT_INT(other.attempts, 2);
    ASSERT(other.is_suspect);
    ASSERT_INT(other.suspected_in, OPERATION_PROVE);
    ASSERT_STR(other.last_fault, slot.last_fault);
    attempts_write(&attempts, &slot, OPERATION_NONE);
    attempts_close(&attempts);
    snprintf(file, sizeof file, "%s/attempts", folder);
    int fd = open(file, O_WRONLY);
    ASSERT(pwrite(fd, "x", 1, 3 * sizeof(struct attempts_record) + 20) == 1);
    close(fd);
    attempts_open(&attempts, folder);
    other = (struct slot){.job = 9, .partition = 1};
    attempts_restore(&attempts, &other);
    ASSERT_INT(other.attempts, 0);
    ASSERT(!other.is_suspect);
    attempts_close(&attempts);
    tear_down();
}

TEST(many_submits_share_a_transaction)
{
    enum {
        COUNT = 2000,
    };
    struct journal_figures figures;
    set_up();
    start();
    seen.count = 0;
    for (uint64_t i = 1; i <= COUNT; i++) {
        struct journal_operation *operation = submit_of(i, "", "w");
        operation->on_done = on_done;
        journal_push(journal, operation);
    }
    while (seen.count < COUNT) {
        struct pollfd bell = {.fd = journal_event_fd(journal), .events = POLLIN};
        ASSERT(poll(&bell, 1, 20000) == 1);
        journal_run(journal);
    }
    journal_figures(journal, &figures);
    ASSERT_INT(figures.operations, COUNT);
    ASSERT(figures.commits <= COUNT / 20);
    tear_down();
}

TEST_MAIN(CASE(what_was_accepted_comes_back_with_its_inputs_and_proofs),
          CASE(an_ended_job_gives_its_result_and_is_not_taken_up_again),
          CASE(a_client_key_is_claimed_once),
          CASE(only_a_failure_that_is_not_the_inputs_frees_the_key),
          CASE(the_digest_covers_order_and_borders_of_inputs),
          CASE(old_results_go_and_young_ones_stay),
          CASE(results_of_a_clock_that_was_ahead_have_ended_when_it_is_set_back),
          CASE(a_witness_is_gone_from_the_disk_when_its_job_has_ended),
          CASE(a_damaged_proof_is_refused_and_a_damaged_input_fails_its_job),
          CASE(a_newer_schema_is_refused_and_left_alone), CASE(an_empty_file_is_brought_up_to_date),
          CASE(what_is_no_database_is_set_aside), CASE(the_rest_of_a_torn_database_is_taken_over),
          CASE(jobs_whose_inputs_are_torn_fail_and_the_rest_goes_on),
          CASE(a_crash_while_a_torn_database_is_read_loses_nothing),
          CASE(a_crash_between_the_renames_loses_nothing),
          CASE(a_damaged_database_stays_while_no_new_one_can_be_written),
          CASE(an_older_schema_is_brought_up_step_by_step_with_its_rows),
          CASE(odd_rows_are_left_out_and_harm_no_other),
          CASE(damage_that_shows_while_it_runs_is_set_aside_and_nothing_waiting_is_lost),
          CASE(a_damaged_record_does_not_set_the_journal_aside),
          CASE(a_restart_in_mid_writing_loses_nothing_that_was_confirmed),
          CASE(attempts_survive_and_a_torn_record_does_not), CASE(many_submits_share_a_transaction))
