/* Making and keeping twiddle tables (see tables.h). */

#include "groth16/ntt/tables.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/ntt/kernel.h"
#include "groth16/pool.h"

void ntt_root(const struct ntt_kernel *kernel, unsigned log2, bool inverse, uint64_t *ret)
{
    memcpy(ret, kernel->root, 32);
    for (unsigned i = kernel->two_adicity; i > log2; i--)
        kernel->fr_mul(ret, ret, ret);
    if (inverse)
        kernel->fr_inv(ret, ret);
}

struct level {
    const struct ntt_kernel *kernel;
    uint64_t *table, *to;
    uint64_t root[4];
};

static void make_range(void *context, size_t begin, size_t end)
{
    struct level *level = context;

    for (size_t i = begin; i < end; i++)
        level->kernel->fr_mul(level->to + 4 * i, level->table + 4 * i, level->root);
}

/* T[2^t + i] = T[i] w_{2^(t + 2)}: bit t of the index weighs 2^-(t + 2) of a turn. */
static uint64_t *make_table(const struct ntt_kernel *kernel, struct pool *pool, bool inverse,
                            unsigned log2)
{
    /* aligned_alloc wants a multiple of the alignment. */
    uint64_t *table = aligned_alloc(64, (((size_t)32 << log2) + 32 + 63) & ~(size_t)63);

    if (!table)
        abort();
    kernel->set_one(table);
    for (unsigned t = 0; t < log2; t++) {
        struct level level = {kernel, table, table + ((size_t)4 << t), {0}};

        /* The last level of the largest domain would need a root that the field lacks. */
        if (t + 2 > kernel->two_adicity)
            break;
        ntt_root(kernel, t + 2, inverse, level.root);
        pool_run_range(pool, (size_t)1 << t, 1024, make_range, &level);
    }
    return table;
}

const uint64_t *ntt_tables_get(const struct ntt_kernel *kernel, struct pool *pool, bool inverse,
                               unsigned log2)
{
    struct ntt_tables *tables = kernel->tables;
    uint64_t *table = NULL;

    for (unsigned i = log2; i <= NTT_TABLE_LOG2_MAX && !table; i++)
        table = atomic_load_explicit(&tables->made[inverse][i], memory_order_acquire);
    if (table)
        return table;
    pthread_mutex_lock(&tables->lock);
    table = atomic_load_explicit(&tables->made[inverse][log2], memory_order_relaxed);
    if (!table) {
        table = make_table(kernel, pool, inverse, log2);
        atomic_store_explicit(&tables->made[inverse][log2], table, memory_order_release);
    }
    pthread_mutex_unlock(&tables->lock);
    return table;
}
