/* Fixed-base multiplication for the four groups. Below: the point templates; above: make_key. */
#include "bench/fixed_base.h"

#include <errno.h>
#include <stdlib.h>

#include "groth16/curve/bls12_381.h"
#include "groth16/curve/bn254.h"
#include "groth16/pool.h"

enum {
    FIXED_BASE_BATCH =
        64, /* points that share an inversion; 24 KiB of stack in the largest group */
    SCALAR_BITS = 256,
};

struct fixed_base {
    const struct curve *curve;
    const void *generator;
    bool is_g2;
    size_t point_bytes;
    unsigned width, window_count;
    void *table;
    bool has_failed; /* set by any thread that fills a window */
};

/* `width` bits of a scalar from bit `bit`. */
static uint64_t fixed_base_digit(const uint64_t *scalar, unsigned bit, unsigned width)
{
    uint64_t digit = scalar[bit / 64] >> (bit % 64);

    if (bit % 64 + width > 64 && bit / 64 < 3)
        digit |= scalar[bit / 64 + 1] << (64 - bit % 64);
    return digit & ((UINT64_C(1) << width) - 1);
}

#define POINT bn254_g1
#include "bench/fixed_base.inc.h"
#define POINT bn254_g2
#include "bench/fixed_base.inc.h"
#define POINT bls12_381_g1
#include "bench/fixed_base.inc.h"
#define POINT bls12_381_g2
#include "bench/fixed_base.inc.h"

static void fill_window(void *context, size_t index)
{
    struct fixed_base *base = context;
    bool done;

    if (base->curve->id == CURVE_BN254)
        done = base->is_g2 ? bn254_g2_fill_window(base, index) : bn254_g1_fill_window(base, index);
    else
        done = base->is_g2 ? bls12_381_g2_fill_window(base, index)
                           : bls12_381_g1_fill_window(base, index);
    if (!done)
        __atomic_store_n(&base->has_failed, true, __ATOMIC_RELAXED);
}

int fixed_base_create(const struct curve *curve, bool is_g2, size_t expected_count,
                      struct pool *pool, struct fixed_base **ret)
{
    struct fixed_base *base = calloc(1, sizeof *base);

    if (!base)
        return -ENOMEM;
    base->curve = curve;
    base->is_g2 = is_g2;
    base->generator = is_g2 ? curve->g2_generator : curve->g1_generator;
    base->point_bytes = is_g2 ? curve->g2_bytes : curve->g1_bytes;
    /* A table costs about 2^width * window_count additions, a multiplication window_count. */
    base->width = expected_count < 1 << 10 ? 6 : expected_count < 1 << 16 ? 10 : 16;
    base->window_count = (SCALAR_BITS + base->width - 1) / base->width;
    base->table = malloc((((size_t)1 << base->width) - 1) * base->window_count * base->point_bytes);
    if (base->table)
        pool_run(pool, base->window_count, fill_window, base);
    if (!base->table || base->has_failed) {
        fixed_base_free(base);
        return -ENOMEM;
    }
    *ret = base;
    return 0;
}

void fixed_base_free(struct fixed_base *base)
{
    if (base)
        free(base->table);
    free(base);
}

struct multiplication {
    const struct fixed_base *base;
    const uint64_t *scalars;
    size_t count;
    uint8_t *points;
};

static void mul_batch(void *context, size_t index)
{
    const struct multiplication *m = context;
    const struct fixed_base *base = m->base;
    size_t begin = index * FIXED_BASE_BATCH, count = m->count - begin;
    const uint64_t *scalars = m->scalars + 4 * begin;
    void *points = m->points + begin * base->point_bytes;

    if (count > FIXED_BASE_BATCH)
        count = FIXED_BASE_BATCH;
    if (base->curve->id == CURVE_BN254 && !base->is_g2)
        bn254_g1_mul_batch(base, scalars, count, points);
    else if (base->curve->id == CURVE_BN254)
        bn254_g2_mul_batch(base, scalars, count, points);
    else if (!base->is_g2)
        bls12_381_g1_mul_batch(base, scalars, count, points);
    else
        bls12_381_g2_mul_batch(base, scalars, count, points);
}

void fixed_base_mul(const struct fixed_base *base, struct pool *pool, const uint64_t *scalars,
                    size_t count, void *ret_points)
{
    struct multiplication m = {base, scalars, count, ret_points};

    pool_run(pool, (count + FIXED_BASE_BATCH - 1) / FIXED_BASE_BATCH, mul_batch, &m);
}
