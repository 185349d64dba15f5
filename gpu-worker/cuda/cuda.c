/* The CUDA backend's table: what the owner calls. Nothing here asks the device anything, apart from
 * open and close: calls note what is wanted and ring the driver thread (engine.c); poll hands out
 * what it posted. See cuda.h for the threads. */
#include "gpu-worker/cuda/cuda.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "gpu-worker/cuda/errors.h"

enum {
    /* The partition that computes, the one that is uploaded and one more; with little memory one
     * pass of them that computes and one that is uploaded. */
    CUDA_PARTITIONS_USEFUL = 3,
    CUDA_PARTITIONS_USEFUL_LIMITED = 2 * PLAN_PASS_MAX,
    /* What the driver takes for itself later: local memory of kernels, mostly. */
    CUDA_MARGIN_BYTES = 512 << 20,
    CUDA_ARENA_BYTES_MIN = 64 << 10,                    /* the least that a key of any use takes */
    CUDA_SUMS_BYTES = PLAN_CHUNKS_MAX * SUMS_BYTES_MAX, /* pinned, of a partition */
};

static void cuda_close(struct backend *backend);

/* Closed and not freed; a list, so that they count as no leak. */
static struct backend *lost_backends;

/* Opening. */

static int open_host(struct backend *backend)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&backend->mutex, NULL);
    pthread_cond_init(&backend->wake, &monotonic);
    pthread_cond_init(&backend->slab_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    backend->has_mutex = true;
    backend->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    backend->outbox.event_fd = backend->event_fd;
    if (backend->event_fd < 0)
        return -errno;
    const int error = pool_create(1, &backend->pool);
    return error < 0 ? error : registrar_create(&backend->registrar);
}

/* Everything that is ever allocated on the device or pinned for it. Driver errors. */
static int open_streams(struct backend *backend)
{
    int error = DRIVER_OK;
    for (unsigned i = 0; i < STREAM_COUNT && !error; i++)
        error = driver_stream_create(&backend->streams[i], i == STREAM_LOAD ? 1 : 0);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        for (unsigned j = 0; j < MARK_COUNT && !error; j++)
            error = driver_event_create(&backend->flights[i].marks[j]);
    for (unsigned i = 0; i < KEY_PIECES && !error; i++)
        error = driver_event_create(&backend->piece_events[i]);
    if (!error)
        error = driver_event_create(&backend->load_event);
    if (!error)
        error = driver_event_create(&backend->evaluations_free);
    if (!error)
        error = pass_init(&backend->pass);
    if (!error)
        error = timeline_init(&backend->timeline, backend->streams[STREAM_CLOCK]);
    return error;
}

static int open_memory(struct backend *backend, uint64_t vram_limit, char *ret_text)
{
    uint64_t free_bytes = 0, total_bytes = 0;
    int error = driver_memory(&free_bytes, &total_bytes);
    const uint64_t margin =
        free_bytes / 16 < CUDA_MARGIN_BYTES ? free_bytes / 16 : CUDA_MARGIN_BYTES;
    uint64_t bytes = free_bytes - margin;
    if (vram_limit && vram_limit < bytes)
        bytes = vram_limit;
    if (!error && bytes < CUDA_ARENA_BYTES_MIN) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "%s has %llu KiB of its %llu free for [GPU] VramLimit=%llu KiB and the backend "
                 "needs at least %d: end other programs on the card or raise the limit",
                 backend->device.info.name, (unsigned long long)free_bytes >> 10,
                 (unsigned long long)total_bytes >> 10, (unsigned long long)vram_limit >> 10,
                 CUDA_ARENA_BYTES_MIN >> 10);
        return -ENOMEM;
    }
    if (!error)
        error = driver_malloc(&backend->arena_memory, bytes);
    if (!error)
        error = driver_malloc_host(&backend->sums_host, BACKEND_PARTITIONS_MAX * CUDA_SUMS_BYTES);
    if (error) {
        errors_explain(ret_text, error, "taking device memory", backend->device.info.name);
        return errors_to_errno(error);
    }
    arena_init(&backend->arena, backend->arena_memory, bytes);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct flight *flight = &backend->flights[i];
        flight->sums_host = (uint8_t *)backend->sums_host + i * CUDA_SUMS_BYTES;
        flight->witness = -1;
    }
    return 0;
}

static int open_driver_thread(struct backend *backend)
{
    sigset_t all, before;
    /* Signals stay with the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&backend->driver, NULL, engine_run, backend);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    backend->has_driver = error == 0;
    return -error;
}

static int cuda_open(const struct backend_options *options, struct backend **ret_backend,
                     char *ret_text)
{
    struct backend *backend = calloc(1, sizeof *backend);
    int error = -ENOMEM;
    snprintf(ret_text, BACKEND_TEXT_BYTES, "the CUDA backend cannot start: host memory is short");
    if (!backend)
        return error;
    backend->event_fd = -1;
    backend->requires_pinned = options->requires_pinned;
    backend->is_limited = options->vram_limit > 0;
    error = device_open(options->device, &backend->device, ret_text);
    if (error < 0)
        goto fail;
    backend->has_device = true;
    error = open_host(backend);
    if (error < 0) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "the CUDA backend cannot start: %s; raise the limits on tasks, files and memory",
                 strerror(-error));
        goto fail;
    }
    error = open_streams(backend);
    if (error) {
        errors_explain(ret_text, error, "making streams", backend->device.info.name);
        error = errors_to_errno(error);
        goto fail;
    }
    error = open_memory(backend, options->vram_limit, ret_text);
    if (error < 0)
        goto fail;
    error = open_driver_thread(backend);
    if (error < 0) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "the CUDA backend cannot start a thread: %s; raise the limit on tasks",
                 strerror(-error));
        goto fail;
    }
    *ret_backend = backend;
    return 0;

fail:
    cuda_close(backend);
    return error;
}

/* Closing. Of a lost context nothing is touched: the process ends next. */

static void release_host_memory(struct backend *backend)
{
    for (unsigned i = 0; i < BACKEND_KEYS_MAX; i++) {
        struct key *key = backend->keys[i];
        /* No job is open any more; one that registered may not have been noticed. */
        const bool is_registered = key && key->job.memory && !key->job.is_release &&
                                   key->is_job_done && key->job.result == DRIVER_OK;
        if (is_registered && !backend->is_lost)
            driver_host_unregister(key->job.memory);
        free(key);
    }
    for (unsigned i = 0; i < SLAB_COUNT; i++)
        if (backend->slabs[i].is_pinned && !backend->is_lost)
            driver_host_unregister(backend->slabs[i].job.memory);
}

/* An event is often seen before its bell rings, and a bell must not ring in freed memory. Returns
 * whether none will ring any more. */
static bool bells_are_silent(struct backend *backend)
{
    int error = DRIVER_OK;
    for (unsigned i = STREAM_BELL_UPLOAD; i <= STREAM_BELL_LOAD && backend->has_driver; i++) {
        if (!error)
            error = driver_event_record(backend->load_event, backend->streams[i]);
        if (!error)
            error = driver_event_wait(backend->load_event);
    }
    return error == DRIVER_OK;
}

static void release_device(struct backend *backend)
{
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        for (unsigned j = 0; j < MARK_COUNT; j++)
            if (backend->flights[i].marks[j])
                driver_event_destroy(backend->flights[i].marks[j]);
    void *const events[] = {backend->piece_events[0], backend->piece_events[1], backend->load_event,
                            backend->evaluations_free};
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
        if (events[i])
            driver_event_destroy(events[i]);
    pass_destroy(&backend->pass);
    timeline_destroy(&backend->timeline);
    for (unsigned i = 0; i < STREAM_COUNT; i++)
        if (backend->streams[i])
            driver_stream_destroy(backend->streams[i]);
    if (backend->sums_host)
        driver_free_host(backend->sums_host);
    if (backend->arena_memory)
        driver_free(backend->arena_memory);
}

static void cuda_close(struct backend *backend)
{
    if (backend->has_driver) {
        pthread_mutex_lock(&backend->mutex);
        backend->is_stopping = true;
        backend->is_rung = true; /* it may be looking elsewhere right now */
        pthread_cond_signal(&backend->wake);
        pthread_mutex_unlock(&backend->mutex);
        pthread_join(backend->driver, NULL);
    }
    registrar_free(backend->registrar);
    if (backend->pool)
        pool_free(backend->pool);
    if (backend->has_device) {
        if (!backend->is_lost && !bells_are_silent(backend))
            backend->is_lost = true;
        release_host_memory(backend);
        if (!backend->is_lost)
            release_device(backend);
        device_close(&backend->device);
    }
    if (backend->event_fd >= 0)
        close(backend->event_fd);
    if (backend->is_lost) {
        /* A callback may still come and ring: its memory stays until the process ends. */
        backend->next_lost = lost_backends;
        lost_backends = backend;
        return;
    }
    if (backend->has_mutex) {
        pthread_cond_destroy(&backend->slab_changed);
        pthread_cond_destroy(&backend->wake);
        pthread_mutex_destroy(&backend->mutex);
    }
    free(backend);
}

static void cuda_describe(const struct backend *backend, struct backend_device *ret_device)
{
    const struct driver_device *info = &backend->device.info;
    *ret_device = (struct backend_device){.memory_bytes = info->memory_bytes,
                                          .partitions_useful = backend->is_limited
                                                                   ? CUDA_PARTITIONS_USEFUL_LIMITED
                                                                   : CUDA_PARTITIONS_USEFUL,
                                          .poll_interval_ns = ENGINE_WAKE_MS * 1000000u};
    snprintf(ret_device->name, sizeof ret_device->name, "%s", info->name);
    snprintf(ret_device->uuid, sizeof ret_device->uuid, "%s", info->uuid);
}

static int cuda_event_fd(const struct backend *backend)
{
    return backend->event_fd;
}

/* Keys. */

static void key_enqueue(struct backend *backend, struct key *key)
{
    backend->key_calls++;
    backend->key_queue[backend->key_queue_count++] = key;
}

static int cuda_load_key(struct backend *backend, uint32_t id, const struct prepared *prepared)
{
    int error = 0;
    if (id >= BACKEND_KEYS_MAX)
        return -EINVAL;
    struct key *key = calloc(1, sizeof *key);
    if (!key)
        return -ENOMEM;
    key->id = id;
    key->prepared = prepared;
    pthread_mutex_lock(&backend->mutex);
    if (backend->keys[id])
        error = -EEXIST;
    else if (backend->key_calls == BACKEND_KEY_CALLS_MAX)
        error = -EAGAIN;
    if (error == 0) {
        backend->keys[id] = key;
        key_enqueue(backend, key);
    }
    pthread_mutex_unlock(&backend->mutex);
    if (error < 0) {
        free(key);
        return error;
    }
    key_register(backend, key);
    return 0;
}

static int cuda_drop_key(struct backend *backend, uint32_t id)
{
    int error = 0;
    pthread_mutex_lock(&backend->mutex);
    struct key *key = id < BACKEND_KEYS_MAX ? backend->keys[id] : NULL;
    if (!key || key->state != KEY_LOADED)
        error = -ENOENT;
    else if (backend->key_calls == BACKEND_KEY_CALLS_MAX)
        error = -EAGAIN;
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX && error == 0; i++)
        if (backend->flights[i].state != FLIGHT_FREE && backend->flights[i].key == key)
            error = -EBUSY;
    if (error == 0) {
        key->state = KEY_DROPPING;
        key_enqueue(backend, key);
    }
    pthread_mutex_unlock(&backend->mutex);
    if (error == 0)
        engine_ring(backend);
    return error;
}

/* Partitions. */

static int check_partition(const struct backend *backend, const struct backend_partition *partition)
{
    const struct key *key =
        partition->key < BACKEND_KEYS_MAX ? backend->keys[partition->key] : NULL;
    if (!key || key->state != KEY_LOADED)
        return -ENOENT;
    const struct slab_layout layout = prepared_slab_layout(key->prepared);
    if (!partition->slab || partition->slab_index >= SLAB_COUNT ||
        partition->slab_bytes < slab_layout_used_bytes(&layout, partition->has_evaluations))
        return -EINVAL;
    return 0;
}

static int cuda_start(struct backend *backend, const struct backend_partition *partition)
{
    struct flight *place = NULL;
    int error = 0;
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct flight *flight = &backend->flights[i];
        if (flight->state == FLIGHT_FREE)
            place = flight;
        else if (flight->partition.id == partition->id)
            error = -EEXIST;
    }
    if (error == 0 && !place)
        error = -EAGAIN;
    if (error == 0)
        error = check_partition(backend, partition);
    if (error == 0) {
        place->partition = *partition;
        place->key = backend->keys[partition->key];
        place->is_cancelled = place->has_left_slab = false;
        place->state = FLIGHT_QUEUED;
    }
    pthread_mutex_unlock(&backend->mutex);
    if (error == 0)
        engine_ring(backend);
    return error;
}

static void cuda_cancel(struct backend *backend, uint64_t id)
{
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        struct flight *flight = &backend->flights[i];
        if (flight->partition.id != id || flight->state == FLIGHT_FREE ||
            flight->state == FLIGHT_ENDED)
            continue;
        flight->is_cancelled = true;
        if (flight->state == FLIGHT_QUEUED) {
            struct backend_event event = {
                .kind = BACKEND_FAILED, .id = id, .fault = BACKEND_FAULT_CANCELLED};
            snprintf(event.text, sizeof event.text, "cancelled before it began");
            flight->state = FLIGHT_ENDED;
            outbox_post(&backend->outbox, &event);
        }
    }
    pthread_mutex_unlock(&backend->mutex);
    engine_ring(backend);
}

/* Polling. */

/* What the owner sees has an end. Mutex held. */
static void on_taken(struct backend *backend, const struct backend_event *event)
{
    switch (event->kind) {
    case BACKEND_KEY_LOADED:
    case BACKEND_KEY_REFUSED:
    case BACKEND_KEY_DROPPED:
        backend->key_calls--;
        break;
    case BACKEND_PROVED:
    case BACKEND_FAILED:
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
            if (backend->flights[i].state == FLIGHT_ENDED &&
                backend->flights[i].partition.id == event->id)
                backend->flights[i].state = FLIGHT_FREE;
        break;
    default:
        break;
    }
}

static int cuda_poll(struct backend *backend, struct backend_event *ret_event)
{
    bool found = true;
    pthread_mutex_lock(&backend->mutex);
    if (outbox_take(&backend->outbox, ret_event)) {
        on_taken(backend, ret_event);
    } else if (slab_take_event(backend, ret_event)) {
        /* nothing else to note */
    } else if (backend->is_lost && !backend->is_lost_told) {
        backend->is_lost_told = true;
        *ret_event = (struct backend_event){.kind = BACKEND_LOST, .fault = BACKEND_FAULT_STICKY};
        memcpy(ret_event->text, backend->lost_text, sizeof ret_event->text);
    } else {
        found = false;
    }
    pthread_mutex_unlock(&backend->mutex);
    return found;
}

static uint64_t cuda_progress(const struct backend *backend)
{
    return atomic_load_explicit(&backend->moves, memory_order_relaxed);
}

const struct backend_ops cuzk_backend_plugin = {
    .name = "cuda",
    .abi = BACKEND_ABI,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .event_fd = cuda_event_fd,
    .attach_slab = slab_attach,
    .detach_slab = slab_detach,
    .load_key = cuda_load_key,
    .drop_key = cuda_drop_key,
    .start = cuda_start,
    .cancel = cuda_cancel,
    .poll = cuda_poll,
    .progress = cuda_progress,
};
