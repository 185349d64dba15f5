/* Transforms and the quotient on the device against the CPU library, bit for bit. */

#include <errno.h>

#include "gpu-worker/cuda/bench/load.h"
#include "gpu-worker/cuda/transform.h"
#include "groth16/pool.h"
#include "tests/gpu-worker/cuda/device_test.h"

enum {
    LOG2_MAX = 21, /* three passes */
};

struct rig {
    const struct curve *curve;
    struct pool *pool;
    void *table, *values[3];                    /* device */
    uint64_t *a, *b, *expected, *got, *scratch; /* host; scratch twice as long */
};

static void open_rig(struct rig *rig, const struct curve *curve)
{
    size_t bytes = (size_t)32 << LOG2_MAX;

    *rig = (struct rig){.curve = curve};
    ASSERT_INT(pool_create(4, &rig->pool), 0);
    ASSERT_CUDA(cudaMalloc(&rig->table, transform_table_bytes(LOG2_MAX)));
    for (int i = 0; i < 3; i++)
        ASSERT_CUDA(cudaMalloc(&rig->values[i], bytes));
    rig->a = malloc(bytes);
    rig->b = malloc(bytes);
    rig->expected = malloc(bytes);
    rig->got = malloc(bytes);
    rig->scratch = malloc(2 * bytes);
    ASSERT(rig->a && rig->b && rig->expected && rig->got && rig->scratch);
    ASSERT_INT(transform_fill_table(curve->id, LOG2_MAX, rig->table, NULL), 0);
}

static void close_rig(struct rig *rig)
{
    uint64_t *hosts[] = {rig->a, rig->b, rig->expected, rig->got, rig->scratch};

    for (int i = 0; i < 5; i++)
        free(hosts[i]);
    for (int i = 0; i < 3; i++)
        ASSERT_CUDA(cudaFree(rig->values[i]));
    ASSERT_CUDA(cudaFree(rig->table));
    pool_free(rig->pool);
}

static void reverse_order(uint64_t *values, unsigned log2)
{
    for (size_t i = 0; i < (size_t)1 << log2; i++) {
        size_t j = 0;

        for (unsigned bit = 0; bit < log2; bit++)
            j |= (i >> bit & 1) << (log2 - 1 - bit);
        for (int limb = 0; i < j && limb < 4; limb++) {
            uint64_t t = values[4 * i + limb];

            values[4 * i + limb] = values[4 * j + limb];
            values[4 * j + limb] = t;
        }
    }
}

static void expect_transform_equals_cpu(struct rig *rig, unsigned log2, bool is_up, bool inverse)
{
    size_t bytes = (size_t)32 << log2;

    /* Three at once; the last is looked at, the others must not disturb it. */
    for (int i = 0; i < 3; i++)
        ASSERT_CUDA(
            cudaMemcpy(rig->values[i], i == 2 ? rig->a : rig->b, bytes, cudaMemcpyHostToDevice));
    memcpy(rig->expected, rig->a, bytes);
    if (is_up)
        reverse_order(rig->expected, log2);
    rig->curve->ntt(rig->pool, rig->expected, log2, inverse);
    ASSERT_INT((is_up ? transform_up : transform_down)(rig->curve->id, rig->table, log2, inverse,
                                                       rig->values, 3, NULL),
               0);
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(cudaMemcpy(rig->got, rig->values[2], bytes, cudaMemcpyDeviceToHost));
    if (!is_up)
        reverse_order(rig->got, log2);
    if (memcmp(rig->got, rig->expected, bytes) != 0)
        printf("  %s 2^%u %s%s\n", rig->curve->name, log2, inverse ? "inverse " : "",
               is_up ? "up" : "down");
    ASSERT(memcmp(rig->got, rig->expected, bytes) == 0);
}

static void expect_quotient_equals_cpu(struct rig *rig, unsigned log2)
{
    size_t bytes = (size_t)32 << log2;

    ASSERT_CUDA(cudaMemcpy(rig->values[0], rig->a, bytes, cudaMemcpyHostToDevice));
    ASSERT_CUDA(cudaMemcpy(rig->values[1], rig->b, bytes, cudaMemcpyHostToDevice));
    rig->curve->quotient(rig->pool, rig->a, rig->b, log2, rig->expected, rig->scratch);
    ASSERT_INT(transform_quotient(rig->curve->id, rig->table, log2, rig->values[0], rig->values[1],
                                  rig->values[2], NULL),
               0);
    ASSERT_CUDA(cudaDeviceSynchronize());
    ASSERT_CUDA(cudaMemcpy(rig->got, rig->values[2], bytes, cudaMemcpyDeviceToHost));
    if (memcmp(rig->got, rig->expected, bytes) != 0)
        printf("  %s 2^%u quotient\n", rig->curve->name, log2);
    ASSERT(memcmp(rig->got, rig->expected, bytes) == 0);
}

static void expect_field_equals_cpu(const struct curve *curve)
{
    uint64_t seed = test_seed();
    struct rig rig;

    open_rig(&rig, curve);
    for (unsigned log2 = 1; log2 <= LOG2_MAX; log2++) {
        load_scalars(curve, log2 % 2 ? LOAD_UNIFORM : LOAD_EDGES, load_random(&seed),
                     (size_t)1 << log2, rig.a);
        load_scalars(curve, LOAD_D3, load_random(&seed), (size_t)1 << log2, rig.b);
        for (int kind = 0; kind < 4; kind++)
            expect_transform_equals_cpu(&rig, log2, kind & 1, kind & 2);
        expect_quotient_equals_cpu(&rig, log2);
    }
    close_rig(&rig);
}

TEST(bn254_transforms_equal_the_cpus)
{
    expect_field_equals_cpu(&curve_bn254);
}

TEST(bls12_381_transforms_equal_the_cpus)
{
    expect_field_equals_cpu(&curve_bls12_381);
}

TEST(domains_beyond_the_field_are_refused)
{
    ASSERT_INT(transform_fill_table(CURVE_BN254, 28, NULL, NULL), -EINVAL);
    ASSERT_INT(transform_quotient(CURVE_BN254, NULL, 28, NULL, NULL, NULL, NULL), -EINVAL);
}

DEVICE_TEST_MAIN(CASE(bn254_transforms_equal_the_cpus), CASE(bls12_381_transforms_equal_the_cpus),
                 CASE(domains_beyond_the_field_are_refused))
