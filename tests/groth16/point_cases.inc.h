/* Template: cases about one group. Set POINT (e.g. bn254_g2), POINT_LIMBS (limbs of a coordinate),
 * SCALARS (the table of k), MULTIPLES (the table of [k]G), GENERATOR and FIELD before the include;
 * all are undefined at the end. Expected values: vectors.h. */

#define CASES_JOIN2(a, b) a##b
#define CASES_JOIN(a, b)  CASES_JOIN2(a, b)
#define POINT_FN(name)    CASES_JOIN(POINT, name)
#define FIELD_FN(name)    CASES_JOIN(FIELD, name)
#define AFFINE            POINT_FN(_affine)
#define XYZZ              POINT_FN(_xyzz)
#define MULTIPLE_COUNT    (sizeof SCALARS / sizeof SCALARS[0])

/* Point `index` of a table of plain coordinates. */
static AFFINE POINT_FN(_of)(const void *table, size_t index)
{
    AFFINE r;

    memcpy(&r, (const uint64_t *)table + 2 * POINT_LIMBS * index, sizeof r);
    FIELD_FN(_from_plain)(&r.x, &r.x);
    FIELD_FN(_from_plain)(&r.y, &r.y);
    return r;
}

static XYZZ POINT_FN(_random)(uint64_t *state)
{
    uint64_t scalar[4] = {test_random(state), test_random(state), test_random(state), 0};
    XYZZ r;

    POINT_FN(_xyzz_from_affine)(&r, (const AFFINE *)GENERATOR);
    POINT_FN(_xyzz_mul)(&r, &r, scalar);
    return r;
}

TEST(POINT_FN(_multiples_agree_with_vectors))
{
    for (size_t i = 0; i < MULTIPLE_COUNT; i++) {
        AFFINE expected = POINT_FN(_of)(MULTIPLES, i), got;
        XYZZ p;

        POINT_FN(_xyzz_from_affine)(&p, (const AFFINE *)GENERATOR);
        POINT_FN(_xyzz_mul)(&p, &p, SCALARS[i]);
        POINT_FN(_xyzz_to_affine)(&got, &p);
        ASSERT(POINT_FN(_affine_is_equal)(&got, &expected));
        ASSERT(POINT_FN(_affine_is_on_curve)(&got));
        ASSERT(POINT_FN(_affine_is_in_subgroup)(&got));
    }
}

/* Both additions against each other and the vectors: k = 1, 2, 3 and r - 1, r - 2 lie at 0..4. */
TEST(POINT_FN(_addition_is_complete))
{
    AFFINE one = POINT_FN(_of)(MULTIPLES, 0), two = POINT_FN(_of)(MULTIPLES, 1);
    AFFINE three = POINT_FN(_of)(MULTIPLES, 2), minus_one = POINT_FN(_of)(MULTIPLES, 3);
    AFFINE infinity, got;
    XYZZ p, q;

    POINT_FN(_affine_set_infinity)(&infinity);
    POINT_FN(_xyzz_set_infinity)(&p);
    POINT_FN(_xyzz_add_affine)(&p, &p, &infinity);
    ASSERT(POINT_FN(_xyzz_is_infinity)(&p));
    POINT_FN(_xyzz_dbl)(&p, &p);
    ASSERT(POINT_FN(_xyzz_is_infinity)(&p));
    POINT_FN(_xyzz_add_affine)(&p, &p, &one); /* infinity + 1 */
    POINT_FN(_xyzz_add_affine)(&p, &p, &infinity);
    q = p;
    POINT_FN(_xyzz_add_affine)(&p, &p, &one); /* equal points */
    POINT_FN(_xyzz_to_affine)(&got, &p);
    ASSERT(POINT_FN(_affine_is_equal)(&got, &two));
    POINT_FN(_xyzz_add)(&q, &q, &q);
    ASSERT(POINT_FN(_xyzz_is_equal)(&p, &q));
    POINT_FN(_xyzz_add_affine)(&p, &p, &one);
    POINT_FN(_xyzz_to_affine)(&got, &p);
    ASSERT(POINT_FN(_affine_is_equal)(&got, &three));
    POINT_FN(_xyzz_add_affine)(&p, &p, &minus_one);
    ASSERT(POINT_FN(_xyzz_is_equal)(&p, &q));
    POINT_FN(_xyzz_add_affine)(&p, &p, &minus_one);
    POINT_FN(_xyzz_add_affine)(&p, &p, &minus_one); /* opposite points */
    ASSERT(POINT_FN(_xyzz_is_infinity)(&p));
    POINT_FN(_xyzz_to_affine)(&got, &p);
    ASSERT(POINT_FN(_affine_is_infinity)(&got));
    POINT_FN(_xyzz_neg)(&p, &q);
    POINT_FN(_xyzz_add)(&p, &p, &q);
    ASSERT(POINT_FN(_xyzz_is_infinity)(&p));
    POINT_FN(_xyzz_add)(&p, &p, &q);
    ASSERT(POINT_FN(_xyzz_is_equal)(&p, &q));
    ASSERT(POINT_FN(_affine_is_on_curve)(&infinity) && POINT_FN(_affine_is_in_subgroup)(&infinity));
}

TEST(POINT_FN(_addition_is_associative))
{
    uint64_t state = test_seed();

    for (int i = 0; i < 20; i++) {
        XYZZ a = POINT_FN(_random)(&state), b = POINT_FN(_random)(&state);
        XYZZ c = POINT_FN(_random)(&state), left, right;
        AFFINE c_affine;

        POINT_FN(_xyzz_add)(&left, &a, &b);
        POINT_FN(_xyzz_to_affine)(&c_affine, &c);
        POINT_FN(_xyzz_add_affine)(&left, &left, &c_affine);
        POINT_FN(_xyzz_add)(&right, &b, &c);
        POINT_FN(_xyzz_add)(&right, &a, &right);
        ASSERT(POINT_FN(_xyzz_is_equal)(&left, &right));
        ASSERT(!POINT_FN(_xyzz_is_equal)(&left, &a));
    }
}

TEST(POINT_FN(_batch_of_affine_agrees_with_single))
{
    uint64_t state = test_seed();
    XYZZ points[17];
    AFFINE batch[17], single;

    for (int i = 0; i < 17; i++) {
        points[i] = POINT_FN(_random)(&state);
        if (i % 5 == 0)
            POINT_FN(_xyzz_set_infinity)(&points[i]);
    }
    POINT_FN(_xyzz_to_affine_batch)(batch, points, 17);
    for (int i = 0; i < 17; i++) {
        POINT_FN(_xyzz_to_affine)(&single, &points[i]);
        ASSERT(POINT_FN(_affine_is_equal)(&single, &batch[i]));
    }
}

TEST(POINT_FN(_check_finds_a_point_off_the_curve))
{
    AFFINE p = POINT_FN(_of)(MULTIPLES, 6);

    ASSERT(POINT_FN(_affine_is_on_curve)(&p));
    FIELD_FN(_add)(&p.x, &p.x, &p.y);
    ASSERT(!POINT_FN(_affine_is_on_curve)(&p));
    FIELD_FN(_set_zero)(&p.x);
    ASSERT(!POINT_FN(_affine_is_on_curve)(&p));
}

TEST(POINT_FN(_check_finds_an_unreduced_coordinate))
{
    AFFINE p = POINT_FN(_of)(MULTIPLES, 6);
    uint64_t *limbs = (uint64_t *)&p;

    ASSERT(POINT_FN(_affine_is_canonical)(&p));
    limbs[2 * POINT_LIMBS - 1] = UINT64_MAX;
    ASSERT(!POINT_FN(_affine_is_canonical)(&p));
}

#undef MULTIPLE_COUNT
#undef XYZZ
#undef AFFINE
#undef FIELD_FN
#undef POINT_FN
#undef CASES_JOIN
#undef CASES_JOIN2
#undef POINT
#undef POINT_LIMBS
#undef SCALARS
#undef MULTIPLES
#undef GENERATOR
#undef FIELD
