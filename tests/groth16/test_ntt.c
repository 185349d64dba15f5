/* Transforms against the definition, and the quotient against direct interpolation, evaluated with
 * nothing but products and sums of plain scalars. */

#include "groth16/curve/curve.h"
#include "groth16/pool.h"

#include "tests/test.h"

static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};
static struct pool *pool;
static uint64_t seed;

struct scalar {
    uint64_t l[4];
};

static void set_up(void)
{
    if (pool)
        return;
    seed = test_seed();
    ASSERT_INT(pool_create(3, &pool), 0);
}

/* ---- plain arithmetic mod r ---- */

static struct scalar mul(const struct curve *c, struct scalar a, struct scalar b)
{
    struct scalar r;
    c->scalar_mul(r.l, a.l, b.l);
    return r;
}

/* a - b when that is not negative, else a - b + r. */
static struct scalar sub(const struct curve *c, struct scalar a, struct scalar b)
{
    struct scalar r;
    __int128 carry = 0;

    for (int i = 0; i < 4; i++) {
        carry += (__int128)a.l[i] - b.l[i];
        r.l[i] = (uint64_t)carry;
        carry >>= 64;
    }
    if (carry == 0)
        return r;
    carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (__int128)r.l[i] + c->fr_modulus[i];
        r.l[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return r;
}

static struct scalar add(const struct curve *c, struct scalar a, struct scalar b)
{
    return sub(c, a, sub(c, (struct scalar){{0}}, b));
}

static struct scalar power(const struct curve *c, struct scalar base, struct scalar exponent)
{
    struct scalar r = {{1}};

    for (int bit = 255; bit >= 0; bit--) {
        r = mul(c, r, r);
        if ((exponent.l[bit / 64] >> (bit % 64)) & 1)
            r = mul(c, r, base);
    }
    return r;
}

/* base^((r - 1) / 2^s) to the power 2^(s - log2): of order 2^log2. */
static struct scalar root_from(const struct curve *c, unsigned log2, uint64_t base)
{
    struct scalar exponent, r = {{base}};

    memcpy(exponent.l, c->fr_modulus, 32);
    for (unsigned i = 0; i < c->two_adicity; i++)
        for (int j = 0; j < 4; j++)
            exponent.l[j] = exponent.l[j] >> 1 | (j < 3 ? exponent.l[j + 1] << 63 : 0);
    r = power(c, r, exponent);
    for (unsigned i = log2; i < c->two_adicity; i++)
        r = mul(c, r, r);
    return r;
}

static struct scalar root_of(const struct curve *c, unsigned log2)
{
    return root_from(c, log2, 5);
}

static struct scalar inverse_of(const struct curve *c, struct scalar a)
{
    struct scalar exponent;

    memcpy(exponent.l, c->fr_modulus, 32);
    ASSERT(exponent.l[0] == 1 || exponent.l[0] > 2);
    return power(c, a, sub(c, exponent, (struct scalar){{2}}));
}

static struct scalar random_scalar(const struct curve *c)
{
    struct scalar r;

    do {
        for (int i = 0; i < 4; i++)
            r.l[i] = test_random(&seed);
        r.l[3] >>= 1;
    } while (!c->scalar_is_reduced(r.l));
    return r;
}

static struct scalar *random_values(const struct curve *c, size_t count)
{
    struct scalar *values = malloc(count * sizeof *values);

    for (size_t i = 0; i < count; i++)
        values[i] = random_scalar(c);
    /* The ends of the range in the middle of the rest. */
    if (count > 4) {
        memset(&values[1], 0, 32);
        memcpy(&values[3], c->fr_modulus, 32);
        values[3] = sub(c, values[3], (struct scalar){{1}});
    }
    return values;
}

static struct scalar evaluate(const struct curve *c, const struct scalar *coefficients,
                              size_t count, struct scalar x)
{
    struct scalar r = {{0}};

    for (size_t i = count; i-- > 0;)
        r = add(c, mul(c, r, x), coefficients[i]);
    return r;
}

static bool is_equal(struct scalar a, struct scalar b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* ---- transforms ---- */

static void check_transform(const struct curve *c, unsigned log2, size_t samples)
{
    size_t count = (size_t)1 << log2;
    struct scalar *input = random_values(c, count), *values = malloc(32 * count);
    struct scalar root = root_of(c, log2);

    memcpy(values, input, 32 * count);
    c->ntt(pool, values->l, log2, false);
    for (size_t i = 0; i < samples; i++) {
        size_t at = samples == count ? i : test_random(&seed) % count;
        struct scalar x = power(c, root, (struct scalar){{at}});

        ASSERT(is_equal(values[at], evaluate(c, input, count, x)));
    }
    c->ntt(pool, values->l, log2, true);
    ASSERT(memcmp(values, input, 32 * count) == 0);
    free(input);
    free(values);
}

TEST(small_transforms_are_the_definition_and_invert)
{
    set_up();
    for (int i = 0; i < 2; i++)
        for (unsigned log2 = 0; log2 <= 9; log2++)
            check_transform(curves[i], log2, (size_t)1 << log2);
}

TEST(large_transforms_are_the_definition_at_samples_and_invert)
{
    set_up();
    for (int i = 0; i < 2; i++)
        for (unsigned log2 = 10; log2 <= 17; log2++)
            check_transform(curves[i], log2, 3);
}

/* Above 2^20 blocks are twisted. */
TEST(transforms_beyond_the_table_are_the_definition_and_invert)
{
    set_up();
    check_transform(&curve_bn254, 21, 2);
    check_transform(&curve_bls12_381, 21, 1);
}

/* ---- quotient ---- */

/* 2^256 mod r: a value times this is its Montgomery form. */
static struct scalar radix_of(const struct curve *c)
{
    struct scalar radix = {{1}};

    for (int i = 0; i < 256; i++)
        radix = add(c, radix, radix);
    return radix;
}

/* Coefficients of the polynomial with these values on the domain, by the definition. */
static void interpolate(const struct curve *c, const struct scalar *values, unsigned log2,
                        struct scalar *ret)
{
    size_t count = (size_t)1 << log2;
    struct scalar root = inverse_of(c, root_of(c, log2)), x = {{1}};
    struct scalar scale = inverse_of(c, (struct scalar){{count}});

    for (size_t i = 0; i < count; i++) {
        ret[i] = mul(c, scale, evaluate(c, values, count, x));
        x = mul(c, x, root);
    }
}

static void check_quotient(const struct curve *c, unsigned log2, size_t samples)
{
    size_t count = (size_t)1 << log2;
    struct scalar *a = random_values(c, count), *b = random_values(c, count);
    struct scalar *ab = malloc(32 * count), *mont_a = malloc(32 * count);
    struct scalar *mont_b = malloc(32 * count), *got = malloc(32 * count);
    struct scalar *scratch = malloc(64 * count), *kept = malloc(32 * count);
    struct scalar root = root_of(c, log2 + 1), radix = radix_of(c);

    for (size_t i = 0; i < count; i++) {
        ab[i] = mul(c, a[i], b[i]);
        mont_a[i] = mul(c, a[i], radix);
        mont_b[i] = mul(c, b[i], radix);
    }
    memcpy(kept, mont_a, 32 * count);
    c->quotient(pool, mont_a->l, mont_b->l, log2, got->l, scratch->l);
    ASSERT(memcmp(kept, mont_a, 32 * count) == 0);

    if (log2 <= 8) {
        interpolate(c, a, log2, mont_a);
        interpolate(c, b, log2, mont_b);
        interpolate(c, ab, log2, scratch);
    } else {
        memcpy(mont_a, a, 32 * count);
        memcpy(mont_b, b, 32 * count);
        memcpy(scratch, ab, 32 * count);
        c->ntt(pool, mont_a->l, log2, true);
        c->ntt(pool, mont_b->l, log2, true);
        c->ntt(pool, scratch->l, log2, true);
    }
    for (size_t i = 0; i < samples; i++) {
        size_t at = samples == count ? i : test_random(&seed) % count;
        struct scalar x = power(c, root, (struct scalar){{2 * at + 1}});
        struct scalar expected =
            mul(c, evaluate(c, mont_a, count, x), evaluate(c, mont_b, count, x));

        ASSERT(is_equal(got[at], sub(c, expected, evaluate(c, scratch, count, x))));
    }
    free(a), free(b), free(ab), free(mont_a), free(mont_b), free(got), free(scratch), free(kept);
}

TEST(quotient_is_a_b_minus_c_on_the_odd_coset)
{
    set_up();
    for (int i = 0; i < 2; i++) {
        for (unsigned log2 = 1; log2 <= 8; log2++)
            check_quotient(curves[i], log2, (size_t)1 << log2);
        for (unsigned log2 = 9; log2 <= 14; log2++)
            check_quotient(curves[i], log2, 2);
    }
}

TEST(quotient_beyond_the_table)
{
    set_up();
    check_quotient(&curve_bn254, 21, 1);
}

/* ---- the quotient's coefficients ---- */

/* The value at x of the polynomial with these values on the domain of root 7: barycentric. */
static struct scalar value_at(const struct curve *c, const struct scalar *values, unsigned log2,
                              struct scalar x, struct scalar x_power_minus_one)
{
    const size_t count = (size_t)1 << log2;
    const struct scalar root = root_from(c, log2, 7);
    struct scalar r = {{0}}, at = {{1}};

    for (size_t i = 0; i < count; i++) {
        r = add(c, r, mul(c, mul(c, values[i], at), inverse_of(c, sub(c, x, at))));
        at = mul(c, at, root);
    }
    return mul(c, mul(c, r, x_power_minus_one), inverse_of(c, (struct scalar){{count}}));
}

static void check_coefficients(const struct curve *c, unsigned log2)
{
    const size_t count = (size_t)1 << log2;
    struct scalar *a = random_values(c, count), *b = random_values(c, count);
    struct scalar *ab = malloc(32 * count), *mont_a = malloc(32 * count);
    struct scalar *mont_b = malloc(32 * count), *got = malloc(32 * count);
    struct scalar *scratch = malloc(64 * count);
    const struct scalar radix = radix_of(c), x = random_scalar(c), zero = {{0}};
    struct scalar z = sub(c, power(c, x, (struct scalar){{count}}), (struct scalar){{1}});

    for (size_t i = 0; i < count; i++) {
        ab[i] = mul(c, a[i], b[i]);
        mont_a[i] = mul(c, a[i], radix);
        mont_b[i] = mul(c, b[i], radix);
    }
    c->quotient_monomial(pool, mont_a->l, mont_b->l, log2, got->l, scratch->l);
    ASSERT(is_equal(got[count - 1], zero));
    for (size_t i = 0; i < count; i++)
        ASSERT(c->scalar_is_reduced(got[i].l));
    ASSERT(is_equal(mul(c, z, evaluate(c, got, count, x)),
                    sub(c, mul(c, value_at(c, a, log2, x, z), value_at(c, b, log2, x, z)),
                        value_at(c, ab, log2, x, z))));
    free(a), free(b), free(ab), free(mont_a), free(mont_b), free(got), free(scratch);
}

TEST(monomial_quotient_times_x_n_minus_1_is_a_b_minus_c)
{
    set_up();
    for (int i = 0; i < 2; i++)
        for (unsigned log2 = 1; log2 <= 12; log2++)
            check_coefficients(curves[i], log2);
}

TEST_MAIN(CASE(monomial_quotient_times_x_n_minus_1_is_a_b_minus_c),
          CASE(small_transforms_are_the_definition_and_invert),
          CASE(large_transforms_are_the_definition_at_samples_and_invert),
          CASE(transforms_beyond_the_table_are_the_definition_and_invert),
          CASE(quotient_is_a_b_minus_c_on_the_odd_coset), CASE(quotient_beyond_the_table))
