/* See registrar.h. */
#include "gpu-worker/cuda/registrar.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "gpu-worker/cuda/driver.h"

struct registrar {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t thread;
    struct registrar_job *first, **last;
    bool is_stopping;
    int error; /* of a lost context */
};

static int perform(const struct registrar_job *job)
{
    /* Slabs and keys are mapped for reading only: the device never writes to them. */
    return job->is_release ? driver_host_unregister(job->memory)
                           : driver_host_register(job->memory, job->bytes, true);
}

static void *registrar_run(void *context)
{
    struct registrar *registrar = context;
    pthread_setname_np(pthread_self(), "registrar");
    pthread_mutex_lock(&registrar->mutex);
    for (;;) {
        struct registrar_job *job = registrar->first;
        if (!job && registrar->is_stopping)
            break;
        if (!job) {
            pthread_cond_wait(&registrar->wake, &registrar->mutex);
            continue;
        }
        registrar->first = job->next;
        if (!registrar->first)
            registrar->last = &registrar->first;
        const int error = registrar->error;
        pthread_mutex_unlock(&registrar->mutex);
        job->result = error ? error : perform(job);
        job->done(job, job->context);
        pthread_mutex_lock(&registrar->mutex);
    }
    pthread_mutex_unlock(&registrar->mutex);
    return NULL;
}

int registrar_create(struct registrar **ret_registrar)
{
    struct registrar *registrar = calloc(1, sizeof *registrar);
    sigset_t all, before;
    if (!registrar)
        return -ENOMEM;
    pthread_mutex_init(&registrar->mutex, NULL);
    pthread_cond_init(&registrar->wake, NULL);
    registrar->last = &registrar->first;
    /* Signals stay with the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&registrar->thread, NULL, registrar_run, registrar);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        pthread_cond_destroy(&registrar->wake);
        pthread_mutex_destroy(&registrar->mutex);
        free(registrar);
        return -error;
    }
    *ret_registrar = registrar;
    return 0;
}

void registrar_submit(struct registrar *registrar, struct registrar_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&registrar->mutex);
    *registrar->last = job;
    registrar->last = &job->next;
    pthread_cond_signal(&registrar->wake);
    pthread_mutex_unlock(&registrar->mutex);
}

void registrar_abandon(struct registrar *registrar, int error)
{
    pthread_mutex_lock(&registrar->mutex);
    registrar->error = error;
    pthread_mutex_unlock(&registrar->mutex);
}

void registrar_free(struct registrar *registrar)
{
    if (!registrar)
        return;
    pthread_mutex_lock(&registrar->mutex);
    registrar->is_stopping = true;
    pthread_cond_signal(&registrar->wake);
    pthread_mutex_unlock(&registrar->mutex);
    pthread_join(registrar->thread, NULL);
    pthread_cond_destroy(&registrar->wake);
    pthread_mutex_destroy(&registrar->mutex);
    free(registrar);
}
