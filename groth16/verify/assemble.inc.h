/* Template: the blinded proof from its five sums (assemble.h) on one curve. Set CURVE before the
 * include; it is undefined at the end. Variable time, like everything below it. The including file
 * brings the headers, for some of those set CURVE themselves. */

#define ASSEMBLE_JOIN2(a, b) a##b
#define ASSEMBLE_JOIN(a, b)  ASSEMBLE_JOIN2(a, b)
#define CURVE_FN(name)       ASSEMBLE_JOIN(CURVE, name)
#define G1                   CURVE_FN(_g1_affine)
#define G1_FN(name)          CURVE_FN(_g1_xyzz##name)
#define G2                   CURVE_FN(_g2_affine)
#define G2_FN(name)          CURVE_FN(_g2_xyzz##name)

/* ret = sum + start + scalar delta. */
static void CURVE_FN(_blind_g1)(CURVE_FN(_g1_xyzz) * ret, const G1 *sum, const G1 *start,
                                const G1 *delta, const uint64_t *scalar)
{
    G1_FN(_from_affine)(ret, delta);
    G1_FN(_mul)(ret, ret, scalar);
    G1_FN(_add_affine)(ret, ret, sum);
    G1_FN(_add_affine)(ret, ret, start);
}

static void CURVE_FN(_blind_g2)(CURVE_FN(_g2_xyzz) * ret, const G2 *sum, const G2 *start,
                                const G2 *delta, const uint64_t *scalar)
{
    G2_FN(_from_affine)(ret, delta);
    G2_FN(_mul)(ret, ret, scalar);
    G2_FN(_add_affine)(ret, ret, sum);
    G2_FN(_add_affine)(ret, ret, start);
}

void ARCH_NAME(CURVE_FN(_assemble))(const struct assemble_input *in, void *ret_proof)
{
    struct {
        G1 a;
        G2 b;
        G1 c;
    } *proof = ret_proof;
    CURVE_FN(_g1_xyzz) a, b1, c, term;
    CURVE_FN(_g2_xyzz) b;
    uint64_t rs[4];

    CURVE_FN(_blind_g1)(&a, in->sum_a, in->alpha_g1, in->delta_g1, in->r);
    CURVE_FN(_blind_g1)(&b1, in->sum_b1, in->beta_g1, in->delta_g1, in->s);
    CURVE_FN(_blind_g2)(&b, in->sum_b2, in->beta_g2, in->delta_g2, in->s);

    ARCH_NAME(CURVE_FN(_scalar_mul))(rs, in->r, in->s);
    G1_FN(_from_affine)(&c, in->delta_g1);
    G1_FN(_mul)(&c, &c, rs);
    G1_FN(_neg)(&c, &c);
    G1_FN(_add_affine)(&c, &c, in->sum_l);
    G1_FN(_add_affine)(&c, &c, in->sum_h);
    G1_FN(_mul)(&term, &a, in->s);
    G1_FN(_add)(&c, &c, &term);
    G1_FN(_mul)(&term, &b1, in->r);
    G1_FN(_add)(&c, &c, &term);

    G1_FN(_to_affine)(&proof->a, &a);
    G2_FN(_to_affine)(&proof->b, &b);
    G1_FN(_to_affine)(&proof->c, &c);
    explicit_bzero(rs, sizeof rs); /* as secret as r and s */
}

#undef G1
#undef G1_FN
#undef G2
#undef G2_FN
#undef CURVE_FN
#undef ASSEMBLE_JOIN
#undef ASSEMBLE_JOIN2
#undef CURVE
