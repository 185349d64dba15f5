/* Device time on the host's clock. The device only says how far apart two events are; an anchor,
 * an event whose host time is known within some microseconds, places them on CLOCK_MONOTONIC.
 * Driver thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct timeline {
    void *stream; /* with nothing else in it; borrowed */
    void *anchor, *spare;
    uint64_t anchor_ns; /* 0: none yet */
};

/* A driver error. */
int timeline_init(struct timeline *timeline, void *stream);
void timeline_destroy(struct timeline *timeline);
/* Sets a new anchor when the old one has aged: the two clocks drift apart. Takes some tens of
 * microseconds then. is_idle: nothing is in flight, the cheap time for it. */
int timeline_refresh(struct timeline *timeline, bool is_idle);
/* When an event that has happened did. */
int timeline_ns(const struct timeline *timeline, void *event, uint64_t *ret_ns);
