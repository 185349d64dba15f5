/* Template: cases about one prime field. Set FIELD and FIELD_LIMBS before the include; both are
 * undefined at the end. Expected values: vectors.h. */

#define CASES_JOIN2(a, b) a##b
#define CASES_JOIN(a, b)  CASES_JOIN2(a, b)
#define FIELD_FN(name)    CASES_JOIN(FIELD, name)

static FIELD FIELD_FN(_of)(const uint64_t *plain)
{
    FIELD r;

    memcpy(&r, plain, sizeof r);
    FIELD_FN(_from_plain)(&r, &r);
    return r;
}

static bool FIELD_FN(_matches)(const FIELD *a, const uint64_t *plain)
{
    FIELD t;

    FIELD_FN(_to_plain)(&t, a);
    return memcmp(&t, plain, sizeof t) == 0;
}

static FIELD FIELD_FN(_random)(uint64_t *state)
{
    FIELD r;

    do {
        for (int i = 0; i < FIELD_LIMBS; i++)
            r.l[i] = test_random(state);
        r.l[FIELD_LIMBS - 1] >>= 1;
    } while (!FIELD_FN(_is_canonical)(r.l));
    return r;
}

TEST(FIELD_FN(_agrees_with_vectors))
{
    for (size_t i = 0; i < sizeof FIELD_FN(_vectors) / sizeof FIELD_FN(_vectors)[0]; i += 5) {
        const uint64_t(*row)[FIELD_LIMBS] = &FIELD_FN(_vectors)[i];
        FIELD a = FIELD_FN(_of)(row[0]), b = FIELD_FN(_of)(row[1]), r;

        FIELD_FN(_add)(&r, &a, &b);
        ASSERT(FIELD_FN(_matches)(&r, row[2]));
        FIELD_FN(_sub)(&r, &a, &b);
        ASSERT(FIELD_FN(_matches)(&r, row[3]));
        FIELD_FN(_mul)(&r, &a, &b);
        ASSERT(FIELD_FN(_matches)(&r, row[4]));
        ASSERT(FIELD_FN(_is_canonical)(r.l));
    }
}

TEST(FIELD_FN(_inverts_like_vectors))
{
    for (size_t i = 0; i < sizeof FIELD_FN(_inverses) / sizeof FIELD_FN(_inverses)[0]; i += 2) {
        FIELD a = FIELD_FN(_of)(FIELD_FN(_inverses)[i]);

        FIELD_FN(_inv)(&a, &a);
        ASSERT(FIELD_FN(_matches)(&a, FIELD_FN(_inverses)[i + 1]));
    }
}

TEST(FIELD_FN(_obeys_the_laws))
{
    uint64_t state = test_seed();

    for (int i = 0; i < 2000; i++) {
        FIELD a = FIELD_FN(_random)(&state), b = FIELD_FN(_random)(&state), left, right, t;

        FIELD_FN(_add)(&t, &a, &b); /* (a + b)^2 = a^2 + 2ab + b^2 */
        FIELD_FN(_sqr)(&left, &t);
        FIELD_FN(_mul)(&right, &a, &b);
        FIELD_FN(_dbl)(&right, &right);
        FIELD_FN(_sqr)(&t, &a);
        FIELD_FN(_add)(&right, &right, &t);
        FIELD_FN(_mul)(&t, &b, &b);
        FIELD_FN(_add)(&right, &right, &t);
        ASSERT(FIELD_FN(_is_equal)(&left, &right));
        ASSERT(FIELD_FN(_is_canonical)(left.l));

        FIELD_FN(_neg)(&t, &a);
        FIELD_FN(_add)(&t, &t, &a);
        ASSERT(FIELD_FN(_is_zero)(&t));
        FIELD_FN(_select)(&t, &a, &b, i & 1);
        ASSERT(FIELD_FN(_is_equal)(&t, i & 1 ? &b : &a));
    }
}

TEST(FIELD_FN(_portable_product_agrees))
{
    uint64_t state = test_seed();

    for (int i = 0; i < 20000; i++) {
        FIELD a = FIELD_FN(_random)(&state), b = FIELD_FN(_random)(&state), fast, slow;

        if (i % 16 == 0) /* Carries run furthest near the modulus. */
            FIELD_FN(_neg)(&a, &(const FIELD){{(uint64_t)i}});
        if (i % 32 == 0)
            FIELD_FN(_neg)(&b, &(const FIELD){{0, (uint64_t)i}});
        limbs_mont_mul_portable(slow.l, a.l, b.l, FIELD_FN(_modulus), FIELD_FN(_n0), FIELD_LIMBS);
        FIELD_FN(_mul)(&fast, &a, &b);
        ASSERT(FIELD_FN(_is_equal)(&fast, &slow));
        limbs_mont_mul_portable(slow.l, a.l, a.l, FIELD_FN(_modulus), FIELD_FN(_n0), FIELD_LIMBS);
        FIELD_FN(_sqr)(&fast, &a);
        ASSERT(FIELD_FN(_is_equal)(&fast, &slow));
        FIELD_FN(_mul)(&a, &a, &a);
        ASSERT(FIELD_FN(_is_equal)(&a, &slow));
    }
}

TEST(FIELD_FN(_refuses_the_modulus_as_canonical))
{
    uint64_t value[FIELD_LIMBS];

    memcpy(value, FIELD_FN(_modulus), sizeof value);
    ASSERT(!FIELD_FN(_is_canonical)(value));
    value[0]--;
    ASSERT(FIELD_FN(_is_canonical)(value));
    memset(value, 0xff, sizeof value);
    ASSERT(!FIELD_FN(_is_canonical)(value));
    memset(value, 0, sizeof value);
    ASSERT(FIELD_FN(_is_canonical)(value));
}

#undef FIELD_FN
#undef CASES_JOIN
#undef CASES_JOIN2
#undef FIELD_LIMBS
#undef FIELD
