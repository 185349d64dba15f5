/* See recycle.h. Upstream: supervisor.c's turn; downstream: worker_orders.c. */
#include "supervisor/recycle.h"

#include <inttypes.h>
#include <stdio.h>

#include "supervisor/supervisor.h"

bool recycle_is_due(const struct config_recycle *limits, uint64_t partitions, uint64_t heap_bytes,
                    uint64_t heap_free_bytes, char *ret_why, size_t room)
{
    if (limits->after > 0 && partitions >= limits->after) {
        snprintf(ret_why, room, "it has done %" PRIu64 " partitions (RecycleAfter=%u)", partitions,
                 limits->after);
        return true;
    }
    if (limits->fragmentation_percent == 0 || heap_free_bytes < (uint64_t)RECYCLE_FREE_MIB_MIN
                                                                    << 20)
        return false;
    /* In MiB: the worker's words are input and may be anything. */
    uint64_t free_mib = heap_free_bytes >> 20, sum_mib = free_mib + (heap_bytes >> 20);
    if (100 * free_mib < limits->fragmentation_percent * sum_mib)
        return false;
    snprintf(ret_why, room,
             "%" PRIu64 " of %" PRIu64 " MiB of its heap are free (RecycleFragmentation=%u)",
             free_mib, sum_mib, limits->fragmentation_percent);
    return true;
}

static const struct config_recycle *limits_of(const struct worker *worker)
{
    const struct config *config = &worker->supervisor->config;
    switch (worker->kind) {
    case WORKER_SYNTH:
        return &config->synth_recycle;
    case WORKER_GPU:
        return &config->gpu_recycle;
    default:
        return &config->finalizer_recycle;
    }
}

void recycle_tick(struct supervisor *supervisor)
{
    char why[160];
    if (supervisor->phase != SUPERVISOR_SERVING)
        return;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (worker->state != WORKER_RUNNING || !worker->is_caught_up)
            continue;
        const struct channel_progress *progress = &worker->channel.layout->progress;
        if (recycle_is_due(limits_of(worker),
                           atomic_load_explicit(&progress->partitions_done, memory_order_relaxed),
                           atomic_load_explicit(&progress->heap_bytes, memory_order_relaxed),
                           atomic_load_explicit(&progress->heap_free_bytes, memory_order_relaxed),
                           why, sizeof why))
            worker_orders_recycle(worker, why);
    }
}
