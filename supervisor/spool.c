/* The spool: see spool.h. Upstream: admission.c (room), intake.c (files), whoever ends jobs. */
#include "supervisor/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config/limits.h"
#include "runtime/check.h"
#include "runtime/errands.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "shm/intake_packet.h"
#include "supervisor/supervisor.h"

enum {
    SPOOL_CLOSE_GRACE_MS = 3000, /* what is not removed by then is at the next start */
};

/* Written by the thread, read by the loop; bytes and files also the other way round: each side adds
 * and subtracts. The thread may outlive the supervisor's object, so this is not part of it. */
struct spool_space {
    int folder;
    _Atomic uint64_t bytes, files; /* that lie in the spool */
    _Atomic uint64_t free_bytes;   /* of the file system, when it was last asked */
    _Atomic uint64_t bytes_then;   /* what lay in the spool at that time */
    _Atomic uint64_t total_bytes;  /* of the file system */
    _Atomic int error;             /* errno of the last question, negative; 0 */
    _Atomic bool is_asking;
};

#define READ(field)        atomic_load_explicit(&(field), memory_order_relaxed)
#define WRITE(field, what) atomic_store_explicit(&(field), (what), memory_order_relaxed)

static void ask_space(struct spool_space *space);
static void ask_later(struct spool *spool);

/* ---- open and close ---- */

/* Ours, and nobody else's to look into. */
static int open_folder(struct spool *spool)
{
    struct stat status;
    int r = files_make_folder(spool->path, 0700);
    if (r < 0)
        return r;
    spool->folder = open(spool->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool->folder < 0 || fstat(spool->folder, &status) < 0)
        return -errno;
    if (status.st_uid != geteuid())
        return -EPERM;
    return fchmod(spool->folder, 0700) < 0 ? -errno : 0;
}

int spool_open(struct supervisor *supervisor)
{
    struct spool *spool = &supervisor->spool;
    *spool = (struct spool){.folder = -1,
                            .path = supervisor->config.spool_directory,
                            .bytes_max = &supervisor->config.spool_bytes_max};
    int r = open_folder(spool);
    if (r < 0) {
        log_error("cannot use the spool folder %s: %s%s", spool->path, strerror(-r),
                  r == -EPERM ? " (it belongs to another user)" : "");
        return r;
    }
    spool->space = calloc(1, sizeof *spool->space);
    r = spool->space ? errands_create(1, &spool->errands) : -ENOMEM;
    if (r < 0)
        return r;
    spool->space->folder = spool->folder;
    ask_space(spool->space);
    return 0;
}

void spool_close(struct supervisor *supervisor)
{
    struct spool *spool = &supervisor->spool;
    /* The thread may hang on the disk still: its space and folder stay then. */
    bool is_idle = errands_free(spool->errands, SPOOL_CLOSE_GRACE_MS);
    if (is_idle) {
        free(spool->space);
        if (spool->folder > 0)
            close(spool->folder);
    }
    *spool = (struct spool){.folder = -1};
}

int spool_collect(struct supervisor *supervisor,
                  bool (*is_wanted)(void *context, uint64_t job, uint32_t partition), void *context)
{
    struct spool *spool = &supervisor->spool;
    const struct dirent *entry;
    uint64_t kept_bytes = 0;
    unsigned removed = 0, kept = 0, strangers = 0;
    int fd = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        int error = -errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    while ((entry = readdir(folder))) {
        uint64_t job;
        uint32_t partition;
        bool is_part;
        struct stat status;
        if (entry->d_name[0] == '.')
            continue;
        if (intake_name_parse(entry->d_name, &job, &partition, &is_part) < 0 ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            strangers++;
        } else if (!is_part && S_ISREG(status.st_mode) && is_wanted(context, job, partition)) {
            kept++;
            kept_bytes += (uint64_t)status.st_size;
        } else if (unlinkat(fd, entry->d_name, 0) == 0) {
            removed++;
        }
    }
    closedir(folder);
    WRITE(spool->space->bytes, kept_bytes);
    WRITE(spool->space->files, kept);
    ask_space(spool->space);
    if (removed + strangers > 0)
        log_info("spool: %u files without a job were removed%s", removed,
                 strangers ? "; some are not ours and stay" : "");
    return (int)removed;
}

/* ---- space ---- */

/* On the thread, and once at start. */
static void ask_space(struct spool_space *space)
{
    struct statvfs status;
    uint64_t bytes = READ(space->bytes);
    struct stat folder;
    if (fstatvfs(space->folder, &status) < 0 || fstat(space->folder, &folder) < 0) {
        WRITE(space->error, -errno);
    } else if (folder.st_nlink == 0 || (status.f_flag & ST_RDONLY)) {
        WRITE(space->error, folder.st_nlink == 0 ? -ENOENT : -EROFS);
    } else {
        WRITE(space->error, 0);
        /* No inode is no room either; file systems without a count say 0 of 0. */
        bool has_inodes = status.f_files == 0 || status.f_favail > 0;
        WRITE(space->free_bytes, has_inodes ? (uint64_t)status.f_bavail * status.f_frsize : 0);
        WRITE(space->total_bytes, (uint64_t)status.f_blocks * status.f_frsize);
        WRITE(space->bytes_then, bytes);
    }
    atomic_store_explicit(&space->is_asking, false, memory_order_release); /* [spool.S1] */
}

struct spool_errand {
    struct errand errand;
    struct spool_space *space;
    uint64_t job;
    uint32_t first, end; /* partitions */
    bool is_counted;     /* spool_file_added was told */
};

static struct spool_errand *errand_of(struct errand *errand)
{
    return (struct spool_errand *)((char *)errand - offsetof(struct spool_errand, errand));
}

static void run_ask(struct errand *errand)
{
    ask_space(errand_of(errand)->space);
    free(errand_of(errand));
}

static void ask_later(struct spool *spool)
{
    /* [spool.S2], pairs with [spool.S1]: what was found then is seen with it. */
    if (atomic_load_explicit(&spool->space->is_asking, memory_order_acquire))
        return;
    struct spool_errand *ask = malloc(sizeof *ask);
    if (!ask)
        return;
    *ask = (struct spool_errand){.errand.run = run_ask, .space = spool->space};
    WRITE(spool->space->is_asking, true);
    errands_push(spool->errands, &ask->errand);
}

static uint64_t reserve_of(const struct spool *spool)
{
    uint64_t reserve = READ(spool->space->total_bytes) / 20;
    if (reserve < (uint64_t)SPOOL_RESERVE_MIB_MIN << 20)
        return (uint64_t)SPOOL_RESERVE_MIB_MIN << 20;
    return reserve > (uint64_t)SPOOL_RESERVE_MIB_MAX << 20 ? (uint64_t)SPOOL_RESERVE_MIB_MAX << 20
                                                           : reserve;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Of the file system, with what was added since it was asked taken off. */
static uint64_t disk_free(const struct spool *spool)
{
    const struct spool_space *space = spool->space;
    uint64_t since = minus(READ(space->bytes), READ(space->bytes_then));
    return minus(READ(space->free_bytes), since + spool->pending_bytes + reserve_of(spool));
}

static uint64_t cap_free(const struct spool *spool)
{
    if (*spool->bytes_max == 0)
        return UINT64_MAX;
    return minus(*spool->bytes_max, READ(spool->space->bytes) + spool->pending_bytes);
}

static void describe_fault(const struct spool *spool, char *ret, size_t room)
{
    switch (spool->fault) {
    case -ENOSPC:
    case -EDQUOT:
        snprintf(ret, room, "the disk of the spool folder %s is full", spool->path);
        break;
    case -ENOENT:
        snprintf(ret, room,
                 "the spool folder %s was removed under the daemon (restart cuzkd: it makes a new "
                 "one)",
                 spool->path);
        break;
    default:
        snprintf(ret, room, "the spool folder %s cannot be written: %s", spool->path,
                 strerror(-spool->fault));
    }
}

int spool_check_room(struct supervisor *supervisor, uint64_t bytes, char *ret_why, size_t room)
{
    struct spool *spool = &supervisor->spool;
    ask_later(spool); /* for the next one */
    if (spool->is_full) {
        describe_fault(spool, ret_why, room);
        return spool->fault;
    }
    if (bytes > cap_free(spool)) {
        snprintf(ret_why, room,
                 "the spool has %" PRIu64 " MiB left of SpoolSize=; these witnesses take %" PRIu64,
                 cap_free(spool) >> 20, bytes >> 20);
        return -EDQUOT;
    }
    if (bytes > disk_free(spool)) {
        snprintf(ret_why, room,
                 "the disk of the spool folder %s has %" PRIu64
                 " MiB left beyond a reserve; these witnesses take %" PRIu64,
                 spool->path, disk_free(spool) >> 20, bytes >> 20);
        return -ENOSPC;
    }
    return 0;
}

void spool_reserve(struct supervisor *supervisor, uint64_t bytes)
{
    supervisor->spool.pending_bytes += bytes;
}

void spool_release(struct supervisor *supervisor, uint64_t bytes)
{
    CHECK(supervisor->spool.pending_bytes >= bytes);
    supervisor->spool.pending_bytes -= bytes;
}

void spool_file_added(struct supervisor *supervisor, uint64_t bytes)
{
    struct spool_space *space = supervisor->spool.space;
    atomic_fetch_add_explicit(&space->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&space->files, 1, memory_order_relaxed);
}

void spool_fails(struct supervisor *supervisor, int error)
{
    struct spool *spool = &supervisor->spool;
    bool was_told = spool->is_full && spool->fault == error;
    char text[512];
    spool->full_until_ns = supervisor->now_ns + SPOOL_RETRY_MS * UINT64_C(1000000);
    spool->is_full = true;
    spool->fault = error;
    describe_fault(spool, text, sizeof text);
    if (!was_told)
        log_error("cannot take a witness: %s; jobs with files are answered busy until that is "
                  "over, those that are taken go on",
                  text);
    ask_later(spool);
}

void spool_tick(struct supervisor *supervisor)
{
    struct spool *spool = &supervisor->spool;
    if (!spool->is_full)
        return;
    /* A quota shows in no figure: then the next copy finds out. */
    if (supervisor->now_ns >= spool->full_until_ns && READ(spool->space->error) == 0 &&
        disk_free(spool) > 0) {
        spool->is_full = false;
        log_info("the spool folder %s is tried again", spool->path);
    }
    ask_later(spool);
}

void spool_figures(const struct supervisor *supervisor, struct spool_figures *ret)
{
    const struct spool *spool = &supervisor->spool;
    if (!spool->space) {
        *ret = (struct spool_figures){0};
        return;
    }
    uint64_t disk = disk_free(spool), cap = cap_free(spool);
    *ret = (struct spool_figures){
        .bytes = READ(spool->space->bytes),
        .files = READ(spool->space->files),
        .pending_bytes = spool->pending_bytes,
        .free_bytes = disk < cap ? disk : cap,
        .bytes_max = *spool->bytes_max,
        .is_full = spool->is_full,
    };
}

/* ---- files ---- */

int spool_file_open(struct supervisor *supervisor, uint64_t job, uint32_t partition)
{
    char name[INTAKE_NAME_BYTES];
    struct stat status;
    intake_name(job, partition, false, name);
    int fd = openat(supervisor->spool.folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return -EBADMSG;
    }
    return fd;
}

static void remove_one(struct spool_space *space, uint64_t job, uint32_t partition, bool is_counted)
{
    char name[INTAKE_NAME_BYTES];
    struct stat status;
    intake_name(job, partition, true, name);
    unlinkat(space->folder, name, 0);
    intake_name(job, partition, false, name);
    if (fstatat(space->folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        unlinkat(space->folder, name, 0) < 0)
        return;
    if (!is_counted)
        return;
    atomic_fetch_sub_explicit(&space->bytes, (uint64_t)status.st_size, memory_order_relaxed);
    atomic_fetch_sub_explicit(&space->files, 1, memory_order_relaxed);
}

static void run_remove(struct errand *errand)
{
    struct spool_errand *removal = errand_of(errand);
    for (uint32_t i = removal->first; i < removal->end; i++)
        remove_one(removal->space, removal->job, i, removal->is_counted);
    ask_space(removal->space);
    free(removal);
}

static void remove_later(struct spool *spool, const struct spool_errand *what)
{
    struct spool_errand *removal = malloc(sizeof *removal);
    if (!removal)
        return; /* the next start collects it */
    *removal = *what;
    removal->errand.run = run_remove;
    removal->space = spool->space;
    errands_push(spool->errands, &removal->errand);
}

void spool_file_remove(struct supervisor *supervisor, uint64_t job, uint32_t partition,
                       bool is_counted)
{
    remove_later(&supervisor->spool, &(struct spool_errand){.job = job,
                                                            .first = partition,
                                                            .end = partition + 1,
                                                            .is_counted = is_counted});
}

void spool_job_remove(struct supervisor *supervisor, uint64_t job, uint32_t partition_count)
{
    remove_later(&supervisor->spool,
                 &(struct spool_errand){.job = job, .end = partition_count, .is_counted = true});
}
