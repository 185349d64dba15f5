/* Log lines at the end of partitions and jobs: see report.h. */
#include "supervisor/report.h"

#include <inttypes.h>

#include "runtime/log.h"
#include "supervisor/supervisor.h"

static const char *outcome_of(const struct slot *slot)
{
    if (slot->state == SLOT_DONE)
        return "ok";
    return slot->state == SLOT_FAILED ? "failed" : "cancelled";
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns == 0 || to_ns < from_ns ? 0.0 : (double)(to_ns - from_ns) / 1e6;
}

void report_partition(const struct supervisor *supervisor, const struct slot *slot)
{
    uint64_t now_ns = supervisor->now_ns;
    uint64_t first_ns = slot->first_granted_ns ? slot->first_granted_ns : now_ns;
    log_info("SUP_TIMING partition job=%" PRIu64 " partition=%u outcome=%s queue_ms=%.3f "
             "synth_start_ms=%.3f gpu_start_ms=%.3f finalizer_start_ms=%.3f attempts=%u "
             "total_ms=%.3f",
             slot->job, slot->partition, outcome_of(slot), ms(slot->queued_ns, first_ns),
             slot->start_us[WORKER_SYNTH] / 1e3, slot->start_us[WORKER_GPU] / 1e3,
             slot->start_us[WORKER_FINALIZER] / 1e3, slot->attempts, ms(slot->queued_ns, now_ns));
}

void report_job(const struct job *job)
{
    double took_ms = ms(job->admitted_ns, job->finished_ns);
    if (job->state == REQUEST_JOB_DONE)
        log_info("job %" PRIu64 " is done: %u proofs of circuit %s in %.3f ms", job->number,
                 job->partition_count, job->circuit, took_ms);
    else if (job->state == REQUEST_JOB_CANCELLED)
        log_info("job %" PRIu64 " was cancelled after %.3f ms with %u of %u partitions done",
                 job->number, took_ms, job->done_count, job->partition_count);
    else if (job->error.partition == JOB_PARTITION_NONE)
        log_warn("job %" PRIu64 " of circuit %s failed after %.3f ms: %s", job->number,
                 job->circuit, took_ms, job->error.text);
    else
        log_warn("job %" PRIu64 " of circuit %s failed after %.3f ms at partition %u of %u, the "
                 "others are dropped: %s",
                 job->number, job->circuit, took_ms, job->error.partition, job->partition_count,
                 job->error.text);
}
