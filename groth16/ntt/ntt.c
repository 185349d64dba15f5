/* Transforms in cache-sized pieces (see ntt.h).
 *
 * down: decimation of blocks. Stage s treats 2^s blocks; block k is the polynomial modulo
 * x^m - T[k]^2, split by (a, b) -> (a + T[k] b, a - T[k] b). A pass takes several stages over
 * tiles of neighbouring columns; when blocks are small enough each is finished in cache. `up` is
 * the same in reverse, which needs the inverse twiddles: the two together form an inverse pair
 * without any bit reversal. Beyond the table's size a block is first twisted by powers of its
 * 2^m-th root, so that it becomes a plain transform and uses the first twiddles only.
 *
 * Structure of blocks and bit-reversed twiddles: Harvey 2014, "Faster arithmetic for
 * number-theoretic transforms". */

#include "groth16/ntt/ntt.h"

#include <string.h>

#include "groth16/ntt/kernel.h"
#include "groth16/ntt/tables.h"
#include "groth16/pool.h"

enum {
    SCALE_PIECE = 1024, /* values of a stretch whose factors are made on the stack */
    GRAIN = 1024,       /* values a task, at least */
};

struct transform {
    const struct ntt_kernel *kernel;
    uint64_t *values;
    unsigned log2; /* of the whole */
    bool inverse, is_up;
    const uint64_t *twiddles;

    /* The pass in hand: 2^depth blocks of 2^(log2 - depth) values, of which `stages` more stages
     * are done. */
    unsigned depth, stages;
    size_t tiles, tile_columns;
    uint64_t twist_root[4];
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t reverse_bits(size_t value, unsigned bits)
{
    size_t r = 0;

    for (unsigned i = 0; i < bits; i++)
        r |= ((value >> i) & 1) << (bits - 1 - i);
    return r;
}

/* r *= base^exponent. */
static void fr_pow(const struct ntt_kernel *kernel, uint64_t *r, const uint64_t *base,
                   uint64_t exponent)
{
    uint64_t power[4];

    memcpy(power, base, 32);
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            kernel->fr_mul(r, r, power);
        kernel->fr_mul(power, power, power);
    }
}

/* ---- passes ---- */

static void columns_task(void *context, size_t index)
{
    const struct transform *t = context;
    size_t block = index / t->tiles, tile = index % t->tiles;
    unsigned block_log2 = t->log2 - t->depth;
    size_t stride = (size_t)1 << (block_log2 - t->stages);
    uint64_t *at = t->values + 4 * ((block << block_log2) + tile * t->tile_columns);

    (t->is_up ? t->kernel->columns_up : t->kernel->columns_down)(
        at, stride, t->stages, t->tile_columns, t->twiddles, block);
}

static void run_columns(struct transform *t, struct pool *pool, unsigned depth, unsigned stages)
{
    size_t columns = (size_t)1 << (t->log2 - depth - stages);
    size_t tile = NTT_COLUMNS;

    /* Narrow tiles for tall passes, so that a tile stays in cache; wide ones read memory in longer
     * stretches. */
    while (tile < columns && tile << stages < (size_t)1 << 10)
        tile *= 2;
    t->depth = depth;
    t->stages = stages;
    t->tile_columns = tile;
    t->tiles = columns / tile;
    pool_run(pool, t->tiles << depth, columns_task, t);
}

/* The first `above` stages, shared out evenly over the fewest passes. */
static void run_column_passes(struct transform *t, struct pool *pool, unsigned above)
{
    unsigned passes = (above + NTT_COLUMN_STAGES_MAX - 1) / NTT_COLUMN_STAGES_MAX;

    for (unsigned i = 0; i < passes; i++) {
        unsigned pass = t->is_up ? passes - 1 - i : i;
        unsigned begin = above * pass / passes, end = above * (pass + 1) / passes;

        run_columns(t, pool, begin, end - begin);
    }
}

static void block_task(void *context, size_t index)
{
    const struct transform *t = context;
    unsigned block_log2 = t->log2 - t->depth;
    uint64_t *at = t->values + 4 * (index << block_log2);

    (t->is_up ? t->kernel->block_up : t->kernel->block_down)(at, block_log2, t->twiddles, index);
}

/* A transform that its table covers. */
static void run_covered(struct transform *t, struct pool *pool)
{
    unsigned above = t->log2 > NTT_BLOCK_LOG2 ? t->log2 - NTT_BLOCK_LOG2 : 0;

    if (!t->is_up)
        run_column_passes(t, pool, above);
    t->depth = above;
    pool_run(pool, (size_t)1 << above, block_task, t);
    if (t->is_up)
        run_column_passes(t, pool, above);
}

/* ---- beyond the table ---- */

/* Value j of block b times w_n^{rev(b) j}. */
static void twist_range(void *context, size_t begin, size_t end)
{
    const struct transform *t = context;
    size_t block_size = (size_t)1 << (t->log2 - t->depth);
    uint64_t factors[4 * SCALE_PIECE], ratio[4];
    size_t count;

    for (size_t i = begin; i < end; i += count) {
        size_t at = i % block_size;

        count = smaller(smaller(block_size - at, SCALE_PIECE), end - i);
        memcpy(ratio, t->kernel->fr_one, 32);
        fr_pow(t->kernel, ratio, t->twist_root, reverse_bits(i / block_size, t->depth));
        t->kernel->set_one(factors);
        fr_pow(t->kernel, factors, ratio, at);
        for (size_t j = 1; j < count; j++)
            t->kernel->fr_mul(factors + 4 * j, factors + 4 * (j - 1), ratio);
        t->kernel->scale(t->values + 4 * i, factors, count);
    }
}

static void run_inner(struct transform *t, struct pool *pool)
{
    struct transform inner = *t;

    inner.log2 = NTT_TABLE_LOG2_MAX;
    for (size_t i = 0; i < (size_t)1 << (t->log2 - inner.log2); i++) {
        inner.values = t->values + 4 * (i << inner.log2);
        run_covered(&inner, pool);
    }
}

/* A few stages over columns; then each block, of the table's size, is twisted into a plain
 * transform and done by itself. Up: the other way round. */
static void run_twisted(struct transform *t, struct pool *pool)
{
    unsigned above = t->log2 - NTT_TABLE_LOG2_MAX;

    if (t->is_up)
        run_inner(t, pool);
    else
        run_column_passes(t, pool, above);
    t->depth = above;
    pool_run_range(pool, (size_t)1 << t->log2, GRAIN, twist_range, t);
    if (t->is_up)
        run_column_passes(t, pool, above);
    else
        run_inner(t, pool);
}

static void transform(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values,
                      unsigned log2, bool inverse, bool is_up)
{
    struct transform t = {
        .kernel = kernel, .values = values, .log2 = log2, .inverse = inverse, .is_up = is_up};

    t.twiddles = ntt_tables_get(kernel, pool, inverse,
                                (unsigned)smaller(log2 > 0 ? log2 - 1 : 0, NTT_TABLE_LOG2_MAX));
    if (log2 <= NTT_TABLE_LOG2_MAX) {
        run_covered(&t, pool);
        return;
    }
    ntt_root(kernel, log2, inverse, t.twist_root);
    run_twisted(&t, pool);
}

void ntt_down(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
              bool inverse)
{
    transform(kernel, pool, values, log2, inverse, false);
}

void ntt_up(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
            bool inverse)
{
    transform(kernel, pool, values, log2, inverse, true);
}

/* ---- natural order in and out ---- */

struct reorder {
    const struct ntt_kernel *kernel;
    uint64_t *values;
    unsigned log2, divisor_log2;
};

static void reorder_range(void *context, size_t begin, size_t end)
{
    const struct reorder *r = context;

    for (size_t i = begin; i < end; i++) {
        size_t j = reverse_bits(i, r->log2);
        uint64_t kept[4];

        if (i < j) {
            memcpy(kept, r->values + 4 * i, 32);
            memcpy(r->values + 4 * i, r->values + 4 * j, 32);
            memcpy(r->values + 4 * j, kept, 32);
        }
    }
}

static void canonical_range(void *context, size_t begin, size_t end)
{
    const struct reorder *r = context;

    if (r->divisor_log2 != 0)
        r->kernel->divide(r->values + 4 * begin, end - begin, r->divisor_log2);
    else
        r->kernel->canonical(r->values + 4 * begin, end - begin);
}

void ntt_divide(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
                unsigned divisor_log2)
{
    struct reorder r = {kernel, values, log2, divisor_log2};

    pool_run_range(pool, (size_t)1 << log2, GRAIN, canonical_range, &r);
    pool_run_range(pool, (size_t)1 << log2, GRAIN, reorder_range, &r);
}

void ntt_run(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
             bool inverse)
{
    ntt_down(kernel, pool, values, log2, inverse);
    ntt_divide(kernel, pool, values, log2, inverse ? log2 : 0);
}
