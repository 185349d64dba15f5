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

static void expect_sum_equals_cpu(struct rig *rig, uint32_t count, unsigned levels,
                                  unsigned window_bits)
{
    struct msm_shape shape;
    uint8_t expected[CURVE_G2_BYTES_MAX], got[CURVE_G2_BYTES_MAX];

    ASSERT_INT(msm_shape_init(&shape, rig->curve->id, count, levels, window_bits), 0);
    void *bases = device_alloc(msm_bases_bytes(&shape, rig->is_g2));
    void *scalars = device_alloc((size_t)32 * count);
    void *plan = device_alloc(msm_plan_bytes(&shape));
    void *plan_scratch = device_alloc(msm_plan_scratch_bytes(&shape));
    void *scratch = device_alloc(msm_sum_scratch_bytes(&shape, rig->is_g2));
    void *point = device_alloc(rig->point_bytes);

    ASSERT_CUDA(cudaMemcpy(bases, rig->points, rig->point_bytes * count, cudaMemcpyHostToDevice));
    ASSERT_CUDA(cudaMemcpy(scalars, rig->scalars, (size_t)32 * count, cudaMemcpyHostToDevice));
    ASSERT_INT(msm_fill_tables(&shape, rig->is_g2, bases, scratch, NULL), 0);
    ASSERT_INT(msm_plan(&shape, scalars, plan, plan_scratch, NULL), 0);
    ASSERT_INT(msm_sum(&shape, rig->is_g2, plan, bases, scratch, point, NULL), 0);
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(cudaMemcpy(got, point, rig->point_bytes, cudaMemcpyDeviceToHost));
    ASSERT_INT((rig->is_g2 ? rig->curve->msm_g2 : rig->curve->msm_g1)(
                   rig->pool, rig->points, rig->scalars, count, expected),
               0);
    if (memcmp(got, expected, rig->point_bytes) != 0)
        printf("  %s %s count %u windows %u x %u levels %u\n", rig->curve->name,
               rig->is_g2 ? "G2" : "G1", count, shape.windows, shape.window_bits, shape.levels);
    ASSERT(memcmp(got, expected, rig->point_bytes) == 0);
    void *all[] = {bases, scalars, plan, plan_scratch, scratch, point};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ASSERT_CUDA(cudaFree(all[i]));
}

/* Infinities, equal neighbours and opposite neighbours among the bases. */
static void spoil_points(struct rig *rig, uint64_t *state)
{
    size_t bytes = rig->point_bytes, limbs = rig->curve->fp_limbs;

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
            for (size_t at = bytes / 2; at < bytes; at += 8 * limbs) {
                uint64_t *y = (uint64_t *)(p + at), any = 0, borrow = 0;

                for (size_t j = 0; j < limbs; j++)
                    any |= y[j];
                for (size_t j = 0; any && j < limbs; j++) {
                    unsigned __int128 d =
                        (unsigned __int128)rig->curve->fp_modulus[j] - y[j] - borrow;
                    y[j] = (uint64_t)d;
                    borrow = (uint64_t)(d >> 64) & 1;
                }
            }
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

DEVICE_TEST_MAIN(CASE(bn254_g1_sums_equal_the_cpus), CASE(bls12_381_g1_sums_equal_the_cpus),
                 CASE(bn254_g2_sums_equal_the_cpus), CASE(bls12_381_g2_sums_equal_the_cpus))
