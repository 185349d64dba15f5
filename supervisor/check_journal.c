/* The journal against the jobs in memory: see check.h. The database itself is its writer's alone,
 * so what is compared is what the loop was told of it. */
#include <inttypes.h>
#include <stdio.h>

#include "supervisor/check.h"
#include "supervisor/supervisor.h"

void check_journal(const struct supervisor *supervisor, struct check_finding *finding)
{
    const struct durable *durable = &supervisor->durable;
    struct journal_figures figures;
    uint32_t ended = 0, unended = 0;
    if (!durable->journal) {
        check_skip(finding, "there is no journal");
        return;
    }
    journal_figures(durable->journal, &figures);
    enum journal_health health = journal_health(durable->journal);
    for (const struct job *job = supervisor->jobs.active.first; job; job = job->next)
        unended += job->is_journalled;
    for (const struct job *job = supervisor->jobs.finished.first; job; job = job->next)
        ended += job->is_journalled;
    if (health != JOURNAL_GOOD)
        check_fault(finding, "the journal is %s", journal_health_to_string(health));
    if (figures.queued != 0 || unended != 0)
        check_fault(finding,
                    "%u operations wait for the disk and %u jobs have not ended in the "
                    "journal, and nothing is in flight",
                    figures.queued, unended);
    if (ended > durable->counts.finished_count)
        check_fault(finding, "%u jobs in memory have ended in the journal, which counts %u", ended,
                    durable->counts.finished_count);
    check_note(finding, "%u ended jobs, %" PRIu64 " bytes of results",
               durable->counts.finished_count, durable->counts.finished_bytes);
}
