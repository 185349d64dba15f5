/* The events that wait for the owner's poll, and the bell that says so. Has room for all events
 * that held partitions and open key calls can make; slabs keep theirs themselves. Guarded by the
 * backend's mutex. */
#pragma once

#include <assert.h>

#include "gpu-worker/backend.h"

enum {
    /* One a phase (two of uploads), UPLOADED and the end. */
    OUTBOX_EVENTS_PARTITION = BACKEND_PHASE_COUNT + 3,
    OUTBOX_EVENTS_MAX = 128,
};

static_assert(OUTBOX_EVENTS_MAX >=
                  BACKEND_PARTITIONS_MAX * OUTBOX_EVENTS_PARTITION + BACKEND_KEY_CALLS_MAX,
              "the outbox never overflows");

struct outbox {
    int event_fd; /* borrowed */
    struct backend_event events[OUTBOX_EVENTS_MAX];
    uint32_t head, tail; /* free-running: taken at head, put at tail */
};

/* Says that there is something to poll. */
void outbox_ring(const struct outbox *outbox);
/* The event is copied and the bell rung. */
void outbox_post(struct outbox *outbox, const struct backend_event *event);
bool outbox_take(struct outbox *outbox, struct backend_event *ret_event);
