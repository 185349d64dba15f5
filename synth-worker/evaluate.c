/* Upstream: check.c; downstream: the backend, which reads witness, a and b. */
#include "synth-worker/evaluate.h"

#include <string.h>

enum {
    EVALUATE_GRAIN = 1 << 10,
    EVALUATE_WIPE_GRAIN = 1 << 20,
};

struct evaluate {
    const struct prepared *key;
    const uint64_t *witness;
    uint64_t *a, *b;
    size_t begin, count;
};

/* Index space: the piece's rows of A, then its rows of B. */
static void evaluate_range(void *context, size_t begin, size_t end)
{
    const struct evaluate *evaluate = context;
    const struct curve *curve = evaluate->key->curve;
    const size_t count = evaluate->count, from = evaluate->begin;
    if (begin < count) {
        const size_t to = end < count ? end : count;
        curve->evaluate(&evaluate->key->matrix_a, evaluate->witness, evaluate->a, from + begin,
                        from + to);
    }
    if (end > count) {
        const size_t first = begin > count ? begin - count : 0;
        curve->evaluate(&evaluate->key->matrix_b, evaluate->witness, evaluate->b, from + first,
                        from + (end - count));
    }
}

void evaluate_rows(struct pool *pool, const struct prepared *key, uint8_t *slab, size_t begin,
                   size_t end)
{
    const struct slab_layout layout = prepared_slab_layout(key);
    struct evaluate evaluate = {
        .key = key,
        .witness = (const uint64_t *)(slab + layout.witness_off),
        .a = (uint64_t *)(slab + layout.a_off),
        .b = (uint64_t *)(slab + layout.b_off),
        .begin = begin,
        .count = end - begin,
    };
    pool_run_range(pool, 2 * (end - begin), EVALUATE_GRAIN, evaluate_range, &evaluate);
}

static void evaluate_zero(uint8_t *slab, uint64_t begin, uint64_t end)
{
    memset(slab + begin, 0, end - begin);
}

void evaluate_pad(const struct prepared *key, uint8_t *slab, bool has_evaluations)
{
    const struct slab_layout layout = prepared_slab_layout(key);
    evaluate_zero(slab, layout.witness_off + layout.witness_bytes, layout.a_off);
    if (!has_evaluations)
        return;
    evaluate_zero(slab, layout.a_off + layout.evaluation_bytes, layout.b_off);
    evaluate_zero(slab, layout.b_off + layout.evaluation_bytes, layout.bytes);
}

static void evaluate_wipe_range(void *context, size_t begin, size_t end)
{
    evaluate_zero(context, begin, end);
}

void evaluate_wipe(struct pool *pool, uint8_t *slab, uint64_t begin, uint64_t end)
{
    pool_run_range(pool, end - begin, EVALUATE_WIPE_GRAIN, evaluate_wipe_range, slab + begin);
}
