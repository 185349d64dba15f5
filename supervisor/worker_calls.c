/* See worker_calls.h. Upstream: answers.c; downstream: shm/worker.c in the worker. */
#include "supervisor/worker_calls.h"

#include <errno.h>

#include "supervisor/supervisor.h"

const char *worker_trim_state_to_string(enum worker_trim_state state)
{
    static const char *const names[] = {"none", "open", "done", "failed"};
    return (unsigned)state <= WORKER_TRIM_FAILED ? names[state] : "?";
}

int worker_calls_trim(struct worker *worker)
{
    struct supervisor *supervisor = worker->supervisor;
    if (worker->state != WORKER_RUNNING)
        return -ENOTCONN;
    if (worker->trim.state == WORKER_TRIM_OPEN)
        return 0;
    const struct message grant = {
        .operation = OPERATION_TRIM,
        .generation = slots_next_generation(&supervisor->slots),
        .numbers = {0, 0, 0, 0, supervisor->now_ns},
    };
    int r = workers_push(worker, &grant);
    if (r < 0)
        return r;
    worker->trim = (struct worker_trim){
        .number = ++supervisor->workers.last_order,
        .state = WORKER_TRIM_OPEN,
        .generation = grant.generation,
    };
    return 0;
}

const char *worker_calls_trimmed(struct worker *worker, const struct message *answer)
{
    struct worker_trim *trim = &worker->trim;
    if (trim->state != WORKER_TRIM_OPEN || answer->generation != trim->generation)
        return "it answered a trim that it was not asked for";
    uint64_t before = answer->numbers[2], after = answer->numbers[3];
    trim->state = answer->result == 0 ? WORKER_TRIM_DONE : WORKER_TRIM_FAILED;
    trim->free_before_bytes = answer->numbers[0];
    trim->free_after_bytes = answer->numbers[1];
    trim->given_back_bytes = before > after ? before - after : 0;
    log_info("%s has given %.1f MiB back to the kernel (malloc_trim)", worker->name,
             (double)trim->given_back_bytes / (1 << 20));
    return NULL;
}

void worker_calls_ended(struct worker *worker)
{
    if (worker->trim.state == WORKER_TRIM_OPEN)
        worker->trim.state = WORKER_TRIM_FAILED;
}

enum log_level worker_calls_level_of(const struct worker *worker)
{
    return worker->has_log_level ? worker->log_level : worker->supervisor->config.log_level;
}

/* One that does not run yet is started with it. Nothing answers the call, so that it waits until
 * the worker has taken all that came before: there is never more than one in the ring. */
static void tell_level(struct worker *worker)
{
    const struct message grant = {
        .operation = OPERATION_LOG_LEVEL,
        .numbers = {worker_calls_level_of(worker)},
    };
    if (worker->state != WORKER_STARTING && worker->state != WORKER_RUNNING) {
        worker->has_untold_level = false;
        return;
    }
    worker->has_untold_level =
        !channel_grants_are_taken(&worker->channel) || workers_push(worker, &grant) < 0;
}

void worker_calls_tick(struct worker *worker)
{
    if (worker->has_untold_level)
        tell_level(worker);
}

void worker_calls_log_level(struct worker *worker, enum log_level level)
{
    worker->has_log_level = true;
    worker->log_level = level;
    tell_level(worker);
}

void worker_calls_log_level_all(struct supervisor *supervisor, enum log_level level)
{
    supervisor->config.log_level = level;
    log_set_level(level);
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        worker->has_log_level = false;
        tell_level(worker);
    }
}
