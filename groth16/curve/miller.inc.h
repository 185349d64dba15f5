/* Template: the Miller loop of the optimal ate pairing, shared by several pairs of points.
 *
 * Set CURVE (e.g. bn254) before the include; it stays set. Needed before: the curve's types and
 * constants, the tower CURVE##_fp12, and CURVE##_line_mul (multiplies a line into an Fp12, per
 * twist type).
 *
 * The point T runs on the twist in homogeneous coordinates (X / Z, Y / Z). A line is a y_P + b x_P
 * + c with its three coefficients at powers of w that depend on the twist. Steps: Costello, Lange,
 * Naehrig 2010, "Faster Pairing Computations on Curves with High-Degree Twists", and Aranha,
 * Karabina, Longa, Gebotys, Lopez 2011, "Faster Explicit Formulas for Computing Pairings over
 * Ordinary Curves". */

#define MILLER_JOIN2(a, b) a##b
#define MILLER_JOIN(a, b)  MILLER_JOIN2(a, b)
#define CURVE_FN(name)     MILLER_JOIN(CURVE, name)
#define FP2                CURVE_FN(_fp2)
#define FP2_FN(name)       CURVE_FN(_fp2##name)

struct CURVE_FN(_line) {
    FP2 a, b, c;
};

struct CURVE_FN(_miller_pair) {
    CURVE_FN(_g1_affine) p;
    CURVE_FN(_g2_affine) q, q_neg;
    FP2 x, y, z; /* T */
};

/* T = 2T and the tangent at T. With B = Y^2, E = 3 b' Z^2, F = 3E:
 * X' = 2 X Y (B - F), Y' = (B + F)^2 - 12 E^2, Z' = 4 B H, H = 2 Y Z; a = H, b = -3 X^2, c = B - E.
 * 4M + 5S. */
static void CURVE_FN(_miller_double)(struct CURVE_FN(_miller_pair) * t,
                                     struct CURVE_FN(_line) * line)
{
    FP2 product, b, e, f, x2, h, four_b;

    FP2_FN(_mul)(&product, &t->x, &t->y);
    FP2_FN(_dbl)(&product, &product);
    FP2_FN(_sqr)(&b, &t->y);
    FP2_FN(_sqr)(&h, &t->z);
    FP2_FN(_mul)(&e, &h, &CURVE_FN(_g2_b));
    FP2_FN(_dbl)(&f, &e);
    FP2_FN(_add)(&e, &f, &e);
    FP2_FN(_dbl)(&f, &e);
    FP2_FN(_add)(&f, &f, &e);
    FP2_FN(_mul)(&h, &t->y, &t->z);
    FP2_FN(_dbl)(&h, &h);
    FP2_FN(_sqr)(&x2, &t->x);

    line->a = h;
    FP2_FN(_dbl)(&line->b, &x2);
    FP2_FN(_add)(&line->b, &line->b, &x2);
    FP2_FN(_neg)(&line->b, &line->b);
    FP2_FN(_sub)(&line->c, &b, &e);

    FP2_FN(_sub)(&x2, &b, &f);
    FP2_FN(_mul)(&t->x, &product, &x2);
    FP2_FN(_dbl)(&four_b, &b);
    FP2_FN(_dbl)(&four_b, &four_b);
    FP2_FN(_mul)(&t->z, &four_b, &h);
    FP2_FN(_add)(&b, &b, &f);
    FP2_FN(_sqr)(&b, &b);
    FP2_FN(_dbl)(&e, &e);
    FP2_FN(_sqr)(&e, &e);
    FP2_FN(_dbl)(&f, &e);
    FP2_FN(_add)(&e, &f, &e);
    FP2_FN(_sub)(&t->y, &b, &e);
}

/* T = T + q and the line through both. With theta = Y - y_q Z, lambda = X - x_q Z, E = lambda^3,
 * G = X lambda^2, H = E + Z theta^2 - 2G: X' = lambda H, Y' = theta (G - H) - E Y, Z' = Z E;
 * a = lambda, b = -theta, c = theta x_q - lambda y_q. 11M + 2S. */
static void CURVE_FN(_miller_add)(struct CURVE_FN(_miller_pair) * t, const CURVE_FN(_g2_affine) * q,
                                  struct CURVE_FN(_line) * line)
{
    FP2 theta, lambda, e, g, h, u;

    FP2_FN(_mul)(&theta, &q->y, &t->z);
    FP2_FN(_sub)(&theta, &t->y, &theta);
    FP2_FN(_mul)(&lambda, &q->x, &t->z);
    FP2_FN(_sub)(&lambda, &t->x, &lambda);

    line->a = lambda;
    FP2_FN(_neg)(&line->b, &theta);
    FP2_FN(_mul)(&line->c, &theta, &q->x);
    FP2_FN(_mul)(&u, &lambda, &q->y);
    FP2_FN(_sub)(&line->c, &line->c, &u);

    FP2_FN(_sqr)(&u, &lambda);
    FP2_FN(_mul)(&e, &u, &lambda);
    FP2_FN(_mul)(&g, &u, &t->x);
    FP2_FN(_sqr)(&u, &theta);
    FP2_FN(_mul)(&h, &u, &t->z);
    FP2_FN(_add)(&h, &h, &e);
    FP2_FN(_sub)(&h, &h, &g);
    FP2_FN(_sub)(&h, &h, &g);
    FP2_FN(_mul)(&t->x, &lambda, &h);
    FP2_FN(_sub)(&g, &g, &h);
    FP2_FN(_mul)(&g, &g, &theta);
    FP2_FN(_mul)(&u, &e, &t->y);
    FP2_FN(_sub)(&t->y, &g, &u);
    FP2_FN(_mul)(&t->z, &t->z, &e);
}

/* f = f * line(p). */
static void CURVE_FN(_miller_absorb)(CURVE_FN(_fp12) * f, struct CURVE_FN(_line) * line,
                                     const CURVE_FN(_g1_affine) * p)
{
    FP2_FN(_mul_base)(&line->a, &line->a, &p->y);
    FP2_FN(_mul_base)(&line->b, &line->b, &p->x);
    CURVE_FN(_line_mul)(f, line);
}

/* Copies the pairs without infinity into `ret`; returns how many. */
static size_t CURVE_FN(_miller_prepare)(struct CURVE_FN(_miller_pair) * ret,
                                        const CURVE_FN(_g1_affine) * p,
                                        const CURVE_FN(_g2_affine) * q, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        struct CURVE_FN(_miller_pair) *pair = &ret[used];

        if (CURVE_FN(_g1_affine_is_infinity)(&p[i]) || CURVE_FN(_g2_affine_is_infinity)(&q[i]))
            continue;
        pair->p = p[i];
        pair->q = q[i];
        CURVE_FN(_g2_affine_neg)(&pair->q_neg, &q[i]);
        pair->x = q[i].x;
        pair->y = q[i].y;
        FP2_FN(_set_one)(&pair->z);
        used++;
    }
    return used;
}

/* f = the product of the Miller functions over the digits of miller_digits, without what some
 * curves add at the end; leaves T of each pair behind for that. */
static void CURVE_FN(_miller_loop)(CURVE_FN(_fp12) * f, struct CURVE_FN(_miller_pair) * pairs,
                                   size_t count)
{
    struct CURVE_FN(_line) line;
    size_t digits = sizeof CURVE_FN(_miller_digits);

    CURVE_FN(_fp12_set_one)(f);
    for (size_t d = 1; d < digits; d++) {
        int digit = CURVE_FN(_miller_digits)[d];

        if (d > 1)
            CURVE_FN(_fp12_sqr)(f, f);
        for (size_t i = 0; i < count; i++) {
            CURVE_FN(_miller_double)(&pairs[i], &line);
            CURVE_FN(_miller_absorb)(f, &line, &pairs[i].p);
            if (digit == 0)
                continue;
            CURVE_FN(_miller_add)(&pairs[i], digit > 0 ? &pairs[i].q : &pairs[i].q_neg, &line);
            CURVE_FN(_miller_absorb)(f, &line, &pairs[i].p);
        }
    }
}

/* r = a^x in the cyclotomic subgroup; x is the curve's parameter, sign included. */
static void CURVE_FN(_fp12_pow_x)(CURVE_FN(_fp12) * r, const CURVE_FN(_fp12) * a)
{
    CURVE_FN(_fp12) base = *a, inverse, acc;
    size_t digits = sizeof CURVE_FN(_x_digits);

    CURVE_FN(_fp12_conj)(&inverse, a);
    acc = CURVE_FN(_x_digits)[0] > 0 ? base : inverse;
    for (size_t d = 1; d < digits; d++) {
        int digit = CURVE_FN(_x_digits)[d];

        CURVE_FN(_fp12_sqr_cyclotomic)(&acc, &acc);
        if (digit != 0)
            CURVE_FN(_fp12_mul)(&acc, &acc, digit > 0 ? &base : &inverse);
    }
    *r = acc;
}

/* r = a^((p^6 - 1)(p^2 + 1)): into the cyclotomic subgroup. */
static void CURVE_FN(_final_easy)(CURVE_FN(_fp12) * r, const CURVE_FN(_fp12) * a)
{
    CURVE_FN(_fp12) t, inverse;

    CURVE_FN(_fp12_inv)(&inverse, a);
    CURVE_FN(_fp12_conj)(&t, a);
    CURVE_FN(_fp12_mul)(&t, &t, &inverse);
    CURVE_FN(_fp12_frobenius2)(r, &t);
    CURVE_FN(_fp12_mul)(r, r, &t);
}

#undef FP2_FN
#undef FP2
#undef CURVE_FN
#undef MILLER_JOIN
#undef MILLER_JOIN2
