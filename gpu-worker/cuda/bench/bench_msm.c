/* Sums by size, with and without tables, on uniform and on witness-like scalars, beside the best
 * known open implementations on the same card. Every result is compared with the CPU library's. */

#include <stdint.h>
#include <string.h>

#include "gpu-worker/cuda/bench/bench.h"
#include "gpu-worker/cuda/bench/device.h"
#include "gpu-worker/cuda/bench/load.h"
#include "gpu-worker/cuda/msm.h"

/* ms on one H200, data in device memory; the best of what was measured, 0: nothing. */
struct anchor {
    enum curve_id curve;
    bool is_g2, has_tables;
    enum load_mix mix;
    double ms[5]; /* 2^16, 2^18, ... 2^24 */
};

static const struct anchor anchors[] = {
    {CURVE_BN254, false, false, LOAD_UNIFORM, {3.995, 5.11, 8.41, 23.06, 72.0}},
    {CURVE_BN254, false, true, LOAD_UNIFORM, {3.995, 2.47, 5.30, 16.41, 58.7}},
    {CURVE_BN254, false, true, LOAD_D1, {0, 0, 2.66, 5.56, 16.3}},
    {CURVE_BN254, false, true, LOAD_D2, {0, 0, 2.54, 4.54, 12.3}},
    {CURVE_BLS12_381, false, false, LOAD_UNIFORM, {6.95, 12.61, 18.64, 44.58, 132.2}},
    {CURVE_BLS12_381, false, true, LOAD_UNIFORM, {1.63, 3.15, 7.50, 24.5, 88.4}},
    {CURVE_BLS12_381, false, true, LOAD_D1, {0, 0, 4.39, 8.70, 24.8}},
    {CURVE_BLS12_381, false, true, LOAD_D2, {0, 0, 4.19, 6.88, 17.4}},
    {CURVE_BN254, true, false, LOAD_UNIFORM, {6.39, 17.23, 25.09, 65.1, 209.6}},
    {CURVE_BN254, true, true, LOAD_UNIFORM, {6.39, 17.23, 20.6, 65.1, 209.6}},
    {CURVE_BLS12_381, true, false, LOAD_UNIFORM, {10.40, 27.98, 48.66, 140.4, 448.8}},
    {CURVE_BLS12_381, true, true, LOAD_UNIFORM, {10.40, 27.98, 48.66, 140.4, 448.8}},
    {CURVE_BLS12_381, true, false, LOAD_D1, {0, 0, 28.6, 0, 0}},
    {CURVE_BLS12_381, true, false, LOAD_D2, {0, 0, 18.8, 33.8, 0}},
};

static double anchor_ms(enum curve_id curve, bool is_g2, bool has_tables, enum load_mix mix,
                        unsigned log2)
{
    if (log2 < 16 || log2 > 24 || log2 % 2)
        return 0;
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++) {
        const struct anchor *a = &anchors[i];

        if (a->curve == curve && a->is_g2 == is_g2 && a->has_tables == has_tables && a->mix == mix)
            return a->ms[(log2 - 16) / 2];
    }
    return 0;
}

struct run {
    const struct curve *curve;
    bool is_g2;
    struct pool *pool;
    size_t point_bytes;
    const uint8_t *points; /* LOAD_DISTINCT_POINTS, host */
    struct msm_shape shape;
    void *bases, *plan, *plan_scratch, *scratch, *ret_point;
    void *scalars; /* device */
};

/* Bases of the shape: the distinct points again and again, and tables. Returns the ms of tables. */
static double make_bases(struct run *run)
{
    size_t bytes = run->point_bytes * run->shape.count, have;
    cudaEvent_t begin, end;

    run->bases = device_alloc(msm_bases_bytes(&run->shape, run->is_g2));
    have = run->point_bytes * LOAD_DISTINCT_POINTS;
    have = have < bytes ? have : bytes;
    DEVICE_CHECK(cudaMemcpy(run->bases, run->points, have, cudaMemcpyHostToDevice));
    for (; have < bytes; have *= 2) {
        size_t more = have < bytes - have ? have : bytes - have;

        DEVICE_CHECK(
            cudaMemcpy((char *)run->bases + have, run->bases, more, cudaMemcpyDeviceToDevice));
    }
    DEVICE_CHECK(cudaEventCreate(&begin));
    DEVICE_CHECK(cudaEventCreate(&end));
    DEVICE_CHECK(cudaEventRecord(begin, NULL));
    for (unsigned level = 1; level < run->shape.levels; level++)
        if (msm_fill_table(&run->shape, run->is_g2, level, run->bases, run->scratch, NULL) != 0)
            exit(1);
    DEVICE_CHECK(cudaEventRecord(end, NULL));
    DEVICE_CHECK(cudaDeviceSynchronize());
    return device_elapsed_ms(begin, end);
}

static void time_run(struct run *run, double *ret_plan_ms, double *ret_sum_ms)
{
    double plan_ms[DEVICE_REPEATS], sum_ms[DEVICE_REPEATS];
    cudaEvent_t events[3];

    for (int i = 0; i < 3; i++)
        DEVICE_CHECK(cudaEventCreate(&events[i]));
    for (int i = -1; i < DEVICE_REPEATS; i++) {
        DEVICE_CHECK(cudaEventRecord(events[0], NULL));
        if (msm_plan(&run->shape, run->scalars, run->plan, run->plan_scratch, NULL) != 0)
            exit(1);
        DEVICE_CHECK(cudaEventRecord(events[1], NULL));
        if (msm_sum(&run->shape, run->is_g2, run->plan, run->bases, run->scratch, run->ret_point,
                    NULL) != 0)
            exit(1);
        DEVICE_CHECK(cudaEventRecord(events[2], NULL));
        DEVICE_CHECK(cudaDeviceSynchronize());
        if (i < 0)
            continue;
        plan_ms[i] = device_elapsed_ms(events[0], events[1]);
        sum_ms[i] = device_elapsed_ms(events[1], events[2]);
    }
    *ret_plan_ms = device_median(plan_ms, DEVICE_REPEATS);
    *ret_sum_ms = device_median(sum_ms, DEVICE_REPEATS);
    for (int i = 0; i < 3; i++)
        DEVICE_CHECK(cudaEventDestroy(events[i]));
}

static bool is_right(const struct run *run, const uint64_t *scalars)
{
    uint8_t got[CURVE_G2_BYTES_MAX], expected[CURVE_G2_BYTES_MAX];
    uint64_t *folded = malloc(32 * LOAD_DISTINCT_POINTS);
    size_t count =
        run->shape.count < LOAD_DISTINCT_POINTS ? run->shape.count : LOAD_DISTINCT_POINTS;

    if (!folded)
        exit(1);
    load_fold_scalars(run->curve, scalars, run->shape.count, folded);
    DEVICE_CHECK(cudaMemcpy(got, run->ret_point, run->point_bytes, cudaMemcpyDeviceToHost));
    int error = (run->is_g2 ? run->curve->msm_g2 : run->curve->msm_g1)(run->pool, run->points,
                                                                       folded, count, expected);
    free(folded);
    return error == 0 && memcmp(got, expected, run->point_bytes) == 0;
}

/* One size and kind of bases, on every mix. */
static int bench_size(const struct bench_options *options, struct run *run, unsigned log2,
                      unsigned levels, uint64_t *const *scalars)
{
    int wrong = 0;

    if (msm_shape_init(&run->shape, run->curve->id, 1u << log2, levels, options->window_bits) != 0)
        exit(1);
    if (options->batch_slots >= 0)
        run->shape.batch_slots = (unsigned)options->batch_slots;
    run->plan = device_alloc(msm_plan_bytes(&run->shape));
    run->plan_scratch = device_alloc(msm_plan_scratch_bytes(&run->shape));
    run->scratch = device_alloc(msm_sum_scratch_bytes(&run->shape, run->is_g2));
    run->scalars = device_alloc((size_t)32 << log2);
    double tables_ms = make_bases(run);

    for (int mix = 0; mix <= LOAD_D2 && (mix == 0 || !options->is_single); mix++) {
        double plan_ms, sum_ms;
        double anchor = anchor_ms(run->curve->id, run->is_g2, levels > 1, (enum load_mix)mix, log2);

        DEVICE_CHECK(
            cudaMemcpy(run->scalars, scalars[mix], (size_t)32 << log2, cudaMemcpyHostToDevice));
        time_run(run, &plan_ms, &sum_ms);
        bool right = is_right(run, scalars[mix]);
        double total = plan_ms + sum_ms;
        printf("%-9s %s 2^%-2u %-7s %2u x %2u bits, %2u tables %8.3f + %8.3f = %8.3f ms",
               run->curve->name, run->is_g2 ? "G2" : "G1", log2,
               load_mix_to_string((enum load_mix)mix), run->shape.windows, run->shape.window_bits,
               run->shape.levels, plan_ms, sum_ms, total);
        if (anchor > 0)
            printf("  anchor %7.2f, %4.2f of it", anchor, total / anchor);
        printf("%s\n", right ? "" : "  WRONG");
        wrong |= !right;
    }
    if (levels > 1)
        printf("  tables made in %.1f ms\n", tables_ms);
    printf("  scratch of the sum %.1f MiB\n",
           (double)msm_sum_scratch_bytes(&run->shape, run->is_g2) / (1 << 20));
    fflush(stdout);
    void *all[] = {run->plan, run->plan_scratch, run->scratch, run->scalars, run->bases};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        device_free(all[i]);
    return wrong;
}

int bench_msm(const struct bench_options *options, const struct curve *curve, bool is_g2,
              struct pool *pool)
{
    struct run run = {.curve = curve, .is_g2 = is_g2, .pool = pool};
    uint64_t *scalars[LOAD_MIX_COUNT] = {0};
    int wrong = 0;

    run.point_bytes = load_point_bytes(curve, is_g2);
    uint8_t *points = malloc(run.point_bytes * LOAD_DISTINCT_POINTS);
    if (!points || load_points(curve, is_g2, 1, pool, points) != 0)
        exit(1);
    run.points = points;
    run.ret_point = device_alloc(run.point_bytes);
    for (int mix = 0; mix <= LOAD_D2 && (mix == 0 || !options->is_single); mix++) {
        scalars[mix] = malloc((size_t)32 << options->log2_max);
        if (!scalars[mix])
            exit(1);
        load_scalars(curve, (enum load_mix)mix, 2, (size_t)1 << options->log2_max, scalars[mix]);
    }
    for (unsigned log2 = options->log2_min; log2 <= options->log2_max; log2 += options->log2_step) {
        if (!options->no_plain)
            wrong |= bench_size(options, &run, log2, 1, scalars);
        if (!options->no_tables)
            wrong |= bench_size(options, &run, log2, 64, scalars);
    }
    for (int mix = 0; mix < LOAD_MIX_COUNT; mix++)
        free(scalars[mix]);
    device_free(run.ret_point);
    free(points);
    return wrong;
}
