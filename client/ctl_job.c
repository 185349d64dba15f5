/* cuzkctl wait, result, cancel, jobs: what is done with a job's number. */
#include <stdio.h>
#include <string.h>

#include "client/ctl.h"
#include "config/units.h"
#include "protocol/request.h"

/* The argument, a job's number or @ and its client key, and a connection. */
static int begin(struct ctl *ctl, uint64_t *ret_job, struct cuzk **ret_cuzk)
{
    struct cuzk_error error;
    int r = ctl_job_number(ctl, ret_job);
    if (r == CTL_OK)
        r = ctl_open(ctl, false, ret_cuzk);
    if (r != CTL_OK || *ret_job != 0)
        return r;
    if (cuzk_find(*ret_cuzk, ctl->positional[0] + 1, ret_job, &error) == CUZK_OK)
        return CTL_OK;
    cuzk_close(*ret_cuzk);
    return ctl_fail(ctl, &error);
}

int ctl_wait(struct ctl *ctl)
{
    struct cuzk_job state;
    struct cuzk *cuzk;
    uint64_t job;
    uint32_t timeout_ms;

    int r = ctl_time_ms(ctl, "timeout", &timeout_ms);
    if (r == CTL_OK)
        r = begin(ctl, &job, &cuzk);
    if (r != CTL_OK)
        return r;
    r = ctl_wait_job(ctl, cuzk, job, timeout_ms, false, &state);
    cuzk_close(cuzk);
    if (r != CTL_OK)
        return r;
    if (ctl->is_json)
        return ctl_print_json(ctl,
                              json_pack("{s:I, s:s, s:i, s:i}", "job", (json_int_t)job, "state",
                                        cuzk_job_state_to_string(state.state), "partitions",
                                        (int)state.partitions, "done", (int)state.done));
    printf("job %llu is done: %u proof%s\n", (unsigned long long)job, state.partitions,
           state.partitions == 1 ? "" : "s");
    return CTL_OK;
}

int ctl_result(struct ctl *ctl)
{
    const char *proof = ctl_value(ctl, "proof"), *public = ctl_value(ctl, "public");
    json_t *result = NULL;
    struct cuzk *cuzk;
    uint64_t job;

    int r = proof ? ctl_file_check(ctl, proof) : CTL_OK;
    if (r == CTL_OK && public)
        r = ctl_file_check(ctl, public);
    if (r == CTL_OK && proof && public && strcmp(proof, public) == 0)
        r = ctl_failf(ctl, CUZK_USAGE, "--proof and --public name the same file");
    if (r == CTL_OK)
        r = begin(ctl, &job, &cuzk);
    if (r != CTL_OK)
        return r;
    r = ctl_write_results(ctl, cuzk, job, &result);
    cuzk_close(cuzk);
    if (r != CTL_OK)
        return r;
    if (ctl->is_verbose)
        ctl_print_phases(result);
    if (ctl->is_json || (!proof && !public))
        return ctl_print_json(ctl, result);
    printf("job %llu: %zu proof%s of circuit %s\n", (unsigned long long)job,
           json_array_size(json_object_get(result, "proofs")),
           json_array_size(json_object_get(result, "proofs")) == 1 ? "" : "s",
           json_string_value(json_object_get(result, "circuit")));
    json_decref(result);
    return CTL_OK;
}

int ctl_cancel(struct ctl *ctl)
{
    struct cuzk_error error;
    struct cuzk *cuzk;
    uint64_t job;

    int r = begin(ctl, &job, &cuzk);
    if (r != CTL_OK)
        return r;
    r = cuzk_cancel(cuzk, job, &error);
    cuzk_close(cuzk);
    if (r != CUZK_OK)
        return ctl_fail(ctl, &error);
    if (ctl->is_json)
        return ctl_print_json(
            ctl, json_pack("{s:I, s:s}", "job", (json_int_t)job, "outcome", "cancelled"));
    printf("job %llu is cancelled\n", (unsigned long long)job);
    return CTL_OK;
}

static void print_jobs(const json_t *reply)
{
    const json_t *jobs = json_object_get(reply, "jobs");
    static const char *const headings[] = {"JOB",    "STATE", "CIRCUIT", "PRIORITY",
                                           "PROVED", "AGE s", "TOOK s",  "WHY"};
    struct ctl_table *table = ctl_table_new(headings, 8);

    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const json_t *took = json_object_get(job, "took_ms");
        ctl_table_json(table, job, "job");
        ctl_table_json(table, job, "state");
        ctl_table_json(table, job, "circuit");
        ctl_table_json(table, job, "priority");
        ctl_table_cell(table, "%lld/%lld",
                       (long long)json_integer_value(json_object_get(job, "done")),
                       (long long)json_integer_value(json_object_get(job, "partitions")));
        ctl_table_cell(table, "%.1f", json_number_value(json_object_get(job, "age_ms")) / 1e3);
        if (took)
            ctl_table_cell(table, "%.3f", json_number_value(took) / 1e3);
        else
            ctl_table_cell(table, "-");
        ctl_table_json(table, json_object_get(job, "error"), "message");
    }
    ctl_table_print(table, stdout);
}

int ctl_jobs(struct ctl *ctl)
{
    const char *limit_text = ctl_value(ctl, "limit"), *state_text = ctl_value(ctl, "state");
    enum request_job_state state = REQUEST_JOB_QUEUED;
    struct cuzk_error error;
    uint64_t limit = 0;
    struct cuzk *cuzk;
    char *text;

    if (limit_text &&
        (units_parse_integer(limit_text, &limit) < 0 || limit == 0 || limit > REPLY_JOBS_MAX))
        return ctl_failf(ctl, CUZK_USAGE, "--limit %s: allowed are 1 to %d", limit_text,
                         REPLY_JOBS_MAX);
    if (state_text && request_job_state_from_string(state_text, &state) < 0)
        return ctl_failf(ctl, CUZK_USAGE,
                         "--state %s: there is queued, running, done, failed and cancelled",
                         state_text);
    int r = ctl_open(ctl, false, &cuzk);
    if (r != CTL_OK)
        return r;
    enum cuzk_job_state filter = (enum cuzk_job_state)state;
    r = cuzk_jobs(cuzk, (uint32_t)limit, state_text ? &filter : NULL, &text, &error);
    cuzk_close(cuzk);
    return r == CUZK_OK ? ctl_show_text(ctl, text, print_jobs) : ctl_fail(ctl, &error);
}
