/* Sums on the device against the CPU library, bit for bit. */

#include "gpu-worker/cuda/bench/load.h"
#include "gpu-worker/cuda/msm.h"
#include "groth16/pool.h"
#include "tests/gpu-worker/cuda/device_test.h"

enum {
    COUNT_MAX = 1 << 17,
};

struct rig {
    const struct curve *curve;
    bool is_g2;
    struct pool *pool;
    uint8_t *points;   /* COUNT_MAX, in host memory */
    uint64_t *scalars; /* likewise */
    size_t point_bytes;
};

static void open_rig(struct rig *rig, const struct curve *curve, bool is_g2, uint64_t seed)
{
    *rig = (struct rig){.curve = curve, .is_g2 = is_g2};
    rig->point_bytes = load_point_bytes(curve, is_g2);
    ASSERT_INT(pool_create(4, &rig->pool), 0);
    rig->points = malloc(rig->point_bytes * COUNT_MAX);
    rig->scalars = malloc((size_t)32 * COUNT_MAX);
    ASSERT(rig->points && rig->scalars);
    ASSERT_INT(load_points(curve, is_g2, seed, rig->pool, rig->points), 0);
    for (size_t i = LOAD_DISTINCT_POINTS; i < COUNT_MAX; i++)
        memcpy(rig->points + i * rig->point_bytes,
               rig->points + (i % LOAD_DISTINCT_POINTS) * rig->point_bytes, rig->point_bytes);
}

static void close_rig(struct rig *rig)
{
    free(rig->points);
    free(rig->scalars);
    pool_free(rig->pool);
}

static void *device_alloc(size_t bytes)
{
    void *r = NULL;

    ASSERT_CUDA(cudaMalloc(&r, bytes ? bytes : 1));
    /* What is not written shows. */
    ASSERT_CUDA(cudaMemset(r, 0xa5, bytes));
    return r;
}

/* Plain walks, and batches of different sizes; as if on few multiprocessors, where shares are long
 * enough for batches. */
static const struct way {
    bool is_few;
    unsigned batch_slots;
} ways[] = {{false, 0}, {false, MSM_BATCH_SLOTS}, {true, MSM_BATCH_SLOTS}, {true, 21}, {true, 1}};

/* Every way to sum; the last, with an inversion for each addition, only where that is soon done. */
static void expect_sums_equal(struct rig *rig, const struct msm_shape *shape, const void *plan,
                              const void *bases, const uint8_t *expected)
{
    int way_count = sizeof ways / sizeof ways[0] - (shape->count > 10000);
    uint8_t got[CURVE_G2_BYTES_MAX];

    for (int i = 0; i < way_count; i++) {
        struct msm_shape own = *shape;

        own.batch_slots = ways[i].batch_slots;
        if (ways[i].is_few)
            own.multiprocessors = shape->count > 50000 ? 4 : 1;
        void *scratch = device_alloc(msm_sum_scratch_bytes(&own, rig->is_g2));
        void *point = device_alloc(rig->point_bytes);
        ASSERT_INT(msm_sum(&own, rig->is_g2, plan, bases, scratch, point, NULL), 0);
        ASSERT_CUDA(cudaDeviceSynchronize());
        ASSERT_CUDA(cudaMemcpy(got, point, rig->point_bytes, cudaMemcpyDeviceToHost));
        if (memcmp(got, expected, rig->point_bytes) != 0)
            printf("  %s %s count %u windows %u x %u levels %u way %d\n", rig->curve->name,
                   rig->is_g2 ? "G2" : "G1", own.count, own.windows, own.window_bits, own.levels,
                   i);
        ASSERT(memcmp(got, expected, rig->point_bytes) == 0);
        ASSERT_CUDA(cudaFree(scratch));
        ASSERT_CUDA(cudaFree(point));
    }
}

static void expect_sum_equals_cpu(struct rig *rig, uint32_t count, unsigned levels,
                                  unsigned window_bits)
{
    struct msm_shape shape;
    uint8_t expected[CURVE_G2_BYTES_MAX];

    ASSERT_INT(msm_shape_init(&shape, rig->curve->id, count, levels, window_bits), 0);
    void *bases = device_alloc(msm_bases_bytes(&shape, rig->is_g2));
    void *scalars = device_alloc((size_t)32 * count);
    void *plan = device_alloc(msm_plan_bytes(&shape));
    void *plan_scratch = device_alloc(msm_plan_scratch_bytes(&shape));
    void *scratch = device_alloc(msm_sum_scratch_bytes(&shape, rig->is_g2));

    ASSERT_CUDA(cudaMemcpy(bases, rig->points, rig->point_bytes * count, cudaMemcpyHostToDevice));
    ASSERT_CUDA(cudaMemcpy(scalars, rig->scalars, (size_t)32 * count, cudaMemcpyHostToDevice));
    for (unsigned level = 1; level < shape.levels; level++)
        ASSERT_INT(msm_fill_table(&shape, rig->is_g2, level, bases, scratch, NULL), 0);
    ASSERT_INT(msm_plan(&shape, scalars, plan, plan_scratch, NULL), 0);
    ASSERT_INT((rig->is_g2 ? rig->curve->msm_g2 : rig->curve->msm_g1)(
                   rig->pool, rig->points, rig->scalars, count, expected),
               0);
    expect_sums_equal(rig, &shape, plan, bases, expected);
    void *all[] = {bases, scalars, plan, plan_scratch, scratch};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ASSERT_CUDA(cudaFree(all[i]));
}

/* p = -p in affine form; infinity stays. */
static void negate_point(const struct curve *curve, uint8_t *p, size_t bytes)
{
    size_t limbs = curve->fp_limbs;

    for (size_t at = bytes / 2; at < bytes; at += 8 * limbs) {
        uint64_t *y = (uint64_t *)(p + at), any = 0, borrow = 0;

        for (size_t j = 0; j < limbs; j++)
            any |= y[j];
        for (size_t j = 0; any && j < limbs; j++) {
            unsigned __int128 d = (unsigned __int128)curve->fp_modulus[j] - y[j] - borrow;

            y[j] = (uint64_t)d;
            borrow = (uint64_t)(d >> 64) & 1;
        }
    }
}

/* Infinities, equal neighbours and opposite neighbours among the bases. */
static void spoil_points(struct rig *rig, uint64_t *state)
{
    size_t bytes = rig->point_bytes;

    for (size_t i = 1; i < COUNT_MAX; i++) {
        uint8_t *p = rig->points + i * bytes;

        switch (load_random(state) % 8) {
        case 0:
            memset(p, 0, bytes);
            break;
        case 1:
            memcpy(p, p - bytes, bytes);
            break;
        case 2:
            memcpy(p, p - bytes, bytes);
            negate_point(rig->curve, p, bytes);
            break;
        }
    }
}

static void expect_group_equals_cpu(const struct curve *curve, bool is_g2)
{
    static const uint32_t counts[] = {1, 2, 3, 31, 1000, 8191, COUNT_MAX};
    uint64_t state = test_seed();
    struct rig rig;

    open_rig(&rig, curve, is_g2, load_random(&state));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            for (int mix = 0; mix < LOAD_MIX_COUNT; mix++) {
                load_scalars(curve, (enum load_mix)mix, load_random(&state), counts[i],
                             rig.scalars);
                expect_sum_equals_cpu(&rig, counts[i], mix % 2 ? 32 : 1 + i % 3, 0);
            }
        for (unsigned bits = 4; bits <= 20; bits += 1 + (unsigned)(load_random(&state) % 3)) {
            uint32_t count = 1 + (uint32_t)(load_random(&state) % 5000);
            load_scalars(curve, LOAD_EDGES, load_random(&state), count, rig.scalars);
            expect_sum_equals_cpu(&rig, count, 1 + (unsigned)(load_random(&state) % 64), bits);
        }
        spoil_points(&rig, &state);
    }
    close_rig(&rig);
}

/* ---- what a formula for two different points does not cover ---- */

enum pattern {
    PATTERN_EQUAL,    /* one point again and again: doublings of doublings */
    PATTERN_OPPOSITE, /* P, -P, P, -P, ...: every sum of two is infinity */
    PATTERN_PERIOD,   /* P, P, -P, Q, -Q, infinity, ... */
    PATTERN_INFINITY,
    PATTERN_DISTINCT,
    PATTERN_COUNT,
};

static void set_points(struct rig *rig, enum pattern pattern, const uint8_t *distinct,
                       uint32_t count)
{
    static const int8_t period[] = {1, 1, -1, 2, -2, 0, 2, 2, 2, -1, 0, 0, 3};
    size_t bytes = rig->point_bytes;

    for (uint32_t i = 0; i < count; i++) {
        uint8_t *p = rig->points + i * bytes;
        int which = pattern == PATTERN_EQUAL      ? 1
                    : pattern == PATTERN_OPPOSITE ? 1 - 2 * (int)(i % 2)
                    : pattern == PATTERN_PERIOD   ? period[i % sizeof period]
                    : pattern == PATTERN_INFINITY ? 0
                                                  : 1 + (int)(i % (LOAD_DISTINCT_POINTS - 1));

        memset(p, 0, bytes);
        if (which != 0)
            memcpy(p, distinct + (size_t)(which < 0 ? -which : which) * bytes, bytes);
        if (which < 0)
            negate_point(rig->curve, p, bytes);
    }
}

/* The scalar `value`, or r + value when that is negative, everywhere. */
static void set_scalars(struct rig *rig, int64_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *s = rig->scalars + 4 * (size_t)i;

        memset(s, 0, 32);
        if (value < 0)
            memcpy(s, rig->curve->fr_modulus, 32);
        s[0] += (uint64_t)value;
    }
}

static void expect_edges_equal_cpu(const struct curve *curve, bool is_g2)
{
    static const int64_t values[] = {0, 1, -1, 2, -3, 77777};
    static const uint32_t counts[] = {2, 7, 30000};
    uint64_t state = test_seed();
    struct rig rig;

    open_rig(&rig, curve, is_g2, load_random(&state));
    uint8_t *distinct = malloc(rig.point_bytes * LOAD_DISTINCT_POINTS);
    ASSERT(distinct);
    memcpy(distinct, rig.points, rig.point_bytes * LOAD_DISTINCT_POINTS);
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            set_points(&rig, (enum pattern)pattern, distinct, counts[i]);
            for (size_t j = 0; j < sizeof values / sizeof values[0]; j++) {
                set_scalars(&rig, values[j], counts[i]);
                expect_sum_equals_cpu(&rig, counts[i], 1 + j % 2 * 63, 4 + (unsigned)j);
            }
            load_scalars(curve, LOAD_UNIFORM, load_random(&state), counts[i], rig.scalars);
            expect_sum_equals_cpu(&rig, counts[i], 1, 6);
        }
    free(distinct);
    close_rig(&rig);
}

/* ---- scalars that are none ---- */

/* Values up to 2^256 - 1 come from a caller that nobody checked: the sum means nothing then, but
 * every digit stays inside the buckets and the tables. */
static void expect_plan_stays_inside(const struct curve *curve, unsigned levels, unsigned bits)
{
    enum { COUNT = 3000 };
    uint64_t state = test_seed(), *scalars = malloc(32 * COUNT);
    struct msm_shape shape;

    ASSERT(scalars);
    for (int i = 0; i < 4 * COUNT; i++)
        scalars[i] = i < 400 ? ~(uint64_t)0 : load_random(&state) | (uint64_t)(i % 3 == 0) << 63;
    memcpy(scalars + 400, curve->fr_modulus, 32);
    ASSERT_INT(msm_shape_init(&shape, curve->id, COUNT, levels, bits), 0);
    size_t bytes = msm_plan_bytes(&shape);
    uint8_t *plan = malloc(bytes);
    void *on_device = device_alloc(bytes), *scratch = device_alloc(msm_plan_scratch_bytes(&shape));
    void *device_scalars = device_alloc(32 * COUNT);
    ASSERT(plan);
    ASSERT_CUDA(cudaMemcpy(device_scalars, scalars, 32 * COUNT, cudaMemcpyHostToDevice));
    ASSERT_INT(msm_plan(&shape, device_scalars, on_device, scratch, NULL), 0);
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(cudaMemcpy(plan, on_device, bytes, cudaMemcpyDeviceToHost));
    /* The layout of msm_internal.cuh. */
    uint32_t count = *(uint32_t *)plan, *keys = (uint32_t *)(plan + 256);
    uint32_t *values = (uint32_t *)(plan + 256 + (bytes - 256) / 2);
    ASSERT(count > 0 && count <= shape.count * shape.windows);
    for (uint32_t i = 0; i < count; i++) {
        ASSERT(keys[i] < shape.sets * shape.set_buckets && (i == 0 || keys[i] >= keys[i - 1]));
        ASSERT((values[i] & 0x7fffffffu) < shape.levels * shape.count);
    }
    free(scalars);
    free(plan);
    ASSERT_CUDA(cudaFree(on_device));
    ASSERT_CUDA(cudaFree(scratch));
    ASSERT_CUDA(cudaFree(device_scalars));
}

TEST(scalars_beyond_r_stay_inside_buckets_and_tables)
{
    for (unsigned bits = MSM_WINDOW_BITS_MIN; bits <= MSM_WINDOW_BITS_MAX; bits++)
        for (unsigned levels = 1; levels <= 64; levels *= 4) {
            expect_plan_stays_inside(&curve_bn254, levels, bits);
            expect_plan_stays_inside(&curve_bls12_381, levels, bits);
        }
}

TEST(bn254_g1_edges_equal_the_cpus)
{
    expect_edges_equal_cpu(&curve_bn254, false);
}

TEST(bls12_381_g1_edges_equal_the_cpus)
{
    expect_edges_equal_cpu(&curve_bls12_381, false);
}

TEST(bn254_g2_edges_equal_the_cpus)
{
    expect_edges_equal_cpu(&curve_bn254, true);
}

TEST(bls12_381_g2_edges_equal_the_cpus)
{
    expect_edges_equal_cpu(&curve_bls12_381, true);
}

TEST(bn254_g1_sums_equal_the_cpus)
{
    expect_group_equals_cpu(&curve_bn254, false);
}

TEST(bls12_381_g1_sums_equal_the_cpus)
{
    expect_group_equals_cpu(&curve_bls12_381, false);
}

TEST(bn254_g2_sums_equal_the_cpus)
{
    expect_group_equals_cpu(&curve_bn254, true);
}

TEST(bls12_381_g2_sums_equal_the_cpus)
{
    expect_group_equals_cpu(&curve_bls12_381, true);
}

DEVICE_TEST_MAIN(CASE(scalars_beyond_r_stay_inside_buckets_and_tables),
                 CASE(bn254_g1_edges_equal_the_cpus), CASE(bls12_381_g1_edges_equal_the_cpus),
                 CASE(bn254_g2_edges_equal_the_cpus), CASE(bls12_381_g2_edges_equal_the_cpus),
                 CASE(bn254_g1_sums_equal_the_cpus), CASE(bls12_381_g1_sums_equal_the_cpus),
                 CASE(bn254_g2_sums_equal_the_cpus), CASE(bls12_381_g2_sums_equal_the_cpus))
