/* Whether a job is taken: all at once or not at all, so that no number of clients can overshoot a
 * limit. What is counted: jobs, slots, descriptors, memory of inline witnesses and of results, what
 * one uid has queued, what the journal keeps.
 *
 * Accepted means journalled, so a submit ends in two steps. First everything is reserved, or the
 * answer is busy: the job and its slots exist, but nobody sees them. Then its large inputs go to
 * the spool, its record to the journal, and when that is on disk the slots are queued and the
 * client is answered. Meanwhile a ticket stands for the submit. A job that is not to be durable is
 * taken at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/reply.h"
#include "protocol/request.h"
#include "supervisor/intake.h"
#include "supervisor/slots.h"

struct supervisor;
struct job;

enum {
    /* Descriptors that the daemon keeps free of witnesses: workers, helpers, clients. */
    ADMISSION_DESCRIPTORS_RESERVED = 4096,
    ADMISSION_INLINE_MIB_MAX = 256,
    ADMISSION_RESULT_MIB_MAX = 1024,
    ADMISSION_WITNESS_GIB_MAX = 64, /* larger than any field's domain: a mistake */
};

struct admission_refusal {
    enum reply_code code;
    uint32_t retry_after_ms;
    char text[512];
};

/* How a submit ended. */
struct admission_outcome {
    bool is_taken; /* else the refusal says why */
    uint64_t job;
    bool is_existing; /* the client key had it already */
    struct admission_refusal refusal;
};

enum admission_step {
    ADMISSION_WAITING, /* another submit of the same client key is under way */
    ADMISSION_INTAKE,
    ADMISSION_JOURNAL,
};

/* One submit under way. Who waits for it sets on_settled and calls admission_begin; on_settled runs
 * once, and the ticket is gone behind it. NULL: nobody waits any more. */
struct admission_ticket {
    struct supervisor *supervisor;
    uint64_t job; /* reserved */
    uid_t uid;
    char client_key[CLIENT_KEY_BYTES_MAX + 1];
    enum admission_step step;
    bool has_intake; /* files of it may lie in the spool */
    struct intake_batch intake;
    void (*on_settled)(struct admission_ticket *ticket, const struct admission_outcome *outcome);
    void *context; /* of on_settled */
    uint32_t message_id;
    struct admission_ticket *next, *previous;
};

struct admission {
    struct admission_ticket *first, *last; /* in the order they came */
    uint32_t ticket_count;
};

/* Takes the descriptors over, also when it refuses. -EAGAIN: refused. 0: taken; then *ret_ticket is
 * NULL and the outcome says which job, or it is the ticket and there is no outcome yet. */
int admission_submit(struct supervisor *supervisor, uid_t uid, const struct request_submit *submit,
                     int *descriptors, uint32_t descriptor_count,
                     struct admission_ticket **ret_ticket, struct admission_outcome *ret);
/* Lets a ticket go, once its on_settled is set; may settle it at once. */
void admission_begin(struct admission_ticket *ticket);
/* The daemon stops: refuses what is not at the journal yet. */
void admission_stop(struct supervisor *supervisor);
/* Frees everything; nobody is told. */
void admission_destroy(struct supervisor *supervisor);

/* For durable.c, which takes jobs up again. A slot with its input, not queued; NULL: none free. */
struct slot *admission_reserve_slot(struct supervisor *supervisor, struct job *job,
                                    struct circuit *circuit, uint32_t partition,
                                    const struct slot_input *input);
/* Queues all slots that the job has. */
void admission_queue(struct supervisor *supervisor, struct job *job);
