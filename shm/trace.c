/* See shm/trace.h. Events are stored and loaded as 64-bit words, each with release and acquire:
 *   [trace.R1] every word of an event ↔ [trace.A1] every word copied: a reader that sees a word of
 *              event w also sees written >= w afterwards, and so drops event w - TRACE_ENTRIES,
 *              whose place it took. Without it a mixture of two events would pass for one.
 *   [trace.R2] written ↔ [trace.A2] written: a counted event is complete. */
#include "shm/trace.h"

#include <assert.h>

enum {
    EVENT_WORDS = sizeof(struct trace_event) / sizeof(uint64_t),
};
static_assert(sizeof(struct trace_event) % sizeof(uint64_t) == 0, "events are whole words");
static_assert((TRACE_ENTRIES & (TRACE_ENTRIES - 1)) == 0, "indices wrap by masking");

void trace_write(struct trace_ring *ring, const struct trace_event *event)
{
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    const uint64_t *from = (const uint64_t *)event;
    _Atomic uint64_t *to = (_Atomic uint64_t *)&ring->events[written & (TRACE_ENTRIES - 1)];

    for (unsigned i = 0; i < EVENT_WORDS; i++)
        atomic_store_explicit(&to[i], from[i], memory_order_release);         /* [trace.R1] */
    atomic_store_explicit(&ring->written, written + 1, memory_order_release); /* [trace.R2] */
}

uint32_t trace_read(const struct trace_ring *ring, struct trace_event *ret_events, uint32_t max)
{
    uint64_t end = atomic_load_explicit(&ring->written, memory_order_acquire); /* [trace.A2] */
    uint64_t limit = max < TRACE_ENTRIES ? max : TRACE_ENTRIES;
    uint64_t first = end > limit ? end - limit : 0;
    uint64_t written, dropped = 0;

    for (uint64_t at = first; at < end; at++) {
        const _Atomic uint64_t *from =
            (const _Atomic uint64_t *)&ring->events[at & (TRACE_ENTRIES - 1)];
        uint64_t *to = (uint64_t *)&ret_events[at - first];
        for (unsigned i = 0; i < EVENT_WORDS; i++)
            to[i] = atomic_load_explicit(&from[i], memory_order_acquire); /* [trace.A1] */
    }
    /* The writer may be in the middle of event `written`, in the place of that many entries ago. */
    written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    if (written + 1 > first + TRACE_ENTRIES)
        dropped = written + 1 - TRACE_ENTRIES - first;
    if (written < end || dropped > end - first) /* less than before: its writer is corrupt */
        dropped = end - first;
    for (uint64_t at = 0; dropped && at < end - first - dropped; at++)
        ret_events[at] = ret_events[at + dropped];
    return (uint32_t)(end - first - dropped);
}
