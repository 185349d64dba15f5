/* cuzkctl prove, submit. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/ctl.h"
#include "protocol/request.h"
#include "runtime/clock.h"

/* What can be judged before a daemon is asked. */
static int check(struct ctl *ctl, enum request_priority *ret_priority)
{
    const char *text = ctl_value(ctl, "priority");

    *ret_priority = REQUEST_PRIORITY_NORMAL;
    if (text && request_priority_from_string(text, ret_priority) < 0)
        return ctl_failf(ctl, CUZK_USAGE, "--priority %s: there is low, normal, high and critical",
                         text);
    return CTL_OK;
}

/* A daemon that stops has not accepted it, and with a client key a submit whose answer was lost
 * cannot become two jobs: it is sent again once the daemon is back. */
static bool may_repeat(const struct cuzk_submission *submission, int error)
{
    return error == CUZK_SHUTTING_DOWN || (error == CUZK_NO_DAEMON && submission->client_key);
}

static int submit(struct ctl *ctl, struct cuzk *cuzk, enum request_priority priority,
                  uint64_t deadline_ns, uint64_t *ret_job)
{
    struct cuzk_input inputs[CUZK_INPUTS_MAX] = {0};
    struct cuzk_submission submission = {
        .circuit = ctl_value(ctl, "circuit"),
        .priority = (enum cuzk_priority)priority,
        .inputs = inputs,
        .client_key = ctl_value(ctl, "client-key"),
        .not_durable = ctl_has(ctl, "not-durable"),
    };
    struct ctl_patience patience = {
        .what = "no job was heard of: with a client key it may be repeated and is done once",
        .deadline_ns = deadline_ns,
    };
    struct cuzk_error error;
    unsigned count = 0;
    const char *path;

    while ((path = ctl_value_at(ctl, "witness", count))) {
        if (count == CUZK_INPUTS_MAX)
            return ctl_failf(ctl, CUZK_USAGE, "more than %d witnesses; a job takes 1 to %d",
                             CUZK_INPUTS_MAX, CUZK_INPUTS_MAX);
        inputs[count++].path = path;
    }
    submission.input_count = count;
    int r = ctl_time_ms(ctl, "deadline", &submission.deadline_ms);
    if (r != CTL_OK)
        return r;
    if (!ctl_value(ctl, "deadline"))
        submission.deadline_ms = 0;
    for (;;) {
        r = cuzk_submit_job(cuzk, &submission, ret_job, &error);
        if (r == CUZK_OK)
            return CTL_OK;
        if (!may_repeat(&submission, r))
            return ctl_fail(ctl, &error);
        r = ctl_reconnect(ctl, cuzk, &patience, &error);
        if (r != CTL_OK)
            return r;
    }
}

int ctl_submit(struct ctl *ctl)
{
    enum request_priority priority;
    struct cuzk *cuzk;
    uint64_t job;
    int r = check(ctl, &priority);

    if (r == CTL_OK)
        r = ctl_open(ctl, false, &cuzk);
    if (r != CTL_OK)
        return r;
    r = submit(ctl, cuzk, priority, UINT64_MAX, &job);
    cuzk_close(cuzk);
    if (r != CTL_OK)
        return r;
    if (ctl->is_json)
        return ctl_print_json(ctl, json_pack("{s:I}", "job", (json_int_t)job));
    printf("%llu\n", (unsigned long long)job);
    return CTL_OK;
}

/* What prove and its JSON say when all is written. */
static int report(struct ctl *ctl, json_t *result, uint64_t started_ns)
{
    const char *circuit = json_string_value(json_object_get(result, "circuit"));
    const char *curve = json_string_value(json_object_get(result, "curve"));
    json_t *phases = json_object_get(result, "phases_ms");
    long long job = json_integer_value(json_object_get(result, "job"));
    size_t count = json_array_size(json_object_get(result, "proofs"));
    double took_ms = (double)(clock_now_ns() - started_ns) / 1e6;

    if (ctl->is_verbose || (!ctl->is_json && isatty(STDERR_FILENO)))
        ctl_print_phases(result);
    if (ctl->is_json)
        return ctl_print_json(ctl,
                              json_pack("{s:I, s:s, s:s?, s:s?, s:I, s:s, s:s, s:f, s:O?}", "job",
                                        (json_int_t)job, "state", "done", "circuit", circuit,
                                        "curve", curve, "partitions", (json_int_t)count, "proof",
                                        ctl_value(ctl, "proof"), "public", ctl_value(ctl, "public"),
                                        "took_ms", took_ms, "phases_ms", phases));
    printf("job %lld: %zu proof%s of circuit %s (%s) in %.3f s\n", job, count,
           count == 1 ? "" : "s", circuit ? circuit : "?", curve ? curve : "?", took_ms / 1e3);
    return CTL_OK;
}

int ctl_prove(struct ctl *ctl)
{
    uint64_t started_ns = clock_now_ns(), job;
    enum request_priority priority;
    struct cuzk *cuzk = NULL;
    struct cuzk_job state;
    json_t *result;
    uint32_t timeout_ms;

    int r = check(ctl, &priority);
    if (r == CTL_OK)
        r = ctl_time_ms(ctl, "timeout", &timeout_ms);
    if (r == CTL_OK && strcmp(ctl_value(ctl, "proof"), ctl_value(ctl, "public")) == 0)
        r = ctl_failf(ctl, CUZK_USAGE, "--proof and --public name the same file");
    if (r == CTL_OK)
        r = ctl_file_check(ctl, ctl_value(ctl, "proof"));
    if (r == CTL_OK)
        r = ctl_file_check(ctl, ctl_value(ctl, "public"));
    if (r == CTL_OK)
        r = ctl_open(ctl, false, &cuzk);
    if (r != CTL_OK)
        return r;
    ctl_catch_interrupts();
    r = submit(ctl, cuzk, priority,
               timeout_ms == CUZK_FOREVER ? UINT64_MAX : started_ns + timeout_ms * 1000000ull,
               &job);
    if (r == CTL_OK)
        r = ctl_wait_job(ctl, cuzk, job, timeout_ms, true, &state);
    if (r == CTL_OK) {
        r = ctl_write_results(ctl, cuzk, job, &result);
        if (r != CTL_OK)
            fprintf(stderr,
                    "cuzkctl: job %llu is done and its result kept: cuzkctl result %llu "
                    "--proof FILE --public FILE\n",
                    (unsigned long long)job, (unsigned long long)job);
    }
    cuzk_close(cuzk);
    if (r != CTL_OK)
        return r;
    r = report(ctl, result, started_ns);
    json_decref(result);
    return r;
}
