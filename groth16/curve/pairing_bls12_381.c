/* The optimal ate pairing on BLS12-381 (pairing.h). Upstream: verify/verify_bls12_381.c. */

#include "groth16/curve/pairing.h"

/* r = (1 + u) a. */
static inline void bls12_381_fp2_mul_xi(bls12_381_fp2 *r, const bls12_381_fp2 *a)
{
    bls12_381_fp diff;

    bls12_381_fp_sub(&diff, &a->c0, &a->c1);
    bls12_381_fp_add(&r->c1, &a->c0, &a->c1);
    r->c0 = diff;
}

#define FP2 bls12_381_fp2
#define FP6 bls12_381_fp6
#include "groth16/field/fp6.inc.h"

#define FP    bls12_381_fp
#define FP12  bls12_381_fp12
#define CURVE bls12_381
#include "groth16/field/fp12.inc.h"

struct bls12_381_line;
static void bls12_381_line_mul(bls12_381_fp12 *f, const struct bls12_381_line *line);

#define CURVE bls12_381
#include "groth16/curve/miller.inc.h"
#undef CURVE

/* M-type twist, untwist (x, y) -> (x / w^2, y / w^3), the line times w^3: a y_P w^3 + b x_P w^2 +
 * c. */
static void bls12_381_line_mul(bls12_381_fp12 *f, const struct bls12_381_line *line)
{
    bls12_381_fp12_mul_by_014(f, f, &line->c, &line->b, &line->a);
}

/* r = a^(x - 1) in the cyclotomic subgroup. */
static void bls12_381_fp12_pow_x_minus_1(bls12_381_fp12 *r, const bls12_381_fp12 *a)
{
    bls12_381_fp12 inverse;

    bls12_381_fp12_conj(&inverse, a);
    bls12_381_fp12_pow_x(r, a);
    bls12_381_fp12_mul(r, r, &inverse);
}

/* r = a^(3 (p^4 - p^2 + 1) / r) for a in the cyclotomic subgroup. Hayashida, Hayasaka, Teruya 2020,
 * "Efficient Final Exponentiation via Cyclotomic Structure for Pairings over Families of Elliptic
 * Curves": the exponent is (x - 1)^2 (x + p) (x^2 + p^2 - 1) + 3. */
static void bls12_381_final_hard(bls12_381_fp12 *r, const bls12_381_fp12 *a)
{
    bls12_381_fp12 t, u, cube;

    bls12_381_fp12_sqr_cyclotomic(&cube, a);
    bls12_381_fp12_mul(&cube, &cube, a);

    bls12_381_fp12_pow_x_minus_1(&t, a);
    bls12_381_fp12_pow_x_minus_1(&t, &t);
    bls12_381_fp12_pow_x(&u, &t);
    bls12_381_fp12_frobenius(&t, &t);
    bls12_381_fp12_mul(&t, &t, &u);
    bls12_381_fp12_pow_x(&u, &t);
    bls12_381_fp12_pow_x(&u, &u);
    bls12_381_fp12_mul(&cube, &cube, &u);
    bls12_381_fp12_frobenius2(&u, &t);
    bls12_381_fp12_mul(&cube, &cube, &u);
    bls12_381_fp12_conj(&t, &t);
    bls12_381_fp12_mul(r, &cube, &t);
}

static void bls12_381_product(bls12_381_fp12 *f, const bls12_381_g1_affine *p,
                              const bls12_381_g2_affine *q, size_t count)
{
    struct bls12_381_miller_pair pairs[PAIRING_COUNT_MAX];
    size_t used = bls12_381_miller_prepare(pairs, p, q, count);

    bls12_381_miller_loop(f, pairs, used);
    bls12_381_fp12_conj(f, f); /* The loop ran over -x; f^(p^6) stands for 1 / f. */
    bls12_381_final_easy(f, f);
    bls12_381_final_hard(f, f);
}

bool ARCH_NAME(bls12_381_pairing_is_one)(const bls12_381_g1_affine *p, const bls12_381_g2_affine *q,
                                         size_t count)
{
    bls12_381_fp12 f;

    bls12_381_product(&f, p, q, count);
    return bls12_381_fp12_is_one(&f);
}

void ARCH_NAME(bls12_381_pairing_product)(uint64_t *ret, const bls12_381_g1_affine *p,
                                          const bls12_381_g2_affine *q, size_t count)
{
    bls12_381_product((bls12_381_fp12 *)ret, p, q, count);
}
