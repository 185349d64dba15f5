/* See worker_answers.h. Upstream: answers.c; downstream: worker_orders.c, worker_calls.c. */
#include "supervisor/worker_answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/answers.h"
#include "supervisor/supervisor.h"

/* What was asked of one worker came to. */
struct outcome {
    struct worker *worker;
    int error;
    uint64_t number; /* of the order or trim */
    char text[WORKER_ORDERS_WHY_BYTES];
};

/* "all", a kind or a name. */
static bool is_meant(const struct worker *worker, const char *word)
{
    return worker_is_present(worker) &&
           (strcmp(word, "all") == 0 || strcmp(word, worker->name) == 0 ||
            strcmp(word, worker_kind_to_string(worker->kind)) == 0);
}

static void order_one(struct outcome *outcome, const struct request *request)
{
    struct worker *worker = outcome->worker;
    char *why = outcome->text;
    switch (request->method) {
    case REQUEST_WORKER_RESTART:
        outcome->error = worker_orders_restart(worker, request->worker.is_now, why);
        break;
    case REQUEST_WORKER_DRAIN:
        outcome->error = worker_orders_drain(worker, why);
        break;
    case REQUEST_WORKER_RESUME:
        outcome->error = worker_orders_resume(worker, why);
        break;
    case REQUEST_WORKER_TRIM:
        outcome->error = worker_calls_trim(worker);
        outcome->number = worker->trim.number;
        if (outcome->error == -ENOTCONN)
            snprintf(why, sizeof outcome->text, "%s does not run", worker->name);
        else if (outcome->error < 0)
            snprintf(why, sizeof outcome->text, "%s cannot be asked now: its ring is full",
                     worker->name);
        return;
    default:
        worker_calls_log_level(worker, request->worker.level);
        return;
    }
    outcome->number = worker->order.number;
}

static enum reply_code code_of(int error)
{
    return error == -EBUSY || error == -EAGAIN ? REPLY_BUSY : REPLY_FAILED;
}

static void write_outcome(struct reply *reply, const struct outcome *outcome,
                          const struct request *request)
{
    const struct worker *worker = outcome->worker;
    bool is_order = request->method != REQUEST_WORKER_TRIM && request->method != REQUEST_LOG_LEVEL;
    reply_map(reply, NULL);
    reply_string(reply, "name", worker->name);
    if (outcome->error < 0) {
        reply_string(reply, "error", outcome->text);
    } else if (request->method != REQUEST_LOG_LEVEL) {
        reply_integer(reply, "number", outcome->number);
        reply_string(reply, "state",
                     is_order ? worker_order_state_to_string(worker->order.state)
                              : worker_trim_state_to_string(worker->trim.state));
    }
    reply_close(reply);
}

static void no_such_worker(const struct answers_caller *caller, const struct request *request,
                           struct reply *reply)
{
    const struct workers *workers = &caller->supervisor->workers;
    char text[512];
    int used = snprintf(text, sizeof text,
                        "there is no worker %s; there are all, synth, gpu, "
                        "finalizer",
                        request->worker.worker);
    for (uint32_t i = 0; i < workers->count && used < (int)sizeof text - 32; i++) {
        if (worker_is_present(&workers->entries[i]))
            used +=
                snprintf(text + used, sizeof text - (size_t)used, ", %s", workers->entries[i].name);
    }
    reply_error(reply, request->message_id, REPLY_NOT_FOUND, text, 0);
}

/* Of everything, or of the supervisor alone. */
static void make_log_level(struct supervisor *supervisor, const struct request *request,
                           struct reply *reply)
{
    enum log_level level = request->worker.level;
    if (request->worker.worker[0])
        log_set_level(level);
    else
        worker_calls_log_level_all(supervisor, level);
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_string(reply, "level", log_level_to_string(level));
    reply_close(reply);
}

/* One that an operator keeps down is not meant by a word for many. */
static bool is_passed_over(const struct outcome *outcome, const char *word)
{
    return outcome->error == -EALREADY && strcmp(word, outcome->worker->name) != 0;
}

static void make_outcomes(const struct answers_caller *caller, const struct request *request,
                          struct reply *reply)
{
    static struct outcome outcomes[WORKERS_MAX]; /* there is one thread */
    struct workers *workers = &caller->supervisor->workers;
    uint32_t count = 0, met = 0;
    for (uint32_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->entries[i];
        if (!is_meant(worker, request->worker.worker))
            continue;
        outcomes[count] = (struct outcome){.worker = worker};
        order_one(&outcomes[count], request);
        met++;
        count += !is_passed_over(&outcomes[count], request->worker.worker);
    }
    if (met == 0) {
        no_such_worker(caller, request, reply);
        return;
    }
    if (count == 1 && outcomes[0].error < 0) {
        reply_error(reply, request->message_id, code_of(outcomes[0].error), outcomes[0].text, 0);
        return;
    }
    reply_begin(reply, request->message_id);
    reply_map(reply, NULL);
    reply_array(reply, "workers");
    for (uint32_t i = 0; i < count; i++)
        write_outcome(reply, &outcomes[i], request);
    reply_close(reply);
    reply_close(reply);
}

void worker_answers_make(const struct answers_caller *caller, const struct request *request,
                         struct reply *reply)
{
    struct supervisor *supervisor = caller->supervisor;
    const char *word = request->worker.worker;
    if (supervisor->phase >= SUPERVISOR_STOPPING) {
        reply_error(reply, request->message_id, REPLY_SHUTTING_DOWN, "the daemon is stopping", 0);
        return;
    }
    log_info("uid %u asks for %s%s%s%s", (unsigned)caller->uid,
             request_method_to_string(request->method), word[0] ? " of " : "", word,
             request->worker.is_now ? " now" : "");
    bool is_level = request->method == REQUEST_LOG_LEVEL;
    if (is_level && (!word[0] || strcmp(word, "cuzkd") == 0))
        make_log_level(supervisor, request, reply);
    else
        make_outcomes(caller, request, reply);
}
