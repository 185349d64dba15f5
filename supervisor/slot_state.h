/* The life of one partition as a pure table: no memory, no clock, no system call. The supervisor
 * asks it before it grants (supervisor/grants.c), when an answer arrives (supervisor/completions.c)
 * and when a worker is lost (supervisor/recovery.c); an event that is illegal in the present state
 * ends the worker that caused it. pipeline_apply() carries the actions out. */
#pragma once

#include <stdint.h>

enum slot_state {
    SLOT_FREE,
    SLOT_QUEUED,
    SLOT_SYNTHESIZING,
    SLOT_READY,
    SLOT_PROVING,
    SLOT_UPLOADED,
    SLOT_PROVED,
    SLOT_FINALIZING,
    SLOT_ENDING, /* dropped while a worker holds it: whatever that answers is discarded */
    SLOT_DONE,
    SLOT_FAILED,
    SLOT_CANCELLED,
    SLOT_STATE_COUNT,
};

enum slot_event {
    SLOT_EVENT_ADMIT,
    SLOT_EVENT_ADOPT, /* with the slab of an earlier life, which holds its finished synthesis */
    SLOT_EVENT_GRANT_SYNTHESIZE,
    SLOT_EVENT_GRANT_PROVE,
    SLOT_EVENT_GRANT_FINALIZE,
    /* Answers of the owner. */
    SLOT_EVENT_SYNTHESIZED,
    SLOT_EVENT_UPLOADED,
    SLOT_EVENT_PROVED,
    SLOT_EVENT_FINALIZED,
    SLOT_EVENT_REFUSED, /* the input is at fault, or the pairing check failed: no retry */
    SLOT_EVENT_DROPPED, /* because the supervisor had asked */
    /* The owner is certainly dead, or blames its device or memory. */
    SLOT_EVENT_LOST,          /* a slab is bound */
    SLOT_EVENT_LOST_SLABLESS, /* the slab was reclaimed early, or stays with an owner written off */
    SLOT_EVENT_LOST_SPENT,    /* and no attempt is left */
    SLOT_EVENT_CANCEL,        /* asked by the client, or another partition of the job failed */
    SLOT_EVENT_RECLAIM,       /* a grant needs the slab */
    SLOT_EVENT_SETTLED,       /* the job has taken note of the terminal state */
    SLOT_EVENT_COUNT,
};

/* What the step asks pipeline_apply() to do, in this order. */
enum slot_action {
    SLOT_ACTION_DEQUEUE = 1 << 0,     /* leave the stage's queue */
    SLOT_ACTION_DISOWN = 1 << 1,      /* the owner no longer holds it */
    SLOT_ACTION_UNBIND = 1 << 2,      /* give the slab back to its ring */
    SLOT_ACTION_OWN = 1 << 3,         /* a worker holds it: the rest of pipeline_grant() */
    SLOT_ACTION_RECLAIMABLE = 1 << 4, /* the slab may be reclaimed early from now on */
    SLOT_ACTION_PROTECT = 1 << 5,     /* not any more */
    SLOT_ACTION_ENQUEUE = 1 << 6,     /* enter the queue of the next state */
    SLOT_ACTION_TELL = 1 << 7,        /* push OPERATION_CANCEL to the owner */
    SLOT_ACTION_SETTLE = 1 << 8,      /* the job takes note, then SLOT_EVENT_SETTLED */
};

struct slot_step {
    enum slot_state next;
    unsigned actions; /* enum slot_action */
};

/* 0, or -EPROTO when the event is illegal in this state. */
int slot_state_step(enum slot_state state, enum slot_event event, struct slot_step *ret);

const char *slot_state_to_string(enum slot_state state);
const char *slot_event_to_string(enum slot_event event);
