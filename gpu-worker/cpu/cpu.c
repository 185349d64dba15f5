/* The CPU backend: partitions are computed one after the other on a driver thread of its own, which
 * owns a pool of Threads threads, so that the worker's loop stays awake meanwhile.
 *
 * One mutex guards everything the owner and the driver share; neither holds it while computing.
 * The driver takes the lowest order key among the queued partitions, looks at the cancel mark
 * before each phase, and posts events into a ring that has room for every event the held partitions
 * and open key calls can make. */
#include "gpu-worker/backend.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu-worker/cpu/prove.h"
#include "groth16/pool.h"
#include "runtime/clock.h"

enum {
    /* Two a phase, UPLOADED and the end. */
    CPU_EVENTS_PARTITION = 2 * BACKEND_PHASE_COUNT + 2,
    CPU_EVENTS_MAX = 256,
};

static_assert(CPU_EVENTS_MAX >=
                  BACKEND_PARTITIONS_MAX * CPU_EVENTS_PARTITION + BACKEND_KEY_CALLS_MAX,
              "the event ring never overflows");

enum cpu_state {
    CPU_FREE,
    CPU_QUEUED,  /* the driver may take it */
    CPU_RUNNING, /* the driver's */
    CPU_ENDED,   /* its last event is posted, not yet polled */
};

struct cpu_partition {
    enum cpu_state state;
    bool is_cancelled;
    struct backend_partition partition;
    struct prove prove;
};

struct backend {
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* the driver: work queued or stop */
    pthread_t driver;
    bool has_driver, is_stopping;
    int event_fd;
    struct pool *pool;
    unsigned threads;

    struct cpu_partition partitions[BACKEND_PARTITIONS_MAX];
    const struct prepared *keys[BACKEND_KEYS_MAX]; /* NULL when not loaded */
    unsigned key_calls;

    /* Quotient memory for the largest domain loaded. A larger one waits in next_scratch until the
     * driver is between partitions. */
    uint64_t *scratch, *next_scratch;
    size_t scratch_bytes, next_scratch_bytes;

    struct backend_event events[CPU_EVENTS_MAX];
    uint32_t event_head, event_tail; /* free-running: poll takes at head, post puts at tail */
};

/* Every sum in the order a phase list is run: NTT directly before MSM_H, whose scalars it makes. */
static const enum backend_phase cpu_phases[] = {
    BACKEND_PHASE_MSM_A, BACKEND_PHASE_MSM_B1, BACKEND_PHASE_MSM_B2,
    BACKEND_PHASE_MSM_L, BACKEND_PHASE_NTT,    BACKEND_PHASE_MSM_H,
};

static void *cpu_drive(void *context);
static void cpu_close(struct backend *backend);

static void cpu_scratch_free(uint64_t *scratch, size_t bytes)
{
    if (scratch)
        munmap(scratch, bytes);
}

static int cpu_open(const struct backend_options *options, struct backend **ret_backend,
                    char *ret_text)
{
    struct backend *backend = calloc(1, sizeof *backend);
    int error = -ENOMEM;
    if (!backend)
        goto fail;
    backend->threads = options->threads;
    pthread_mutex_init(&backend->mutex, NULL);
    pthread_cond_init(&backend->wake, NULL);
    backend->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (backend->event_fd < 0) {
        error = -errno;
        goto fail;
    }
    error = pool_create(options->threads, &backend->pool);
    if (error < 0)
        goto fail;

    /* Signals stay with the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = -pthread_create(&backend->driver, NULL, cpu_drive, backend);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error < 0)
        goto fail;
    backend->has_driver = true;
    *ret_backend = backend;
    return 0;

fail:
    snprintf(ret_text, BACKEND_TEXT_BYTES,
             "the CPU backend cannot start with %u threads: %s; lower [GPU] Threads= or raise the "
             "limits on tasks and memory",
             options->threads, strerror(-error));
    cpu_close(backend);
    return error;
}

static void cpu_close(struct backend *backend)
{
    if (!backend)
        return;
    if (backend->has_driver) {
        pthread_mutex_lock(&backend->mutex);
        backend->is_stopping = true;
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
            backend->partitions[i].is_cancelled = true;
        pthread_cond_signal(&backend->wake);
        pthread_mutex_unlock(&backend->mutex);
        pthread_join(backend->driver, NULL);
    }
    if (backend->pool)
        pool_free(backend->pool);
    if (backend->event_fd > 0)
        close(backend->event_fd);
    cpu_scratch_free(backend->scratch, backend->scratch_bytes);
    cpu_scratch_free(backend->next_scratch, backend->next_scratch_bytes);
    pthread_cond_destroy(&backend->wake);
    pthread_mutex_destroy(&backend->mutex);
    free(backend);
}

static void cpu_describe(const struct backend *backend, struct backend_device *ret_device)
{
    (void)backend;
    *ret_device = (struct backend_device){.name = "cpu", .uuid = "cpu", .partitions_useful = 2};
}

static int cpu_event_fd(const struct backend *backend)
{
    return backend->event_fd;
}

/* The new event at the tail, zeroed; the caller fills it and calls cpu_post. Mutex held. */
static struct backend_event *cpu_event(struct backend *backend, enum backend_event_kind kind,
                                       uint64_t id)
{
    struct backend_event *event = &backend->events[backend->event_tail % CPU_EVENTS_MAX];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    event->id = id;
    return event;
}

static void cpu_post(struct backend *backend)
{
    const uint64_t one = 1;
    backend->event_tail++;
    /* Only a full counter can refuse, and then it is rung anyway. */
    (void)!write(backend->event_fd, &one, sizeof one);
}

static int cpu_poll(struct backend *backend, struct backend_event *ret_event)
{
    int found = 0;
    pthread_mutex_lock(&backend->mutex);
    if (backend->event_head != backend->event_tail) {
        *ret_event = backend->events[backend->event_head++ % CPU_EVENTS_MAX];
        found = 1;
        if (ret_event->kind == BACKEND_KEY_LOADED || ret_event->kind == BACKEND_KEY_DROPPED)
            backend->key_calls--;
        /* The memory behind `sums` stays untouched until `start` takes this place again, which
         * the owner cannot do before it polls on or uses the sums. */
        if (ret_event->kind == BACKEND_PROVED || ret_event->kind == BACKEND_FAILED)
            for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
                if (backend->partitions[i].state == CPU_ENDED &&
                    backend->partitions[i].partition.id == ret_event->id)
                    backend->partitions[i].state = CPU_FREE;
    }
    pthread_mutex_unlock(&backend->mutex);
    return found;
}

static int cpu_load_key(struct backend *backend, uint32_t key, const struct prepared *prepared)
{
    if (key >= BACKEND_KEYS_MAX)
        return -EINVAL;
    const size_t bytes = prove_scratch_bytes(prepared);
    int error = 0;
    pthread_mutex_lock(&backend->mutex);
    if (backend->keys[key])
        error = -EEXIST;
    else if (backend->key_calls == BACKEND_KEY_CALLS_MAX)
        error = -EAGAIN;
    else if (bytes > backend->scratch_bytes && bytes > backend->next_scratch_bytes) {
        void *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            error = -ENOMEM;
        } else {
            madvise(memory, bytes, MADV_HUGEPAGE); /* only speed: refusal is fine */
            madvise(memory, bytes, MADV_DONTDUMP); /* holds what the witness gives away */
            cpu_scratch_free(backend->next_scratch, backend->next_scratch_bytes);
            backend->next_scratch = memory;
            backend->next_scratch_bytes = bytes;
        }
    }
    if (error == 0) {
        backend->keys[key] = prepared;
        backend->key_calls++;
        cpu_event(backend, BACKEND_KEY_LOADED, key);
        cpu_post(backend);
    }
    pthread_mutex_unlock(&backend->mutex);
    return error;
}

static int cpu_drop_key(struct backend *backend, uint32_t key)
{
    int error = 0;
    pthread_mutex_lock(&backend->mutex);
    if (key >= BACKEND_KEYS_MAX || !backend->keys[key])
        error = -ENOENT;
    else if (backend->key_calls == BACKEND_KEY_CALLS_MAX)
        error = -EAGAIN;
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        if (backend->partitions[i].state != CPU_FREE && backend->partitions[i].partition.key == key)
            error = error ? error : -EBUSY;
    if (error == 0) {
        backend->keys[key] = NULL;
        backend->key_calls++;
        cpu_event(backend, BACKEND_KEY_DROPPED, key);
        cpu_post(backend);
    }
    pthread_mutex_unlock(&backend->mutex);
    return error;
}

static int cpu_start(struct backend *backend, const struct backend_partition *partition)
{
    struct cpu_partition *free_place = NULL;
    int error = 0;
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct cpu_partition *place = &backend->partitions[i];
        if (place->state == CPU_FREE)
            free_place = place;
        else if (place->partition.id == partition->id)
            error = -EEXIST;
    }
    if (error == 0 && !partition->has_evaluations)
        error = -ENOTSUP;
    else if (error == 0 && !free_place)
        error = -EAGAIN;
    else if (error == 0 && (partition->key >= BACKEND_KEYS_MAX || !backend->keys[partition->key]))
        error = -ENOENT;
    else if (error == 0 &&
             partition->slab_bytes < prepared_slab_bytes(backend->keys[partition->key]))
        error = -EINVAL;
    if (error == 0) {
        free_place->partition = *partition;
        free_place->prove.key = backend->keys[partition->key];
        free_place->prove.slab = partition->slab;
        free_place->is_cancelled = false;
        free_place->state = CPU_QUEUED;
        pthread_cond_signal(&backend->wake);
    }
    pthread_mutex_unlock(&backend->mutex);
    return error;
}

/* The partition's last event. Mutex held. */
static void cpu_end(struct backend *backend, struct cpu_partition *place, enum backend_fault fault,
                    const char *text)
{
    struct backend_event *event;
    if (fault == BACKEND_FAULT_NONE) {
        cpu_event(backend, BACKEND_UPLOADED, place->partition.id);
        cpu_post(backend);
    }
    event = cpu_event(backend, fault == BACKEND_FAULT_NONE ? BACKEND_PROVED : BACKEND_FAILED,
                      place->partition.id);
    event->fault = fault;
    if (fault == BACKEND_FAULT_NONE) {
        event->sums = place->prove.sums;
        event->sums_bytes = sums_bytes(place->prove.key->curve);
    } else {
        snprintf(event->text, sizeof event->text, "%s", text);
    }
    place->state = CPU_ENDED;
    cpu_post(backend);
}

static void cpu_cancel(struct backend *backend, uint64_t id)
{
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct cpu_partition *place = &backend->partitions[i];
        if (place->partition.id != id)
            continue;
        if (place->state == CPU_QUEUED)
            cpu_end(backend, place, BACKEND_FAULT_CANCELLED, "cancelled before it began");
        else if (place->state == CPU_RUNNING)
            place->is_cancelled = true;
    }
    pthread_mutex_unlock(&backend->mutex);
}

/* The queued partition with the lowest order key, or NULL. Mutex held. */
static struct cpu_partition *cpu_pick(struct backend *backend)
{
    struct cpu_partition *best = NULL;
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct cpu_partition *place = &backend->partitions[i];
        if (place->state != CPU_QUEUED)
            continue;
        if (!best || place->partition.order_key < best->partition.order_key ||
            (place->partition.order_key == best->partition.order_key &&
             place->partition.id < best->partition.id))
            best = place;
    }
    return best;
}

/* All phases of one partition. Mutex held on entry and exit, not while a phase runs. */
static void cpu_run(struct backend *backend, struct cpu_partition *place)
{
    if (backend->next_scratch) {
        cpu_scratch_free(backend->scratch, backend->scratch_bytes);
        backend->scratch = backend->next_scratch;
        backend->scratch_bytes = backend->next_scratch_bytes;
        backend->next_scratch = NULL;
        backend->next_scratch_bytes = 0;
    }
    place->state = CPU_RUNNING;
    place->prove.scratch = backend->scratch;
    for (unsigned i = 0; i < sizeof cpu_phases / sizeof cpu_phases[0]; i++) {
        if (place->is_cancelled || backend->is_stopping) {
            cpu_end(backend, place, BACKEND_FAULT_CANCELLED, "cancelled between two phases");
            return;
        }
        struct backend_event *event = cpu_event(backend, BACKEND_PHASE_BEGAN, place->partition.id);
        const uint64_t begin_ns = clock_now_ns();
        event->phase = cpu_phases[i];
        event->begin_ns = begin_ns;
        cpu_post(backend);

        pthread_mutex_unlock(&backend->mutex);
        const int error = prove_run(&place->prove, cpu_phases[i], backend->pool);
        const uint64_t end_ns = clock_now_ns();
        pthread_mutex_lock(&backend->mutex);

        if (error < 0) {
            char text[BACKEND_TEXT_BYTES];
            snprintf(text, sizeof text,
                     "%s of 2^%u: %s; the host's memory is short: lower [Ring] Slabs= or [GPU] "
                     "Threads=, or give the service more",
                     backend_phase_to_string(cpu_phases[i]), place->prove.key->shape.domain_log2,
                     strerror(-error));
            cpu_end(backend, place, error == -ENOMEM ? BACKEND_FAULT_MEMORY : BACKEND_FAULT_DEVICE,
                    text);
            return;
        }
        event = cpu_event(backend, BACKEND_PHASE_ENDED, place->partition.id);
        event->phase = cpu_phases[i];
        event->begin_ns = begin_ns;
        event->end_ns = end_ns;
        cpu_post(backend);
    }
    cpu_end(backend, place, BACKEND_FAULT_NONE, "");
}

static void *cpu_drive(void *context)
{
    struct backend *backend = context;
    pthread_setname_np(pthread_self(), "cpu-backend");
    pthread_mutex_lock(&backend->mutex);
    while (!backend->is_stopping) {
        struct cpu_partition *place = cpu_pick(backend);
        if (place)
            cpu_run(backend, place);
        else
            pthread_cond_wait(&backend->wake, &backend->mutex);
    }
    pthread_mutex_unlock(&backend->mutex);
    return NULL;
}

static uint64_t cpu_progress(const struct backend *backend)
{
    return pool_steps(backend->pool);
}

const struct backend_ops backend_cpu = {
    .name = "cpu",
    .abi = BACKEND_ABI,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .event_fd = cpu_event_fd,
    .load_key = cpu_load_key,
    .drop_key = cpu_drop_key,
    .start = cpu_start,
    .cancel = cpu_cancel,
    .poll = cpu_poll,
    .progress = cpu_progress,
};
