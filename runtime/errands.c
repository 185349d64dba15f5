/* See runtime/errands.h. The object is counted: its maker and every thread hold it, since a thread
 * that hangs outlives errands_free. */
#include "runtime/errands.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct errands {
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    struct errand *first, **last;
    unsigned threads, threads_max, busy, holders;
    unsigned waiting;   /* errands */
    bool is_waited_for; /* errands_free or errands_wait */
    bool is_ending;
};

int errands_create(unsigned threads_max, struct errands **ret)
{
    pthread_condattr_t monotonic;
    struct errands *errands = calloc(1, sizeof *errands);
    if (!errands)
        return -ENOMEM;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&errands->mutex, NULL);
    pthread_cond_init(&errands->wake, NULL);
    pthread_cond_init(&errands->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    errands->last = &errands->first;
    errands->threads_max = threads_max;
    errands->holders = 1;
    *ret = errands;
    return 0;
}

/* The mutex is held; it is not afterwards. */
static void let_go(struct errands *errands)
{
    bool is_last = --errands->holders == 0;
    pthread_mutex_unlock(&errands->mutex);
    if (!is_last)
        return;
    pthread_cond_destroy(&errands->wake);
    pthread_cond_destroy(&errands->done);
    pthread_mutex_destroy(&errands->mutex);
    free(errands);
}

static void *work(void *context)
{
    struct errands *errands = context;
    pthread_mutex_lock(&errands->mutex);
    for (;;) {
        while (!errands->first && !errands->is_ending)
            pthread_cond_wait(&errands->wake, &errands->mutex);
        struct errand *errand = errands->first;
        if (!errand)
            break;
        errands->first = errand->next;
        if (!errands->first)
            errands->last = &errands->first;
        errands->waiting--;
        errands->busy++;
        pthread_mutex_unlock(&errands->mutex);
        errand->run(errand);
        pthread_mutex_lock(&errands->mutex);
        errands->busy--;
        if (errands->is_waited_for)
            pthread_cond_broadcast(&errands->done);
    }
    errands->threads--;
    let_go(errands);
    return NULL;
}

/* The mutex is held. */
static void start_thread(struct errands *errands)
{
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 128 << 10);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &detached, work, errands) == 0) {
        errands->threads++;
        errands->holders++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
}

void errands_push(struct errands *errands, struct errand *errand)
{
    errand->next = NULL;
    pthread_mutex_lock(&errands->mutex);
    /* A thread that is about to take an earlier errand is not busy yet: the queue says so. */
    if ((errands->busy == errands->threads || errands->first) &&
        errands->threads < errands->threads_max)
        start_thread(errands);
    bool is_alone = errands->threads == 0;
    if (!is_alone) {
        *errands->last = errand;
        errands->last = &errand->next;
        errands->waiting++;
        pthread_cond_signal(&errands->wake);
    }
    pthread_mutex_unlock(&errands->mutex);
    if (is_alone)
        errand->run(errand);
}

bool errands_are_done(struct errands *errands)
{
    if (!errands)
        return true;
    pthread_mutex_lock(&errands->mutex);
    bool are_done = errands->busy == 0 && !errands->first;
    pthread_mutex_unlock(&errands->mutex);
    return are_done;
}

static struct timespec time_after(unsigned ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return until;
}

bool errands_wait(struct errands *errands, unsigned waiting_max, unsigned timeout_ms)
{
    const struct timespec until = time_after(timeout_ms);
    pthread_mutex_lock(&errands->mutex);
    errands->is_waited_for = true;
    while (errands->waiting > waiting_max) {
        if (pthread_cond_timedwait(&errands->done, &errands->mutex, &until) != 0)
            break;
    }
    errands->is_waited_for = false;
    bool are_few = errands->waiting <= waiting_max;
    pthread_mutex_unlock(&errands->mutex);
    return are_few;
}

bool errands_free(struct errands *errands, unsigned timeout_ms)
{
    if (!errands)
        return true;
    const struct timespec until = time_after(timeout_ms);
    pthread_mutex_lock(&errands->mutex);
    errands->is_waited_for = true;
    while (errands->busy > 0 || errands->first) {
        if (pthread_cond_timedwait(&errands->done, &errands->mutex, &until) != 0)
            break;
    }
    errands->first = NULL;
    errands->last = &errands->first;
    errands->waiting = 0;
    errands->is_ending = true;
    bool is_idle = errands->busy == 0;
    pthread_cond_broadcast(&errands->wake);
    let_go(errands);
    return is_idle;
}
