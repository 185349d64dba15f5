/* Template: the transforms' kernel of one scalar field in portable C (see kernel.h). All values
 * stay canonical.
 *
 * Set KERNEL (the prefix of what is made, e.g. bn254_scalar), FIELD (e.g. bn254_fr) and TWO_ADICITY
 * before the include; all are undefined at the end. Makes KERNEL##_kernel. */

#include <string.h>

#include "groth16/ntt/kernel.h"
#include "groth16/ntt/tables.h"

#define KERNEL_JOIN2(a, b) a##b
#define KERNEL_JOIN(a, b)  KERNEL_JOIN2(a, b)
#define KERNEL_FN(name)    KERNEL_JOIN(KERNEL, name)
#define FIELD_FN(name)     KERNEL_JOIN(FIELD, name)

LIMBS_INLINE void KERNEL_FN(_pair_down)(FIELD *a, FIELD *b, const FIELD *w)
{
    FIELD t;

    FIELD_FN(_mul)(&t, b, w);
    FIELD_FN(_sub)(b, a, &t);
    FIELD_FN(_add)(a, a, &t);
}

LIMBS_INLINE void KERNEL_FN(_pair_up)(FIELD *a, FIELD *b, const FIELD *w)
{
    FIELD t;

    FIELD_FN(_sub)(&t, a, b);
    FIELD_FN(_add)(a, a, b);
    FIELD_FN(_mul)(b, &t, w);
}

/* Stage s of a block: 2^s blocks of 2 half rows. The first block of all has factor 1. */
LIMBS_INLINE void KERNEL_FN(_stage)(FIELD *values, size_t stride, unsigned stages, unsigned s,
                                    size_t columns, const FIELD *twiddles, size_t block, bool is_up)
{
    size_t half = (size_t)1 << (stages - 1 - s);

    for (size_t i = 0; i < (size_t)1 << s; i++) {
        const FIELD *w = twiddles + ((block << s) + i);

        for (size_t row = 2 * i * half; row < (2 * i + 1) * half; row++) {
            FIELD *a = values + row * stride, *b = a + half * stride;

            for (size_t c = 0; c < columns; c++) {
                if (is_up)
                    KERNEL_FN(_pair_up)(a + c, b + c, w);
                else
                    KERNEL_FN(_pair_down)(a + c, b + c, w);
            }
        }
    }
}

static void KERNEL_FN(_columns_down)(uint64_t *values, size_t stride, unsigned stages,
                                     size_t columns, const uint64_t *twiddles, size_t block)
{
    for (unsigned s = 0; s < stages; s++)
        KERNEL_FN(_stage)
    ((FIELD *)values, stride, stages, s, columns, (const FIELD *)twiddles, block, false);
}

static void KERNEL_FN(_columns_up)(uint64_t *values, size_t stride, unsigned stages, size_t columns,
                                   const uint64_t *twiddles, size_t block)
{
    for (unsigned s = stages; s-- > 0;)
        KERNEL_FN(_stage)
    ((FIELD *)values, stride, stages, s, columns, (const FIELD *)twiddles, block, true);
}

static void KERNEL_FN(_block_down)(uint64_t *values, unsigned log2, const uint64_t *twiddles,
                                   size_t block)
{
    KERNEL_FN(_columns_down)(values, 1, log2, 1, twiddles, block);
}

static void KERNEL_FN(_block_up)(uint64_t *values, unsigned log2, const uint64_t *twiddles,
                                 size_t block)
{
    KERNEL_FN(_columns_up)(values, 1, log2, 1, twiddles, block);
}

static void KERNEL_FN(_scale)(uint64_t *values, const uint64_t *factors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        FIELD_FN(_mul)((FIELD *)values + i, (FIELD *)values + i, (const FIELD *)factors + i);
}

static void KERNEL_FN(_multiply)(uint64_t *ret, const uint64_t *a, const uint64_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        FIELD_FN(_mul)((FIELD *)ret + i, (const FIELD *)a + i, (const FIELD *)b + i);
}

/* r = 2^-log2, plain: (p + 1) / 2 = 1/2, by halving. */
static void KERNEL_FN(_plain_inverse)(FIELD *r, unsigned log2)
{
    memset(r, 0, sizeof *r);
    r->l[0] = 1;
    for (unsigned i = 0; i < log2; i++) {
        uint64_t carry = 0, odd = 0 - (r->l[0] & 1);

        for (int j = 0; j < 4; j++)
            r->l[j] = limbs_add_carry(r->l[j], odd & FIELD_FN(_modulus)[j], &carry);
        for (int j = 0; j < 4; j++)
            r->l[j] = r->l[j] >> 1 | (j < 3 ? r->l[j + 1] : carry) << 63;
    }
}

/* With a, b in Montgomery form and n times too large, and so c: a b / n is n times too large as c
 * is, and a Montgomery product with the plain 1/n divides by n and leaves the form. */
static void KERNEL_FN(_finish)(uint64_t *c, const uint64_t *a, const uint64_t *b, size_t count,
                               unsigned log2)
{
    FIELD plain, mont, t;

    KERNEL_FN(_plain_inverse)(&plain, log2);
    FIELD_FN(_from_plain)(&mont, &plain);
    for (size_t i = 0; i < count; i++) {
        FIELD *r = (FIELD *)c + i;

        FIELD_FN(_mul)(&t, (const FIELD *)a + i, (const FIELD *)b + i);
        FIELD_FN(_mul)(&t, &t, &mont);
        FIELD_FN(_sub)(&t, &t, r);
        FIELD_FN(_mul)(r, &t, &plain);
    }
}

static void KERNEL_FN(_divide)(uint64_t *values, size_t count, unsigned log2)
{
    FIELD factor;

    KERNEL_FN(_plain_inverse)(&factor, log2);
    FIELD_FN(_from_plain)(&factor, &factor);
    for (size_t i = 0; i < count; i++)
        FIELD_FN(_mul)((FIELD *)values + i, (FIELD *)values + i, &factor);
}

static void KERNEL_FN(_canonical)(uint64_t *values, size_t count)
{
    (void)values;
    (void)count;
}

static void KERNEL_FN(_set_one)(uint64_t *r)
{
    FIELD_FN(_set_one)((FIELD *)r);
}

static void KERNEL_FN(_fr_mul)(uint64_t *r, const uint64_t *a, const uint64_t *b)
{
    FIELD_FN(_mul)((FIELD *)r, (const FIELD *)a, (const FIELD *)b);
}

static void KERNEL_FN(_fr_inv)(uint64_t *r, const uint64_t *a)
{
    FIELD_FN(_inv)((FIELD *)r, (const FIELD *)a);
}

static struct ntt_tables KERNEL_FN(_tables) = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct ntt_tables KERNEL_FN(_tables_seven) = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct ntt_kernel KERNEL_FN(_kernel) = {
    .two_adicity = TWO_ADICITY,
    .root = FIELD_FN(_root),
    .shift_max = FIELD_FN(_coset_max),
    .fr_one = FIELD_FN(_one),
    .set_one = KERNEL_FN(_set_one),
    .tables = &KERNEL_FN(_tables),
    .root_seven = FIELD_FN(_root_seven),
    .tables_seven = &KERNEL_FN(_tables_seven),
    .columns_down = KERNEL_FN(_columns_down),
    .columns_up = KERNEL_FN(_columns_up),
    .block_down = KERNEL_FN(_block_down),
    .block_up = KERNEL_FN(_block_up),
    .scale = KERNEL_FN(_scale),
    .multiply = KERNEL_FN(_multiply),
    .finish = KERNEL_FN(_finish),
    .divide = KERNEL_FN(_divide),
    .canonical = KERNEL_FN(_canonical),
    .fr_mul = KERNEL_FN(_fr_mul),
    .fr_inv = KERNEL_FN(_fr_inv),
};

#undef FIELD_FN
#undef KERNEL_FN
#undef KERNEL_JOIN
#undef KERNEL_JOIN2
#undef TWO_ADICITY
#undef FIELD
#undef KERNEL
