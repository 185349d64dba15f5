/* Template: Groth16 verification (verify.h) on one curve. Set CURVE before the include; it is
 * undefined at the end. Downstream: curve/pairing.h. The including file brings the headers, for
 * some of those set CURVE themselves. */

#define VERIFY_JOIN2(a, b) a##b
#define VERIFY_JOIN(a, b)  VERIFY_JOIN2(a, b)
#define CURVE_FN(name)     VERIFY_JOIN(CURVE, name)
#define G1                 CURVE_FN(_g1_affine)
#define G2                 CURVE_FN(_g2_affine)

/* A proof as it lies in memory. */
struct CURVE_FN(_proof) {
    G1 a;
    G2 b;
    G1 c;
};

static bool CURVE_FN(_proof_is_acceptable)(const struct CURVE_FN(_proof) * proof)
{
    return ARCH_NAME(CURVE_FN(_g1_check))(&proof->a, true) == CURVE_POINT_OK &&
           ARCH_NAME(CURVE_FN(_g2_check))(&proof->b, true) == CURVE_POINT_OK &&
           ARCH_NAME(CURVE_FN(_g1_check))(&proof->c, true) == CURVE_POINT_OK;
}

/* ret = ic[0] + sum of scalars[i] ic[i + 1]: all scalars bit by bit with shared doublings, 256
 * doublings and about 128 additions a scalar. */
static void CURVE_FN(_verify_ic)(G1 *ret, const G1 *ic, const uint64_t *scalars, size_t count)
{
    CURVE_FN(_g1_xyzz) sum;

    CURVE_FN(_g1_xyzz_set_infinity)(&sum);
    for (int bit = 255; bit >= 0; bit--) {
        if (!CURVE_FN(_g1_xyzz_is_infinity)(&sum))
            CURVE_FN(_g1_xyzz_dbl)(&sum, &sum);
        for (size_t i = 0; i < count; i++) {
            if ((scalars[4 * i + bit / 64] >> (bit % 64)) & 1)
                CURVE_FN(_g1_xyzz_add_affine)(&sum, &sum, &ic[i + 1]);
        }
    }
    CURVE_FN(_g1_xyzz_add_affine)(&sum, &sum, &ic[0]);
    CURVE_FN(_g1_xyzz_to_affine)(ret, &sum);
}

/* e(-A, B) e(alpha, beta) e(IC(x), gamma) e(C, delta) = 1. */
int ARCH_NAME(CURVE_FN(_verify))(const struct verify_key *key, const uint64_t *public_scalars,
                                 size_t public_count, const void *proof_bytes)
{
    const struct CURVE_FN(_proof) *proof = proof_bytes;
    G1 p[4];
    G2 q[4];

    if (key->ic_count == 0 || public_count != key->ic_count - 1)
        return VERIFY_WRONG_PUBLIC_COUNT;
    if (ARCH_NAME(CURVE_FN(_scalars_check))(public_scalars, public_count) != public_count)
        return VERIFY_PUBLIC_NOT_REDUCED;
    if (!CURVE_FN(_proof_is_acceptable)(proof))
        return VERIFY_PROOF_POINT;

    CURVE_FN(_g1_affine_neg)(&p[0], &proof->a);
    q[0] = proof->b;
    memcpy(&p[1], key->alpha_g1, sizeof p[1]);
    memcpy(&q[1], key->beta_g2, sizeof q[1]);
    CURVE_FN(_verify_ic)(&p[2], key->ic, public_scalars, public_count);
    memcpy(&q[2], key->gamma_g2, sizeof q[2]);
    p[3] = proof->c;
    memcpy(&q[3], key->delta_g2, sizeof q[3]);
    return ARCH_NAME(CURVE_FN(_pairing_is_one))(p, q, 4) ? VERIFY_OK : VERIFY_FAILED;
}

#undef G1
#undef G2
#undef CURVE_FN
#undef VERIFY_JOIN
#undef VERIFY_JOIN2
#undef CURVE
