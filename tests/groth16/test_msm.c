/* Multi-scalar multiplication against naive sums, on both curves and both groups. */

#include "groth16/curve/curve.h"
#include "groth16/pool.h"

#include "tests/test.h"

/* Both groups of both curves behind one shape. */
struct group {
    const struct curve *curve;
    const void *generator;
    size_t bytes;
    int (*msm)(struct pool *, const void *, const uint64_t *, size_t, void *);
    void (*mul)(const void *, const uint64_t *, void *);
};

static struct group groups[4];
static struct pool *pool;
static uint64_t seed;

static void set_up(void)
{
    const struct curve *curves[] = {&curve_bn254, &curve_bls12_381};

    if (pool)
        return;
    seed = test_seed();
    ASSERT_INT(pool_create(3, &pool), 0);
    for (int i = 0; i < 2; i++) {
        const struct curve *c = curves[i];

        groups[2 * i] = (struct group){c, c->g1_generator, c->g1_bytes, c->msm_g1, c->g1_mul};
        groups[2 * i + 1] = (struct group){c, c->g2_generator, c->g2_bytes, c->msm_g2, c->g2_mul};
    }
}

static void random_scalar(const struct curve *curve, uint64_t *scalar)
{
    do {
        for (int i = 0; i < 4; i++)
            scalar[i] = test_random(&seed);
        scalar[3] >>= 1;
    } while (!curve->scalar_is_reduced(scalar));
}

static void set_small(uint64_t *scalar, uint64_t value)
{
    scalar[0] = value;
    scalar[1] = scalar[2] = scalar[3] = 0;
}

/* r - value, for a small value > 0. */
static void set_minus(const struct curve *curve, uint64_t *scalar, uint64_t value)
{
    memcpy(scalar, curve->fr_modulus, 32);
    ASSERT(scalar[0] >= value);
    scalar[0] -= value;
}

/* An input whose points are known multiples of the generator: points[i] = logs[i] G. */
struct input {
    const struct group *group;
    size_t count;
    uint64_t *logs, *scalars;
    uint8_t *points;
};

enum points {
    POINTS_RANDOM,
    POINTS_FEW,
    POINTS_EQUAL,
    POINTS_OPPOSITE,
    POINTS_INFINITE,
    POINTS_KINDS
};
enum scalars {
    SCALARS_UNIFORM,
    SCALARS_ZERO,
    SCALARS_ONE,
    SCALARS_MINUS_ONE,
    SCALARS_SMALL,
    SCALARS_WITNESS,
    SCALARS_SHORT,
    SCALARS_EDGES,
    SCALARS_KINDS
};

static void set_log(const struct group *group, enum points kind, uint64_t *log, size_t index)
{
    switch (kind) {
    case POINTS_RANDOM:
        set_small(log, test_random(&seed) % 5000);
        break;
    case POINTS_FEW:
        set_small(log, test_random(&seed) % 3);
        break;
    case POINTS_EQUAL:
        set_small(log, 7);
        break;
    case POINTS_OPPOSITE:
        if (index & 1)
            set_minus(group->curve, log, 7);
        else
            set_small(log, 7);
        break;
    default:
        set_small(log, 0);
    }
}

static void set_scalar(const struct curve *curve, enum scalars kind, uint64_t *scalar)
{
    uint64_t dice = test_random(&seed) % 100;

    switch (kind) {
    case SCALARS_ZERO:
        set_small(scalar, 0);
        break;
    case SCALARS_ONE:
        set_small(scalar, 1);
        break;
    case SCALARS_MINUS_ONE:
        set_minus(curve, scalar, 1);
        break;
    case SCALARS_SMALL:
        set_small(scalar, dice);
        break;
    case SCALARS_WITNESS:
        random_scalar(curve, scalar);
        if (dice < 95)
            set_small(scalar, dice < 60 ? 0 : 1);
        break;
    case SCALARS_SHORT:
        if (dice & 1)
            set_small(scalar, test_random(&seed) >> (dice / 2));
        else
            set_minus(curve, scalar, 1 + (test_random(&seed) >> 40));
        break;
    case SCALARS_EDGES:
        random_scalar(curve, scalar);
        if (dice < 30) {
            /* (r - 1) / 2, and one more, where the sign turns. */
            for (int i = 0; i < 4; i++)
                scalar[i] =
                    curve->fr_modulus[i] >> 1 | (i < 3 ? curve->fr_modulus[i + 1] << 63 : 0);
            scalar[0] += dice & 1;
        } else if (dice < 60) {
            memset(scalar, 0, 32);
            scalar[dice % 4] = (uint64_t)1 << (test_random(&seed) % 60);
        } else if (dice < 90) {
            memset(scalar, 0xff, 32);
            scalar[3] >>= 4 + dice % 50;
        }
        break;
    default:
        random_scalar(curve, scalar);
    }
}

static void input_make(struct input *input, const struct group *group, size_t count,
                       enum points points, enum scalars scalars)
{
    static uint8_t *multiples[4];
    uint8_t **table = &multiples[group - groups];

    if (!*table) {
        *table = calloc(5001, group->bytes);
        for (uint64_t i = 0; i <= 5000; i++) {
            uint64_t log[4] = {i};
            group->mul(group->generator, log, *table + i * group->bytes);
        }
    }
    *input = (struct input){group, count, malloc(32 * count + 1), malloc(32 * count + 1),
                            malloc(group->bytes * count + 1)};
    for (size_t i = 0; i < count; i++) {
        uint64_t *log = input->logs + 4 * i;

        set_log(group, points, log, i);
        set_scalar(group->curve, scalars, input->scalars + 4 * i);
        if (log[3] == 0)
            memcpy(input->points + i * group->bytes, *table + log[0] * group->bytes, group->bytes);
        else
            group->mul(group->generator, log, input->points + i * group->bytes);
    }
}

static void input_free(struct input *input)
{
    free(input->logs);
    free(input->scalars);
    free(input->points);
}

/* a = a + b mod r. */
static void add_mod(const struct curve *curve, uint64_t *a, const uint64_t *b)
{
    unsigned __int128 carry = 0;
    uint64_t reduced[4];

    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)a[i] + b[i];
        a[i] = (uint64_t)carry;
        carry >>= 64;
    }
    carry = 0;
    for (int i = 0; i < 4; i++) {
        carry = (unsigned __int128)a[i] - curve->fr_modulus[i] - (uint64_t)carry;
        reduced[i] = (uint64_t)carry;
        carry = (carry >> 64) & 1;
    }
    if (!carry)
        memcpy(a, reduced, 32);
}

/* The MSM must be (sum of scalars[i] logs[i]) G. */
static bool input_agrees(const struct input *input)
{
    const struct group *group = input->group;
    uint64_t sum[4] = {0}, term[4];
    uint8_t expected[CURVE_G2_BYTES_MAX], got[CURVE_G2_BYTES_MAX];

    for (size_t i = 0; i < input->count; i++) {
        group->curve->scalar_mul(term, input->scalars + 4 * i, input->logs + 4 * i);
        add_mod(group->curve, sum, term);
    }
    group->mul(group->generator, sum, expected);
    ASSERT_INT(group->msm(pool, input->points, input->scalars, input->count, got), 0);
    return memcmp(expected, got, group->bytes) == 0;
}

static void check(size_t count, enum points points, enum scalars scalars)
{
    for (int g = 0; g < 4; g++) {
        struct input input;

        input_make(&input, &groups[g], count, points, scalars);
        bool agrees = input_agrees(&input);
        if (!agrees)
            fprintf(stderr, "group %d, %zu elements, points %d, scalars %d\n", g, count, points,
                    scalars);
        input_free(&input);
        ASSERT(agrees);
    }
}

TEST(small_counts_of_every_kind_agree_with_naive_sums)
{
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 8, 17, 33, 100};

    set_up();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int points = 0; points < POINTS_KINDS; points++)
            for (int scalars = 0; scalars < SCALARS_KINDS; scalars++)
                check(counts[i], points, scalars);
}

TEST(a_thousand_of_every_kind_agree)
{
    set_up();
    for (int points = 0; points < POINTS_KINDS; points++)
        for (int scalars = 0; scalars < SCALARS_KINDS; scalars++)
            check(1000, points, scalars);
}

TEST(random_sizes_agree)
{
    set_up();
    for (int i = 0; i < 12; i++)
        check(test_random(&seed) % 5000, POINTS_RANDOM, (enum scalars)(i % SCALARS_KINDS));
}

/* Large enough for several pieces, batches and cut buckets. */
TEST(large_mixes_agree)
{
    set_up();
    check(70000, POINTS_RANDOM, SCALARS_WITNESS);
    check(30011, POINTS_RANDOM, SCALARS_UNIFORM);
    check(40000, POINTS_FEW, SCALARS_ONE);
}

/* A slab's writer may be broken into after the witness was checked. */
TEST(scalars_that_are_not_reduced_spoil_no_memory)
{
    static const size_t counts[] = {1, 57, 1000, 9000};

    set_up();
    for (size_t g = 0; g < 4; g++) {
        const struct group *group = &groups[g];

        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            for (int kind = 0; kind < 4; kind++) {
                struct input input;
                uint8_t sum[CURVE_G2_BYTES_MAX];

                input_make(&input, group, counts[c], POINTS_RANDOM, SCALARS_ONE);
                for (size_t i = 0; i < 4 * input.count; i++) {
                    uint64_t of_r = group->curve->fr_modulus[i % 4];
                    uint64_t value[] = {of_r,
                                        of_r + (i % 4 == 3 ? 1ull << 62 : test_random(&seed) % 9),
                                        UINT64_MAX, test_random(&seed)};
                    input.scalars[i] = value[kind];
                }
                ASSERT_INT(group->msm(pool, input.points, input.scalars, input.count, sum), 0);
                ASSERT_INT(g % 2 == 0 ? group->curve->g1_check(sum, false)
                                      : group->curve->g2_check(sum, false),
                           CURVE_POINT_OK);
                input_free(&input);
            }
        }
    }
}

TEST(thread_count_does_not_matter)
{
    struct pool *kept;
    struct input input;
    uint8_t first[CURVE_G2_BYTES_MAX], other[CURVE_G2_BYTES_MAX];

    set_up();
    kept = pool;
    input_make(&input, &groups[0], 9000, POINTS_RANDOM, SCALARS_UNIFORM);
    ASSERT_INT(groups[0].msm(kept, input.points, input.scalars, input.count, first), 0);
    for (unsigned threads = 1; threads <= 16; threads = threads * 2 + 1) {
        struct pool *more;

        ASSERT_INT(pool_create(threads, &more), 0);
        ASSERT_INT(groups[0].msm(more, input.points, input.scalars, input.count, other), 0);
        ASSERT(memcmp(first, other, groups[0].bytes) == 0);
        pool_free(more);
    }
    input_free(&input);
}

TEST_MAIN(CASE(small_counts_of_every_kind_agree_with_naive_sums),
          CASE(a_thousand_of_every_kind_agree), CASE(random_sizes_agree), CASE(large_mixes_agree),
          CASE(scalars_that_are_not_reduced_spoil_no_memory), CASE(thread_count_does_not_matter))
