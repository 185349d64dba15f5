/* Attempts over restarts: see attempts.h. Upstream: grants.c, pipeline.c; back: durable.c. */
#include "supervisor/attempts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/log.h"
#include "supervisor/slots.h"

static_assert(sizeof(struct attempts_record) == 112, "the layout on disk");

/* FNV-1a: against a torn or foreign record, not against malice. */
static uint64_t check_of(const struct attempts_record *record)
{
    const uint8_t *bytes = (const uint8_t *)record;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < offsetof(struct attempts_record, check); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

bool attempts_is_whole(const struct attempts_record *record)
{
    return record->job != 0 && record->check == check_of(record) &&
           record->partition < JOB_PARTITIONS_MAX && record->granted <= OPERATION_FINALIZE &&
           record->suspected_in <= OPERATION_FINALIZE &&
           memchr(record->last_fault, '\0', sizeof record->last_fault);
}

static int by_partition(const void *a, const void *b)
{
    const struct attempts_record *x = a, *y = b;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

static void read_old(struct attempts *attempts)
{
    struct stat status;
    const size_t size = sizeof attempts->old[0];
    if (fstat(attempts->fd, &status) < 0 || (size_t)status.st_size < size)
        return;
    size_t count = (size_t)status.st_size / size;
    count = count < SLOTS_MAX ? count : SLOTS_MAX;
    attempts->old = calloc(count, size);
    if (!attempts->old)
        return;
    ssize_t got = pread(attempts->fd, attempts->old, count * size, 0);
    attempts->old_count = got < 0 ? 0 : (size_t)got / size;
    qsort(attempts->old, attempts->old_count, size, by_partition);
}

void attempts_open(struct attempts *attempts, const char *state_directory)
{
    char path[PATH_BYTES_MAX];
    *attempts = (struct attempts){.fd = -1};
    snprintf(path, sizeof path, "%s/attempts", state_directory);
    attempts->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (attempts->fd < 0) {
        log_warn("cannot open %s: %s; attempts are not remembered over a restart", path,
                 strerror(errno));
        return;
    }
    read_old(attempts);
    if (ftruncate(attempts->fd, 0) < 0)
        log_warn("cannot empty %s: %s", path, strerror(errno));
}

void attempts_close(struct attempts *attempts)
{
    attempts_forget_old(attempts);
    if (attempts->fd > 0) /* 0 in a zeroed object */
        close(attempts->fd);
    attempts->fd = -1;
}

void attempts_forget_old(struct attempts *attempts)
{
    free(attempts->old);
    attempts->old = NULL;
    attempts->old_count = 0;
}

void attempts_write(struct attempts *attempts, const struct slot *slot, int granted)
{
    struct attempts_record record;
    if (attempts->fd <= 0)
        return;
    memset(&record, 0, sizeof record);
    record.job = slot->job;
    record.partition = slot->partition;
    record.attempts = (uint16_t)(slot->attempts < UINT16_MAX ? slot->attempts : UINT16_MAX);
    record.granted = (uint8_t)granted;
    record.suspected_in = (uint8_t)(slot->is_suspect ? slot->suspected_in : OPERATION_NONE);
    snprintf(record.last_fault, sizeof record.last_fault, "%.*s", ATTEMPTS_FAULT_BYTES - 1,
             slot->last_fault);
    record.check = check_of(&record);
    off_t offset = (off_t)((size_t)slot->index * sizeof record);
    if (pwrite(attempts->fd, &record, sizeof record, offset) == (ssize_t)sizeof record)
        return;
    if (!attempts->has_failed)
        log_warn("attempts cannot be written to the state folder: a partition that takes workers "
                 "down gets all of them again after a restart");
    attempts->has_failed = true;
}

void attempts_restore(const struct attempts *attempts, struct slot *slot)
{
    const struct attempts_record wanted = {.job = slot->job, .partition = slot->partition};
    const struct attempts_record *record =
        attempts->old_count
            ? bsearch(&wanted, attempts->old, attempts->old_count, sizeof wanted, by_partition)
            : NULL;
    if (!record || !attempts_is_whole(record))
        return;
    slot->attempts = record->attempts;
    snprintf(slot->last_fault, sizeof slot->last_fault, "%s", record->last_fault);
    int last = record->granted > record->suspected_in ? record->granted : record->suspected_in;
    slot->is_suspect = last != OPERATION_NONE;
    slot->suspected_in = (enum operation)last;
}
