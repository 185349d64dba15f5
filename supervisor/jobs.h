/* Job records: what a client submitted and what became of it. A job takes its one terminal state
 * once; later outcomes of its partitions change nothing. Finished jobs are kept for `result` until
 * they are too old, too many or too large together. Only memory: a restart of the supervisor
 * forgets all jobs. */
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
    enum request_priority priority;
    enum request_job_state state;
    uint32_t version; /* rises with every change a client can see */
    char circuit[NAME_BYTES_MAX + 1];
    const struct curve *curve;
    uint32_t partition_count, public_count;
    uint32_t done_count, released_count; /* partitions proved; partitions whose slot is free */
    uint64_t order_key;                  /* of partition 0 */
    uint64_t admitted_ns, started_ns, finished_ns;
    int64_t admitted_realtime_ms;
    struct job_error error;
    uint32_t *slots;                    /* by partition; SLOT_NONE once free */
    uint8_t *proofs;                    /* by partition, curve->proof_bytes each */
    uint64_t *publics;                  /* by partition, public_count scalars of 4 limbs each */
    uint32_t (*phases_us)[PHASE_COUNT]; /* by partition */
    size_t result_bytes;                /* of all the above */
    struct job *hash_next;
    struct job *next, *previous; /* among the active, or the finished by age */
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
    size_t active_bytes, finished_bytes;               /* of their results */
    uint64_t totals[REQUEST_JOB_STATE_COUNT];          /* of terminal states, since start */
    void (*on_change)(void *context, struct job *job); /* after version rose */
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
};

int jobs_init(struct jobs *jobs);
void jobs_destroy(struct jobs *jobs);

/* A new active job in state QUEUED with all result memory, or NULL when memory is short. */
struct job *jobs_create(struct jobs *jobs, const struct job_plan *plan);
/* NULL when there is none (any more). */
struct job *jobs_find(const struct jobs *jobs, uint64_t number);
static inline bool job_is_terminal(const struct job *job)
{
    return job->state >= REQUEST_JOB_DONE;
}

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

/* Drops finished jobs beyond the retention by count, bytes and age. */
void jobs_expire(struct jobs *jobs, uint64_t now_ns);
