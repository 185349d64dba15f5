/* The scalars of the MSM with H, for a snarkjs key (curve.h, `quotient`) and for a bellman key (at
 * the end): a, b and c = a b are
 * interpolated on the domain and evaluated on its odd coset, w_{2n} times the domain, where
 * p = a b - c. Inverse transforms leave bit-reversed order, in which the coset powers are applied
 * and from which the forward transforms start, so nothing is ever permuted. All factors 1/n are
 * left to the last step. */

#include <string.h>

#include "groth16/ntt/kernel.h"
#include "groth16/ntt/ntt.h"
#include "groth16/ntt/tables.h"
#include "groth16/pool.h"

enum {
    GRAIN = 1024,
    SHIFT_LOG2_MAX = 10, /* powers kept on the stack */
};

/* ---- the coset's powers ---- */

struct shift {
    const struct ntt_kernel *kernel;
    uint64_t *values;
    unsigned log2, low_log2;
    const uint64_t *table;             /* the powers of all values, or NULL, then: */
    uint64_t low[4 << SHIFT_LOG2_MAX]; /* shift^{rev(i)} for the first values */
    uint64_t squares[32][4];           /* shift^{2^i} */
};

static void shift_task(void *context, size_t index)
{
    const struct shift *s = context;
    size_t count = (size_t)1 << s->low_log2, begin = index << s->low_log2;
    uint64_t factors[4 << SHIFT_LOG2_MAX], high[4];

    if (s->table) {
        s->kernel->scale(s->values + 4 * begin, s->table + 4 * begin, count);
        return;
    }
    memcpy(high, s->kernel->fr_one, 32);
    for (unsigned bit = s->low_log2; bit < s->log2; bit++)
        if ((begin >> bit) & 1)
            s->kernel->fr_mul(high, high, s->squares[s->log2 - 1 - bit]);
    for (size_t i = 0; i < count; i++)
        s->kernel->fr_mul(factors + 4 * i, s->low + 4 * i, high);
    s->kernel->scale(s->values + 4 * begin, factors, count);
}

static void make_powers(struct shift *s, const uint64_t *shift, const uint64_t *factor)
{
    memcpy(s->squares[0], shift, 32);
    for (unsigned i = 1; i < s->log2; i++)
        s->kernel->fr_mul(s->squares[i], s->squares[i - 1], s->squares[i - 1]);
    s->kernel->set_one(s->low);
    if (factor)
        s->kernel->fr_mul(s->low, s->low, factor);
    for (unsigned bit = 0; bit < s->low_log2; bit++)
        for (size_t i = 0; i < (size_t)1 << bit; i++)
            s->kernel->fr_mul(s->low + 4 * (((size_t)1 << bit) + i), s->low + 4 * i,
                              s->squares[s->log2 - 1 - bit]);
}

void ntt_shift(const struct ntt_kernel *kernel, struct pool *pool, uint64_t *values, unsigned log2,
               const uint64_t *shift, const uint64_t *factor)
{
    struct shift s = {.kernel = kernel, .values = values, .log2 = log2};

    s.low_log2 = log2 < SHIFT_LOG2_MAX ? log2 : SHIFT_LOG2_MAX;
    if (!factor && !shift && log2 <= NTT_TABLE_LOG2_MAX) {
        /* w_{2n}^{rev(i)} are the twiddles of the stage after the last. */
        s.table = ntt_tables_get(kernel, pool, false, log2);
    } else {
        uint64_t root[4];

        if (!shift)
            ntt_root(kernel, log2 + 1, false, root);
        make_powers(&s, shift ? shift : root, factor);
    }
    pool_run(pool, (size_t)1 << (log2 - s.low_log2), shift_task, &s);
}

/* ---- the quotient ---- */

struct quotient {
    const struct ntt_kernel *kernel;
    const uint64_t *a, *b;
    uint64_t *coset_a, *coset_b, *coset_c;
    unsigned log2;
};

static void product_range(void *context, size_t begin, size_t end)
{
    const struct quotient *q = context;
    size_t at = 4 * begin, bytes = 32 * (end - begin);

    q->kernel->multiply(q->coset_c + at, q->a + at, q->b + at, end - begin);
    memcpy(q->coset_a + at, q->a + at, bytes);
    memcpy(q->coset_b + at, q->b + at, bytes);
}

static void finish_range(void *context, size_t begin, size_t end)
{
    const struct quotient *q = context;
    size_t at = 4 * begin;

    q->kernel->finish(q->coset_c + at, q->coset_a + at, q->coset_b + at, end - begin, q->log2);
}

void ntt_quotient(const struct ntt_kernel *kernel, struct pool *pool, const uint64_t *a,
                  const uint64_t *b, unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    size_t count = (size_t)1 << log2;
    struct quotient q = {kernel, a, b, scratch, scratch + 4 * count, ret_scalars, log2};
    uint64_t *cosets[] = {q.coset_a, q.coset_b, q.coset_c};

    pool_run_range(pool, count, GRAIN, product_range, &q);
    for (int i = 0; i < 3; i++) {
        ntt_down(kernel, pool, cosets[i], log2, true);
        ntt_shift(kernel, pool, cosets[i], log2,
                  log2 < kernel->two_adicity ? NULL : kernel->shift_max, NULL);
        ntt_up(kernel, pool, cosets[i], log2, false);
    }
    pool_run_range(pool, count, GRAIN, finish_range, &q);
}

/* ---- the quotient's coefficients ---- */

/* On the odd coset X^n - 1 is -2: p / -2 there, brought back by one transform more, in which the
 * sign goes with the coset's inverse powers and the halving with 1/n. */
void ntt_quotient_monomial(const struct ntt_kernel *kernel, struct pool *pool, const uint64_t *a,
                           const uint64_t *b, unsigned log2, uint64_t *ret_scalars,
                           uint64_t *scratch)
{
    struct ntt_kernel seven = *kernel;
    uint64_t minus_one[4], inverse[4];

    seven.root = kernel->root_seven;
    seven.tables = kernel->tables_seven;
    ntt_quotient(&seven, pool, a, b, log2, ret_scalars, scratch);
    ntt_root(&seven, 1, false, minus_one);
    ntt_root(&seven, log2 + 1, true, inverse);
    ntt_down(&seven, pool, ret_scalars, log2, true);
    ntt_shift(&seven, pool, ret_scalars, log2, inverse, minus_one);
    ntt_divide(&seven, pool, ret_scalars, log2, log2 + 1);
}
