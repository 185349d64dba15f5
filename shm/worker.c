/* The common frame of the worker programs. Upstream: the supervisor's grants (shm/channel.h);
 * downstream: answers, progress words, trace and timing lines. */
#include "shm/worker.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/clock.h"
#include "shm/bell.h"
#include "shm/timing.h"

enum {
    /* Twice what a machine has is never useful; a typing error must not make 10^6 threads. */
    WORKER_THREADS_MAX = 1024,
};

static const char *const worker_timing_prefixes[WORKER_KIND_COUNT] = {
    [WORKER_SYNTH] = "SYN_TIMING",
    [WORKER_GPU] = "GPU_TIMING",
    [WORKER_FINALIZER] = "FIN_TIMING",
};

static unsigned worker_cores(void)
{
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof usable, &usable) == 0 && CPU_COUNT(&usable) > 0)
        return (unsigned)CPU_COUNT(&usable);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

static int worker_number(const char *text, unsigned long max, unsigned long *ret)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value > max)
        return -EINVAL;
    *ret = value;
    return 0;
}

static int worker_option(int option, const char *text, struct worker_options *ret)
{
    unsigned long number = 0;
    int error = 0;
    switch (option) {
    case 'i':
        error = worker_number(text, WORKERS_MAX, &number);
        ret->index = (unsigned)number;
        return error;
    case 'l':
        return log_level_from_string(text, &ret->log_level);
    case 'e':
        return loop_kind_from_string(text, &ret->event_loop);
    case 'm':
        return heap_trim_from_string(text, &ret->malloc_trim);
    case 'p':
        error = worker_number(text, INT32_MAX, &number);
        ret->parent_pid = (pid_t)number;
        return error;
    case 't':
        error = worker_number(text, WORKER_THREADS_MAX, &number);
        ret->threads = number ? (unsigned)number : worker_cores();
        return error;
    case 'b':
        if (strlen(text) >= sizeof ret->backend)
            return -EINVAL;
        strcpy(ret->backend, text);
        return 0;
    case 'd':
        if (strlen(text) >= sizeof ret->device)
            return -EINVAL;
        strcpy(ret->device, text);
        return 0;
    case 'v':
        error = worker_number(text, ULONG_MAX, &number);
        ret->vram_limit = number;
        return error;
    case 'r':
        ret->requires_pinned = strcmp(text, "yes") == 0;
        return ret->requires_pinned || strcmp(text, "no") == 0 ? 0 : -EINVAL;
    case 's':
        error = worker_number(text, SLABS_MAX, &number);
        ret->slabs = (unsigned)number;
        return error;
    case 'x':
        return sandbox_policy_from_string(text, &ret->sandbox);
    case 'c':
        if (strlen(text) >= sizeof ret->check)
            return -EINVAL;
        strcpy(ret->check, text);
        return 0;
    case 'k':
        return 0;
    default:
        return -EINVAL;
    }
}

int worker_options_parse(int argc, char **argv, struct worker_options *ret)
{
    static const struct option table[] = {
        {"index", required_argument, NULL, 'i'},
        {"log-level", required_argument, NULL, 'l'},
        {"event-loop", required_argument, NULL, 'e'},
        {"malloc-trim", required_argument, NULL, 'm'},
        {"parent-pid", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'},
        {"backend", required_argument, NULL, 'b'},
        {"device", required_argument, NULL, 'd'},
        {"vram-limit", required_argument, NULL, 'v'},
        {"require-pinned", required_argument, NULL, 'r'},
        {"slabs", required_argument, NULL, 's'},
        {"sandbox", required_argument, NULL, 'x'},
        {"check", required_argument, NULL, 'c'},
        {"kind", required_argument, NULL, 'k'},
        {NULL, 0, NULL, 0},
    };
    struct worker_options options = {
        .log_level = LOG_LEVEL_INFO,
        .event_loop = LOOP_AUTO,
        .malloc_trim = HEAP_TRIM_IDLE,
        .threads = worker_cores(),
        .requires_pinned = true,
        .sandbox = SANDBOX_PREFER,
    };
    int option, which = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", table, &which)) != -1) {
        if (option == '?') /* getopt_long has said why */
            return -EINVAL;
        if (worker_option(option, optarg, &options) < 0) {
            fprintf(stderr, "%s: '%s' is no value for --%s\n", argv[0], optarg, table[which].name);
            return -EINVAL;
        }
    }
    if (optind != argc) {
        fprintf(stderr, "%s: unexpected argument '%s'; this program is started by cuzkd\n", argv[0],
                argv[optind]);
        return -EINVAL;
    }
    *ret = options;
    return 0;
}

int worker_check(const struct worker_options *options)
{
    char own[CHANNEL_BUILD_BYTES];
    if (strcmp(options->check, channel_build(own)) == 0)
        return 0;
    fprintf(stderr,
            "it is of another build than cuzkd (channels %s, cuzkd's %s): restart the service to "
            "use it\n",
            own, options->check);
    return WORKER_EXIT_START;
}

static void worker_on_bell(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    bell_read(watch->fd);
}

/* The packets are taken by the next turn's worker_take_grant. */
static void worker_on_courier(struct loop_watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
}

/* The supervisor blocks signals for its signalfd and exec keeps the mask. An interrupt from the
 * terminal goes to every process of the group: stopping is the supervisor's decision. */
static void worker_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int worker_open(struct worker *worker, enum worker_kind kind, const struct worker_options *options,
                int maps_slabs)
{
    char name[32];
    int error;
    memset(worker, 0, sizeof *worker);
    worker->kind = kind;
    worker->options = *options;
    worker->heap.smaps_fd = -1;
    snprintf(name, sizeof name, "%s-%u", worker_kind_to_string(kind), options->index);
    log_init(name, options->log_level);
    worker_signals();
    heap_init(&worker->heap);

    error = port_open(&worker->port, maps_slabs);
    if (error < 0) {
        log_error("cannot take the supervisor's descriptors %d to %d: %s; this program is started "
                  "by cuzkd of the same version",
                  PORT_FD_CHANNEL, PORT_FD_COURIER, strerror(-error));
        goto fail;
    }
    if (options->parent_pid && getppid() != options->parent_pid) {
        error = -ESRCH;
        log_error("the supervisor (process %d) is gone", (int)options->parent_pid);
        goto fail;
    }
    error = loop_create(options->event_loop, &worker->loop);
    if (error < 0) {
        log_error("cannot make the event loop: %s; [Supervisor] EventLoop=ppoll needs no io_uring",
                  strerror(-error));
        goto fail;
    }
    worker->bell = (struct loop_watch){
        .fd = worker->port.bell_in, .events = POLLIN, .on_ready = worker_on_bell};
    worker->courier = (struct loop_watch){
        .fd = worker->port.courier, .events = POLLIN, .on_ready = worker_on_courier};
    error = loop_add(worker->loop, &worker->bell);
    if (error == 0)
        error = loop_add(worker->loop, &worker->courier);
    if (error < 0) {
        log_error("cannot watch the bell: %s", strerror(-error));
        goto fail;
    }
    worker->is_dirty = true;
    worker_stage(worker, PHASE_COUNT, 0);
    return 0;
fail:
    worker_close(worker);
    return error;
}

void worker_close(struct worker *worker)
{
    if (worker->loop)
        loop_free(worker->loop);
    worker->loop = NULL;
    if (worker->port.channel.layout)
        port_close(&worker->port);
    heap_destroy(&worker->heap);
}

/* The supervisor says once what is missing under `prefer`; here it is an error under `require`. */
static int worker_limited(struct worker *worker, enum sandbox_part part, int error)
{
    if (error == 0) {
        worker->sandbox |= part;
        return 0;
    }
    if (worker->options.sandbox != SANDBOX_REQUIRE)
        return 0;
    char text[SANDBOX_TEXT_BYTES], line[SANDBOX_TEXT_BYTES + 160];
    sandbox_probe(text);
    snprintf(
        line, sizeof line,
        "the sandbox cannot be entered (%s: %s)%s%s; [Supervisor] Sandbox=prefer goes on without",
        sandbox_parts_to_string(part), strerror(-error), text[0] ? ": " : "", text);
    log_error("%s", line);
    worker_last_words(worker, line);
    return error;
}

int worker_limit_files(struct worker *worker, enum sandbox_profile profile,
                       const char *const *writable)
{
    worker->profile = profile;
    if (worker->options.sandbox == SANDBOX_OFF)
        return 0;
    return worker_limited(worker, SANDBOX_FILES, sandbox_limit_files(profile, writable));
}

/* There is one worker a process. */
static struct worker *worker_of_violation;

static void worker_on_violation(const char *text)
{
    worker_last_words(worker_of_violation, text);
}

int worker_ready(struct worker *worker, const uint64_t numbers[4], const void *payload,
                 size_t bytes)
{
    struct message ready = {.operation = OPERATION_READY};
    if (worker->options.sandbox != SANDBOX_OFF) {
        worker_of_violation = worker;
        const int error = worker_limited(worker, SANDBOX_CALLS,
                                         sandbox_limit_calls(worker->profile, worker_on_violation));
        if (error < 0)
            return error;
    }
    ready.flags = (uint16_t)worker->sandbox;
    ready.numbers[0] = (uint64_t)getpid();
    ready.numbers[1] = CHANNEL_ABI;
    for (unsigned i = 0; i < 4; i++)
        ready.numbers[2 + i] = numbers ? numbers[i] : 0;
    CHECK(bytes <= sizeof ready.payload);
    if (bytes)
        memcpy(ready.payload, payload, bytes);
    ready.payload_bytes = (uint16_t)bytes;
    port_complete(&worker->port, &ready);
    return 0;
}

void worker_last_words(struct worker *worker, const char *text)
{
    snprintf(worker->port.channel.layout->last_words, CHANNEL_LAST_WORDS_BYTES, "%s", text);
}

static struct channel_progress *worker_progress(struct worker *worker)
{
    return &worker->port.channel.layout->progress;
}

static void worker_count(_Atomic uint64_t *counter, uint64_t add)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + add,
                          memory_order_relaxed);
}

uint64_t worker_turn(struct worker *worker)
{
    worker->turn_ns = clock_now_ns();
    atomic_store_explicit(&worker_progress(worker)->beat_ns, worker->turn_ns, memory_order_relaxed);
    return worker->turn_ns;
}

static uint32_t worker_us(uint64_t begin_ns, uint64_t end_ns)
{
    const uint64_t us = end_ns > begin_ns ? (end_ns - begin_ns + 500) / 1000 : 0;
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static void worker_add_us(struct message *answer, enum phase phase, uint32_t us)
{
    const uint32_t before = answer->phase_us[phase];
    answer->phase_us[phase] = before > UINT32_MAX - us ? UINT32_MAX : before + us;
}

/* What an operator wants to see of a trim is what the process gave back: its own figure of free
 * heap hardly moves, since whole pages inside the heap go without its knowing. */
static void worker_on_trim(struct worker *worker, const struct message *grant)
{
    struct message answer;
    struct heap_figures before, after;
    heap_sample(&worker->heap, &before);
    heap_trim_now();
    heap_sample(&worker->heap, &after);
    port_answer_init(&answer, grant);
    answer.numbers[0] = before.free_bytes;
    answer.numbers[1] = after.free_bytes;
    answer.numbers[2] = before.pss_bytes;
    answer.numbers[3] = after.pss_bytes;
    worker_count(&worker_progress(worker)->malloc_trims, 1);
    port_complete(&worker->port, &answer);
    worker->sampled_ns = 0; /* status shows it at once */
}

/* What every kind does alike. False: it is for the kind itself. */
static bool worker_take_common(struct worker *worker, const struct message *grant)
{
    switch (grant->operation) {
    case OPERATION_STOP:
        worker->is_stopping = true;
        return true;
    case OPERATION_TRIM:
        worker_on_trim(worker, grant);
        worker->is_dirty = true;
        return true;
    case OPERATION_LOG_LEVEL:
        if (grant->numbers[0] <= LOG_LEVEL_DEBUG)
            log_set_level((enum log_level)grant->numbers[0]);
        return true;
    default:
        return false;
    }
}

int worker_take_grant(struct worker *worker, struct message *ret_grant, struct message *ret_answer)
{
    int taken;
    while ((taken = port_take_grant(&worker->port, ret_grant)) > 0 &&
           worker_take_common(worker, ret_grant))
        continue;
    if (taken <= 0)
        return taken;
    worker->is_dirty = true;
    port_answer_init(ret_answer, ret_grant);
    if (ret_grant->operation == OPERATION_SYNTHESIZE || ret_grant->operation == OPERATION_PROVE ||
        ret_grant->operation == OPERATION_FINALIZE)
        ret_answer->phase_us[PHASE_WAIT] =
            worker_us(ret_grant->numbers[GRANT_TIME], worker->turn_ns);
    return 1;
}

int worker_drop_key(struct worker *worker, const struct message *grant, struct message *answer,
                    bool is_used)
{
    const uint64_t id = grant->numbers[GRANT_KEY];
    if (id >= CIRCUITS_MAX)
        return -EPROTO;
    if (is_used)
        port_answer_fail(answer, BLAME_DEVICE, -EBUSY, "a held partition uses the key");
    else
        port_drop_key(&worker->port, (uint32_t)id);
    port_complete(&worker->port, answer);
    return 0;
}

void worker_stage(struct worker *worker, enum phase phase, uint32_t slot)
{
    struct channel_progress *progress = worker_progress(worker);
    const uint64_t since = atomic_load_explicit(&progress->busy_since_ns, memory_order_relaxed);
    if (phase == PHASE_COUNT && since) {
        worker_count(&progress->busy_ns, clock_now_ns() - since);
        atomic_store_explicit(&progress->busy_since_ns, 0, memory_order_relaxed);
    } else if (phase != PHASE_COUNT && !since) {
        atomic_store_explicit(&progress->busy_since_ns, clock_now_ns(), memory_order_relaxed);
    }
    atomic_store_explicit(&progress->stage, (uint32_t)phase, memory_order_relaxed);
    atomic_store_explicit(&progress->slot, slot, memory_order_relaxed);
}

void worker_step(struct worker *worker)
{
    worker_count(&worker_progress(worker)->steps, 1);
}

void worker_phase(struct worker *worker, enum phase phase, uint64_t begin_ns, uint64_t end_ns,
                  uint64_t bytes, const struct message *grant, struct message *answer)
{
    const struct trace_event event = {
        .begin_ns = begin_ns,
        .end_ns = end_ns,
        .job = grant->numbers[GRANT_JOB],
        .slot = grant->slot,
        .partition = (uint16_t)grant->numbers[GRANT_PARTITION],
        .phase = (uint16_t)phase,
        .bytes = bytes,
    };
    trace_write(&worker->port.channel.layout->trace, &event);
    worker_step(worker);
    if (phase == PHASE_READ)
        worker_count(&worker_progress(worker)->bytes_read, bytes);
    worker_add_us(answer, phase, worker_us(begin_ns, end_ns));
}

void worker_trim(struct worker *worker, bool is_idle, const struct message *grant,
                 struct message *answer)
{
    const enum heap_trim policy = worker->options.malloc_trim;
    if (policy == HEAP_TRIM_OFF || (policy == HEAP_TRIM_IDLE && !is_idle))
        return;
    worker_stage(worker, PHASE_MALLOC_TRIM, grant->slot);
    const uint64_t begin_ns = clock_now_ns();
    heap_trim_now();
    const uint64_t end_ns = clock_now_ns();
    worker_phase(worker, PHASE_MALLOC_TRIM, begin_ns, end_ns, 0, grant, answer);
    worker_count(&worker_progress(worker)->malloc_trims, 1);
    worker_count(&worker_progress(worker)->malloc_trim_ns, end_ns - begin_ns);
}

void worker_answer(struct worker *worker, const struct message *grant, struct message *answer,
                   uint64_t taken_ns)
{
    struct channel_progress *progress = worker_progress(worker);
    const char *outcome = "ok";
    answer->phase_us[PHASE_TOTAL] = worker_us(taken_ns, clock_now_ns());
    if (answer->blame == BLAME_CANCELLED) {
        outcome = "cancelled";
    } else if (answer->blame != BLAME_NONE) {
        outcome = "failed";
        worker_count(&progress->partitions_failed, 1);
    } else {
        worker_count(&progress->partitions_done, 1);
    }
    worker_step(worker);
    timing_log(worker_timing_prefixes[worker->kind], "partition", grant->numbers[GRANT_JOB],
               (uint32_t)grant->numbers[GRANT_PARTITION], outcome, answer->phase_us);
    port_complete(&worker->port, answer);
    worker->is_dirty = true;
}

void worker_publish(struct worker *worker)
{
    struct channel_progress *progress = worker_progress(worker);
    struct heap_figures figures;
    if (!worker->is_dirty || worker->turn_ns - worker->sampled_ns < WORKER_FIGURES_INTERVAL_NS)
        return;
    heap_sample(&worker->heap, &figures);
    atomic_store_explicit(&progress->heap_bytes, figures.used_bytes, memory_order_relaxed);
    atomic_store_explicit(&progress->heap_free_bytes, figures.free_bytes, memory_order_relaxed);
    atomic_store_explicit(&progress->pss_bytes, figures.pss_bytes, memory_order_relaxed);
    worker->sampled_ns = worker->turn_ns;
    worker->is_dirty = false;
}

int worker_wait(struct worker *worker, uint64_t deadline_ns)
{
    const uint64_t due_ns = worker->sampled_ns + WORKER_FIGURES_INTERVAL_NS;
    if (worker->is_dirty && due_ns < deadline_ns)
        deadline_ns = due_ns;
    const int count = loop_wait(worker->loop, deadline_ns);
    return count < 0 && count != -EINTR ? count : 0;
}
