/* See slab.h. */
#include "gpu-worker/cuda/slab.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gpu-worker/cuda/cuda.h"

enum {
    SLAB_DETACH_S_MAX = 60,
};

static void slab_on_job(struct registrar_job *job, void *context)
{
    struct backend *backend = context;
    struct slab *slab = (struct slab *)((char *)job - offsetof(struct slab, job));
    const struct work work = {job->result,
                              job->is_release ? "letting go of a slab" : "registering a slab"};
    char text[BACKEND_TEXT_BYTES] = "";
    enum backend_fault fault = BACKEND_FAULT_NONE;
    if (job->result != DRIVER_OK)
        fault = engine_fault(backend, &work, text);
    if (job->is_release && job->result != DRIVER_OK)
        engine_lose(backend, job->result, work.what); /* nobody can say what the device holds */
    pthread_mutex_lock(&backend->mutex);
    if (job->is_release) {
        slab->state = SLAB_NONE;
        slab->is_pinned = false;
    } else {
        slab->is_pinned = fault == BACKEND_FAULT_NONE;
        slab->state = slab->is_pinned || !backend->requires_pinned ? SLAB_ATTACHED : SLAB_REFUSED;
        memcpy(slab->text, text, sizeof slab->text);
        slab->has_event = true;
        backend->slab_events++;
        outbox_ring(&backend->outbox);
    }
    pthread_cond_broadcast(&backend->slab_changed);
    pthread_mutex_unlock(&backend->mutex);
}

int slab_attach(struct backend *backend, uint32_t index, const void *memory, size_t bytes)
{
    if (index >= SLAB_COUNT || !memory || bytes == 0)
        return -EINVAL;
    struct slab *slab = &backend->slabs[index];
    pthread_mutex_lock(&backend->mutex);
    const bool is_free = slab->state == SLAB_NONE || slab->state == SLAB_REFUSED;
    if (is_free)
        slab->state = SLAB_ATTACHING;
    pthread_mutex_unlock(&backend->mutex);
    if (!is_free)
        return -EEXIST;
    slab->job = (struct registrar_job){
        .memory = memory, .bytes = bytes, .done = slab_on_job, .context = backend};
    registrar_submit(backend->registrar, &slab->job);
    return 0;
}

/* Whether the slab came to this state in time. Mutex held. */
static bool slab_wait(struct backend *backend, const struct slab *slab, enum slab_state left)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SLAB_DETACH_S_MAX;
    while (slab->state == left)
        if (pthread_cond_timedwait(&backend->slab_changed, &backend->mutex, &until) == ETIMEDOUT)
            return false;
    return true;
}

int slab_detach(struct backend *backend, uint32_t index)
{
    if (index >= SLAB_COUNT)
        return -EINVAL;
    struct slab *slab = &backend->slabs[index];
    int error = 0;
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        if (backend->flights[i].state != FLIGHT_FREE && !backend->flights[i].has_left_slab &&
            backend->flights[i].partition.slab_index == index)
            error = -EBUSY;
    if (error == 0 && !slab_wait(backend, slab, SLAB_ATTACHING))
        error = -ETIMEDOUT;
    if (error == 0 && slab->has_event) {
        slab->has_event = false;
        backend->slab_events--;
    }
    if (error == 0 && slab->is_pinned) {
        if (slab->state != SLAB_DETACHING) {
            slab->state = SLAB_DETACHING;
            slab->job.is_release = true;
            registrar_submit(backend->registrar, &slab->job);
        }
        if (!slab_wait(backend, slab, SLAB_DETACHING))
            error = -ETIMEDOUT;
        else if (slab->job.result != DRIVER_OK)
            error = -EIO; /* and LOST is told */
    } else if (error == 0) {
        slab->state = SLAB_NONE;
    }
    pthread_mutex_unlock(&backend->mutex);
    return error;
}

bool slab_take_event(struct backend *backend, struct backend_event *ret_event)
{
    for (uint32_t i = 0; i < SLAB_COUNT && backend->slab_events; i++) {
        struct slab *slab = &backend->slabs[i];
        if (!slab->has_event)
            continue;
        const bool is_refused = slab->state == SLAB_REFUSED;
        *ret_event = (struct backend_event){
            .kind = is_refused ? BACKEND_SLAB_REFUSED : BACKEND_SLAB_ATTACHED,
            .fault = is_refused ? BACKEND_FAULT_MEMORY : BACKEND_FAULT_NONE,
            .id = i,
            .is_unpinned = !is_refused && !slab->is_pinned,
        };
        memcpy(ret_event->text, slab->text, sizeof ret_event->text);
        slab->has_event = false;
        backend->slab_events--;
        return true;
    }
    return false;
}
