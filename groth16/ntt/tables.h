/* Twiddle tables of one kernel, made when first needed and kept for the life of the process. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct pool;
struct ntt_kernel;

enum {
    /* Larger transforms are split into ones of this size: 2^20 twiddles are 32 MiB. */
    NTT_TABLE_LOG2_MAX = 20,
};

struct ntt_tables {
    pthread_mutex_t lock;                                /* of those who make a table */
    _Atomic(uint64_t *) made[2][NTT_TABLE_LOG2_MAX + 1]; /* [inverse][log2]; NULL: not yet */
};

/* The twiddles T[0 .. 2^log2 - 1] of w (or of 1/w), log2 <= NTT_TABLE_LOG2_MAX. Owned by the
 * cache. Any thread; the caller lends its pool. Aborts when out of memory: its callers' contract
 * knows no failure, and the process is the unit of recovery. */
const uint64_t *ntt_tables_get(const struct ntt_kernel *kernel, struct pool *pool, bool inverse,
                               unsigned log2);
/* ret = the root of unity of order 2^log2, or its inverse, fr. */
void ntt_root(const struct ntt_kernel *kernel, unsigned log2, bool inverse, uint64_t *ret);
