/* One step of one partition: asks the table of slot_state.h, then carries its actions out on the
 * queues, the slab ring, the owner and the job. Every change of a slot's state goes through here.
 */
#pragma once

#include <stdbool.h>

#include "protocol/reply.h"
#include "supervisor/slots.h"

struct supervisor;
struct job;

/* 0, or -EPROTO when the event is illegal now; nothing has changed then. */
int pipeline_apply(struct supervisor *supervisor, struct slot *slot, enum slot_event event);
/* A grant has been pushed: the worker owns the slot under this generation. */
void pipeline_grant(struct supervisor *supervisor, struct slot *slot, enum slot_event event,
                    struct worker *worker, enum operation operation, uint64_t generation);
/* What the loss of an owner means for a partition in its hands. */
enum pipeline_loss {
    PIPELINE_LOSS_WANTED,   /* its end was our own wish: nothing */
    PIPELINE_LOSS_TOGETHER, /* of several: each is a suspect and comes alone next */
    PIPELINE_LOSS_ALONE,    /* the likely cause: a suspect, and one attempt is used up */
};

enum pipeline_loss pipeline_loss_of(bool is_wanted, bool is_alone);
/* The owner died (how: "signal 9 in msm_a") or answered that its device failed (ALONE). */
void pipeline_lost(struct supervisor *supervisor, struct slot *slot, enum pipeline_loss loss,
                   const char *how);
/* Fails the partition, and with it the job; the event is SLOT_EVENT_REFUSED. */
int pipeline_refuse(struct supervisor *supervisor, struct slot *slot, enum reply_code code,
                    const char *text);
/* Drops every partition of a job that has reached a terminal state. */
void pipeline_drop_job(struct supervisor *supervisor, struct job *job);
