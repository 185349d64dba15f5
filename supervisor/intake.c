/* Clients' files on their way into the spool: see intake.h. */
#include "supervisor/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/clock.h"
#include "runtime/close_later.h"
#include "runtime/log.h"
#include "runtime/vault.h"
#include "supervisor/input_file.h"
#include "supervisor/programs.h"
#include "supervisor/supervisor.h"

enum {
    /* One order to a process at a time; one that never stops talking holds up nothing else. */
    INTAKE_PACKETS_A_TURN = 64,
    INTAKE_END_MS = 1000, /* for all to die when the supervisor ends */
};

enum intake_file_state {
    INTAKE_FILE_WAITING, /* its descriptor is a vault */
    INTAKE_FILE_COPYING, /* the same, for another try */
    INTAKE_FILE_COPIED,  /* files[].fd is open, the vault is gone */
};

static void on_socket(struct loop_watch *watch, uint32_t events);
static void on_death(struct loop_watch *watch, uint32_t events);
static void batch_end(struct supervisor *supervisor, struct intake_batch *batch, int result,
                      const char *why);

/* For a file's next piece. */
static uint64_t piece_deadline(const struct supervisor *supervisor, uint32_t phase)
{
    return supervisor->now_ns + (phase == INTAKE_SYNCING ? INTAKE_SYNCING_MS * UINT64_C(1000000)
                                                         : supervisor->config.intake_timeout_ns);
}

static uint64_t after(const struct supervisor *supervisor, uint32_t ms)
{
    return supervisor->now_ns + ms * UINT64_C(1000000);
}

/* ---- batches ---- */

static void batch_unlink(struct intake *intake, struct intake_batch *batch)
{
    *(batch->previous ? &batch->previous->next : &intake->first) = batch->next;
    *(batch->next ? &batch->next->previous : &intake->last) = batch->previous;
    batch->next = batch->previous = NULL;
}

/* The descriptors become vaults. What went wrong is told by the next tick. */
void intake_start(struct supervisor *supervisor, struct intake_batch *batch)
{
    struct intake *intake = &supervisor->intake;
    char why[256];
    CHECK(batch->count > 0 && batch->count <= JOB_PARTITIONS_MAX && batch->on_done);
    memset(batch->states, INTAKE_FILE_WAITING, sizeof batch->states);
    memset(batch->tries, 0, sizeof batch->tries);
    batch->waiting_count = batch->count;
    batch->copying_count = 0;
    batch->pending_bytes = 0;
    batch->start_error = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct intake_file *file = &batch->files[i];
        if (file->bytes == 0 &&
            input_file_check(batch->descriptors[i], UINT64_MAX, &file->bytes, why, sizeof why) < 0)
            batch->start_error = -EBADMSG;
        file->fd = -1;
        batch->pending_bytes += file->bytes;
        batch->descriptors[i] = vault_put(batch->descriptors[i]);
        if (batch->descriptors[i] < 0 && batch->start_error == 0)
            batch->start_error = batch->descriptors[i];
    }
    spool_reserve(supervisor, batch->pending_bytes);
    batch->next = NULL;
    batch->previous = intake->last;
    *(intake->last ? &intake->last->next : &intake->first) = batch;
    intake->last = batch;
}

static bool is_under_way(const struct intake *intake, const struct intake_batch *batch)
{
    for (const struct intake_batch *other = intake->first; other; other = other->next) {
        if (other == batch)
            return true;
    }
    return false;
}

static void worker_kill(struct intake_worker *worker)
{
    worker->state = INTAKE_DOOMED;
    worker->batch = NULL;
    worker->deadline_ns = after(worker->supervisor, INTAKE_LOST_MS);
    child_kill(&worker->child, SIGKILL);
}

/* Takes the batch out of everything. Unless it has become good, nothing of it stays. */
static void batch_dissolve(struct supervisor *supervisor, struct intake_batch *batch, bool is_good)
{
    struct intake *intake = &supervisor->intake;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        if (intake->workers[i].batch == batch)
            worker_kill(&intake->workers[i]); /* its file is removed when it is dead */
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        close_later(batch->descriptors[i]);
        batch->descriptors[i] = -1;
        if (batch->states[i] != INTAKE_FILE_COPIED || is_good)
            continue;
        close(batch->files[i].fd);
        batch->files[i].fd = -1;
        spool_file_remove(supervisor, batch->job, batch->partitions[i], true);
    }
    spool_release(supervisor, batch->pending_bytes);
    batch->pending_bytes = 0;
    batch_unlink(intake, batch);
}

static void batch_end(struct supervisor *supervisor, struct intake_batch *batch, int result,
                      const char *why)
{
    batch_dissolve(supervisor, batch, result == 0);
    batch->on_done(batch, result, why);
}

void intake_cancel(struct supervisor *supervisor, struct intake_batch *batch)
{
    if (is_under_way(&supervisor->intake, batch))
        batch_dissolve(supervisor, batch, false);
}

/* ---- processes ---- */

static void take_apart(struct intake_worker *worker)
{
    struct loop *loop = worker->supervisor->loop;
    if (worker->socket_watch.on_ready)
        loop_remove(loop, &worker->socket_watch);
    if (worker->death_watch.on_ready)
        loop_remove(loop, &worker->death_watch);
    worker->socket_watch = worker->death_watch = (struct loop_watch){0};
    child_destroy(&worker->child);
    if (worker->socket >= 0)
        close(worker->socket);
    worker->socket = -1;
    worker->batch = NULL;
    worker->is_lost = false;
    worker->asked = worker->progress = (struct intake_packet){0};
    worker->deadline_ns = UINT64_MAX;
    worker->state = INTAKE_DOWN;
}

static int start(struct intake_worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    char parent[16];
    int ends[2];
    int r = intake_socket_create(ends);
    if (r < 0)
        return r;
    worker->socket = ends[0];
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    char *sandbox = (char *)sandbox_policy_to_string(supervisor->config.sandbox);
    char *argv[] = {"cuzk-intake", "--parent-pid", parent, "--sandbox", sandbox, NULL};
    const struct child_fd fds[] = {{ends[1], INTAKE_FD_SOCKET},
                                   {supervisor->spool.folder, INTAKE_FD_FOLDER}};
    struct cgroup cgroup; /* all of them share it: the pages of what they copy are counted there */
    cgroup_open(&supervisor->cgroups, "intake", &cgroup);
    r = child_spawn(&(struct child_spec){.path = supervisor->intake.path,
                                         .argv = argv,
                                         .envp = supervisor->intake.environment,
                                         .fds = fds,
                                         .fd_count = sizeof fds / sizeof fds[0],
                                         .oom_score_adj = 200,
                                         .cgroup_fd = cgroup.procs_fd,
                                         .no_core = true},
                    &worker->child);
    cgroup_close(&cgroup);
    close(ends[1]);
    if (r < 0)
        return r;
    worker->socket_watch =
        (struct loop_watch){.fd = worker->socket, .events = POLLIN, .on_ready = on_socket};
    worker->death_watch =
        (struct loop_watch){.fd = worker->child.pidfd, .events = POLLIN, .on_ready = on_death};
    r = loop_add(supervisor->loop, &worker->socket_watch);
    if (r < 0)
        worker->socket_watch.on_ready = NULL;
    else
        r = loop_add(supervisor->loop, &worker->death_watch);
    if (r < 0)
        worker->death_watch.on_ready = NULL;
    return r;
}

/* One that could not be started, or died by itself. */
static void start_later(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    intake->start_at_ns = after(supervisor, intake->backoff_ms);
    intake->backoff_ms = intake->backoff_ms ? 2 * intake->backoff_ms : INTAKE_BACKOFF_FIRST_MS;
    if (intake->backoff_ms > INTAKE_BACKOFF_MAX_MS)
        intake->backoff_ms = INTAKE_BACKOFF_MAX_MS;
}

/* After several failures nobody is kept waiting any more; starting goes on. */
static void start_failed(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    char why[sizeof intake->last_error + 64];
    start_later(supervisor);
    if (++intake->start_failures < INTAKE_START_FAILURES_MAX)
        return;
    snprintf(why, sizeof why, "cuzk-intake cannot be started: %s", intake->last_error);
    for (struct intake_batch *batch = intake->first, *next; batch; batch = next) {
        next = batch->next;
        batch_end(supervisor, batch, -EIO, why);
        if (next && !is_under_way(intake, next))
            next = intake->first; /* on_done has cancelled it */
    }
}

static void worker_start(struct intake_worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    struct intake *intake = &supervisor->intake;
    int r = start(worker);
    if (r == 0) {
        worker->state = INTAKE_STARTING;
        worker->deadline_ns = after(supervisor, INTAKE_START_MS);
        return;
    }
    take_apart(worker);
    snprintf(intake->last_error, sizeof intake->last_error, "%s", strerror(-r));
    log_error("cannot start %s: %s; trying again in %u ms", intake->path, strerror(-r),
              intake->backoff_ms);
    start_failed(supervisor);
}

int intake_init(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        struct intake_worker *worker = &intake->workers[i];
        *worker = (struct intake_worker){
            .supervisor = supervisor, .child.pidfd = -1, .socket = -1, .deadline_ns = UINT64_MAX};
    }
    if (!intake->path)
        intake->path = programs_find_one("cuzk-intake", "/../intake");
    if (!intake->path)
        return -ENOENT;
    intake->environment = programs_environment();
    if (!intake->environment)
        return -ENOMEM;
    worker_start(&intake->workers[0]);
    return 0;
}

/* Kills all at once, and waits a moment for their death. One that the kernel keeps is left. */
static void kill_all(struct intake *intake)
{
    const uint64_t until_ns = clock_now_ns() + INTAKE_END_MS * UINT64_C(1000000);
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        if (intake->workers[i].state != INTAKE_DOWN)
            child_kill(&intake->workers[i].child, SIGKILL);
    }
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        struct intake_worker *worker = &intake->workers[i];
        struct pollfd death = {.fd = worker->child.pidfd, .events = POLLIN};
        uint64_t now_ns = clock_now_ns();
        int left_ms = until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
        if (worker->state == INTAKE_DOWN)
            continue;
        if (worker->child.pid && poll(&death, 1, left_ms) == 0)
            child_abandon(&worker->child);
        take_apart(worker);
    }
}

void intake_destroy(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    kill_all(intake);
    while (intake->first)
        batch_dissolve(supervisor, intake->first, false);
    free(intake->environment);
    free(intake->path);
    *intake = (struct intake){0};
}

/* ---- which file next ---- */

/* Processes at the files of a uid; those that were killed over one are, until they are dead. */
static uint32_t count_of_user(const struct intake *intake, uid_t uid, bool only_lost)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        const struct intake_worker *worker = &intake->workers[i];
        bool counts =
            worker->is_lost ||
            (!only_lost && (worker->state == INTAKE_AT_WORK || worker->state == INTAKE_DOOMED));
        count += counts && worker->asked.kind == INTAKE_COPY && worker->uid == uid;
    }
    return count;
}

/* All but those that have been killed. */
static uint32_t count_active(const struct intake *intake)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++)
        count +=
            intake->workers[i].state != INTAKE_DOWN && intake->workers[i].state != INTAKE_DOOMED;
    return count;
}

/* Of those whose uid may have one more: the one with the fewest files under way, so that a small
 * job does not wait for all files of a large one; then the oldest. */
static struct intake_batch *next_batch(const struct intake *intake)
{
    struct intake_batch *best = NULL;
    for (struct intake_batch *batch = intake->first; batch; batch = batch->next) {
        if (batch->waiting_count == 0 || batch->start_error < 0 ||
            count_of_user(intake, batch->uid, false) >= INTAKE_USER_MAX)
            continue;
        if (!best || batch->copying_count < best->copying_count)
            best = batch;
        if (best->copying_count == 0)
            break;
    }
    return best;
}

static uint32_t first_waiting(const struct intake_batch *batch)
{
    uint32_t i = 0;
    while (batch->states[i] != INTAKE_FILE_WAITING)
        i++;
    return i;
}

static void order(struct intake_worker *worker, struct intake_batch *batch)
{
    struct supervisor *supervisor = worker->supervisor;
    uint32_t i = first_waiting(batch);
    int fd = vault_open(batch->descriptors[i]);
    if (fd < 0) {
        batch_end(supervisor, batch, fd, "no descriptor is free");
        return;
    }
    worker->asked = (struct intake_packet){
        .abi = INTAKE_PACKET_ABI,
        .kind = INTAKE_COPY,
        .ticket = ++supervisor->intake.tickets,
        .job = batch->job,
        .partition = batch->partitions[i],
        .bytes = batch->files[i].bytes,
    };
    worker->progress = worker->asked;
    worker->progress.bytes = 0;
    int r = intake_packet_send(worker->socket, &worker->asked, fd);
    close_later(fd);
    if (r == -EAGAIN) { /* too many descriptors are on their way */
        batch_end(supervisor, batch, r, "too many files are on their way");
        return;
    }
    if (r < 0)
        return; /* its end is closed: the notice of its death is on the way */
    worker->state = INTAKE_AT_WORK;
    worker->batch = batch;
    worker->uid = batch->uid;
    worker->file = i;
    worker->deadline_ns = piece_deadline(supervisor, INTAKE_COPYING);
    batch->states[i] = INTAKE_FILE_COPYING;
    batch->tries[i]++;
    batch->waiting_count--;
    batch->copying_count++;
}

static struct intake_worker *find_state(struct intake *intake, enum intake_worker_state state)
{
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        if (intake->workers[i].state == state)
            return &intake->workers[i];
    }
    return NULL;
}

static uint32_t count_state(const struct intake *intake, enum intake_worker_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++)
        count += intake->workers[i].state == state;
    return count;
}

static void orders_run(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        struct intake_worker *worker = &intake->workers[i];
        struct intake_batch *batch;
        while (worker->state == INTAKE_IDLE && (batch = next_batch(intake))) {
            order(worker, batch);
            if (worker->state == INTAKE_IDLE && is_under_way(intake, batch))
                break; /* this process is going */
        }
    }
}

/* How many more processes what waits could use, as far as the users' shares go. */
static uint32_t wanted_count(const struct intake *intake)
{
    uint32_t count = 0;
    for (const struct intake_batch *batch = intake->first; batch; batch = batch->next) {
        uint32_t used = count_of_user(intake, batch->uid, false);
        uint32_t share = used < INTAKE_USER_MAX ? INTAKE_USER_MAX - used : 0;
        count += batch->waiting_count < share ? batch->waiting_count : share;
        if (count >= INTAKE_ACTIVE_MAX)
            return INTAKE_ACTIVE_MAX;
    }
    return count;
}

/* ---- what they say ---- */

static void broke_contract(struct intake_worker *worker, const char *what)
{
    struct supervisor *supervisor = worker->supervisor;
    struct intake_batch *batch = worker->batch;
    log_error("cuzk-intake (process %d) broke the contract: %s; it is killed and replaced",
              (int)worker->child.pid, what);
    worker_kill(worker);
    if (batch)
        batch_end(supervisor, batch, -EIO, "cuzk-intake answered what makes no sense");
}

static void say_fault(const struct intake_packet *answer, uint32_t file, char *ret, size_t room)
{
    static const char *const faults[INTAKE_FAULT_COUNT] = {
        [INTAKE_FAULT_NO_FILE] = "it is not a regular file",
        [INTAKE_FAULT_SHORTER] = "it became shorter after it was sent",
        [INTAKE_FAULT_LONGER] = "it became longer after it was sent",
        [INTAKE_FAULT_CHANGED] = "it was written to while it was copied",
        [INTAKE_FAULT_UNREADABLE] = "it cannot be read",
        [INTAKE_FAULT_SPOOL] = "the spool cannot take it",
    };
    snprintf(ret, room, "witness file %u: %s%s%s", file, faults[answer->fault],
             answer->error ? ": " : "", answer->error ? strerror((int)answer->error) : "");
}

static int result_of(const struct intake_packet *answer)
{
    if (answer->fault != INTAKE_FAULT_SPOOL)
        return -EBADMSG;
    return answer->error ? -(int)answer->error : -EIO;
}

static void on_failed(struct intake_worker *worker, const struct intake_packet *answer)
{
    struct supervisor *supervisor = worker->supervisor;
    struct intake_batch *batch = worker->batch;
    char why[256];
    int result = result_of(answer);
    say_fault(answer, worker->file, why, sizeof why);
    worker->batch = NULL;
    batch->states[worker->file] = INTAKE_FILE_WAITING;
    /* Descriptors and memory may be short for one process; the rest is the folder's own state. */
    bool is_of_folder = answer->fault == INTAKE_FAULT_SPOOL && answer->error != EMFILE &&
                        answer->error != ENFILE && answer->error != ENOMEM;
    if (is_of_folder)
        spool_fails(supervisor, result);
    else if (result != -EBADMSG)
        log_error("job %" PRIu64 " is not taken: %s", batch->job, why);
    batch_end(supervisor, batch, result, why);
}

static void on_copied(struct intake_worker *worker, const struct intake_packet *answer)
{
    struct supervisor *supervisor = worker->supervisor;
    struct intake *intake = &supervisor->intake;
    struct intake_batch *batch = worker->batch;
    uint32_t i = worker->file;
    struct stat status;
    int fd = spool_file_open(supervisor, batch->job, batch->partitions[i]);
    if (fd < 0 || fstat(fd, &status) < 0 || (uint64_t)status.st_size != answer->bytes) {
        if (fd >= 0)
            close(fd);
        broke_contract(worker, "the file that it has copied is not there");
        return;
    }
    worker->batch = NULL;
    close_later(batch->descriptors[i]);
    batch->descriptors[i] = -1;
    batch->states[i] = INTAKE_FILE_COPIED;
    batch->copying_count--;
    batch->files[i].fd = fd;
    memcpy(batch->files[i].sha256, answer->sha256, sizeof answer->sha256);
    batch->pending_bytes -= answer->bytes;
    spool_release(supervisor, answer->bytes);
    spool_file_added(supervisor, answer->bytes);
    intake->files_copied++;
    intake->bytes_copied += answer->bytes;
    intake->backoff_ms = 0;
    if (batch->waiting_count + batch->copying_count == 0)
        batch_end(supervisor, batch, 0, "");
}

static void on_packet(struct intake_worker *worker, const struct intake_packet *packet)
{
    struct supervisor *supervisor = worker->supervisor;
    if (worker->state == INTAKE_STARTING) {
        if (packet->kind != INTAKE_READY || packet->abi != INTAKE_PACKET_ABI) {
            broke_contract(worker, "it is of another version; is the installation complete?");
            return;
        }
        worker->state = INTAKE_IDLE;
        worker->deadline_ns = after(supervisor, INTAKE_IDLE_MS);
        supervisor->intake.start_failures = 0;
        return;
    }
    if (worker->state != INTAKE_AT_WORK ||
        intake_answer_check(&worker->asked, &worker->progress, packet) < 0) {
        broke_contract(worker, "it answered what it was not asked");
        return;
    }
    if (packet->kind == INTAKE_PROGRESS) {
        worker->progress = *packet;
        worker->deadline_ns = piece_deadline(supervisor, packet->phase);
        return;
    }
    worker->state = INTAKE_IDLE;
    worker->deadline_ns = after(supervisor, INTAKE_IDLE_MS);
    if (packet->kind == INTAKE_COPIED)
        on_copied(worker, packet);
    else
        on_failed(worker, packet);
    if (worker->state == INTAKE_IDLE)
        worker->asked = (struct intake_packet){0};
}

static void drain(struct intake_worker *worker, int packets_max)
{
    for (int i = 0; i < packets_max; i++) {
        struct intake_packet packet;
        int fd = -1;
        if (worker->state == INTAKE_DOOMED || worker->state == INTAKE_DOWN)
            return;
        int r = intake_packet_receive(worker->socket, &packet, &fd);
        if (r == 0)
            return;
        if (r == -EPIPE) { /* its death is told by the pidfd */
            loop_remove(worker->supervisor->loop, &worker->socket_watch);
            worker->socket_watch.on_ready = NULL;
            return;
        }
        close_later(fd);
        if (r < 0 || fd >= 0)
            broke_contract(worker, "it sent what is no packet");
        else
            on_packet(worker, &packet);
    }
}

static void on_socket(struct loop_watch *watch, uint32_t events)
{
    struct intake_worker *worker =
        (struct intake_worker *)((char *)watch - offsetof(struct intake_worker, socket_watch));
    (void)events;
    supervisor_take_time(worker->supervisor);
    if (worker->state == INTAKE_DOOMED) { /* nothing of it counts */
        loop_remove(worker->supervisor->loop, watch);
        watch->on_ready = NULL;
        return;
    }
    drain(worker, INTAKE_PACKETS_A_TURN);
}

/* ---- death and time ---- */

static void file_lost(struct intake_worker *worker, struct intake_batch *batch, const char *how)
{
    struct supervisor *supervisor = worker->supervisor;
    uint32_t i = worker->file;
    char why[256];
    worker->batch = NULL;
    batch->states[i] = INTAKE_FILE_WAITING;
    batch->copying_count--;
    batch->waiting_count++;
    if (batch->tries[i] < INTAKE_TRIES_MAX)
        return;
    snprintf(why, sizeof why, "witness file %u: cuzk-intake died %u times while it copied it (%s)",
             i, batch->tries[i], how);
    log_error("job %" PRIu64 " is not taken: %s", batch->job, why);
    spool_file_remove(supervisor, batch->job, batch->partitions[i], false);
    batch_end(supervisor, batch, -EIO, why);
}

static void on_death(struct loop_watch *watch, uint32_t events)
{
    struct intake_worker *worker =
        (struct intake_worker *)((char *)watch - offsetof(struct intake_worker, death_watch));
    struct supervisor *supervisor = worker->supervisor;
    struct intake *intake = &supervisor->intake;
    char how[64];
    int status;
    (void)events;
    supervisor_take_time(supervisor);
    pid_t pid = worker->child.pid;
    if (child_reap(&worker->child, &status) != 1)
        return;
    drain(worker, INTAKE_PACKETS_A_TURN); /* what it said last still counts */

    enum intake_worker_state state = worker->state;
    struct intake_batch *batch = worker->batch;
    struct intake_packet asked = worker->asked;
    /* A file that nobody waits for any more. */
    if (state == INTAKE_DOOMED && asked.kind == INTAKE_COPY)
        spool_file_remove(supervisor, asked.job, asked.partition, false);
    bool is_own_doing = state != INTAKE_DOOMED && state != INTAKE_LEAVING;
    child_status_to_string(status, how, sizeof how);
    if (is_own_doing) {
        snprintf(intake->last_error, sizeof intake->last_error, "%s", how);
        log_error("cuzk-intake (process %d) died: %s%s; it is replaced", (int)pid, how,
                  batch ? " while it copied a file, which is tried again" : "");
    }
    if (is_own_doing)
        intake->deaths++;
    if (batch)
        file_lost(worker, batch, how);
    take_apart(worker);
    if (state == INTAKE_STARTING)
        start_failed(supervisor);
    else if (is_own_doing)
        start_later(supervisor);
}

static void too_late(struct intake_worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    struct intake_batch *batch = worker->batch;
    bool is_disk = worker->progress.phase == INTAKE_SYNCING;
    char why[256];
    if (is_disk)
        snprintf(why, sizeof why,
                 "witness file %u: the disk of the spool makes no progress (%u s for 16 MiB)",
                 worker->file, INTAKE_SYNCING_MS / 1000);
    else
        snprintf(why, sizeof why,
                 "witness file %u: its file system hangs or is too slow (4 MiB were not read in "
                 "%" PRIu64 " s: IntakeTimeout=); copy it to a local disk first",
                 worker->file, supervisor->config.intake_timeout_ns / 1000000000);
    log_warn("job %" PRIu64 " is not taken: %s; cuzk-intake (process %d) is killed and replaced",
             batch->job, why, (int)worker->child.pid);
    worker_kill(worker);
    batch_end(supervisor, batch, is_disk ? -EIO : -EBADMSG, why);
}

static void worker_tick(struct intake_worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    struct intake *intake = &supervisor->intake;
    if (supervisor->now_ns < worker->deadline_ns)
        return;
    worker->deadline_ns = UINT64_MAX;
    switch (worker->state) {
    case INTAKE_STARTING:
        snprintf(intake->last_error, sizeof intake->last_error, "it does not get ready");
        log_error("cuzk-intake (process %d) does not get ready; it is killed",
                  (int)worker->child.pid);
        worker_kill(worker);
        start_failed(supervisor);
        break;
    case INTAKE_IDLE:
        if (count_state(intake, INTAKE_IDLE) > 1) {
            shutdown(worker->socket, SHUT_RDWR);
            worker->state = INTAKE_LEAVING;
        }
        break;
    case INTAKE_AT_WORK:
        too_late(worker);
        break;
    case INTAKE_DOOMED:
        log_warn("cuzk-intake (process %d) was killed and does not die: the kernel waits for the "
                 "file system of a file that uid %u sent; end that file system's server",
                 (int)worker->child.pid, (unsigned)worker->uid);
        worker->is_lost = true;
        break;
    case INTAKE_DOWN:
    case INTAKE_LEAVING:
        break;
    }
}

/* Whose files have cost so many processes that none is left for him, is not kept waiting. */
static void refuse_losers(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    struct intake_batch *batch = intake->first;
    while (batch) {
        if (count_of_user(intake, batch->uid, true) < INTAKE_USER_MAX) {
            batch = batch->next;
            continue;
        }
        batch_end(supervisor, batch, -EAGAIN,
                  "earlier files of this user hang in their file system, and the processes that "
                  "read them with it; end its server");
        batch = intake->first;
    }
}

static void starts_run(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    uint32_t coming = count_state(intake, INTAKE_STARTING) + count_state(intake, INTAKE_IDLE);
    uint32_t wanted = wanted_count(intake);
    if (wanted == 0 && count_state(intake, INTAKE_AT_WORK) == 0)
        wanted = 1; /* the one that always runs */
    while (coming < wanted && supervisor->now_ns >= intake->start_at_ns &&
           count_active(intake) < INTAKE_ACTIVE_MAX) {
        struct intake_worker *worker = find_state(intake, INTAKE_DOWN);
        if (!worker)
            return;
        worker_start(worker);
        coming++;
    }
}

static void tell_start_errors(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    struct intake_batch *batch = intake->first;
    while (batch) {
        if (batch->start_error == 0) {
            batch = batch->next;
            continue;
        }
        batch_end(supervisor, batch, batch->start_error,
                  batch->start_error == -EBADMSG ? "a witness file cannot be used"
                                                 : "too many witness files are under way");
        batch = intake->first;
    }
}

void intake_tick(struct supervisor *supervisor)
{
    struct intake *intake = &supervisor->intake;
    if (!intake->path || supervisor->phase >= SUPERVISOR_STOPPING)
        return;
    tell_start_errors(supervisor);
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++)
        worker_tick(&intake->workers[i]);
    refuse_losers(supervisor);
    orders_run(supervisor);
    starts_run(supervisor);
}

uint64_t intake_deadline(const struct supervisor *supervisor)
{
    const struct intake *intake = &supervisor->intake;
    uint64_t first_ns = UINT64_MAX;
    if (!intake->path || supervisor->phase >= SUPERVISOR_STOPPING)
        return UINT64_MAX;
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++) {
        if (intake->workers[i].deadline_ns < first_ns)
            first_ns = intake->workers[i].deadline_ns;
    }
    if (intake->start_at_ns > supervisor->now_ns && intake->start_at_ns < first_ns)
        first_ns = intake->start_at_ns;
    return first_ns;
}

void intake_figures(const struct supervisor *supervisor, struct intake_figures *ret)
{
    const struct intake *intake = &supervisor->intake;
    *ret = (struct intake_figures){
        .processes = count_active(intake),
        .deaths = intake->deaths,
        .files_copied = intake->files_copied,
        .bytes_copied = intake->bytes_copied,
    };
    for (const struct intake_batch *batch = intake->first; batch; batch = batch->next) {
        ret->copying += batch->copying_count;
        ret->waiting += batch->waiting_count;
    }
    for (uint32_t i = 0; i < INTAKE_WORKERS_MAX; i++)
        ret->lost += intake->workers[i].is_lost;
}
