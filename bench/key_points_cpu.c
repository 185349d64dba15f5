/* Points on all threads of the pool. */
#include <errno.h>
#include <stdlib.h>

#include "bench/fixed_base.h"
#include "bench/key_points.h"

struct maker {
    struct pool *pool;
    struct fixed_base *g1, *g2;
};

static void cpu_destroy(void *context)
{
    struct maker *maker = context;

    if (!maker)
        return;
    fixed_base_free(maker->g1);
    fixed_base_free(maker->g2);
    free(maker);
}

static int cpu_create(const struct curve *curve, size_t g1_count, size_t g2_count,
                      struct pool *pool, void **ret, struct reason *reason)
{
    struct maker *maker = calloc(1, sizeof *maker);

    if (maker)
        maker->pool = pool;
    if (!maker || fixed_base_create(curve, false, g1_count, pool, &maker->g1) != 0 ||
        fixed_base_create(curve, true, g2_count, pool, &maker->g2) != 0) {
        cpu_destroy(maker);
        return reason_set(reason, -ENOMEM, "no memory for the tables of the generators");
    }
    *ret = maker;
    return 0;
}

static int cpu_multiply(void *context, bool is_g2, const struct scalar *scalars, size_t count,
                        void *ret_points, struct reason *reason)
{
    struct maker *maker = context;

    (void)reason;
    if (count > 0)
        fixed_base_mul(is_g2 ? maker->g2 : maker->g1, maker->pool, scalars[0].l, count, ret_points);
    return 0;
}

const struct key_points_maker key_points_cpu = {"CPU", cpu_create, cpu_destroy, cpu_multiply};
