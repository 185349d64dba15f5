/* A fixed set of threads for data-parallel loops. One owner thread calls pool_run; nothing else
 * may. Threads block all signals; between runs they sleep (never spin). Used by synthesis
 * (evaluation), the CPU backend and the bench. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pool;

/* threads >= 1 counts the calling thread. Returns -EAGAIN when threads cannot be made,
 * -ENOMEM. */
int pool_create(unsigned threads, struct pool **ret_pool);
void pool_free(struct pool *pool);
unsigned pool_threads(const struct pool *pool);

/* Counts one more piece of work: by tasks that are long, beside the one that pool_run counts for
 * each task. Any thread. */
void pool_step(struct pool *pool);
/* Pieces so far: changes while a run moves, however slowly. Any thread. */
uint64_t pool_steps(const struct pool *pool);

/* Calls task(context, i) once for every i < count, on all threads, in no order; returns when all
 * are done. Tasks are taken one at a time from a shared counter. */
void pool_run(struct pool *pool, size_t count, void (*task)(void *context, size_t index),
              void *context);

/* Splits [0, total) into pieces of at least `grain` and calls range(context, begin, end). */
void pool_run_range(struct pool *pool, size_t total, size_t grain,
                    void (*range)(void *context, size_t begin, size_t end), void *context);
