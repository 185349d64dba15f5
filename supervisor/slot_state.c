/* The table behind slot_state.h.
 *
 *                grant             answer        grant         answers
 *  FREE -> QUEUED -----> SYNTHESIZING -----> READY -----> PROVING -> UPLOADED -> PROVED
 *             ^               |                ^             |          |          |  grant
 *             +---- lost -----+                +--- lost ----+----------+          v
 *             +------------- lost, slab reclaimed early ----------------+      FINALIZING -> DONE
 *                                                        PROVED <---- lost --------+
 *
 * Owner: SYNTHESIZING a synthesis worker; PROVING and UPLOADED a gpu worker; FINALIZING a
 * finalizer; ENDING whichever held it; in every other state the supervisor. Slab: bound from
 * SYNTHESIZING on until a terminal state, unless reclaimed at UPLOADED or later.
 *
 * Recovery: what "lost" does above, whether the owner died or blamed its device. The slab of one
 * whose owner cannot be killed stays with that owner, and the partition starts over without. Input at fault, a
 * failed pairing check or spent attempts: FAILED. Cancel: at once where no worker holds the slot,
 * else ENDING until the owner answers anything or is dead, since until then it may still write the
 * slab. Terminal states last only until the job has taken note of them. */
#include "supervisor/slot_state.h"

#include <errno.h>
#include <stdbool.h>

struct cell {
    bool is_legal;
    struct slot_step step;
};

#define NO                                                                                         \
    {                                                                                              \
        false,                                                                                     \
        {                                                                                          \
            SLOT_FREE, 0                                                                           \
        }                                                                                          \
    }
#define TO(state, actions)                                                                         \
    {                                                                                              \
        true,                                                                                      \
        {                                                                                          \
            SLOT_##state, (actions)                                                                \
        }                                                                                          \
    }

#define DEQUEUE     SLOT_ACTION_DEQUEUE
#define DISOWN      SLOT_ACTION_DISOWN
#define UNBIND      SLOT_ACTION_UNBIND
#define OWN         SLOT_ACTION_OWN
#define RECLAIMABLE SLOT_ACTION_RECLAIMABLE
#define PROTECT     SLOT_ACTION_PROTECT
#define ENQUEUE     SLOT_ACTION_ENQUEUE
#define TELL        SLOT_ACTION_TELL
#define SETTLE      SLOT_ACTION_SETTLE

/* Leaving the pipeline from a queue, and from a worker's hands. */
#define FROM_QUEUE (DEQUEUE | UNBIND | SETTLE)
#define FROM_OWNER (DISOWN | UNBIND | SETTLE)

/* clang-format off */
static const struct cell cells[SLOT_STATE_COUNT][SLOT_EVENT_COUNT] = {
    [SLOT_FREE] = {
        [SLOT_EVENT_ADMIT]            = TO(QUEUED, ENQUEUE),
        [SLOT_EVENT_ADOPT]            = TO(READY, ENQUEUE),
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = NO,
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = NO,
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = NO,
        [SLOT_EVENT_LOST_SLABLESS]    = NO,
        [SLOT_EVENT_LOST_SPENT]       = NO,
        [SLOT_EVENT_CANCEL]           = NO,
        [SLOT_EVENT_RECLAIM]          = NO,
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_QUEUED] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = TO(SYNTHESIZING, DEQUEUE | OWN),
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = NO,
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = NO,
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = NO,
        [SLOT_EVENT_LOST_SLABLESS]    = NO,
        [SLOT_EVENT_LOST_SPENT]       = NO,
        [SLOT_EVENT_CANCEL]           = TO(CANCELLED, FROM_QUEUE),
        [SLOT_EVENT_RECLAIM]          = NO,
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_SYNTHESIZING] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = TO(READY, DISOWN | ENQUEUE),
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = NO,
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = TO(QUEUED, DISOWN | UNBIND | ENQUEUE),
        [SLOT_EVENT_LOST_SLABLESS]    = TO(QUEUED, DISOWN | ENQUEUE), /* it was written off */
        [SLOT_EVENT_LOST_SPENT]       = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_CANCEL]           = TO(ENDING, TELL),
        [SLOT_EVENT_RECLAIM]          = NO,
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_READY] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = TO(PROVING, DEQUEUE | OWN),
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = NO,
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = NO,
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = NO,
        [SLOT_EVENT_LOST_SLABLESS]    = NO,
        [SLOT_EVENT_LOST_SPENT]       = NO,
        [SLOT_EVENT_CANCEL]           = TO(CANCELLED, FROM_QUEUE),
        [SLOT_EVENT_RECLAIM]          = NO,
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_PROVING] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = TO(UPLOADED, RECLAIMABLE),
        [SLOT_EVENT_PROVED]           = NO, /* UPLOADED comes first, from every backend */
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = TO(READY, DISOWN | ENQUEUE),
        [SLOT_EVENT_LOST_SLABLESS]    = TO(QUEUED, DISOWN | ENQUEUE), /* it was written off */
        [SLOT_EVENT_LOST_SPENT]       = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_CANCEL]           = TO(ENDING, TELL),
        [SLOT_EVENT_RECLAIM]          = NO,
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_UPLOADED] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = TO(PROVED, DISOWN | ENQUEUE),
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = TO(READY, DISOWN | PROTECT | ENQUEUE),
        [SLOT_EVENT_LOST_SLABLESS]    = TO(QUEUED, DISOWN | ENQUEUE),
        [SLOT_EVENT_LOST_SPENT]       = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_CANCEL]           = TO(ENDING, PROTECT | TELL),
        [SLOT_EVENT_RECLAIM]          = TO(UPLOADED, UNBIND),
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_PROVED] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = TO(FINALIZING, DEQUEUE | OWN),
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = NO,
        [SLOT_EVENT_FINALIZED]        = NO,
        [SLOT_EVENT_REFUSED]          = NO,
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = NO,
        [SLOT_EVENT_LOST_SLABLESS]    = NO,
        [SLOT_EVENT_LOST_SPENT]       = NO,
        [SLOT_EVENT_CANCEL]           = TO(CANCELLED, FROM_QUEUE),
        [SLOT_EVENT_RECLAIM]          = TO(PROVED, UNBIND),
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_FINALIZING] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = NO,
        [SLOT_EVENT_UPLOADED]         = NO,
        [SLOT_EVENT_PROVED]           = NO,
        [SLOT_EVENT_FINALIZED]        = TO(DONE, FROM_OWNER),
        [SLOT_EVENT_REFUSED]          = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_DROPPED]          = NO,
        [SLOT_EVENT_LOST]             = TO(PROVED, DISOWN | ENQUEUE),
        [SLOT_EVENT_LOST_SLABLESS]    = TO(PROVED, DISOWN | ENQUEUE),
        [SLOT_EVENT_LOST_SPENT]       = TO(FAILED, FROM_OWNER),
        [SLOT_EVENT_CANCEL]           = TO(ENDING, PROTECT | TELL),
        [SLOT_EVENT_RECLAIM]          = TO(FINALIZING, UNBIND),
        [SLOT_EVENT_SETTLED]          = NO,
    },
    [SLOT_ENDING] = {
        [SLOT_EVENT_ADMIT]            = NO,
        [SLOT_EVENT_ADOPT]            = NO,
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,
        [SLOT_EVENT_GRANT_PROVE]      = NO,
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,
        [SLOT_EVENT_SYNTHESIZED]      = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_UPLOADED]         = TO(ENDING, 0), /* the last answer is still to come */
        [SLOT_EVENT_PROVED]           = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_FINALIZED]        = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_REFUSED]          = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_DROPPED]          = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_LOST]             = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_LOST_SLABLESS]    = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_LOST_SPENT]       = TO(CANCELLED, FROM_OWNER),
        [SLOT_EVENT_CANCEL]           = TO(ENDING, 0), /* cancelled twice */
        [SLOT_EVENT_RECLAIM]          = NO,
        [SLOT_EVENT_SETTLED]          = NO,
    },
#define TERMINAL                                                                                   \
    {                                                                                              \
        [SLOT_EVENT_ADMIT]            = NO,                                                        \
        [SLOT_EVENT_ADOPT]            = NO,                                                        \
        [SLOT_EVENT_GRANT_SYNTHESIZE] = NO,                                                        \
        [SLOT_EVENT_GRANT_PROVE]      = NO,                                                        \
        [SLOT_EVENT_GRANT_FINALIZE]   = NO,                                                        \
        [SLOT_EVENT_SYNTHESIZED]      = NO,                                                        \
        [SLOT_EVENT_UPLOADED]         = NO,                                                        \
        [SLOT_EVENT_PROVED]           = NO,                                                        \
        [SLOT_EVENT_FINALIZED]        = NO,                                                        \
        [SLOT_EVENT_REFUSED]          = NO,                                                        \
        [SLOT_EVENT_DROPPED]          = NO,                                                        \
        [SLOT_EVENT_LOST]             = NO,                                                        \
        [SLOT_EVENT_LOST_SLABLESS]    = NO,                                                        \
        [SLOT_EVENT_LOST_SPENT]       = NO,                                                        \
        [SLOT_EVENT_CANCEL]           = NO,                                                        \
        [SLOT_EVENT_RECLAIM]          = NO,                                                        \
        [SLOT_EVENT_SETTLED]          = TO(FREE, 0),                                               \
    }
    [SLOT_DONE]      = TERMINAL,
    [SLOT_FAILED]    = TERMINAL,
    [SLOT_CANCELLED] = TERMINAL,
};
/* clang-format on */

int slot_state_step(enum slot_state state, enum slot_event event, struct slot_step *ret)
{
    if (state >= SLOT_STATE_COUNT || event >= SLOT_EVENT_COUNT)
        return -EPROTO;
    const struct cell *cell = &cells[state][event];
    if (!cell->is_legal)
        return -EPROTO;
    *ret = cell->step;
    return 0;
}

const char *slot_state_to_string(enum slot_state state)
{
    static const char *const names[SLOT_STATE_COUNT] = {
        "free",   "queued",     "synthesizing", "ready", "proving", "uploaded",
        "proved", "finalizing", "ending",       "done",  "failed",  "cancelled",
    };
    return state < SLOT_STATE_COUNT ? names[state] : "unknown";
}

const char *slot_event_to_string(enum slot_event event)
{
    static const char *const names[SLOT_EVENT_COUNT] = {
        "admit",       "adopt",       "grant synthesize", "grant prove", "grant finalize",
        "synthesized", "uploaded",         "proved",      "finalized",
        "refused",     "dropped",          "lost",        "lost slabless",
        "lost spent",  "cancel",           "reclaim",     "settled",
    };
    return event < SLOT_EVENT_COUNT ? names[event] : "unknown";
}
