/* Uniform scalars, and what the two ways of drawing do. */
#include "finalizer/blinding.h"

#include "tests/test.h"

static void check_curve(const struct curve *curve)
{
    enum { DRAWS = 2000 };
    unsigned ones[256] = {0};
    uint64_t before[4] = {0};
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t scalar[4];
        ASSERT_INT(blinding_uniform(curve, scalar), 0);
        ASSERT(curve->scalar_is_reduced(scalar));
        ASSERT(memcmp(scalar, before, sizeof scalar) != 0);
        memcpy(before, scalar, sizeof scalar);
        for (unsigned bit = 0; bit < 256; bit++)
            ones[bit] += scalar[bit / 64] >> (bit % 64) & 1;
    }
    /* The low 250 bits are even: 1000 ones expected, standard deviation 22. */
    for (unsigned bit = 0; bit < 250; bit++)
        ASSERT(ones[bit] > 1000 - 180 && ones[bit] < 1000 + 180);
}

TEST(scalars_are_below_r_and_use_every_bit)
{
    check_curve(&curve_bn254);
    check_curve(&curve_bls12_381);
}

TEST(r_and_s_differ)
{
    uint64_t r[4], s[4];
    ASSERT_INT(blinding_draw(&curve_bn254, r, s), 0);
    ASSERT(memcmp(r, s, sizeof r) != 0);
}

/* Only in builds with -Dtest_hooks=true does the variable do anything. */
TEST(the_environment_fixes_the_blinding_in_test_builds_only)
{
    uint64_t r[4], s[4];
    setenv("CUZK_TEST_BLINDING",
           "0123456789abcdef00000000000000000000000000000000000000000000000A:7", 1);
    ASSERT_INT(blinding_draw(&curve_bn254, r, s), 0);
    const bool is_fixed = r[0] == 10 && r[3] == 0x0123456789abcdefu && s[0] == 7 && s[1] == 0;
    ASSERT_INT(is_fixed, TEST_HOOKS);
    if (!TEST_HOOKS)
        return;
    setenv("CUZK_TEST_BLINDING", "12", 1);
    ASSERT(blinding_draw(&curve_bn254, r, s) < 0);
    setenv("CUZK_TEST_BLINDING", "12:xy", 1);
    ASSERT(blinding_draw(&curve_bn254, r, s) < 0);
    unsetenv("CUZK_TEST_BLINDING");
}

TEST_MAIN(CASE(scalars_are_below_r_and_use_every_bit), CASE(r_and_s_differ),
          CASE(the_environment_fixes_the_blinding_in_test_builds_only))
