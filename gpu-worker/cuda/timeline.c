/* See timeline.h. */
#include "gpu-worker/cuda/timeline.h"

#include <unistd.h>

#include "gpu-worker/cuda/driver.h"
#include "runtime/clock.h"

/* The runtime gives milliseconds as a 24-bit float: half a microsecond up to 8 s. */
#define TIMELINE_IDLE_AGE_NS 1000000000u
#define TIMELINE_AGE_NS      8000000000u
/* A device that hangs must not take the thread with it: then the old anchor serves on. The first
 * one may take longer, and there is none without it. */
#define TIMELINE_WAIT_NS       20000000u
#define TIMELINE_FIRST_WAIT_NS 10000000000u
#define TIMELINE_SPIN_NS       200000u

int timeline_init(struct timeline *timeline, void *stream)
{
    *timeline = (struct timeline){.stream = stream};
    int error = driver_event_create(&timeline->anchor);
    if (error == DRIVER_OK)
        error = driver_event_create(&timeline->spare);
    return error == DRIVER_OK ? timeline_refresh(timeline, true) : error;
}

void timeline_destroy(struct timeline *timeline)
{
    if (timeline->anchor)
        driver_event_destroy(timeline->anchor);
    if (timeline->spare)
        driver_event_destroy(timeline->spare);
    *timeline = (struct timeline){0};
}

static int timeline_await(void *event, uint64_t begin_ns, uint64_t wait_ns)
{
    for (;;) {
        const int error = driver_event_query(event);
        const uint64_t waited_ns = clock_now_ns() - begin_ns;
        if (error != DRIVER_ERROR_NOT_READY || waited_ns > wait_ns)
            return error;
        if (waited_ns > TIMELINE_SPIN_NS)
            usleep(TIMELINE_SPIN_NS / 1000);
    }
}

int timeline_refresh(struct timeline *timeline, bool is_idle)
{
    const uint64_t begin_ns = clock_now_ns();
    if (timeline->anchor_ns &&
        begin_ns - timeline->anchor_ns < (is_idle ? TIMELINE_IDLE_AGE_NS : TIMELINE_AGE_NS))
        return DRIVER_OK;
    int error = driver_event_record(timeline->spare, timeline->stream);
    if (error == DRIVER_OK)
        error = timeline_await(timeline->spare, begin_ns,
                               timeline->anchor_ns ? TIMELINE_WAIT_NS : TIMELINE_FIRST_WAIT_NS);
    if (error == DRIVER_ERROR_NOT_READY && timeline->anchor_ns)
        return DRIVER_OK;
    if (error != DRIVER_OK)
        return error;
    void *old = timeline->anchor;
    timeline->anchor = timeline->spare;
    timeline->spare = old;
    timeline->anchor_ns = begin_ns + (clock_now_ns() - begin_ns) / 2;
    return DRIVER_OK;
}

int timeline_ns(const struct timeline *timeline, void *event, uint64_t *ret_ns)
{
    double ms;
    const int error = driver_event_elapsed(&ms, timeline->anchor, event);
    if (error == DRIVER_OK)
        *ret_ns = timeline->anchor_ns + (uint64_t)(int64_t)(ms * 1e6);
    return error;
}
