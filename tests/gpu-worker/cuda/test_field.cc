/* The device's field arithmetic, run on the host: the same code with the carry flag in a variable.
 * Compared with the CPU library where that has the operation, with itself otherwise. */

#include "gpu-worker/cuda/field.cuh"

extern "C" {
#include "groth16/curve/curve.h"
}
#include "tests/test.h"

template <class F> static F random_value(uint64_t *state)
{
    F r;

    for (int i = 0; i < F::WORDS; i++)
        r.word[i] = (uint32_t)test_random(state);
    /* Every modulus is above 2^(32 words - 4). */
    r.word[F::WORDS - 1] >>= 4;
    if (test_random(state) % 8 == 0)
        r = F::one();
    if (test_random(state) % 8 == 0)
        r = F::zero();
    if (test_random(state) % 4 == 0)
        r = r.negated();
    return r;
}

template <class F> static bool is_equal(const F &a, const F &b)
{
    return memcmp(a.word, b.word, sizeof a.word) == 0;
}

template <class F> static void expect_field_laws(void)
{
    uint64_t state = test_seed();

    for (int i = 0; i < 2000; i++) {
        F a = random_value<F>(&state), b = random_value<F>(&state), c = random_value<F>(&state);
        F d = random_value<F>(&state);

        ASSERT(is_equal(a + b, b + a));
        ASSERT(is_equal((a + b) - b, a));
        ASSERT(is_equal(a * b, b * a));
        ASSERT(is_equal(a * F::one(), a));
        ASSERT(is_equal((a + b) * c, a * c + b * c));
        ASSERT(is_equal((a * b) * c, a * (b * c)));
        ASSERT(is_equal(a.squared(), a * a));
        /* Where its bound 3 p < R holds: not in the scalar field of BLS12-381. */
        if (F::BITS + 2 <= 32 * F::WORDS) {
            ASSERT(is_equal(F::product_sum(a, b, c, d), a * b + c * d));
            ASSERT(is_equal(F::product_difference(a, b, c, d), a * b - c * d));
            ASSERT(is_equal(F::product_sum(a, b, c, d, b, c, d, a), a * b + c * d + b * c + d * a));
        }
        ASSERT(is_equal(a + a.negated(), F::zero()));
        ASSERT(is_equal(a.inverse() * a, a.is_zero() ? F::zero() : F::one()));
    }
}

TEST(operations_obey_the_laws_of_fields)
{
    expect_field_laws<bn254_fp>();
    expect_field_laws<bn254_fr>();
    expect_field_laws<bls12_381_fp>();
    expect_field_laws<bls12_381_fr>();
}

/* Products of plain scalars, by way of R^2: montgomery(montgomery(a, b), R^2) = a b mod r. */
template <class F> static void expect_products_equal_cpu(const struct curve *curve)
{
    uint64_t state = test_seed();
    F r2 = F::one();

    /* R R mod r by doublings of R. */
    for (int i = 0; i < 32 * F::WORDS; i++)
        r2 = r2 + r2;
    for (int i = 0; i < 2000; i++) {
        F a = random_value<F>(&state), b = random_value<F>(&state), got = (a * b) * r2;
        uint64_t x[4], y[4], expected[4];

        memcpy(x, a.word, sizeof x);
        memcpy(y, b.word, sizeof y);
        curve->scalar_mul(expected, x, y);
        ASSERT(memcmp(got.word, expected, sizeof expected) == 0);
    }
}

TEST(products_equal_the_cpus)
{
    expect_products_equal_cpu<bn254_fr>(&curve_bn254);
    expect_products_equal_cpu<bls12_381_fr>(&curve_bls12_381);
}

/* Conversion to plain form is a product with the integer 1. */
template <class F> static void expect_plain_equals_cpu(const struct curve *curve)
{
    uint64_t state = test_seed();
    F integer_one = F::zero();

    integer_one.word[0] = 1;
    for (int i = 0; i < 2000; i++) {
        F a = random_value<F>(&state), got = a * integer_one;
        uint64_t value[CURVE_FP_LIMBS_MAX], expected[CURVE_FP_LIMBS_MAX];

        memcpy(value, a.word, sizeof a.word);
        curve->fp_to_plain(expected, value);
        ASSERT(memcmp(got.word, expected, sizeof got.word) == 0);
    }
}

TEST(plain_forms_equal_the_cpus)
{
    expect_plain_equals_cpu<bn254_fp>(&curve_bn254);
    expect_plain_equals_cpu<bls12_381_fp>(&curve_bls12_381);
}

TEST_MAIN(CASE(operations_obey_the_laws_of_fields), CASE(products_equal_the_cpus),
          CASE(plain_forms_equal_the_cpus))
