/* Flight recorder: a bounded ring of stage events written by one process without locks, readable
 * by others at any time and after its writer's death. A reader takes `written`, copies entries and
 * re-reads `written` to drop those overwritten meanwhile. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "config/limits.h"

struct trace_event {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t job;
    uint32_t slot;
    uint16_t partition;
    uint16_t phase; /* enum phase */
    uint64_t bytes; /* moved in the phase, 0 when it moves none */
};

struct trace_ring {
    _Alignas(64) _Atomic uint64_t written;
    _Alignas(64) struct trace_event events[TRACE_ENTRIES];
};

void trace_write(struct trace_ring *ring, const struct trace_event *event);
/* Copies up to max of the newest events, oldest first; returns the count. */
uint32_t trace_read(const struct trace_ring *ring, struct trace_event *ret_events, uint32_t max);
