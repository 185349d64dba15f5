/* The closed formula, with one inversion a few thousand points. */
#include "bench/lagrange.h"

#include "groth16/pool.h"

enum {
    POINTS_PER_TASK = 1 << 12,
};

struct evaluation {
    const struct curve *curve;
    struct scalar tau, factor; /* factor = scale (tau^order - 1) / order */
    struct lagrange_points points;
    struct scalar *ret;
};

static void lagrange_range(void *context, size_t begin, size_t end)
{
    const struct evaluation *l = context;
    const struct curve *curve = l->curve;

    for (size_t from = begin; from < end; from += POINTS_PER_TASK) {
        size_t count = end - from < POINTS_PER_TASK ? end - from : POINTS_PER_TASK;
        struct scalar x[POINTS_PER_TASK], running = {{1}};

        x[0] = scalar_mul(curve, l->points.first, scalar_power_u64(curve, l->points.step, from));
        for (size_t i = 1; i < count; i++)
            x[i] = scalar_mul(curve, x[i - 1], l->points.step);
        for (size_t i = 0; i < count; i++) { /* Montgomery's trick: products before each */
            l->ret[from + i] = running;
            running = scalar_mul(curve, running, scalar_sub(curve, l->tau, x[i]));
        }
        running = scalar_mul(curve, scalar_inverse(curve, running), l->factor);
        for (size_t i = count; i-- > 0;) {
            l->ret[from + i] =
                scalar_mul(curve, scalar_mul(curve, running, l->ret[from + i]), x[i]);
            running = scalar_mul(curve, running, scalar_sub(curve, l->tau, x[i]));
        }
    }
}

void lagrange_evaluate(const struct curve *curve, struct pool *pool, struct scalar tau,
                       struct lagrange_points points, struct scalar *ret)
{
    const struct scalar one = {{1}}, order = {{points.order}};
    struct evaluation l = {.curve = curve, .tau = tau, .points = points, .ret = ret};

    l.factor = scalar_sub(curve, scalar_power_u64(curve, tau, points.order), one);
    l.factor = scalar_mul(curve, l.factor, scalar_inverse(curve, order));
    l.factor = scalar_mul(curve, l.factor, points.scale);
    pool_run_range(pool, points.count, POINTS_PER_TASK, lagrange_range, &l);
}
