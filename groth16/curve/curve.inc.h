/* Template: the descriptor of one curve. Every entry forwards to the build for this processor.
 *
 * Set CURVE (e.g. bn254), CURVE_ID, CURVE_NAME, CURVE_JSON_NAME, CURVE_LIMBS and CURVE_TWO_ADICITY
 * before the include; all are undefined at the end. */

#define CURVE_JOIN2(a, b, c) a##b##c
#define CURVE_JOIN(a, b, c)  CURVE_JOIN2(a, b, c)
#define CURVE_FN(name)       CURVE_JOIN(CURVE, name, )
#define CHOOSE(name)                                                                               \
    (arch_has_adx() ? CURVE_JOIN(CURVE, name, _adx) : CURVE_JOIN(CURVE, name, _portable))

static bool CURVE_FN(_scalar_is_reduced)(const uint64_t *scalar)
{
    return CURVE_FN(_fr_is_canonical)(scalar);
}

static size_t CURVE_FN(_scalars_check)(const uint64_t *scalars, size_t count)
{
    return CHOOSE(_scalars_check)(scalars, count);
}

static void CURVE_FN(_scalar_mul)(uint64_t *ret, const uint64_t *a, const uint64_t *b)
{
    CHOOSE(_scalar_mul)(ret, a, b);
}

static enum curve_point_fault CURVE_FN(_g1_check)(const void *point, bool subgroup)
{
    return CHOOSE(_g1_check)(point, subgroup);
}

static enum curve_point_fault CURVE_FN(_g2_check)(const void *point, bool subgroup)
{
    return CHOOSE(_g2_check)(point, subgroup);
}

static void CURVE_FN(_limbs_to_plain)(uint64_t *ret_plain, const uint64_t *mont)
{
    CHOOSE(_fp_to_plain)(ret_plain, mont);
}

static void CURVE_FN(_limbs_from_plain)(uint64_t *ret_mont, const uint64_t *plain)
{
    CHOOSE(_fp_from_plain)(ret_mont, plain);
}

static int CURVE_FN(_msm_g1)(struct pool *pool, const void *points, const uint64_t *scalars,
                             size_t count, void *ret_point)
{
    return CHOOSE(_msm_g1)(pool, points, scalars, count, ret_point);
}

static int CURVE_FN(_msm_g2)(struct pool *pool, const void *points, const uint64_t *scalars,
                             size_t count, void *ret_point)
{
    return CHOOSE(_msm_g2)(pool, points, scalars, count, ret_point);
}

static void CURVE_FN(_quotient)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                                unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    CHOOSE(_quotient)(pool, a, b, log2, ret_scalars, scratch);
}

static void CURVE_FN(_quotient_monomial)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                                         unsigned log2, uint64_t *ret_scalars, uint64_t *scratch)
{
    CHOOSE(_quotient_monomial)(pool, a, b, log2, ret_scalars, scratch);
}

static void CURVE_FN(_ntt)(struct pool *pool, uint64_t *values, unsigned log2, bool inverse)
{
    CHOOSE(_ntt)(pool, values, log2, inverse);
}

static void CURVE_FN(_evaluate)(const struct matrix *matrix, const uint64_t *witness,
                                uint64_t *ret_rows, size_t begin, size_t end)
{
    CHOOSE(_evaluate)(matrix, witness, ret_rows, begin, end);
}

static size_t CURVE_FN(_first_broken)(const struct matrix_check *check, size_t begin, size_t end)
{
    return CHOOSE(_first_broken)(check, begin, end);
}

static void CURVE_FN(_assemble)(const struct assemble_input *input, void *ret_proof)
{
    CHOOSE(_assemble)(input, ret_proof);
}

static int CURVE_FN(_verify)(const struct verify_key *key, const uint64_t *public_scalars,
                             size_t public_count, const void *proof)
{
    return CHOOSE(_verify)(key, public_scalars, public_count, proof);
}

static void CURVE_FN(_g1_mul)(const void *point, const uint64_t *scalar, void *ret_point)
{
    CHOOSE(_g1_mul)(point, scalar, ret_point);
}

static void CURVE_FN(_g2_mul)(const void *point, const uint64_t *scalar, void *ret_point)
{
    CHOOSE(_g2_mul)(point, scalar, ret_point);
}

static_assert(sizeof(CURVE_FN(_g1_affine)) == 16 * CURVE_LIMBS, "the encoding of a .zkey");
static_assert(sizeof(CURVE_FN(_g2_affine)) == 32 * CURVE_LIMBS, "the encoding of a .zkey");
static_assert(CURVE_LIMBS <= CURVE_FP_LIMBS_MAX, "buffers of CURVE_*_MAX bytes hold every curve");

const struct curve CURVE_JOIN(curve_, CURVE, ) = {
    .id = CURVE_ID,
    .name = CURVE_NAME,
    .json_name = CURVE_JSON_NAME,
    .fp_limbs = CURVE_LIMBS,
    .two_adicity = CURVE_TWO_ADICITY,
    .fp_bytes = 8 * CURVE_LIMBS,
    .g1_bytes = sizeof(CURVE_FN(_g1_affine)),
    .g2_bytes = sizeof(CURVE_FN(_g2_affine)),
    .proof_bytes = 2 * sizeof(CURVE_FN(_g1_affine)) + sizeof(CURVE_FN(_g2_affine)),
    .fp_modulus = CURVE_FN(_fp_modulus),
    .fr_modulus = CURVE_FN(_fr_modulus),
    .scalar_is_reduced = CURVE_FN(_scalar_is_reduced),
    .scalars_check = CURVE_FN(_scalars_check),
    .scalar_mul = CURVE_FN(_scalar_mul),
    .g1_check = CURVE_FN(_g1_check),
    .g2_check = CURVE_FN(_g2_check),
    .fp_to_plain = CURVE_FN(_limbs_to_plain),
    .fp_from_plain = CURVE_FN(_limbs_from_plain),
    .msm_g1 = CURVE_FN(_msm_g1),
    .msm_g2 = CURVE_FN(_msm_g2),
    .quotient = CURVE_FN(_quotient),
    .quotient_monomial = CURVE_FN(_quotient_monomial),
    .ntt = CURVE_FN(_ntt),
    .evaluate = CURVE_FN(_evaluate),
    .first_broken = CURVE_FN(_first_broken),
    .assemble = CURVE_FN(_assemble),
    .verify = CURVE_FN(_verify),
    .g1_mul = CURVE_FN(_g1_mul),
    .g2_mul = CURVE_FN(_g2_mul),
    .g1_generator = CURVE_FN(_g1_generator_xy),
    .g2_generator = CURVE_FN(_g2_generator_xy),
};

#undef CHOOSE
#undef CURVE_FN
#undef CURVE_JOIN
#undef CURVE_JOIN2
#undef CURVE_TWO_ADICITY
#undef CURVE_LIMBS
#undef CURVE_JSON_NAME
#undef CURVE_NAME
#undef CURVE_ID
#undef CURVE
