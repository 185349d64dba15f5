/* Job records: what a client submitted and what became of it. A job takes its one terminal state
 * once; later outcomes of its partitions change nothing. What is here is the working copy: jobs
 * that have not ended, and of those that have a part, the newest. The journal (durable.h) keeps all
 * of them and is where a job that is not here is looked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/limits.h"
#include "groth16/curve/curve.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "shm/message.h"

#define JOB_PARTITION_NONE UINT32_MAX

struct job_error {
    enum reply_code code;
    char text[512];
    uint32_t partition; /* JOB_PARTITION_NONE: the whole job */
};

struct job {
    uint64_t number;
    uid_t uid;
    char client_key[CLIENT_KEY_BYTES_MAX + 1]; /* "" when none was given */
    enum request_priority priority;
    enum request_job_state state;
    bool is_pending;    /* reserved, not accepted yet: nobody is told of it */
    bool is_durable;    /* it goes on after a restart */
    bool is_journalled; /* the journal has it: its end is to be written there */
    bool is_settling;   /* it has ended, and the journal has not said so yet: clients see it run */
    /* Of an earlier life, and its circuit is being prepared: it has no slots yet. */
    bool waits_for_circuit;
    bool has_spool;   /* some of its inputs are files of the spool */
    bool has_results; /* proofs and publics are in memory */
    uint32_t version; /* rises with every change a client can see */
    char circuit[NAME_BYTES_MAX + 1];
    const struct curve *curve;
    uint32_t partition_count, public_count;
    uint32_t done_count, released_count; /* partitions proved; partitions whose slot is free */
    uint64_t order_key;                  /* of partition 0 */
    uint64_t admitted_ns, started_ns, finished_ns;
    uint64_t deadline_ns; /* over all its attempts; UINT64_MAX: none */
    uint64_t input_bytes; /* of all its witnesses */
    int64_t admitted_realtime_ms, finished_realtime_ms, deadline_realtime_ms; /* 0: none */
    struct job_error error;
    uint32_t *slots;                    /* by partition; SLOT_NONE once free */
    uint8_t *proofs;                    /* by partition, curve->proof_bytes each */
    uint64_t *publics;                  /* by partition, public_count scalars of 4 limbs each */
    uint32_t (*phases_us)[PHASE_COUNT]; /* by partition */
    size_t result_bytes;                /* of all the above */
    struct job *hash_next;
    struct job *next, *previous; /* among the active, or the finished by age */
};

/* What the jobs of one uid that have not ended take together. */
struct jobs_user {
    uid_t uid;
    uint32_t jobs;
    uint64_t bytes;
};

struct jobs_list {
    struct job *first, *last;
    uint32_t count;
};

enum {
    JOBS_HASH_BUCKETS = 16384,
};

struct jobs {
    struct job **buckets;
    struct jobs_list active, finished;
    struct jobs_user *users; /* those with active jobs */
    uint32_t user_count, user_room;
    uint32_t settling_count;
    size_t active_bytes, finished_bytes;               /* of their results */
    uint64_t first_deadline_ns;                        /* no active job's is earlier */
    uint64_t totals[REQUEST_JOB_STATE_COUNT];          /* of terminal states, since start */
    void (*on_change)(void *context, struct job *job); /* after version rose */
    void (*on_end)(void *context, struct job *job);    /* before that; may set is_settling */
    void *context;
};

struct job_plan {
    uint64_t number; /* not used before */
    uid_t uid;
    enum request_priority priority;
    const char *circuit;
    const struct curve *curve;
    uint32_t partition_count, public_count;
    uint64_t order_key, now_ns;
    const char *client_key; /* NULL: none */
    uint64_t input_bytes;
    uint64_t deadline_ns; /* 0: none */
    bool is_pending, is_durable;
    bool is_bare; /* without memory for results */
};

int jobs_init(struct jobs *jobs);
void jobs_destroy(struct jobs *jobs);

/* A new active job in state QUEUED with all result memory, or NULL when memory is short. */
struct job *jobs_create(struct jobs *jobs, const struct job_plan *plan);
/* The job's witnesses are larger than was known. */
void jobs_add_input(struct jobs *jobs, struct job *job, uint64_t bytes);
/* A pending job that is not taken after all; nothing holds it any more. */
void jobs_discard(struct jobs *jobs, struct job *job);
/* A job that ended in an earlier life, made by jobs_create: among the finished, changing no
 * figures of this one. */
void jobs_adopt_finished(struct jobs *jobs, struct job *job, enum request_job_state state);
/* NULL when there is none (any more). Pending ones are found. */
struct job *jobs_find(const struct jobs *jobs, uint64_t number);
static inline bool job_is_terminal(const struct job *job)
{
    return job->state >= REQUEST_JOB_DONE;
}

/* As clients see it. */
enum request_job_state job_state_shown(const struct job *job);
/* Its end is on disk, or as good as can be had. */
void jobs_settle(struct jobs *jobs, struct job *job);
/* NULL when the uid has no active jobs. */
const struct jobs_user *jobs_user_find(const struct jobs *jobs, uid_t uid);

/* The first grant of any partition. */
void jobs_start(struct jobs *jobs, struct job *job, uint64_t now_ns);
/* One partition is proved: its proof and public inputs are in place. True when that finished the
 * job. No effect on a terminal job. */
bool jobs_partition_done(struct jobs *jobs, struct job *job, uint64_t now_ns);
/* True when this made it FAILED or CANCELLED; false when it was terminal already. */
bool jobs_fail(struct jobs *jobs, struct job *job, enum reply_code code, uint32_t partition,
               const char *text, uint64_t now_ns);
bool jobs_cancel(struct jobs *jobs, struct job *job, uint64_t now_ns);
/* The partition's slot is free again. */
void job_slot_released(struct job *job, uint32_t partition);
/* A change that only counts for progress (a partition entered another stage). */
void jobs_touch(struct jobs *jobs, struct job *job);
/* The same by number, if there is such a job. */
void jobs_touch_number(struct jobs *jobs, uint64_t number);

/* Out of memory, a finished one. */
void jobs_drop(struct jobs *jobs, struct job *job);
/* The active job whose deadline has passed, or NULL; then first_deadline_ns is exact. */
struct job *jobs_overdue(struct jobs *jobs, uint64_t now_ns);
/* Drops finished jobs from memory beyond a count, bytes and the age for which results are kept. */
void jobs_expire(struct jobs *jobs, uint64_t now_ns, uint64_t age_ns_max);
