/* Clients' files on their way into the spool. Several cuzk-intake processes copy one file each; one
 * always runs, more are started while files wait, and end when they have nothing to do. A file that
 * makes no progress costs its process, which is killed and replaced; a process that dies costs its
 * file a second try. Upstream: admission.c; downstream: spool.c.
 *
 * Clients' descriptors are never asked anything here that their file system would have to answer,
 * and lie in vaults while they wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/limits.h"
#include "runtime/child.h"
#include "runtime/loop.h"
#include "shm/intake_packet.h"
#include "supervisor/spool.h"

struct supervisor;

enum {
    INTAKE_ACTIVE_MAX = 8,
    INTAKE_USER_MAX = 4, /* at the files of one uid: who sends files that hang, waits */
    /* With those that were killed and do not die: the kernel waits for the file system of a file
     * that they had open. */
    INTAKE_WORKERS_MAX = 64,
    INTAKE_LOST_MS = 3000, /* after its kill a process counts as one of those */
    INTAKE_TRIES_MAX = 2,
    INTAKE_IDLE_MS = 2000,      /* then all but one end */
    INTAKE_START_MS = 10000,    /* until READY */
    INTAKE_SYNCING_MS = 300000, /* for the spool's disk to write 16 MiB back; IntakeTimeout= is
                                 * for the client's file */
    INTAKE_START_FAILURES_MAX = 5,
    INTAKE_BACKOFF_FIRST_MS = 100,
    INTAKE_BACKOFF_MAX_MS = 5000,
};

struct intake_file {
    int fd;         /* the spool file, read-only; the receiver's */
    uint64_t bytes; /* before: as admission saw it, 0: not looked yet; after: of the copy */
    uint8_t sha256[INTAKE_SHA256_BYTES];
};

/* Embedded in whatever waits for it; stays put until on_done ran or intake_cancel. */
struct intake_batch {
    uint64_t job;
    uid_t uid;
    uint32_t count;
    int descriptors[JOB_PARTITIONS_MAX];     /* taken over by intake_start */
    uint32_t partitions[JOB_PARTITIONS_MAX]; /* whose file each is: the spool's JOB-PARTITION */
    struct intake_file files[JOB_PARTITIONS_MAX];
    /* Once, never from within intake_start. 0; -EBADMSG: the client's file is at fault; -ENOSPC,
     * -EDQUOT: the disk is full; other: infrastructure. `why` is a sentence. On failure nothing
     * of it stays in the spool. */
    void (*on_done)(struct intake_batch *batch, int result, const char *why);
    void *context;

    /* intake's own */
    uint8_t states[JOB_PARTITIONS_MAX]; /* enum intake_file_state */
    uint8_t tries[JOB_PARTITIONS_MAX];
    uint32_t waiting_count, copying_count;
    uint64_t pending_bytes; /* reserved in the spool */
    int start_error;        /* told at the next tick */
    struct intake_batch *next, *previous;
};

enum intake_worker_state {
    INTAKE_DOWN,
    INTAKE_STARTING,
    INTAKE_IDLE,
    INTAKE_AT_WORK,
    INTAKE_LEAVING, /* told to end: it has nothing to do */
    INTAKE_DOOMED,  /* killed; the notice of its death is awaited */
};

struct intake_worker {
    struct supervisor *supervisor;
    enum intake_worker_state state;
    struct child child;
    int socket;
    struct loop_watch socket_watch, death_watch;
    /* AT_WORK and, for what is to be removed behind it, DOOMED */
    struct intake_batch *batch; /* NULL: nobody waits for it any more */
    uint32_t file;
    uid_t uid; /* of that batch */
    struct intake_packet asked, progress;
    uint64_t deadline_ns; /* of the state */
    bool is_lost;         /* DOOMED, for INTAKE_LOST_MS now */
};

struct intake {
    struct intake_worker workers[INTAKE_WORKERS_MAX];
    struct intake_batch *first, *last;
    char *path;         /* of the program */
    char **environment; /* see programs.h */
    uint64_t tickets;   /* the newest */
    uint64_t start_at_ns;
    uint32_t backoff_ms, start_failures;
    uint32_t deaths;
    uint64_t files_copied, bytes_copied;
    char last_error[160];
};

/* Finds the program and starts the first process. Logs what failed. */
int intake_init(struct supervisor *supervisor);
/* Kills and forgets all. Batches that are under way are left to their owners, without on_done. */
void intake_destroy(struct supervisor *supervisor);

void intake_start(struct supervisor *supervisor, struct intake_batch *batch);
/* Nothing of it stays in the spool; on_done does not run. Does nothing to one that is done. */
void intake_cancel(struct supervisor *supervisor, struct intake_batch *batch);

void intake_tick(struct supervisor *supervisor);
uint64_t intake_deadline(const struct supervisor *supervisor);

struct intake_figures {
    uint32_t processes, lost;
    uint32_t copying, waiting; /* files */
    uint32_t deaths;
    uint64_t files_copied, bytes_copied;
};
void intake_figures(const struct supervisor *supervisor, struct intake_figures *ret);
