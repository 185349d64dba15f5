/* The optimal ate pairing on BN254 (pairing.h). Upstream: verify/verify_bn254.c. */

#include "groth16/curve/pairing.h"

/* r = (9 + u) a. */
static inline void bn254_fp2_mul_xi(bn254_fp2 *r, const bn254_fp2 *a)
{
    bn254_fp2 nine, turned;

    bn254_fp2_dbl(&nine, a);
    bn254_fp2_dbl(&nine, &nine);
    bn254_fp2_dbl(&nine, &nine);
    bn254_fp2_add(&nine, &nine, a);
    bn254_fp_neg(&turned.c0, &a->c1);
    turned.c1 = a->c0;
    bn254_fp2_add(r, &nine, &turned);
}

#define FP2 bn254_fp2
#define FP6 bn254_fp6
#include "groth16/field/fp6.inc.h"

#define FP    bn254_fp
#define FP12  bn254_fp12
#define CURVE bn254
#include "groth16/field/fp12.inc.h"

struct bn254_line;
static void bn254_line_mul(bn254_fp12 *f, const struct bn254_line *line);

#define CURVE bn254
#include "groth16/curve/miller.inc.h"
#undef CURVE

/* D-type twist, untwist (x, y) -> (x w^2, y w^3): a y_P + b x_P w + c w^3. */
static void bn254_line_mul(bn254_fp12 *f, const struct bn254_line *line)
{
    bn254_fp12_mul_by_034(f, f, &line->a, &line->b, &line->c);
}

/* The two lines that complete the loop: through psi(Q), then through -psi^2(Q). */
static void bn254_miller_finish(bn254_fp12 *f, struct bn254_miller_pair *pair)
{
    struct bn254_line line;
    bn254_g2_affine q;

    bn254_g2_affine_psi(&q, &pair->q);
    bn254_miller_add(pair, &q, &line);
    bn254_miller_absorb(f, &line, &pair->p);
    bn254_g2_affine_psi(&q, &q);
    bn254_g2_affine_neg(&q, &q);
    bn254_miller_add(pair, &q, &line);
    bn254_miller_absorb(f, &line, &pair->p);
}

/* r = a^(2x (6x^2 + 3x + 1) (p^4 - p^2 + 1) / r) for a in the cyclotomic subgroup.
 * Fuentes-Castaneda, Knapp, Rodriguez-Henriquez 2011, "Faster Hashing to G2": the exponent is
 * l0 + l1 p + l2 p^2 + l3 p^3 with l2 = 12x^3 + 6x^2 + 6x, l0 = l2 + 6x^2 + 1, l1 = l2 - 2x,
 * l3 = l1 - 1. */
static void bn254_final_hard(bn254_fp12 *r, const bn254_fp12 *a)
{
    bn254_fp12 t2x, t6x, t6xx, l0, l1, l2, l3, inverse;

    bn254_fp12_pow_x(&t2x, a);
    bn254_fp12_sqr_cyclotomic(&t2x, &t2x);
    bn254_fp12_sqr_cyclotomic(&t6x, &t2x);
    bn254_fp12_mul(&t6x, &t6x, &t2x);
    bn254_fp12_pow_x(&t6xx, &t6x);
    bn254_fp12_sqr_cyclotomic(&l2, &t6xx);
    bn254_fp12_pow_x(&l2, &l2);
    bn254_fp12_mul(&l2, &l2, &t6xx);
    bn254_fp12_mul(&l2, &l2, &t6x);
    bn254_fp12_mul(&l0, &l2, &t6xx);
    bn254_fp12_mul(&l0, &l0, a);
    bn254_fp12_conj(&inverse, &t2x);
    bn254_fp12_mul(&l1, &l2, &inverse);
    bn254_fp12_conj(&inverse, a);
    bn254_fp12_mul(&l3, &l1, &inverse);

    bn254_fp12_frobenius2(&l3, &l3);
    bn254_fp12_mul(&l1, &l1, &l3);
    bn254_fp12_frobenius(&l1, &l1);
    bn254_fp12_frobenius2(&l2, &l2);
    bn254_fp12_mul(&l0, &l0, &l1);
    bn254_fp12_mul(r, &l0, &l2);
}

static void bn254_product(bn254_fp12 *f, const bn254_g1_affine *p, const bn254_g2_affine *q,
                          size_t count)
{
    struct bn254_miller_pair pairs[PAIRING_COUNT_MAX];
    size_t used = bn254_miller_prepare(pairs, p, q, count);

    bn254_miller_loop(f, pairs, used);
    for (size_t i = 0; i < used; i++)
        bn254_miller_finish(f, &pairs[i]);
    bn254_final_easy(f, f);
    bn254_final_hard(f, f);
}

bool ARCH_NAME(bn254_pairing_is_one)(const bn254_g1_affine *p, const bn254_g2_affine *q,
                                     size_t count)
{
    bn254_fp12 f;

    bn254_product(&f, p, q, count);
    return bn254_fp12_is_one(&f);
}

void ARCH_NAME(bn254_pairing_product)(uint64_t *ret, const bn254_g1_affine *p,
                                      const bn254_g2_affine *q, size_t count)
{
    bn254_product((bn254_fp12 *)ret, p, q, count);
}
