/* The spool: copies of clients' witness files (0600, in a folder of 0700), each named
 * JOB-PARTITION, from the submit to the end of its job. cuzk-intake fills it (intake.c), workers
 * read from it, the supervisor opens and removes. Files are removed by a thread, and free space is
 * asked for by it: a disk that is slow holds nobody up.
 *
 * Space: a job is refused (busy) before the disk is full, so that what runs can go on. When the
 * disk is full all the same - others write too, there are quotas - nothing is taken until room is
 * back.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct supervisor;
struct errands;

enum {
    /* Kept free of witnesses on the spool's file system, where the journal may lie too: a 20th,
     * within these bounds. */
    SPOOL_RESERVE_MIB_MIN = 64,
    SPOOL_RESERVE_MIB_MAX = 1024,
    SPOOL_RETRY_MS = 3000, /* after the disk was full or the folder failed */
};

struct spool_space;

struct spool {
    int folder;                /* -1: none */
    const char *path;          /* the configuration's, for messages */
    const uint64_t *bytes_max; /* the configuration's, which may change; 0: none */
    uint64_t pending_bytes;    /* of files that are to be copied or are being copied */
    struct spool_space *space; /* shared with the thread */
    struct errands *errands;
    bool is_full;           /* or cannot be written: `fault` */
    int fault;              /* negative errno */
    uint64_t full_until_ns; /* the earliest time to look again */
};

struct spool_figures {
    uint64_t bytes, files; /* that lie there */
    uint64_t pending_bytes;
    uint64_t free_bytes; /* that may still be taken: reserve, cap and pending are off */
    uint64_t bytes_max;  /* 0: none */
    bool is_full;
};

/* Opens or makes SpoolDirectory= (default STATE/spool) and asks for its space. Logs what failed.
 * Blocking. */
int spool_open(struct supervisor *supervisor);
/* Waits a moment for what is to be removed. Accepts a zeroed object. */
void spool_close(struct supervisor *supervisor);

/* At start: removes half-made files and those that nobody wants; counts the others as there.
 * Returns how many it removed, or negative errno. Blocking. */
int spool_collect(struct supervisor *supervisor,
                  bool (*is_wanted)(void *context, uint64_t job, uint32_t partition),
                  void *context);

/* Whether files of so many bytes together may be taken now. 0; -ENOSPC, -EDQUOT (SpoolSize=) and a
 * sentence. */
int spool_check_room(struct supervisor *supervisor, uint64_t bytes, char *ret_why, size_t room);
/* For intake.c: bytes that will be written, until spool_release; a file that is there now. */
void spool_reserve(struct supervisor *supervisor, uint64_t bytes);
void spool_release(struct supervisor *supervisor, uint64_t bytes);
void spool_file_added(struct supervisor *supervisor, uint64_t bytes);
/* The folder does not take a file: the disk is full (ENOSPC, EDQUOT), read-only, broken, or the
 * folder is gone. error: negative errno. */
void spool_fails(struct supervisor *supervisor, int error);

/* Read-only, for a worker; the caller's. Negative errno; -EBADMSG when it is no regular file. */
int spool_file_open(struct supervisor *supervisor, uint64_t job, uint32_t partition);
/* Removes what there is of a file, half-made or whole. is_counted: spool_file_added was told of it.
 * Does not block. */
void spool_file_remove(struct supervisor *supervisor, uint64_t job, uint32_t partition,
                       bool is_counted);
/* Of all its partitions. */
void spool_job_remove(struct supervisor *supervisor, uint64_t job, uint32_t partition_count);

/* Once a second or so. */
void spool_tick(struct supervisor *supervisor);
void spool_figures(const struct supervisor *supervisor, struct spool_figures *ret);
