/* See worker_orders.h. Upstream: answers.c, reload.c, recycle.c; downstream: workers.c. */
#include "supervisor/worker_orders.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/log.h"
#include "supervisor/supervisor.h"
#include "supervisor/worker_check.h"

const char *worker_order_kind_to_string(enum worker_order_kind kind)
{
    static const char *const names[] = {"none", "restart", "recycle", "drain", "resume", "remove"};
    return (unsigned)kind <= WORKER_ORDER_REMOVE ? names[kind] : "?";
}

const char *worker_order_state_to_string(enum worker_order_state state)
{
    static const char *const names[] = {"pending",  "checking", "draining", "stopping",
                                        "starting", "done",     "failed",   "dropped"};
    return (unsigned)state <= WORKER_ORDER_DROPPED ? names[state] : "?";
}

bool worker_order_is_open(const struct worker_order *order)
{
    return order->number != 0 && order->state < WORKER_ORDER_DONE;
}

bool worker_orders_wants(const struct worker *worker)
{
    return !worker->is_drained && !worker->is_removed;
}

static bool replaces(enum worker_order_kind kind)
{
    return kind == WORKER_ORDER_RESTART || kind == WORKER_ORDER_RECYCLE;
}

static void end_order(struct worker *worker, enum worker_order_state state, const char *text)
{
    struct worker_order *order = &worker->order;
    uint64_t now_ns = worker->supervisor->now_ns;
    order->state = state;
    snprintf(order->text, sizeof order->text, "%s", text);
    log_info("SUP_TIMING order worker=%s order=%s outcome=%s total_ms=%.3f%s%s", worker->name,
             worker_order_kind_to_string(order->kind), worker_order_state_to_string(state),
             (double)(now_ns - order->given_ns) / 1e6, text[0] ? ": " : "", text);
}

static void give(struct worker *worker, enum worker_order_kind kind, enum worker_order_state state)
{
    struct workers *workers = &worker->supervisor->workers;
    if (worker_order_is_open(&worker->order))
        end_order(worker, WORKER_ORDER_DROPPED, "another order took its place");
    worker->order = (struct worker_order){
        .number = ++workers->last_order,
        .kind = kind,
        .state = state,
        .given_ns = worker->supervisor->now_ns,
    };
}

/* One that was written off is neither ended nor replaced before the kernel lets go of it. */
static int check_ends(const struct worker *worker, char *ret_why)
{
    if (worker->state != WORKER_WRITTEN_OFF)
        return 0;
    snprintf(ret_why, WORKER_ORDERS_WHY_BYTES,
             "process %d of %s does not die though it was killed: the kernel holds it, most likely "
             "in a driver or a file system; it is replaced as soon as it is gone",
             (int)worker->child.pid, worker->name);
    return -EBUSY;
}

/* A worker that works is not given up for one that cannot be executed. */
static int check_program(const struct worker *worker, char *ret_why)
{
    const char *path = worker->supervisor->workers.paths[worker->kind];
    struct stat found;
    const char *what = NULL;
    if (!path) /* only a test's supervisor has none */
        return 0;
    if (stat(path, &found) < 0)
        what = strerror(errno);
    else if (!S_ISREG(found.st_mode))
        what = "it is no regular file";
    else if (access(path, X_OK) < 0)
        what = "it cannot be executed";
    if (!what)
        return 0;
    snprintf(ret_why, WORKER_ORDERS_WHY_BYTES,
             "%s goes on as it is, since its successor could not start: %.250s: %s; is the "
             "installation complete?",
             worker->name, path, what);
    return -ENOEXEC;
}

/* Nothing more is granted from here on. */
static void begin(struct worker *worker)
{
    struct worker_order *order = &worker->order;
    order->state = WORKER_ORDER_DRAINING;
    worker->is_draining = true;
    if (worker->state == WORKER_STARTING || order->is_now)
        workers_end(worker); /* with what it holds: put back, at nobody's cost */
}

/* One that a reload takes away is not an operator's to keep. */
static int check_stays(const struct worker *worker, char *ret_why)
{
    if (!worker->is_removed)
        return 0;
    snprintf(ret_why, WORKER_ORDERS_WHY_BYTES,
             "%s is on its way out, since the configuration has fewer of its kind: raise Workers= "
             "and run cuzkctl reload to keep it",
             worker->name);
    return -EALREADY;
}

int worker_orders_restart(struct worker *worker, bool is_now, char *ret_why)
{
    int r = check_ends(worker, ret_why);
    if (r == 0)
        r = check_stays(worker, ret_why);
    if (r == 0 && worker->is_drained) {
        snprintf(ret_why, WORKER_ORDERS_WHY_BYTES, "%s is drained: cuzkctl resume %s starts it",
                 worker->name, worker->name);
        r = -EALREADY;
    }
    if (r == 0)
        r = check_program(worker, ret_why);
    if (r < 0)
        return r;
    bool is_ending = worker->is_draining;
    if (worker->state != WORKER_DOWN && !is_ending)
        r = worker_check_start(worker, ret_why);
    if (r < 0)
        return r;
    give(worker, WORKER_ORDER_RESTART, WORKER_ORDER_PENDING);
    worker->order.is_now = is_now;
    if (worker->state == WORKER_DOWN) {
        worker->order.state = WORKER_ORDER_STARTING;
        worker->restart_at_ns = worker->supervisor->now_ns;
        worker->backoff_ms = 0;
    } else if (is_ending) {
        begin(worker); /* it is on its way out already */
    } else if (worker_check_is_open(worker)) {
        worker->order.state = WORKER_ORDER_CHECKING;
    } else if (is_now) {
        begin(worker);
    }
    return 0;
}

void worker_orders_checked(struct worker *worker, bool is_good, const char *why)
{
    struct worker_order *order = &worker->order;
    char text[WORKER_ORDERS_WHY_BYTES];
    if (!worker_order_is_open(order) || order->state != WORKER_ORDER_CHECKING)
        return; /* another order came meanwhile */
    order->state = WORKER_ORDER_PENDING;
    if (!is_good) {
        snprintf(text, sizeof text,
                 "%s goes on as it is, since its successor could not start: %.300s", worker->name,
                 why);
        end_order(worker, WORKER_ORDER_FAILED, text);
    } else if (order->is_now && worker->state != WORKER_DOWN) {
        begin(worker);
    }
}

void worker_orders_recycle(struct worker *worker, const char *why)
{
    const struct worker_order *last = &worker->order;
    if (worker_order_is_open(last) || worker->state != WORKER_RUNNING)
        return;
    uint64_t age_ns = worker->supervisor->now_ns - last->given_ns;
    if (last->kind == WORKER_ORDER_RECYCLE && last->state == WORKER_ORDER_FAILED &&
        age_ns < WORKER_ORDERS_RECYCLE_AGAIN_S * UINT64_C(1000000000))
        return; /* its program cannot be started: not asked every second */
    log_info("%s is to be replaced: %s", worker->name, why);
    give(worker, WORKER_ORDER_RECYCLE, WORKER_ORDER_PENDING);
    char why_not[WORKER_ORDERS_WHY_BYTES];
    if (worker_check_start(worker, why_not) < 0)
        end_order(worker, WORKER_ORDER_FAILED, why_not);
    else if (worker_check_is_open(worker))
        worker->order.state = WORKER_ORDER_CHECKING;
}

int worker_orders_drain(struct worker *worker, char *ret_why)
{
    int r = check_ends(worker, ret_why);
    if (r < 0)
        return r;
    if (worker->is_drained && worker_order_is_open(&worker->order))
        return 0; /* the order under way is the same */
    give(worker, WORKER_ORDER_DRAIN, WORKER_ORDER_DRAINING);
    worker->is_drained = true;
    if (worker->state == WORKER_DOWN)
        end_order(worker, WORKER_ORDER_DONE, "");
    else
        begin(worker);
    return 0;
}

/* It is wanted (again): what has not been told to stop simply goes on. */
static void want(struct worker *worker)
{
    struct worker_order *order = &worker->order;
    order->state = WORKER_ORDER_STARTING;
    if (worker->state == WORKER_DOWN) {
        worker->restart_at_ns = worker->supervisor->now_ns;
        worker->backoff_ms = 0;
    } else if (worker->is_draining && !worker->is_wanted_end) {
        worker->is_draining = false;
    }
    if (worker->state == WORKER_RUNNING && worker->is_caught_up && !worker->is_draining)
        end_order(worker, WORKER_ORDER_DONE, "");
}

int worker_orders_resume(struct worker *worker, char *ret_why)
{
    int r = check_stays(worker, ret_why);
    if (r == 0 && worker->state == WORKER_DOWN)
        r = check_program(worker, ret_why);
    if (r < 0)
        return r;
    give(worker, WORKER_ORDER_RESUME, WORKER_ORDER_STARTING);
    worker->is_drained = false;
    want(worker);
    return 0;
}

void worker_orders_remove(struct worker *worker)
{
    if (worker->is_removed)
        return;
    give(worker, WORKER_ORDER_REMOVE, WORKER_ORDER_DRAINING);
    worker->is_removed = true;
    if (worker->state == WORKER_DOWN)
        end_order(worker, WORKER_ORDER_DONE, "");
    else
        begin(worker);
}

void worker_orders_keep(struct worker *worker)
{
    if (!worker->is_removed)
        return;
    worker->is_removed = false;
    if (worker->is_drained) { /* it goes on down to where the operator wants it */
        give(worker, WORKER_ORDER_DRAIN, WORKER_ORDER_DRAINING);
        if (worker->state == WORKER_DOWN)
            end_order(worker, WORKER_ORDER_DONE, "");
        return;
    }
    give(worker, WORKER_ORDER_RESUME, WORKER_ORDER_STARTING);
    want(worker);
}

/* Of a kind with several workers one is replaced at a time. */
static bool is_its_turn(const struct worker *worker)
{
    const struct workers *workers = &worker->supervisor->workers;
    for (uint32_t i = 0; i < workers->count; i++) {
        const struct worker *other = &workers->entries[i];
        if (other == worker || other->kind != worker->kind || !replaces(other->order.kind) ||
            !worker_order_is_open(&other->order))
            continue;
        bool is_first = other->order.state == WORKER_ORDER_PENDING &&
                        other->order.number < worker->order.number;
        if (other->order.state != WORKER_ORDER_PENDING || is_first)
            return false;
    }
    return true;
}

static void advance(struct worker *worker)
{
    struct worker_order *order = &worker->order;
    char why[WORKER_ORDERS_WHY_BYTES];
    if (order->state == WORKER_ORDER_PENDING && is_its_turn(worker)) {
        /* The installation may have been half way through an upgrade since the order came. */
        if (check_program(worker, why) < 0)
            end_order(worker, WORKER_ORDER_FAILED, why);
        else if (worker->state == WORKER_DOWN)
            order->state = WORKER_ORDER_STARTING; /* it died meanwhile: that is one replacement */
        else
            begin(worker);
    }
    if (order->state == WORKER_ORDER_DRAINING && worker->state == WORKER_RUNNING &&
        worker_holds_nothing(worker))
        workers_end(worker);
    if (order->state == WORKER_ORDER_DRAINING && worker->is_wanted_end)
        order->state = WORKER_ORDER_STOPPING;
}

void worker_orders_tick(struct supervisor *supervisor)
{
    if (supervisor->phase >= SUPERVISOR_STOPPING)
        return;
    for (uint32_t i = 0; i < supervisor->workers.count; i++) {
        struct worker *worker = &supervisor->workers.entries[i];
        if (worker_order_is_open(&worker->order))
            advance(worker);
    }
}

bool worker_orders_ended(struct worker *worker)
{
    bool was_asked = worker->is_draining;
    worker->is_draining = worker->is_wanted_end = false;
    if (!was_asked)
        return false;
    if (worker_order_is_open(&worker->order)) {
        if (!worker_orders_wants(worker))
            end_order(worker, WORKER_ORDER_DONE, "");
        else
            worker->order.state = WORKER_ORDER_STARTING;
    }
    return true;
}

void worker_orders_started(struct worker *worker)
{
    if (worker_order_is_open(&worker->order) && worker->order.state == WORKER_ORDER_STARTING)
        end_order(worker, WORKER_ORDER_DONE, "");
}

void worker_orders_start_failed(struct worker *worker, const char *why)
{
    char text[WORKER_ORDERS_WHY_BYTES];
    if (!worker_order_is_open(&worker->order) || worker->order.state != WORKER_ORDER_STARTING)
        return;
    snprintf(text, sizeof text, "%.200s; it is tried again", why);
    end_order(worker, WORKER_ORDER_FAILED, text);
}
