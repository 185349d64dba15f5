/* Template: cases about assembling and verifying on one curve, with a key whose discrete logarithms
 * the test knows. Set CURVE and CURVE_LIMBS before the include; both are undefined at the end.
 *
 * The statement has PUBLIC_COUNT public inputs x. With a = sum_a + alpha and b = sum_b + beta, a
 * proof holds when (sum_l + sum_h) delta = a b - alpha beta - IC(x) gamma, for every blinding. */

#define CASES_JOIN2(a, b) a##b
#define CASES_JOIN(a, b)  CASES_JOIN2(a, b)
#define CURVE_FN(name)    CASES_JOIN(CURVE, name)
#define FR                CURVE_FN(_fr)
#define FR_FN(name)       CURVE_FN(_fr##name)
#define G1                CURVE_FN(_g1_affine)
#define G2                CURVE_FN(_g2_affine)

struct CURVE_FN(_setting) {
    FR alpha, beta, gamma, delta, ic[PUBLIC_COUNT + 1];      /* discrete logarithms */
    FR sum_a, sum_b, sum_l, sum_h, x[PUBLIC_COUNT], r, s;    /* the same; s and r as they are */
    G1 alpha_g1, beta_g1, delta_g1, ic_g1[PUBLIC_COUNT + 1]; /* the points */
    G2 beta_g2, gamma_g2, delta_g2;
    uint64_t public_scalars[4 * PUBLIC_COUNT];
    struct verify_key key;
    struct {
        G1 a;
        G2 b;
        G1 c;
    } proof;
};

static FR CURVE_FN(_random_fr)(uint64_t *state)
{
    FR r = {{test_random(state), test_random(state), test_random(state), test_random(state) >> 4}};

    return r;
}

static G1 CURVE_FN(_g1_of)(const FR *scalar)
{
    FR plain;
    G1 r;

    FR_FN(_to_plain)(&plain, scalar);
    ARCH_NAME(CURVE_FN(_g1_mul))(CURVE_FN(_g1_generator_xy), plain.l, &r);
    return r;
}

static G2 CURVE_FN(_g2_of)(const FR *scalar)
{
    FR plain;
    G2 r;

    FR_FN(_to_plain)(&plain, scalar);
    ARCH_NAME(CURVE_FN(_g2_mul))(CURVE_FN(_g2_generator_xy), plain.l, &r);
    return r;
}

/* ret = (a b - alpha beta - IC(x) gamma) / delta. */
static void CURVE_FN(_satisfying_sum)(const struct CURVE_FN(_setting) * t, FR *ret)
{
    FR a, b, ic = t->ic[0], u;

    FR_FN(_add)(&a, &t->sum_a, &t->alpha);
    FR_FN(_add)(&b, &t->sum_b, &t->beta);
    FR_FN(_mul)(&a, &a, &b);
    FR_FN(_mul)(&b, &t->alpha, &t->beta);
    FR_FN(_sub)(&a, &a, &b);
    for (int i = 0; i < PUBLIC_COUNT; i++) {
        FR_FN(_mul)(&u, &t->x[i], &t->ic[i + 1]);
        FR_FN(_add)(&ic, &ic, &u);
    }
    FR_FN(_mul)(&ic, &ic, &t->gamma);
    FR_FN(_sub)(&a, &a, &ic);
    FR_FN(_inv)(&u, &t->delta);
    FR_FN(_mul)(ret, &a, &u);
}

static void CURVE_FN(_assemble_setting)(struct CURVE_FN(_setting) * t)
{
    G1 sum_a = CURVE_FN(_g1_of)(&t->sum_a), sum_b1 = CURVE_FN(_g1_of)(&t->sum_b);
    G1 sum_l = CURVE_FN(_g1_of)(&t->sum_l), sum_h = CURVE_FN(_g1_of)(&t->sum_h);
    G2 sum_b2 = CURVE_FN(_g2_of)(&t->sum_b);
    FR r, s;

    FR_FN(_to_plain)(&r, &t->r);
    FR_FN(_to_plain)(&s, &t->s);
    struct assemble_input input = {.sum_a = &sum_a,
                                   .sum_b1 = &sum_b1,
                                   .sum_b2 = &sum_b2,
                                   .sum_l = &sum_l,
                                   .sum_h = &sum_h,
                                   .alpha_g1 = &t->alpha_g1,
                                   .beta_g1 = &t->beta_g1,
                                   .beta_g2 = &t->beta_g2,
                                   .delta_g1 = &t->delta_g1,
                                   .delta_g2 = &t->delta_g2,
                                   .r = r.l,
                                   .s = s.l};
    ARCH_NAME(CURVE_FN(_assemble))(&input, &t->proof);
}

static void CURVE_FN(_make_setting)(struct CURVE_FN(_setting) * t)
{
    uint64_t state = test_seed();
    FR *logarithms = &t->alpha;
    size_t count = (size_t)(&t->s - &t->alpha) + 1;

    for (size_t i = 0; i < count; i++)
        logarithms[i] = CURVE_FN(_random_fr)(&state);
    CURVE_FN(_satisfying_sum)(t, &t->sum_h);
    FR_FN(_sub)(&t->sum_h, &t->sum_h, &t->sum_l);

    t->alpha_g1 = CURVE_FN(_g1_of)(&t->alpha);
    t->beta_g1 = CURVE_FN(_g1_of)(&t->beta);
    t->delta_g1 = CURVE_FN(_g1_of)(&t->delta);
    t->beta_g2 = CURVE_FN(_g2_of)(&t->beta);
    t->gamma_g2 = CURVE_FN(_g2_of)(&t->gamma);
    t->delta_g2 = CURVE_FN(_g2_of)(&t->delta);
    for (int i = 0; i <= PUBLIC_COUNT; i++)
        t->ic_g1[i] = CURVE_FN(_g1_of)(&t->ic[i]);
    for (int i = 0; i < PUBLIC_COUNT; i++) {
        FR plain;

        FR_FN(_to_plain)(&plain, &t->x[i]);
        memcpy(&t->public_scalars[4 * i], &plain, sizeof plain);
    }
    t->key = (struct verify_key){.alpha_g1 = &t->alpha_g1,
                                 .beta_g2 = &t->beta_g2,
                                 .gamma_g2 = &t->gamma_g2,
                                 .delta_g2 = &t->delta_g2,
                                 .ic = t->ic_g1,
                                 .ic_count = PUBLIC_COUNT + 1};
    CURVE_FN(_assemble_setting)(t);
}

static int CURVE_FN(_verify_setting)(const struct CURVE_FN(_setting) * t)
{
    return ARCH_NAME(CURVE_FN(_verify))(&t->key, t->public_scalars, PUBLIC_COUNT, &t->proof);
}

/* A = a + alpha + r delta, B = b + beta + s delta, C = l + h + s A + r B - r s delta. */
TEST(CURVE_FN(_assembly_follows_its_formula))
{
    struct CURVE_FN(_setting) t;
    FR a, b, c, u;

    CURVE_FN(_make_setting)(&t);
    FR_FN(_mul)(&a, &t.r, &t.delta);
    FR_FN(_add)(&a, &a, &t.sum_a);
    FR_FN(_add)(&a, &a, &t.alpha);
    FR_FN(_mul)(&b, &t.s, &t.delta);
    FR_FN(_add)(&b, &b, &t.sum_b);
    FR_FN(_add)(&b, &b, &t.beta);
    FR_FN(_add)(&c, &t.sum_l, &t.sum_h);
    FR_FN(_mul)(&u, &t.s, &a);
    FR_FN(_add)(&c, &c, &u);
    FR_FN(_mul)(&u, &t.r, &b);
    FR_FN(_add)(&c, &c, &u);
    FR_FN(_mul)(&u, &t.r, &t.s);
    FR_FN(_mul)(&u, &u, &t.delta);
    FR_FN(_sub)(&c, &c, &u);
    G1 a_g1 = CURVE_FN(_g1_of)(&a), c_g1 = CURVE_FN(_g1_of)(&c);
    G2 b_g2 = CURVE_FN(_g2_of)(&b);
    ASSERT(CURVE_FN(_g1_affine_is_equal)(&a_g1, &t.proof.a));
    ASSERT(CURVE_FN(_g2_affine_is_equal)(&b_g2, &t.proof.b));
    ASSERT(CURVE_FN(_g1_affine_is_equal)(&c_g1, &t.proof.c));
}

TEST(CURVE_FN(_assembled_proof_verifies_for_any_blinding))
{
    struct CURVE_FN(_setting) t;
    uint64_t state = test_seed();

    CURVE_FN(_make_setting)(&t);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_OK);
    for (int i = 0; i < 3; i++) {
        t.r = CURVE_FN(_random_fr)(&state);
        t.s = CURVE_FN(_random_fr)(&state);
        CURVE_FN(_assemble_setting)(&t);
        ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_OK);
    }
    FR_FN(_set_zero)(&t.r);
    FR_FN(_set_zero)(&t.s);
    CURVE_FN(_assemble_setting)(&t);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_OK);
}

TEST(CURVE_FN(_proof_of_another_statement_is_refused))
{
    struct CURVE_FN(_setting) t;

    CURVE_FN(_make_setting)(&t);
    t.public_scalars[0] ^= 1;
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
    t.public_scalars[0] ^= 1;
    FR_FN(_add)(&t.sum_h, &t.sum_h, &t.sum_l); /* an unsatisfied witness */
    CURVE_FN(_assemble_setting)(&t);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
}

TEST(CURVE_FN(_altered_proof_points_are_refused))
{
    struct CURVE_FN(_setting) t;

    CURVE_FN(_make_setting)(&t);
    G1 a = t.proof.a, c = t.proof.c;
    G2 b = t.proof.b;
    t.proof.a = c;
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
    CURVE_FN(_g1_affine_neg)(&t.proof.a, &a);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
    CURVE_FN(_g2_affine_neg)(&t.proof.b, &b); /* (-A, -B) proves the same. */
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_OK);
    t.proof.a = a;
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
    t.proof.b = b;
    CURVE_FN(_g1_affine_set_infinity)(&t.proof.c);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
    CURVE_FN(_g1_affine_set_infinity)(&t.proof.a);
    CURVE_FN(_g2_affine_set_infinity)(&t.proof.b);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_FAILED);
}

TEST(CURVE_FN(_proof_points_off_the_curve_or_unreduced_are_refused))
{
    struct CURVE_FN(_setting) t;
    uint64_t *limbs = (uint64_t *)&t.proof;

    CURVE_FN(_make_setting)(&t);
    for (size_t i = 0; i < 8 * CURVE_LIMBS; i += CURVE_LIMBS) {
        uint64_t low = limbs[i], high = limbs[i + CURVE_LIMBS - 1];

        limbs[i] ^= 1;
        ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_PROOF_POINT);
        limbs[i] = low;
        limbs[i + CURVE_LIMBS - 1] = UINT64_MAX;
        ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_PROOF_POINT);
        limbs[i + CURVE_LIMBS - 1] = high;
    }
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_OK);
}

TEST(CURVE_FN(_proof_point_outside_the_subgroup_is_refused))
{
    struct CURVE_FN(_setting) t;

    CURVE_FN(_make_setting)(&t);
    memcpy(&t.proof.b, CURVE_FN(_g2_outside), sizeof t.proof.b);
    CURVE_FN(_fp2_from_plain)(&t.proof.b.x, &t.proof.b.x);
    CURVE_FN(_fp2_from_plain)(&t.proof.b.y, &t.proof.b.y);
    ASSERT_INT(ARCH_NAME(CURVE_FN(_g2_check))(&t.proof.b, false), CURVE_POINT_OK);
    ASSERT_INT(ARCH_NAME(CURVE_FN(_g2_check))(&t.proof.b, true), CURVE_POINT_NOT_IN_SUBGROUP);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_PROOF_POINT);
}

TEST(CURVE_FN(_public_inputs_are_counted_and_reduced))
{
    struct CURVE_FN(_setting) t;

    CURVE_FN(_make_setting)(&t);
    ASSERT_INT(ARCH_NAME(CURVE_FN(_verify))(&t.key, t.public_scalars, PUBLIC_COUNT - 1, &t.proof),
               VERIFY_WRONG_PUBLIC_COUNT);
    t.key.ic_count = 0;
    ASSERT_INT(ARCH_NAME(CURVE_FN(_verify))(&t.key, t.public_scalars, 0, &t.proof),
               VERIFY_WRONG_PUBLIC_COUNT);
    t.key.ic_count = PUBLIC_COUNT + 1;
    memcpy(&t.public_scalars[4], FR_FN(_modulus), 32);
    ASSERT_INT(CURVE_FN(_verify_setting)(&t), VERIFY_PUBLIC_NOT_REDUCED);
    ASSERT_INT(ARCH_NAME(CURVE_FN(_scalars_check))(t.public_scalars, PUBLIC_COUNT), 1);
}

#undef FR
#undef FR_FN
#undef G1
#undef G2
#undef CURVE_FN
#undef CASES_JOIN
#undef CASES_JOIN2
#undef CURVE_LIMBS
#undef CURVE
