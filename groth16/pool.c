/* The threads behind data-parallel loops (see pool.h).
 *
 * A run is open while `task` is set. A sleeping thread joins an open run under the lock, takes
 * indices from a shared counter until none is left and leaves. The owner takes indices too, then
 * closes the run and waits only for those who joined: a thread that wakes late finds nothing open
 * and sleeps on, so that a short run never waits for the scheduler. */

#include "groth16/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t opened; /* a run was opened, or the pool is closing */
    pthread_cond_t left;   /* the last thread left a run */
    unsigned threads;      /* with the owner */
    unsigned started;      /* entries of handles[] that live */
    unsigned joined;       /* threads inside the open run, without the owner */
    uint64_t runs;         /* counts runs, so that no thread joins one twice */
    bool is_closing;

    /* The open run: written and read under the lock. */
    void (*task)(void *context, size_t index);
    void *context;
    size_t count;
    _Alignas(64) atomic_size_t next; /* relaxed: the lock orders what tasks read and write */
    _Alignas(64) _Atomic uint64_t steps;

    pthread_t handles[];
};

static void take_tasks(struct pool *pool, void (*task)(void *, size_t), void *context, size_t count)
{
    size_t index;

    while ((index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < count) {
        task(context, index);
        pool_step(pool);
    }
}

static void *pool_thread(void *argument)
{
    struct pool *pool = argument;
    uint64_t seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->is_closing && (!pool->task || pool->runs == seen))
            pthread_cond_wait(&pool->opened, &pool->lock);
        if (pool->is_closing)
            break;
        seen = pool->runs;
        pool->joined++;
        void (*task)(void *, size_t) = pool->task;
        void *context = pool->context;
        size_t count = pool->count;
        pthread_mutex_unlock(&pool->lock);
        take_tasks(pool, task, context, count);
        pthread_mutex_lock(&pool->lock);
        if (--pool->joined == 0)
            pthread_cond_signal(&pool->left);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int pool_create(unsigned threads, struct pool **ret_pool)
{
    size_t bytes = sizeof(struct pool) + threads * sizeof(pthread_t);
    struct pool *pool = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    sigset_t all, before;

    if (!pool)
        return -ENOMEM;
    *pool = (struct pool){.threads = threads > 0 ? threads : 1};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->left, NULL);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->started + 1 < pool->threads) {
        if (pthread_create(&pool->handles[pool->started], NULL, pool_thread, pool) != 0)
            break;
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pool->started + 1 < pool->threads) {
        pool_free(pool);
        return -EAGAIN;
    }
    *ret_pool = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->handles[i], NULL);
    pthread_cond_destroy(&pool->left);
    pthread_cond_destroy(&pool->opened);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

unsigned pool_threads(const struct pool *pool)
{
    return pool->threads;
}

void pool_step(struct pool *pool)
{
    atomic_fetch_add_explicit(&pool->steps, 1, memory_order_relaxed);
}

uint64_t pool_steps(const struct pool *pool)
{
    return atomic_load_explicit(&pool->steps, memory_order_relaxed);
}

void pool_run(struct pool *pool, size_t count, void (*task)(void *context, size_t index),
              void *context)
{
    if (pool->started == 0 || count <= 1) {
        for (size_t i = 0; i < count; i++) {
            task(context, i);
            pool_step(pool);
        }
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->task = task;
    pool->context = context;
    pool->count = count;
    pool->runs++;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);

    take_tasks(pool, task, context, count);

    pthread_mutex_lock(&pool->lock);
    pool->task = NULL;
    while (pool->joined > 0)
        pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

struct split {
    void (*range)(void *context, size_t begin, size_t end);
    void *context;
    size_t total, pieces;
};

static void run_piece(void *context, size_t index)
{
    const struct split *split = context;
    size_t piece = split->total / split->pieces, longer = split->total % split->pieces;
    size_t begin = piece * index + (index < longer ? index : longer);

    split->range(split->context, begin, begin + piece + (index < longer));
}

void pool_run_range(struct pool *pool, size_t total, size_t grain,
                    void (*range)(void *context, size_t begin, size_t end), void *context)
{
    /* Four pieces a thread: late threads and uneven rows even out, and the counter stays cold. */
    size_t pieces_max = 4 * (size_t)pool->threads;
    size_t pieces = total / (grain > 0 ? grain : 1);
    struct split split = {range, context, total, pieces < pieces_max ? pieces : pieces_max};

    if (total == 0)
        return;
    if (split.pieces == 0)
        split.pieces = 1;
    pool_run(pool, split.pieces, run_piece, &split);
}
