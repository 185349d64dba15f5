/* The device's fixed-base multiplication, run on the host and compared with the CPU's, byte for
 * byte. In G2 two lanes hold one element: here they are two coroutines that take turns. */

#include <stdint.h>
#include <ucontext.h>

/* What a lane asks of its warp. */
static struct {
    unsigned x;
} threadIdx;
static uint32_t exchange(uint32_t value);
static inline uint32_t __shfl_xor_sync(uint32_t, uint32_t value, int)
{
    return exchange(value);
}

#include "gpu-worker/cuda/bench/fixed_base.cuh"

extern "C" {
#include "bench/fixed_base.h"
#include "groth16/pool.h"
}
#include "tests/test.h"

enum {
    WIDTH = 8,
    PER_WINDOW = (1 << WIDTH) - 1,
    TABLE_POINTS = 256 / WIDTH * PER_WINDOW,
    POINTS = 2 * BASE_PER_INVERSION + 5,
    STEP = 3, /* what base_multiply takes for so many */
};

static struct {
    ucontext_t lanes[2], caller;
    char stacks[2][1 << 18];
    uint32_t values[2][2]; /* by parity of the exchange, then by lane */
    unsigned exchange_count[2];
    bool is_done[2];
    void (*run)(void *context);
    void *context;
} warp;

static void change_lane(void)
{
    unsigned from = threadIdx.x;

    threadIdx.x ^= 1;
    swapcontext(&warp.lanes[from], &warp.lanes[from ^ 1]);
}

/* A lane is at most one exchange ahead of the other, so that two slots are enough. */
static uint32_t exchange(uint32_t value)
{
    unsigned lane = threadIdx.x, number = warp.exchange_count[lane]++;

    warp.values[number % 2][lane] = value;
    if (warp.exchange_count[lane ^ 1] <= number)
        change_lane();
    return warp.values[number % 2][lane ^ 1];
}

static void lane_main(void)
{
    unsigned lane = threadIdx.x;

    warp.run(warp.context);
    warp.is_done[lane] = true;
    if (!warp.is_done[lane ^ 1])
        change_lane();
}

static void run_lanes(int lane_count, void (*run)(void *), void *context)
{
    threadIdx.x = 0;
    if (lane_count == 1) {
        run(context);
        return;
    }
    warp.run = run;
    warp.context = context;
    for (int i = 0; i < 2; i++) {
        warp.exchange_count[i] = 0;
        warp.is_done[i] = false;
        getcontext(&warp.lanes[i]);
        warp.lanes[i].uc_stack.ss_sp = warp.stacks[i];
        warp.lanes[i].uc_stack.ss_size = sizeof warp.stacks[i];
        warp.lanes[i].uc_link = &warp.caller;
        makecontext(&warp.lanes[i], lane_main, 0);
    }
    swapcontext(&warp.caller, &warp.lanes[0]);
}

struct job {
    const uint32_t *table, *scalar;
    uint32_t *sums, *points;
    uint32_t index;
};

template <class F> static void sum_one(void *context)
{
    struct job *job = (struct job *)context;

    base_sum<F>(job->table, WIDTH, job->scalar)
        .store(job->sums + job->index * xyzz<F>::POINT_WORDS);
}

template <class F> static void finish_some(void *context)
{
    struct job *job = (struct job *)context;

    base_to_affine<F>(job->sums, job->index, STEP, POINTS, job->points);
}

/* 0, 1, 2, r - 1, digits of all ones, none or few; then random ones. */
static void make_scalars(const struct curve *curve, uint64_t *ret)
{
    uint64_t state = test_seed();

    memset(ret, 0, POINTS * 32);
    for (int i = 0; i < POINTS; i++) {
        uint64_t *scalar = ret + 4 * i;

        if (i == 1 || i == 2) {
            scalar[0] = (uint64_t)i;
        } else if (i == 3 || i == 4) {
            memcpy(scalar, curve->fr_modulus, 32);
            scalar[0] -= (uint64_t)i - 2;
        } else if (i > 4 && i < 9) {
            scalar[i - 5] = i == 8 ? 0xff00 : ~UINT64_C(0);
        } else if (i >= 9) {
            for (int j = 0; j < 4; j++)
                scalar[j] = test_random(&state);
            scalar[3] >>= 4;
        }
    }
}

/* The multiples that make up a table: digit 2^(WIDTH window). */
static void make_table(const struct fixed_base *base, struct pool *pool, void *ret_table)
{
    uint64_t *scalars = (uint64_t *)calloc(TABLE_POINTS, 32);

    for (int i = 0; i < TABLE_POINTS; i++) {
        int bit = i / PER_WINDOW * WIDTH;

        scalars[4 * i + bit / 64] = (uint64_t)(i % PER_WINDOW + 1) << (bit % 64);
    }
    fixed_base_mul(base, pool, scalars, TABLE_POINTS, ret_table);
    free(scalars);
}

template <class F> static void expect_points_of_the_cpu(const struct curve *curve, bool is_g2)
{
    const size_t bytes = 4 * affine<F>::POINT_WORDS;
    uint64_t scalars[4 * POINTS];
    struct fixed_base *base;
    struct pool *pool;
    uint8_t *table = (uint8_t *)malloc(TABLE_POINTS * bytes);
    uint8_t *points = (uint8_t *)malloc(POINTS * bytes),
            *theirs = (uint8_t *)malloc(POINTS * bytes);
    uint8_t *sums = (uint8_t *)malloc(POINTS * 2 * bytes);
    struct job job = {(uint32_t *)table, NULL, (uint32_t *)sums, (uint32_t *)points, 0};

    ASSERT_INT(bytes, is_g2 ? curve->g2_bytes : curve->g1_bytes);
    ASSERT_INT(pool_create(2, &pool), 0);
    ASSERT_INT(fixed_base_create(curve, is_g2, TABLE_POINTS, pool, &base), 0);
    make_scalars(curve, scalars);
    make_table(base, pool, table);
    fixed_base_mul(base, pool, scalars, POINTS, theirs);
    for (job.index = 0; job.index < POINTS; job.index++) {
        job.scalar = (const uint32_t *)(scalars + 4 * job.index);
        run_lanes(F::LANES, sum_one<F>, &job);
    }
    for (job.index = 0; job.index < STEP; job.index++)
        run_lanes(F::LANES, finish_some<F>, &job);
    for (int i = 0; i < POINTS; i++)
        ASSERT(memcmp(points + i * bytes, theirs + i * bytes, bytes) == 0);
    fixed_base_free(base);
    pool_free(pool);
    free(table);
    free(points);
    free(theirs);
    free(sums);
}

TEST(points_of_g1_are_those_of_the_cpu)
{
    expect_points_of_the_cpu<bn254_fp>(&curve_bn254, false);
    expect_points_of_the_cpu<bls12_381_fp>(&curve_bls12_381, false);
}

TEST(points_of_g2_are_those_of_the_cpu)
{
    expect_points_of_the_cpu<pair<bn254_fp>>(&curve_bn254, true);
    expect_points_of_the_cpu<pair<bls12_381_fp>>(&curve_bls12_381, true);
}

TEST_MAIN(CASE(points_of_g1_are_those_of_the_cpu), CASE(points_of_g2_are_those_of_the_cpu))
