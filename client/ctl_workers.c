/* cuzkctl restart, drain, resume, trim, log-level: an order is given at once and has a number; how
 * far it is stands in `workers`, which is asked until it has ended. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/ctl.h"
#include "runtime/clock.h"

enum {
    POLL_MS = 100,
};

/* One run of a verb. */
struct waiting {
    struct ctl *ctl;
    struct cuzk *cuzk;
    const char *key; /* of a worker in `workers`: "order" or "trim" */
    json_t *given;   /* what the daemon answered: name and number of each */
    json_t *ended;   /* the same with state and text, of those that have ended */
};

static bool is_terminal(const char *state)
{
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
           strcmp(state, "dropped") == 0;
}

static const char *text_of(const json_t *map, const char *key)
{
    const char *text = json_string_value(json_object_get(map, key));
    return text ? text : "";
}

static json_t *find_worker(const json_t *workers, const char *name)
{
    for (size_t i = 0; i < json_array_size(workers); i++) {
        json_t *worker = json_array_get(workers, i);
        if (strcmp(text_of(worker, "name"), name) == 0)
            return worker;
    }
    return NULL;
}

/* What became of one order: NULL while it is open. A later number in its place means that another
 * order was given meanwhile. */
static json_t *end_of(const struct waiting *waiting, const json_t *given, const json_t *workers)
{
    const json_t *worker = find_worker(workers, text_of(given, "name"));
    const json_t *order = json_object_get(worker, waiting->key);
    const char *state = "dropped", *text = "the worker is not there any more";
    if (json_is_string(json_object_get(given, "error"))) {
        state = "failed";
        text = text_of(given, "error");
    } else if (order) {
        json_int_t number = json_integer_value(json_object_get(given, "number"));
        bool is_same = json_integer_value(json_object_get(order, "number")) == number;
        state = is_same ? text_of(order, "state") : "dropped";
        text = is_same ? text_of(order, "text") : "another order took its place";
    }
    if (!is_terminal(state))
        return NULL;
    json_t *end =
        json_pack("{s:s, s:s, s:s}", "name", text_of(given, "name"), "state", state, "text", text);
    const json_t *bytes = json_object_get(order, "given_back_bytes");
    if (end && bytes && strcmp(state, "done") == 0)
        json_object_set(end, "given_back_bytes", (json_t *)(uintptr_t)bytes);
    const json_t *pid = json_object_get(worker, "pid");
    if (end && pid)
        json_object_set(end, "pid", (json_t *)(uintptr_t)pid);
    return end;
}

/* How many are still open; those that have ended are collected. */
static size_t collect(struct waiting *waiting, const json_t *workers)
{
    size_t open = 0;
    for (size_t i = 0; i < json_array_size(waiting->given); i++) {
        const json_t *given = json_array_get(waiting->given, i);
        if (find_worker(waiting->ended, text_of(given, "name")))
            continue;
        json_t *end = end_of(waiting, given, workers);
        if (end)
            json_array_append_new(waiting->ended, end);
        else
            open++;
    }
    return open;
}

static void show_progress(const struct waiting *waiting, const json_t *workers, uint64_t since_ns)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r%.0f s", (double)(clock_now_ns() - since_ns) / 1e9);
    for (size_t i = 0; i < json_array_size(waiting->given); i++) {
        const char *name = text_of(json_array_get(waiting->given, i), "name");
        const json_t *worker = find_worker(workers, name);
        const json_t *order = json_object_get(worker, waiting->key);
        const long long held = (long long)json_integer_value(json_object_get(worker, "held"));
        if (!order || find_worker(waiting->ended, name))
            continue;
        fprintf(stderr, ", %s %s", name, text_of(order, "state"));
        if (held > 0)
            fprintf(stderr, " (%lld in hand)", held);
    }
    fprintf(stderr, "\033[K");
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

/* The workers as they are now, or NULL after a message and *ret_exit. */
static json_t *ask_workers(struct waiting *waiting, int *ret_exit)
{
    struct cuzk_error error;
    char *text;
    if (cuzk_workers(waiting->cuzk, &text, &error) != CUZK_OK) {
        *ret_exit = ctl_fail(waiting->ctl, &error);
        return NULL;
    }
    json_t *reply = ctl_json(waiting->ctl, text);
    json_t *workers = json_incref(json_object_get(reply, "workers"));
    json_decref(reply);
    if (!workers)
        *ret_exit = CTL_FAILED;
    return workers;
}

/* CTL_OK when all have ended, however. */
static int wait_all(struct waiting *waiting, uint32_t timeout_ms)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    const uint64_t begin_ns = clock_now_ns();
    int r = CTL_OK;
    for (;;) {
        json_t *workers = ask_workers(waiting, &r);
        if (!workers)
            return r;
        const size_t open = collect(waiting, workers);
        if (open > 0)
            show_progress(waiting, workers, begin_ns);
        json_decref(workers);
        if (open == 0)
            return CTL_OK;
        if (timeout_ms != CUZK_FOREVER &&
            clock_now_ns() - begin_ns >= timeout_ms * UINT64_C(1000000)) {
            clear_progress();
            return ctl_failf(waiting->ctl, CUZK_TIMEOUT,
                             "%zu of %zu workers are not through, and the order stands: cuzkctl "
                             "workers shows how far they are",
                             open, json_array_size(waiting->given));
        }
        nanosleep(&pause, NULL);
    }
}

static const char *done_text(const struct ctl *ctl)
{
    const char *verb = ctl->verb->name;
    if (strcmp(verb, "restart") == 0)
        return "is replaced";
    if (strcmp(verb, "drain") == 0)
        return "is down until resume";
    return strcmp(verb, "resume") == 0 ? "is up" : "is trimmed";
}

static void print_end(const struct ctl *ctl, const json_t *end)
{
    const json_t *bytes = json_object_get(end, "given_back_bytes");
    const long long pid = (long long)json_integer_value(json_object_get(end, "pid"));
    if (bytes)
        printf("%s: %.1f MiB given back\n", text_of(end, "name"),
               (double)json_integer_value(bytes) / (1 << 20));
    else if (pid > 0)
        printf("%s %s (process %lld)\n", text_of(end, "name"), done_text(ctl), pid);
    else
        printf("%s %s\n", text_of(end, "name"), done_text(ctl));
}

/* One line each, and 1 when one did not do what was asked. */
static int show_ends(struct waiting *waiting)
{
    int r = CTL_OK;
    clear_progress();
    for (size_t i = 0; i < json_array_size(waiting->ended); i++) {
        const json_t *end = json_array_get(waiting->ended, i);
        if (strcmp(text_of(end, "state"), "done") != 0) {
            fprintf(stderr, "cuzkctl: %s: %s%s%s\n", text_of(end, "name"), text_of(end, "state"),
                    *text_of(end, "text") ? ": " : "", text_of(end, "text"));
            r = CTL_FAILED;
        } else if (!waiting->ctl->is_json) {
            print_end(waiting->ctl, end);
        }
    }
    if (waiting->ctl->is_json) {
        int printed = ctl_print_json(waiting->ctl, json_pack("{s:O}", "workers", waiting->ended));
        r = r == CTL_OK ? printed : r;
    }
    return r;
}

static void print_given(const json_t *reply)
{
    const json_t *workers = json_object_get(reply, "workers");
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *given = json_array_get(workers, i);
        const char *error = text_of(given, "error");
        printf("%s: %s\n", text_of(given, "name"), *error ? error : text_of(given, "state"));
    }
}

static int give(struct waiting *waiting, enum cuzk_worker_order order, uint32_t timeout_ms)
{
    struct ctl *ctl = waiting->ctl;
    struct cuzk_error error;
    char *text;
    if (cuzk_worker_order(waiting->cuzk, order, ctl->positional[0], &text, &error) != CUZK_OK)
        return ctl_fail(ctl, &error);
    if (ctl_has(ctl, "no-wait"))
        return ctl_show_text(ctl, text, print_given);
    json_t *reply = ctl_json(ctl, text);
    waiting->given = json_incref(json_object_get(reply, "workers"));
    json_decref(reply);
    int r = wait_all(waiting, timeout_ms);
    return r == CTL_OK ? show_ends(waiting) : r;
}

static int run_order(struct ctl *ctl, enum cuzk_worker_order order)
{
    struct waiting waiting = {.ctl = ctl, .key = order == CUZK_WORKER_TRIM ? "trim" : "order"};
    uint32_t timeout_ms;
    int r = ctl_time_ms(ctl, "timeout", &timeout_ms);
    if (r == CTL_OK)
        r = ctl_open(ctl, true, &waiting.cuzk);
    if (r != CTL_OK)
        return r;
    waiting.ended = json_array();
    r = give(&waiting, order, timeout_ms);
    json_decref(waiting.given);
    json_decref(waiting.ended);
    cuzk_close(waiting.cuzk);
    return r;
}

int ctl_restart(struct ctl *ctl)
{
    return run_order(ctl, ctl_has(ctl, "now") ? CUZK_WORKER_RESTART_NOW : CUZK_WORKER_RESTART);
}

int ctl_drain(struct ctl *ctl)
{
    return run_order(ctl, CUZK_WORKER_DRAIN);
}

int ctl_resume(struct ctl *ctl)
{
    return run_order(ctl, CUZK_WORKER_RESUME);
}

int ctl_trim(struct ctl *ctl)
{
    return run_order(ctl, CUZK_WORKER_TRIM);
}

int ctl_log_level(struct ctl *ctl)
{
    const char *level = ctl->positional[0];
    const char *worker = ctl->positional_count > 1 ? ctl->positional[1] : NULL;
    struct cuzk_error error;
    struct cuzk *cuzk;
    int r = ctl_open(ctl, true, &cuzk);

    if (r != CTL_OK)
        return r;
    r = cuzk_log_level(cuzk, level, worker, &error);
    cuzk_close(cuzk);
    if (r != CUZK_OK)
        return ctl_fail(ctl, &error);
    if (ctl->is_json)
        return ctl_print_json(ctl, json_pack("{s:s}", "level", level));
    printf("%s %s at level %s\n", worker ? worker : "the daemon and all workers",
           worker ? "logs" : "log", level);
    return CTL_OK;
}
