/* The journal's writer: see journal.h. Upstream: durable.c on the event loop; downstream:
 * journal_database.c, on the writer's thread. Two lists cross between the threads, `queued` and
 * `done`, under one mutex that is never held over a system call but the eventfd's. */
#include "supervisor/journal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/clock.h"
#include "supervisor/journal_database.h"
#include "supervisor/journal_salvage.h"

struct operations {
    struct journal_operation *first, *last;
    uint32_t count;
    size_t bytes;
};

struct journal {
    struct database database; /* the writer's, once it runs */
    char folder[PATH_BYTES_MAX], path[PATH_BYTES_MAX];
    int event_fd;
    pthread_t thread;
    bool is_started;

    pthread_mutex_t mutex;
    pthread_cond_t wake; /* on CLOCK_MONOTONIC */
    struct operations queued, done;
    bool is_closing;
    struct journal_note note; /* of a database that was replaced; until it is taken */

    atomic_int health; /* enum journal_health */
    atomic_uint_least64_t operation_count, commit_count, file_bytes;

    /* The writer's alone. */
    struct operations retained; /* what must be written and cannot be now */
    uint64_t space_checked_ns;
    int space;        /* 0, -ENOSPC, -EROFS or -ESTALE, at that time */
    bool has_deleted; /* the write-ahead log may hold deleted witnesses */
    uint32_t replace_count;
    uint64_t replaced_ns; /* when it was tried last; 0: never */
    bool has_told_failure;
};

static void *writer(void *argument);

/* ---- lists ---- */

static void append(struct operations *list, struct journal_operation *operation)
{
    operation->next = NULL;
    if (list->last)
        list->last->next = operation;
    else
        list->first = operation;
    list->last = operation;
    list->count++;
    list->bytes += operation->bytes;
}

static struct journal_operation *take_first(struct operations *list)
{
    struct journal_operation *operation = list->first;
    if (!operation)
        return NULL;
    list->first = operation->next;
    if (!list->first)
        list->last = NULL;
    list->count--;
    list->bytes -= operation->bytes;
    operation->next = NULL;
    return operation;
}

static void free_all(struct operations *list)
{
    for (struct journal_operation *operation; (operation = take_first(list));)
        journal_operation_free(operation);
}

struct journal_operation *journal_operation_new(enum journal_kind kind)
{
    struct journal_operation *operation = calloc(1, sizeof *operation);
    if (operation) {
        operation->kind = kind;
        operation->job.error_partition = UINT32_MAX;
    }
    return operation;
}

void journal_operation_free(struct journal_operation *operation)
{
    journal_job_destroy(&operation->job);
    free(operation->proved.proof);
    free(operation->proved.publics);
    free(operation);
}

static size_t bytes_of(const struct journal_operation *operation)
{
    size_t bytes =
        sizeof *operation + operation->proved.proof_bytes + operation->proved.public_bytes;
    for (uint32_t i = 0; operation->job.partitions && i < operation->job.partition_count; i++) {
        bytes += sizeof operation->job.partitions[i];
        bytes += operation->job.partitions[i].content ? operation->job.partitions[i].bytes : 0;
        bytes +=
            operation->job.partitions[i].proof_bytes + operation->job.partitions[i].public_bytes;
    }
    return bytes;
}

/* ---- open ---- */

static void __attribute__((format(printf, 2, 3)))
say(struct journal_note *note, const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(note->text);
    va_start(arguments, format);
    vsnprintf(note->text + used, sizeof note->text - used, format, arguments);
    va_end(arguments);
}

/* A damaged database makes way, and what can be read of it comes into the new one. */
static int replace(struct database *database, const char *path, struct journal_note *note)
{
    struct journal_salvage salvage;
    database_close(database);
    int r = journal_salvage_run(path, &salvage);
    if (r < 0) {
        say(note, "the journal %s is damaged, and no new one can be written beside it: %s", path,
            strerror(-r));
        return r;
    }
    note->is_set_aside = true;
    say(note,
        "the journal %s was damaged: it is set aside as %s, and %u jobs of it are taken over "
        "(%u with parts that cannot be read)%s%s",
        path, salvage.aside, salvage.taken, salvage.lost,
        salvage.reading < 0 ? "; reading it ended with: " : "",
        salvage.reading < 0 ? strerror(-salvage.reading) : "");
    return database_open(path, database);
}

/* Damage that shows at the places every start reads. */
static int open_database(struct database *database, const char *path, struct journal_note *note)
{
    struct journal_counts counts;
    uint64_t number;
    int r = journal_salvage_settle(path);
    if (r == 0)
        r = database_open(path, database);
    if (r == 0)
        r = database_counts(database, &counts);
    if (r == 0)
        r = database_next_active(database, 0, &number);
    if (r == -EBADMSG)
        return replace(database, path, note);
    if (r == -EPROTONOSUPPORT)
        say(note,
            "the journal %s was written by a newer cuzkd (its schema is above %d): start that "
            "version again, or move the file away, which gives up the jobs in it",
            path, JOURNAL_SCHEMA);
    else if (r < 0)
        say(note, "cannot open the journal %s: %s%s", path, strerror(-r),
            r == -EBUSY ? " (another process has it open)" : "");
    return r;
}

int journal_open(const char *folder, struct journal **ret, struct journal_note *ret_note)
{
    pthread_condattr_t attributes;
    *ret_note = (struct journal_note){0};
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return -ENOMEM;
    pthread_mutex_init(&journal->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&journal->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    snprintf(journal->folder, sizeof journal->folder, "%s", folder);
    snprintf(journal->path, sizeof journal->path, "%.*s/journal.db", PATH_BYTES_MAX - 64, folder);
    journal->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = journal->event_fd < 0 ? -errno : 0;
    if (r == 0)
        r = open_database(&journal->database, journal->path, ret_note);
    if (r < 0) {
        journal_close(journal);
        return r;
    }
    atomic_store(&journal->file_bytes, database_bytes(&journal->database));
    *ret = journal;
    return 0;
}

void journal_count(const struct journal *journal, struct journal_counts *ret)
{
    struct journal *mutable = (struct journal *)journal;
    if (database_counts(&mutable->database, ret) < 0)
        *ret = (struct journal_counts){0};
}

/* A record that cannot be believed keeps its place and says why. */
static int fail_damaged(struct journal *journal, uint64_t number)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct journal_job end = {
        .number = number,
        .state = REQUEST_JOB_FAILED,
        .error_code = "failed",
        .error_text = "its record in the journal is damaged; submit it again",
        .error_partition = UINT32_MAX,
        .finished_ms = (int64_t)now.tv_sec * 1000,
    };
    int r = database_begin(&journal->database);
    if (r == 0)
        r = database_end(&journal->database, &end);
    if (r == 0)
        r = database_commit(&journal->database);
    database_rollback(&journal->database);
    return r;
}

int journal_load_active(struct journal *journal,
                        void (*on_job)(void *context, struct journal_job *job), void *context)
{
    uint64_t number = 0;
    int damaged = 0, r;
    CHECK(!journal->is_started);
    while ((r = database_next_active(&journal->database, number, &number)) == 0 && number) {
        struct journal_job job = {.number = number};
        bool is_damaged = false;
        r = database_read(&journal->database, &job, true, &is_damaged);
        if (r == 0) {
            on_job(context, &job);
            continue;
        }
        journal_job_destroy(&job);
        if (!is_damaged)
            return r;
        damaged++;
        r = fail_damaged(journal, number);
        if (r < 0 && r != -ENOSPC && r != -EROFS) /* then the next start does it */
            return r;
    }
    return r < 0 ? r : damaged;
}

int journal_load_recent(struct journal *journal, uint32_t count,
                        void (*on_job)(void *context, struct journal_job *job), void *context)
{
    uint64_t *numbers = calloc(count, sizeof numbers[0]);
    if (!numbers)
        return -ENOMEM;
    int found = database_newest(&journal->database, numbers, count);
    for (int i = found; i-- > 0;) {
        struct journal_job job = {.number = numbers[i]};
        bool is_damaged;
        if (database_read(&journal->database, &job, false, &is_damaged) == 0)
            on_job(context, &job);
    }
    free(numbers);
    return found;
}

int journal_start(struct journal *journal)
{
    sigset_t all, before;
    sigfillset(&all);
    /* Signals are for the main thread's signalfd. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&journal->thread, NULL, writer, journal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    journal->is_started = error == 0;
    return -error;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->is_started) {
        pthread_mutex_lock(&journal->mutex);
        journal->is_closing = true;
        pthread_cond_signal(&journal->wake);
        pthread_mutex_unlock(&journal->mutex);
        pthread_join(journal->thread, NULL);
    }
    free_all(&journal->queued);
    free_all(&journal->retained);
    free_all(&journal->done);
    database_close(&journal->database);
    if (journal->event_fd >= 0)
        close(journal->event_fd);
    pthread_cond_destroy(&journal->wake);
    pthread_mutex_destroy(&journal->mutex);
    free(journal);
}

/* ---- the loop's side ---- */

void journal_push(struct journal *journal, struct journal_operation *operation)
{
    operation->bytes = bytes_of(operation);
    pthread_mutex_lock(&journal->mutex);
    append(&journal->queued, operation);
    if (journal->queued.count == 1)
        pthread_cond_signal(&journal->wake);
    pthread_mutex_unlock(&journal->mutex);
}

bool journal_has_room(const struct journal *journal)
{
    struct journal *mutable = (struct journal *)journal;
    pthread_mutex_lock(&mutable->mutex);
    bool has_room = journal->queued.count < JOURNAL_QUEUE_OPERATIONS_MAX &&
                    journal->queued.bytes < (size_t)JOURNAL_QUEUE_MIB_MAX << 20;
    pthread_mutex_unlock(&mutable->mutex);
    return has_room;
}

enum journal_health journal_health(const struct journal *journal)
{
    return (enum journal_health)atomic_load(&journal->health);
}

const char *journal_health_to_string(enum journal_health health)
{
    switch (health) {
    case JOURNAL_GOOD:
        return "good";
    case JOURNAL_UNWRITABLE:
        return "unwritable";
    case JOURNAL_MOVED:
        return "moved";
    case JOURNAL_BROKEN:
        return "damaged";
    }
    return "?";
}

bool journal_take_note(struct journal *journal, struct journal_note *ret)
{
    pthread_mutex_lock(&journal->mutex);
    *ret = journal->note;
    journal->note = (struct journal_note){0};
    pthread_mutex_unlock(&journal->mutex);
    return ret->text[0] != '\0';
}

int journal_event_fd(const struct journal *journal)
{
    return journal->event_fd;
}

void journal_run(struct journal *journal)
{
    struct operations done;
    uint64_t bell;
    if (read(journal->event_fd, &bell, sizeof bell) < 0 && errno != EAGAIN)
        CHECK(errno == EINTR);
    pthread_mutex_lock(&journal->mutex);
    done = journal->done;
    journal->done = (struct operations){0};
    if (done.bytes > (size_t)JOURNAL_FETCHED_MIB_MAX << 20)
        pthread_cond_signal(&journal->wake);
    pthread_mutex_unlock(&journal->mutex);
    for (struct journal_operation *operation; (operation = take_first(&done));) {
        if (operation->on_done)
            operation->on_done(operation, operation->result);
        journal_operation_free(operation);
    }
}

void journal_figures(const struct journal *journal, struct journal_figures *ret)
{
    struct journal *mutable = (struct journal *)journal;
    pthread_mutex_lock(&mutable->mutex);
    ret->queued = journal->queued.count;
    pthread_mutex_unlock(&mutable->mutex);
    ret->operations = atomic_load(&journal->operation_count);
    ret->commits = atomic_load(&journal->commit_count);
    ret->bytes = atomic_load(&journal->file_bytes);
}

/* ---- the writer's side ---- */

static bool must_be_written(const struct journal_operation *operation)
{
    return operation->kind == JOURNAL_PROVED || operation->kind == JOURNAL_END ||
           operation->kind == JOURNAL_FORGET;
}

static int perform(struct journal *journal, struct journal_operation *operation)
{
    struct database *database = &journal->database;
    switch (operation->kind) {
    case JOURNAL_SUBMIT:
        journal_job_digest(&operation->job);
        return database_submit(database, operation);
    case JOURNAL_PROVED:
        journal->has_deleted = true;
        return database_proved(database, operation);
    case JOURNAL_END:
        journal->has_deleted = true;
        return database_end(database, &operation->job);
    case JOURNAL_FETCH:
        return database_read(database, &operation->job, true, &operation->is_record_damaged);
    case JOURNAL_EXPIRE:
        return database_expire(database, operation);
    case JOURNAL_FORGET:
        return database_forget(database, operation->job.number);
    case JOURNAL_CALL:
        return operation->call(operation);
    }
    return -EINVAL;
}

/* An outcome that says something of this operation only, not of the database. */
static bool is_outcome(const struct journal_operation *operation, int r)
{
    return r == -EEXIST || r == -ENOENT || operation->kind == JOURNAL_CALL ||
           (operation->is_record_damaged && r == -EBADMSG);
}

static void tell(struct journal *journal, struct operations *ended)
{
    static const uint64_t one = 1;
    if (ended->count == 0)
        return;
    pthread_mutex_lock(&journal->mutex);
    for (struct journal_operation *operation; (operation = take_first(ended));) {
        operation->bytes = bytes_of(operation); /* with what was read */
        append(&journal->done, operation);
    }
    pthread_mutex_unlock(&journal->mutex);
    if (write(journal->event_fd, &one, sizeof one) < 0)
        CHECK(errno == EAGAIN); /* it is rung already */
}

/* The first time that a record waits for the disk, its owner hears of it by a copy. */
static void tell_delay(struct operations *ended, struct journal_operation *operation, int result)
{
    if (operation->has_been_told || !operation->on_done)
        return;
    struct journal_operation *word = journal_operation_new(operation->kind);
    if (!word)
        return;
    word->job.number = operation->job.number;
    word->context = operation->context;
    word->on_done = operation->on_done;
    word->result = result;
    append(ended, word);
    operation->has_been_told = true;
}

/* One transaction over the list; what it leaves on failure is as if nothing had been done. */
static int run_batch(struct journal *journal, struct operations *batch)
{
    bool has_begun = false;
    int r = journal->database.handle ? 0 : -EBADMSG; /* it could not be replaced so far */
    for (struct journal_operation *operation = batch->first; r == 0 && operation;
         operation = operation->next) {
        bool needs = operation->kind != JOURNAL_CALL && operation->kind != JOURNAL_FETCH;
        if (needs && !has_begun) {
            r = database_is_in_place(&journal->database) ? 0 : -ESTALE;
            if (r == 0)
                r = database_begin(&journal->database);
            has_begun = r == 0;
        }
        if (r == 0)
            r = operation->result = perform(journal, operation);
        if (is_outcome(operation, r))
            r = 0;
    }
    if (r == 0 && has_begun) {
        r = database_commit(&journal->database);
        atomic_fetch_add_explicit(&journal->commit_count, r == 0, memory_order_relaxed);
    }
    if (r < 0)
        database_rollback(&journal->database);
    return r;
}

static void set_health(struct journal *journal, int r)
{
    r = r == 0 ? journal->space : r;
    /* Damage does not heal: replace_damaged ends it. */
    if (atomic_load(&journal->health) != JOURNAL_BROKEN)
        atomic_store(&journal->health, r == 0          ? JOURNAL_GOOD
                                       : r == -EBADMSG ? JOURNAL_BROKEN
                                       : r == -ESTALE  ? JOURNAL_MOVED
                                                       : JOURNAL_UNWRITABLE);
}

/* Of a batch that cannot be written: what must be is kept, the rest is refused. */
static void retain(struct journal *journal, struct operations *batch, int r)
{
    struct operations ended = {0};
    for (struct journal_operation *operation; (operation = take_first(batch));) {
        if (must_be_written(operation)) {
            tell_delay(&ended, operation, r);
            append(&journal->retained, operation);
        } else {
            operation->result = r;
            operation->is_final = true;
            append(&ended, operation);
        }
    }
    tell(journal, &ended);
}

/* All at once, or where that fails for a reason that may lie with one of them, one by one. */
static void write_batch(struct journal *journal, struct operations *batch)
{
    int r = run_batch(journal, batch);
    if (r < 0 && r != -ENOSPC && r != -ESTALE && batch->count > 1) {
        struct operations rest = *batch;
        *batch = (struct operations){0};
        for (struct journal_operation *operation; (operation = take_first(&rest));) {
            struct operations one = {0};
            append(&one, operation);
            write_batch(journal, &one);
        }
        return;
    }
    set_health(journal, r);
    if (r < 0) {
        retain(journal, batch, r);
        return;
    }
    atomic_fetch_add_explicit(&journal->operation_count, batch->count, memory_order_relaxed);
    for (struct journal_operation *operation = batch->first; operation; operation = operation->next)
        operation->is_final = true;
    tell(journal, batch);
}

/* Space is looked at ahead of need: the results of accepted jobs are to find some. */
static void check_space(struct journal *journal)
{
    struct statvfs space;
    journal->space_checked_ns = clock_now_ns();
    atomic_store(&journal->file_bytes, database_bytes(&journal->database));
    bool is_known = statvfs(journal->folder, &space) == 0;
    bool is_short =
        is_known && (uint64_t)space.f_bavail * space.f_frsize < (uint64_t)JOURNAL_RESERVE_MIB << 20;
    bool is_read_only = is_known && (space.f_flag & ST_RDONLY);
    bool is_moved = journal->database.handle && !database_is_in_place(&journal->database);
    journal->space = is_moved ? -ESTALE : is_read_only ? -EROFS : is_short ? -ENOSPC : 0;
}

/* A database that shows its damage while jobs run makes way as at a start; what waits is written to
 * the new one. Not for ever: a disk that goes on damaging it would be filled with old ones. */
static void replace_damaged(struct journal *journal)
{
    struct journal_note note = {0};
    uint64_t now_ns = clock_now_ns();
    if (atomic_load(&journal->health) != JOURNAL_BROKEN ||
        journal->replace_count >= JOURNAL_REPLACES_MAX ||
        (journal->replaced_ns &&
         now_ns - journal->replaced_ns < JOURNAL_REPLACE_MS * UINT64_C(1000000)))
        return;
    journal->replaced_ns = now_ns;
    int r = replace(&journal->database, journal->path, &note);
    bool is_news = r == 0 || !journal->has_told_failure;
    journal->has_told_failure = r < 0;
    if (is_news) {
        pthread_mutex_lock(&journal->mutex);
        journal->note = note;
        pthread_mutex_unlock(&journal->mutex);
    }
    if (r < 0) {
        database_close(&journal->database); /* tried again */
        return;
    }
    journal->replace_count++;
    atomic_store(&journal->health, JOURNAL_GOOD);
}

/* What has waited for the disk, in its order, before anything newer. */
static void retry_retained(struct journal *journal)
{
    while (journal->retained.first) {
        struct operations one = {0};
        append(&one, take_first(&journal->retained));
        int r = run_batch(journal, &one);
        if (r < 0) {
            struct operations rest = journal->retained;
            set_health(journal, r);
            journal->retained = one;
            for (struct journal_operation *operation; (operation = take_first(&rest));)
                append(&journal->retained, operation);
            return;
        }
        one.first->is_final = true;
        tell(journal, &one);
    }
}

/* Moves what one transaction takes, and what is looked up behind it. False: closing, and nothing is
 * left. */
static bool next_batch(struct journal *journal, struct operations *batch,
                       struct operations *fetches)
{
    struct timespec until;
    pthread_mutex_lock(&journal->mutex);
    if (journal->queued.count == 0 && !journal->is_closing) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)JOURNAL_RETRY_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&journal->wake, &journal->mutex, &until);
    }
    bool is_last = journal->is_closing && journal->queued.count == 0;
    while (journal->queued.first && batch->count < JOURNAL_BATCH_OPERATIONS_MAX &&
           batch->bytes < (size_t)JOURNAL_BATCH_MIB_MAX << 20) {
        struct journal_operation *operation = take_first(&journal->queued);
        append(operation->kind == JOURNAL_FETCH ? fetches : batch, operation);
    }
    pthread_mutex_unlock(&journal->mutex);
    return !is_last;
}

/* While something waits for the disk, what is to be written lines up behind it. */
static void read_only(struct journal *journal, struct operations *batch)
{
    struct operations rest = *batch;
    const int why = journal->space ? journal->space : -ENOSPC;
    *batch = (struct operations){0};
    for (struct journal_operation *operation; (operation = take_first(&rest));) {
        struct operations one = {0};
        append(&one, operation);
        if (operation->kind == JOURNAL_FETCH || operation->kind == JOURNAL_CALL)
            write_batch(journal, &one);
        else
            retain(journal, &one, why);
    }
    set_health(journal, why);
}

/* Results may be large: the next is read when the loop has taken those before. The loop never waits
 * for this thread but at the end. */
static void wait_for_loop(struct journal *journal)
{
    struct timespec until;
    pthread_mutex_lock(&journal->mutex);
    while (journal->done.bytes > (size_t)JOURNAL_FETCHED_MIB_MAX << 20 && !journal->is_closing) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&journal->wake, &journal->mutex, &until);
    }
    pthread_mutex_unlock(&journal->mutex);
}

static void look_up(struct journal *journal, struct operations *fetches)
{
    for (struct journal_operation *operation; (operation = take_first(fetches));) {
        struct operations one = {0};
        wait_for_loop(journal);
        append(&one, operation);
        write_batch(journal, &one);
    }
}

static void *writer(void *argument)
{
    struct journal *journal = argument;
    struct operations batch = {0}, fetches = {0};
    while (next_batch(journal, &batch, &fetches)) {
        bool is_idle = batch.count + fetches.count == 0;
        if (clock_now_ns() - journal->space_checked_ns > JOURNAL_RETRY_MS * UINT64_C(1000000)) {
            check_space(journal);
            replace_damaged(journal);
            set_health(journal, 0);
            retry_retained(journal);
        }
        if (is_idle && journal->has_deleted && journal->retained.count == 0)
            journal->has_deleted = database_truncate_log(&journal->database) < 0;
        if (is_idle)
            continue;
        if (journal->retained.count > 0)
            read_only(journal, &batch);
        else if (batch.count > 0)
            write_batch(journal, &batch);
        look_up(journal, &fetches);
    }
    replace_damaged(journal);
    retry_retained(journal);
    return NULL;
}
