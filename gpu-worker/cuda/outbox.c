/* See outbox.h. */
#include "gpu-worker/cuda/outbox.h"

#include <unistd.h>

#include "runtime/check.h"

void outbox_ring(const struct outbox *outbox)
{
    const uint64_t one = 1;
    /* Only a full counter can refuse, and then it is rung anyway. */
    (void)!write(outbox->event_fd, &one, sizeof one);
}

void outbox_post(struct outbox *outbox, const struct backend_event *event)
{
    CHECK(outbox->tail - outbox->head < OUTBOX_EVENTS_MAX);
    outbox->events[outbox->tail++ % OUTBOX_EVENTS_MAX] = *event;
    outbox_ring(outbox);
}

bool outbox_take(struct outbox *outbox, struct backend_event *ret_event)
{
    if (outbox->head == outbox->tail)
        return false;
    *ret_event = outbox->events[outbox->head++ % OUTBOX_EVENTS_MAX];
    return true;
}
