/* Start, turn and stop of the supervisor: see supervisor.h. A reader follows one proof from
 * control.c (request) through admission.c, dispatch.c and grants.c (policy and grants) and
 * completions.c (answers) to outlet.c (result). */
#include "supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/close_later.h"
#include "runtime/log.h"
#include "runtime/notify.h"
#include "runtime/signals.h"
#include "supervisor/grants.h"
#include "supervisor/leftovers.h"
#include "supervisor/pipeline.h"
#include "supervisor/recycle.h"
#include "supervisor/reload.h"
#include "supervisor/report.h"

static uint64_t turn(struct supervisor *supervisor);
static uint64_t next_deadline(const struct supervisor *supervisor);
static void end_overdue(struct supervisor *supervisor);
static void advance(struct supervisor *supervisor);

int supervisor_run(struct supervisor *supervisor)
{
    while (supervisor->phase != SUPERVISOR_STOPPED) {
        int r = loop_wait(supervisor->loop, turn(supervisor));
        if (r < 0 && r != -EINTR) {
            log_error("the event loop broke: %s", strerror(-r));
            return 1;
        }
    }
    return supervisor->exit_status;
}

/* One turn, after the callbacks of the loop: what is due, then what can be granted. Returns when
 * the next one is due at the latest. */
static uint64_t turn(struct supervisor *supervisor)
{
    supervisor_take_time(supervisor);
    bool is_prepared = supervisor->phase != SUPERVISOR_PREPARING;
    bool is_second = supervisor->now_ns >= supervisor->next_tick_ns;
    if (is_second)
        supervisor->next_tick_ns = supervisor->now_ns + SUPERVISOR_TICK_MS * UINT64_C(1000000);
    check_tick(supervisor); /* what the last turn let go of has had the time to be closed */
    if (is_prepared) {
        workers_tick(supervisor);
        reload_tick(supervisor);
        resize_tick(supervisor);
        circuits_tick(supervisor);
    }
    control_tick(supervisor);
    if (is_prepared) {
        intake_tick(supervisor);
        grants_run(supervisor);
    }
    advance(supervisor);
    if (is_second && is_prepared) {
        jobs_expire(&supervisor->jobs, supervisor->now_ns, supervisor->config.results_age_ns);
        recycle_tick(supervisor);
        durable_tick(supervisor);
        spool_tick(supervisor);
    }
    if (is_second)
        service_tick(supervisor);
    if (is_prepared)
        end_overdue(supervisor);
    service_turn(supervisor);
    return supervisor->phase == SUPERVISOR_STOPPED ? 0 : next_deadline(supervisor);
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_deadline(const struct supervisor *supervisor)
{
    uint64_t dues_ns[] = {
        supervisor->next_tick_ns,
        workers_deadline(supervisor),
        resize_deadline(supervisor),
        control_deadline(supervisor),
        intake_deadline(supervisor),
        supervisor->grants_delayed_until_ns ? supervisor->grants_delayed_until_ns : UINT64_MAX,
        supervisor->deadline_ns ? supervisor->deadline_ns : UINT64_MAX,
        supervisor->jobs.first_deadline_ns,
        service_deadline(supervisor),
    };
    uint64_t first_ns = UINT64_MAX;
    if (supervisor->phase == SUPERVISOR_PREPARING) /* of the others nothing is set up yet */
        return min_of(supervisor->next_tick_ns,
                      min_of(control_deadline(supervisor), service_deadline(supervisor)));
    for (size_t i = 0; i < sizeof dues_ns / sizeof dues_ns[0]; i++)
        first_ns = min_of(first_ns, dues_ns[i]);
    return first_ns;
}

/* One deadline a job, over all its attempts and restarts. */
static void end_overdue(struct supervisor *supervisor)
{
    struct job *job;
    while ((job = jobs_overdue(&supervisor->jobs, supervisor->now_ns))) {
        jobs_fail(&supervisor->jobs, job, REPLY_DEADLINE, JOB_PARTITION_NONE,
                  "its deadline passed before it was done", supervisor->now_ns);
        report_job(job);
        pipeline_drop_job(supervisor, job);
    }
}

void supervisor_take_time(struct supervisor *supervisor)
{
    supervisor->now_ns = clock_now_ns();
}

/* ---- start ---- */

static int raise_limit(int resource, uint32_t *ret_now)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return -errno;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        return -errno;
    if (ret_now)
        *ret_now = limit.rlim_cur > UINT32_MAX ? UINT32_MAX : (uint32_t)limit.rlim_cur;
    return 0;
}

static void on_signal(struct loop_watch *watch, uint32_t events)
{
    struct supervisor *supervisor =
        (struct supervisor *)((char *)watch - offsetof(struct supervisor, signal_watch));
    int signal;
    (void)events;
    supervisor_take_time(supervisor);
    while ((signal = signals_read(watch->fd)) > 0) {
        if (signal == SIGHUP)
            reload_on_signal(supervisor);
        else
            supervisor_stop(supervisor);
    }
}

static int open_loop(struct supervisor *supervisor)
{
    static const int wanted[] = {SIGTERM, SIGINT, SIGHUP};
    signal(SIGPIPE, SIG_IGN);
    int fd = signals_open(wanted, sizeof wanted / sizeof wanted[0]);
    if (fd < 0)
        return fd;
    supervisor->signal_watch = (struct loop_watch){.fd = fd, .events = POLLIN};
    int r = loop_create(supervisor->config.event_loop, &supervisor->loop);
    if (r < 0) {
        log_error("cannot make the event loop (%s): %s; EventLoop=ppoll works everywhere",
                  loop_kind_to_string(supervisor->config.event_loop), strerror(-r));
        return r;
    }
    supervisor->signal_watch.on_ready = on_signal;
    r = loop_add(supervisor->loop, &supervisor->signal_watch);
    if (r < 0) {
        supervisor->signal_watch.on_ready = NULL;
        return r;
    }
    const char *reason = loop_fallback_reason(supervisor->loop);
    log_info("event loop: %s%s%s", loop_kind_to_string(loop_kind(supervisor->loop)),
             reason[0] ? ", since " : "", reason);
    return 0;
}

static void on_job_change(void *context, struct job *job)
{
    struct supervisor *supervisor = context;
    (void)job;
    supervisor->control.jobs_changed = true;
}

static int open_cgroups(struct supervisor *supervisor)
{
    int r = cgroup_tree_open(&supervisor->cgroups);
    if (r == 0)
        log_info("each worker has a cgroup of its own");
    else if (r != -ENOENT)
        log_warn(
            "the cgroup that was delegated cannot be used (%s): workers have none of their own",
            strerror(-r));
    return 0;
}

/* What the workers will find, said once for all of them. */
static int check_sandbox(const struct supervisor *supervisor)
{
    char why[SANDBOX_TEXT_BYTES];
    enum sandbox_policy policy = supervisor->config.sandbox;
    unsigned parts = sandbox_probe(why);
    if (policy == SANDBOX_OFF) {
        log_warn("workers run without a sandbox ([Supervisor] Sandbox=off)");
    } else if (parts != SANDBOX_ALL && policy == SANDBOX_REQUIRE) {
        log_error(
            "workers cannot be put into a sandbox: %s; Sandbox=prefer goes on with what there "
            "is",
            why);
        return -EOPNOTSUPP;
    } else if (parts != SANDBOX_ALL) {
        log_warn("the sandbox of the workers is not whole (%s): %s", sandbox_parts_to_string(parts),
                 why);
    }
    return 0;
}

static void on_job_end(void *context, struct job *job)
{
    durable_ended(context, job);
}

static int start_memory(struct supervisor *supervisor)
{
    struct slab_fault fault = {""};
    int r = memory_init(&supervisor->memory, &supervisor->config, &supervisor->adoption, &fault);
    if (r < 0) {
        log_error("%s", fault.text[0] ? fault.text : strerror(-r));
        return r;
    }
    if (!supervisor->memory.is_hugepage)
        log_warn("slabs lie on ordinary pages of %zu bytes: copies to a GPU will be slower, and "
                 "they are kept out of swap only as far as RLIMIT_MEMLOCK allows",
                 supervisor->memory.page_bytes);
    adoption_store(supervisor);
    return 0;
}

/* Up to where requests can come in and slabs are being made. */
int supervisor_start(struct supervisor *supervisor, const struct config *config)
{
    supervisor->config = *config;
    supervisor->lock_fd = supervisor->members_fd = supervisor->signal_watch.fd = -1;
    for (int i = 0; i < 2; i++)
        supervisor->control.listeners[i].watch.fd = -1;
    supervisor_take_time(supervisor);
    supervisor->started_ns = supervisor->now_ns;
    service_init(supervisor);
    raise_limit(RLIMIT_NOFILE, &supervisor->descriptors_max);
    raise_limit(RLIMIT_MEMLOCK, NULL); /* for the workers, which lock ordinary pages */

    int r = activation_init(&supervisor->activation);
    if (r < 0)
        log_error("cannot take the descriptors of the service manager: %s", strerror(-r));
    else
        r = open_loop(supervisor);
    if (r == 0)
        r = open_cgroups(supervisor);
    if (r == 0)
        r = leftovers_lock(supervisor);
    if (r == 0)
        r = check_sandbox(supervisor);
    if (r == 0)
        r = slots_init(&supervisor->slots);
    if (r == 0)
        r = jobs_init(&supervisor->jobs);
    supervisor->jobs.on_change = on_job_change;
    supervisor->jobs.on_end = on_job_end;
    supervisor->jobs.context = supervisor;
    if (r == 0)
        r = adoption_init(&supervisor->adoption, &supervisor->activation, &supervisor->config);
    if (r == 0)
        r = preparation_begin(supervisor);
    if (r == 0)
        r = close_later_init(); /* clients bring descriptors from here on */
    if (r == 0)
        r = control_open(supervisor);
    if (activation_left(&supervisor->activation) > 0)
        log_warn(
            "%u descriptors of the service manager have names that are not known here, and are "
            "closed",
            activation_left(&supervisor->activation));
    activation_destroy(&supervisor->activation);
    return r;
}

/* The slabs are there: what needs them. */
static int start_rest(struct supervisor *supervisor)
{
    int r = start_memory(supervisor);
    if (r == 0)
        r = job_numbers_open(&supervisor->job_numbers, supervisor->config.state_directory);
    if (r == 0)
        r = durable_open(supervisor);
    if (r == 0)
        r = spool_open(supervisor);
    if (r == 0)
        r = workers_init(supervisor);
    if (r == 0)
        r = intake_init(supervisor);
    if (r == 0)
        r = circuits_init(supervisor);
    if (r == 0)
        r = durable_restore(supervisor);
    adoption_finish(supervisor);
    supervisor_take_time(supervisor);
    supervisor->phase = SUPERVISOR_STARTING;
    supervisor->next_tick_ns = 0; /* another turn at once */
    return r;
}

static void prepare(struct supervisor *supervisor)
{
    int r = preparation_turn(supervisor);
    if (r == 1)
        r = start_rest(supervisor);
    if (r >= 0)
        return;
    log_error("start-up failed");
    supervisor->exit_status = 1;
    supervisor->phase = SUPERVISOR_STOPPED;
}

/* ---- phases ---- */

const char *supervisor_phase_to_string(enum supervisor_phase phase)
{
    switch (phase) {
    case SUPERVISOR_PREPARING:
    case SUPERVISOR_STARTING:
        return "starting";
    case SUPERVISOR_SERVING:
        return "serving";
    case SUPERVISOR_FINISHING:
    case SUPERVISOR_STOPPING:
    case SUPERVISOR_STOPPED:
        break;
    }
    return "stopping";
}

/* What the journal has goes on at the next start; what lives in memory alone is given up. */
static void give_jobs_up(struct supervisor *supervisor)
{
    struct jobs *jobs = &supervisor->jobs;
    uint32_t kept = 0, lost = 0;
    struct job *next;
    admission_stop(supervisor);
    for (struct job *job = jobs->active.first; job; job = next) {
        next = job->next;
        if (job->is_pending)
            continue;
        if (job->is_durable && job->is_journalled) {
            kept++;
            continue;
        }
        lost++;
        jobs_fail(jobs, job, REPLY_SHUTTING_DOWN, JOB_PARTITION_NONE, "the daemon is stopping",
                  supervisor->now_ns);
        pipeline_drop_job(supervisor, job);
    }
    if (kept > 0)
        log_info("%u jobs are not finished and go on at the next start", kept);
    if (lost > 0)
        log_warn("%u jobs are not finished, are not durable and are given up", lost);
}

static void begin_stopping(struct supervisor *supervisor)
{
    give_jobs_up(supervisor);
    control_tick(supervisor); /* whoever waits hears of it; status answers to the end */
    workers_stop(supervisor);
    supervisor->phase = SUPERVISOR_STOPPING;
    supervisor->grants_delayed_until_ns = 0;
    supervisor->deadline_ns = supervisor->now_ns + SUPERVISOR_STOP_GRACE_MS * UINT64_C(1000000);
}

static void advance(struct supervisor *supervisor)
{
    bool is_late = supervisor->deadline_ns && supervisor->now_ns >= supervisor->deadline_ns;
    switch (supervisor->phase) {
    case SUPERVISOR_PREPARING:
        prepare(supervisor);
        break;
    case SUPERVISOR_STARTING:
        /* Slabs are registered and the known answer was proved before a GPU worker runs. */
        if (workers_have_settled(&supervisor->workers) && workers_can_prove(&supervisor->workers)) {
            supervisor->phase = SUPERVISOR_SERVING;
            service_ready(supervisor);
            grants_run(supervisor);
        }
        break;
    case SUPERVISOR_FINISHING:
        if ((supervisor->jobs.active.count == 0 && supervisor->jobs.settling_count == 0) || is_late)
            begin_stopping(supervisor);
        break;
    case SUPERVISOR_STOPPING:
        if (workers_are_gone(&supervisor->workers)) {
            supervisor->phase = SUPERVISOR_STOPPED;
        } else if (is_late) {
            workers_kill(supervisor);
            supervisor->deadline_ns = 0;
        }
        break;
    case SUPERVISOR_SERVING:
    case SUPERVISOR_STOPPED:
        break;
    }
}

void supervisor_stop(struct supervisor *supervisor)
{
    switch (supervisor->phase) {
    case SUPERVISOR_PREPARING:
        log_info("stopping before the slabs are made");
        notify_stopping("stopping");
        supervisor->phase = SUPERVISOR_STOPPED;
        break;
    case SUPERVISOR_STARTING:
    case SUPERVISOR_SERVING:
        log_info("stopping: %u jobs are finished first", supervisor->jobs.active.count);
        supervisor->phase = SUPERVISOR_FINISHING;
        service_stopping(supervisor);
        supervisor->deadline_ns = supervisor->now_ns + supervisor->config.stop_timeout_ns;
        break;
    case SUPERVISOR_FINISHING:
        log_warn("stopping at once");
        begin_stopping(supervisor);
        workers_kill(supervisor);
        break;
    case SUPERVISOR_STOPPING:
        workers_kill(supervisor);
        break;
    case SUPERVISOR_STOPPED:
        break;
    }
}

void supervisor_fail(struct supervisor *supervisor)
{
    supervisor->exit_status = 1;
    if (supervisor->phase < SUPERVISOR_STOPPING)
        begin_stopping(supervisor);
}

void supervisor_destroy(struct supervisor *supervisor)
{
    if (supervisor->loop) {
        control_close(supervisor);
        durable_close(supervisor);
        admission_destroy(supervisor);
        intake_destroy(supervisor);
        resize_stop(supervisor);
        preparation_destroy(supervisor);
        circuits_destroy(&supervisor->circuits);
        workers_destroy(&supervisor->workers);
    }
    slots_destroy(&supervisor->slots);
    jobs_destroy(&supervisor->jobs);
    job_numbers_close(&supervisor->job_numbers);
    adoption_destroy(&supervisor->adoption);
    memory_destroy(&supervisor->memory);
    spool_close(supervisor);
    close_later_destroy();
    if (supervisor->signal_watch.on_ready)
        loop_remove(supervisor->loop, &supervisor->signal_watch);
    if (supervisor->signal_watch.fd >= 0)
        close(supervisor->signal_watch.fd);
    if (supervisor->loop)
        loop_free(supervisor->loop);
    if (supervisor->members_fd >= 0)
        close(supervisor->members_fd);
    if (supervisor->lock_fd >= 0)
        close(supervisor->lock_fd);
    cgroup_tree_close(&supervisor->cgroups);
    activation_destroy(&supervisor->activation);
    config_destroy(&supervisor->config);
}
