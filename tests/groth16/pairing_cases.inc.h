/* Template: cases about the pairing on one curve. Set CURVE and CURVE_LIMBS before the include;
 * both are undefined at the end. Expected value: vectors.h, computed another way. */

#define CASES_JOIN2(a, b) a##b
#define CASES_JOIN(a, b)  CASES_JOIN2(a, b)
#define CURVE_FN(name)    CASES_JOIN(CURVE, name)
#define G1                CURVE_FN(_g1_affine)
#define G2                CURVE_FN(_g2_affine)
#define GT_LIMBS          (12 * CURVE_LIMBS)

static G1 CURVE_FN(_g1_times)(const uint64_t *scalar)
{
    CURVE_FN(_g1_xyzz) p;
    G1 r;

    CURVE_FN(_g1_xyzz_from_affine)(&p, (const G1 *)CURVE_FN(_g1_generator_xy));
    CURVE_FN(_g1_xyzz_mul)(&p, &p, scalar);
    CURVE_FN(_g1_xyzz_to_affine)(&r, &p);
    return r;
}

static G2 CURVE_FN(_g2_times)(const uint64_t *scalar)
{
    CURVE_FN(_g2_xyzz) p;
    G2 r;

    CURVE_FN(_g2_xyzz_from_affine)(&p, (const G2 *)CURVE_FN(_g2_generator_xy));
    CURVE_FN(_g2_xyzz_mul)(&p, &p, scalar);
    CURVE_FN(_g2_xyzz_to_affine)(&r, &p);
    return r;
}

static void CURVE_FN(_random_scalar)(uint64_t *state, uint64_t *ret)
{
    for (int i = 0; i < 4; i++)
        ret[i] = test_random(state);
    ret[3] >>= 4; /* Below r. */
}

TEST(CURVE_FN(_pairing_agrees_with_an_independent_one))
{
    G1 p = CURVE_FN(_g1_times)(CURVE_FN(_scalars)[6]);
    G2 q = CURVE_FN(_g2_times)(CURVE_FN(_scalars)[7]);
    CURVE_FN(_fp) got[12];

    ARCH_NAME(CURVE_FN(_pairing_product))(got[0].l, &p, &q, 1);
    for (int i = 0; i < 12; i++) {
        CURVE_FN(_fp_to_plain)(&got[i], &got[i]);
        ASSERT(memcmp(&got[i], CURVE_FN(_pairing)[i], sizeof got[i]) == 0);
    }
}

TEST(CURVE_FN(_pairing_is_bilinear))
{
    uint64_t state = test_seed(), one[4] = {1}, left[GT_LIMBS], right[GT_LIMBS];

    for (int i = 0; i < 5; i++) {
        uint64_t a[4], b[4], ab[4];

        CURVE_FN(_random_scalar)(&state, a);
        CURVE_FN(_random_scalar)(&state, b);
        ARCH_NAME(CURVE_FN(_scalar_mul))(ab, a, b);
        G1 p = CURVE_FN(_g1_times)(a), p_ab = CURVE_FN(_g1_times)(ab);
        G2 q = CURVE_FN(_g2_times)(b), q_one = CURVE_FN(_g2_times)(one);

        ARCH_NAME(CURVE_FN(_pairing_product))(left, &p, &q, 1);
        ARCH_NAME(CURVE_FN(_pairing_product))(right, &p_ab, &q_one, 1);
        ASSERT(memcmp(left, right, sizeof left) == 0);
        CURVE_FN(_g1_affine_neg)(&p_ab, &p_ab);
        ASSERT(ARCH_NAME(CURVE_FN(_pairing_is_one))((G1[]){p, p_ab}, (G2[]){q, q_one}, 2));
        ASSERT(!ARCH_NAME(CURVE_FN(_pairing_is_one))((G1[]){p, p}, (G2[]){q, q_one}, 2));
    }
}

TEST(CURVE_FN(_pairing_of_generators_is_not_one))
{
    uint64_t one[4] = {1};
    G1 p = CURVE_FN(_g1_times)(one);
    G2 q = CURVE_FN(_g2_times)(one);

    ASSERT(!ARCH_NAME(CURVE_FN(_pairing_is_one))(&p, &q, 1));
}

TEST(CURVE_FN(_pairing_with_infinity_is_one))
{
    uint64_t one[4] = {1}, zero[4] = {0};
    G1 p[3] = {CURVE_FN(_g1_times)(zero), CURVE_FN(_g1_times)(one), CURVE_FN(_g1_times)(zero)};
    G2 q[3] = {CURVE_FN(_g2_times)(one), CURVE_FN(_g2_times)(zero), CURVE_FN(_g2_times)(zero)};

    ASSERT(ARCH_NAME(CURVE_FN(_pairing_is_one))(p, q, 3));
    ASSERT(ARCH_NAME(CURVE_FN(_pairing_is_one))(p, q, 0));
}

/* e(aG, G) e(bG, G) ... = e((a + b + ...)G, G), with as many pairs as fit. */
TEST(CURVE_FN(_pairing_product_adds_exponents))
{
    uint64_t state = test_seed(), sum[4] = {0}, one[4] = {1};
    G1 p[PAIRING_COUNT_MAX];
    G2 q[PAIRING_COUNT_MAX];

    for (int i = 0; i < PAIRING_COUNT_MAX; i++) {
        uint64_t a[4] = {test_random(&state) >> 4, 0, 0, 0};

        sum[0] += a[0];
        p[i] = CURVE_FN(_g1_times)(a);
        q[i] = CURVE_FN(_g2_times)(one);
        if (i == PAIRING_COUNT_MAX - 1) {
            sum[0] -= a[0];
            p[i] = CURVE_FN(_g1_times)(sum);
            CURVE_FN(_g1_affine_neg)(&p[i], &p[i]);
        }
    }
    ASSERT(ARCH_NAME(CURVE_FN(_pairing_is_one))(p, q, PAIRING_COUNT_MAX));
    ASSERT(!ARCH_NAME(CURVE_FN(_pairing_is_one))(p, q, PAIRING_COUNT_MAX - 1));
}

#undef GT_LIMBS
#undef G1
#undef G2
#undef CURVE_FN
#undef CASES_JOIN
#undef CASES_JOIN2
#undef CURVE_LIMBS
#undef CURVE
