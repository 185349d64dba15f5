/* Waiting for a job as a person at a terminal does: seeing it move, able to give it up. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/ctl.h"
#include "runtime/clock.h"

enum {
    /* One question lasts so long: a ^C that just misses the wait is seen after it. */
    QUESTION_MS = 1000,
    RECONNECT_PAUSE_MS = 200,
};

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (interrupts++ > 0)
        _exit(CTL_CANCELLED);
}

void ctl_catch_interrupts(void)
{
    /* Without SA_RESTART: the wait is to end. */
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void show_progress(const struct cuzk_job *job, uint64_t started_ns)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rjob %llu: %s, %u of %u proved, %.0f s\033[K", (unsigned long long)job->job,
            cuzk_job_state_to_string(job->state), job->done, job->partitions,
            (double)(clock_now_ns() - started_ns) / 1e9);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static int give_up(struct ctl *ctl, struct cuzk *cuzk, uint64_t job)
{
    struct cuzk_error error;
    int r = cuzk_cancel(cuzk, job, &error);

    if (r == CUZK_OK)
        return ctl_failf(ctl, CUZK_CANCELLED, "interrupted: job %llu is cancelled",
                         (unsigned long long)job);
    if (r == CUZK_TOO_LATE)
        return ctl_failf(ctl, CUZK_CANCELLED,
                         "interrupted, but job %llu had just ended; see cuzkctl result %llu",
                         (unsigned long long)job, (unsigned long long)job);
    return ctl_fail(ctl, &error);
}

/* The job has ended: CTL_OK, or why not. */
static int judge(struct ctl *ctl, const struct cuzk_job *job)
{
    unsigned long long number = job->job;

    if (job->state == CUZK_JOB_DONE)
        return CTL_OK;
    if (job->state == CUZK_JOB_CANCELLED)
        return ctl_failf(ctl, CUZK_CANCELLED, "job %llu was cancelled%s%s", number,
                         job->message[0] ? ": " : "", job->message);
    if (job->failed_partition >= 0 && job->partitions > 1)
        return ctl_failf(ctl, job->code, "job %llu failed at witness %d of %u: %s", number,
                         job->failed_partition + 1, job->partitions, job->message);
    return ctl_failf(ctl, job->code, "job %llu failed: %s", number, job->message);
}

int ctl_reconnect(struct ctl *ctl, struct cuzk *cuzk, struct ctl_patience *patience,
                  struct cuzk_error *error)
{
    struct timespec pause = {.tv_nsec = RECONNECT_PAUSE_MS * 1000000};

    if (patience->gone_ns == 0) {
        patience->gone_ns = clock_now_ns();
        fprintf(stderr, "cuzkctl: the daemon %s; waiting up to %d s for it to come back\n",
                error->code == CUZK_SHUTTING_DOWN ? "is stopping" : "has gone", CTL_RECONNECT_S);
    }
    uint64_t limit_ns = patience->gone_ns + CTL_RECONNECT_S * UINT64_C(1000000000);
    /* A pause comes first: a daemon that closes every connection is not to be besieged. */
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        if (interrupts > 0)
            return ctl_failf(ctl, CUZK_CANCELLED, "interrupted while the daemon was away; %s",
                             patience->what);
        if (now_ns >= patience->deadline_ns)
            return ctl_failf(ctl, CUZK_TIMEOUT, "the daemon is away (%s); %s", error->message,
                             patience->what);
        if (now_ns >= limit_ns)
            return ctl_failf(ctl, CUZK_NO_DAEMON,
                             "the daemon has not come back within %d s (%s); %s", CTL_RECONNECT_S,
                             error->message, patience->what);
        nanosleep(&pause, NULL);
        if (cuzk_reconnect(cuzk, error) == CUZK_OK)
            return CTL_OK;
    }
}

int ctl_wait_job(struct ctl *ctl, struct cuzk *cuzk, uint64_t job, uint32_t timeout_ms,
                 bool cancels_on_interrupt, struct cuzk_job *ret_job)
{
    uint64_t started_ns = clock_now_ns(), seen = 0;
    uint64_t deadline_ns =
        timeout_ms == CUZK_FOREVER ? UINT64_MAX : started_ns + timeout_ms * 1000000ull;
    bool has_seen = false;
    struct cuzk_error error;
    char what[80];
    struct ctl_patience patience = {.what = what, .deadline_ns = deadline_ns};

    snprintf(what, sizeof what, "cuzkctl wait %llu goes on with its job", (unsigned long long)job);
    for (;;) {
        if (interrupts > 0 && cancels_on_interrupt) {
            clear_progress();
            return give_up(ctl, cuzk, job);
        }
        uint64_t now_ns = clock_now_ns();
        uint64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns + 999999) / 1000000u : 0;
        uint32_t wait_ms = left_ms < QUESTION_MS ? (uint32_t)left_ms : QUESTION_MS;
        int r = cuzk_wait(cuzk, job, wait_ms, has_seen ? &seen : NULL, ret_job, &error);
        if (r == CUZK_INTERRUPTED)
            continue;
        if (r == CUZK_NO_DAEMON) {
            clear_progress();
            r = ctl_reconnect(ctl, cuzk, &patience, &error);
            if (r != CTL_OK)
                return r;
            has_seen = false;
            continue;
        }
        if (r != CUZK_OK) {
            clear_progress();
            return ctl_fail(ctl, &error);
        }
        patience.gone_ns = 0;
        seen = ret_job->version;
        has_seen = true;
        if (ret_job->state >= CUZK_JOB_DONE)
            break;
        show_progress(ret_job, started_ns);
        if (clock_now_ns() >= deadline_ns) {
            clear_progress();
            return ctl_failf(ctl, CUZK_TIMEOUT,
                             "job %llu is %s, %u of %u proved, and goes on: cuzkctl wait %llu, or "
                             "cuzkctl cancel %llu",
                             (unsigned long long)job, cuzk_job_state_to_string(ret_job->state),
                             ret_job->done, ret_job->partitions, (unsigned long long)job,
                             (unsigned long long)job);
        }
    }
    clear_progress();
    return judge(ctl, ret_job);
}

static int write_text(struct ctl *ctl, const char *option, char *text)
{
    int r = ctl_file_write(ctl, ctl_value(ctl, option), text, strlen(text));
    cuzk_free(text);
    return r;
}

int ctl_write_results(struct ctl *ctl, struct cuzk *cuzk, uint64_t job, json_t **ret_result)
{
    struct cuzk_error error;
    char *text = NULL, *proof = NULL, *public = NULL;
    int r = CTL_OK;

    /* All is fetched before anything is written. */
    if (cuzk_result(cuzk, job, &text, &error) != CUZK_OK ||
        (ctl_value(ctl, "proof") && cuzk_proof(cuzk, job, &proof, &error) != CUZK_OK) ||
        (ctl_value(ctl, "public") && cuzk_public(cuzk, job, &public, &error) != CUZK_OK)) {
        cuzk_free(text);
        cuzk_free(proof);
        return ctl_fail(ctl, &error);
    }
    json_t *result = ctl_json(ctl, text);
    if (!result)
        r = CTL_FAILED;
    if (proof && r == CTL_OK) {
        r = write_text(ctl, "proof", proof);
        proof = NULL;
    }
    if (public && r == CTL_OK) {
        r = write_text(ctl, "public", public);
        public = NULL;
    }
    cuzk_free(proof);
    cuzk_free(public);
    if (r != CTL_OK) {
        json_decref(result);
        return r;
    }
    *ret_result = result;
    return CTL_OK;
}

void ctl_print_phases(const json_t *result)
{
    static const char *const one[] = {"phase", "ms"};
    static const char *const many[] = {"phase", "mean ms", "max ms"};
    json_t *partitions = json_object_get(result, "phases_ms"), *names = json_object(), *value;
    size_t count = json_array_size(partitions);
    struct ctl_table *table = ctl_table_new(count > 1 ? many : one, count > 1 ? 3 : 2);
    const char *name;

    /* All phases that ran for any partition, in the daemon's order. */
    for (size_t i = 0; i < count; i++)
        json_object_update_missing(names, json_array_get(partitions, i));
    json_object_foreach(names, name, value)
    {
        double sum = 0, max = 0;
        size_t ran = 0;
        for (size_t i = 0; i < count; i++) {
            const json_t *time = json_object_get(json_array_get(partitions, i), name);
            double ms = json_number_value(time);
            ran += json_is_number(time);
            sum += ms;
            max = ms > max ? ms : max;
        }
        ctl_table_cell(table, "%s", name);
        ctl_table_cell(table, "%.3f", ran ? sum / (double)ran : 0);
        if (count > 1)
            ctl_table_cell(table, "%.3f", max);
    }
    ctl_table_print(table, stderr);
    json_decref(names);
}
