/* Template: the transforms' kernel of one scalar field, eight values at a time (see kernel.h).
 *
 * Set KERNEL (the struct ntt_kernel to define, e.g. bn254_ntt_ifma), FIELD (e.g. bn254_fr, with its
 * vectors by ifma.inc.h) and TWO_ADICITY before the include; all are undefined at the end.
 *
 * In memory values are below 2 p in words; in a pass they are vectors in a scratch array, with
 * limbs not normal until they are factors. Twiddles carry R' = 2^260, so products keep the values'
 * form. Bounds: p / R' is below 0.03, so a product of B p with a twiddle is below (1 + 0.03 B) p <
 * 2 p for B <= 30. Down adds at most 2 p a stage: 2 + 2 * 11 after a pass. Up doubles: every second
 * stage reduces its sums. */

#include <assert.h>
#include <string.h>

#include "groth16/field/inverse.h"
#include "groth16/ntt/kernel_ifma.h"
#include "groth16/ntt/tables.h"

#define KERNEL_JOIN2(a, b) a##b
#define KERNEL_JOIN(a, b)  KERNEL_JOIN2(a, b)
#define KERNEL_FN(name)    KERNEL_JOIN(KERNEL, name)
#define FIELD_FN(name)     KERNEL_JOIN(FIELD, name)
#define X8_FN(name)        KERNEL_JOIN(FIELD, _x8##name)
#define X8                 KERNEL_JOIN(FIELD, _x8)

enum { LANES = 8, LIMBS = 5, BLOCK_VECTORS = (1 << NTT_BLOCK_LOG2) / LANES };

static_assert((int)NTT_COLUMNS == (int)LANES, "a column tile is a row of vectors");

/* ---- memory ---- */

/* Which of eight neighbours lies in each lane after _load. */
static const uint8_t lane_order[LANES] = {0, 2, 1, 3, 4, 6, 5, 7};

IFMA_INLINE void KERNEL_FN(_load)(X8 *r, const uint64_t *from)
{
    __m512i z[4], even[2], odd[2], words[4];

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        z[i] = _mm512_loadu_si512(from + 8 * i);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        even[i] = _mm512_unpacklo_epi64(z[2 * i], z[2 * i + 1]);
        odd[i] = _mm512_unpackhi_epi64(z[2 * i], z[2 * i + 1]);
    }
    words[0] = _mm512_shuffle_i64x2(even[0], even[1], 0x88);
    words[1] = _mm512_shuffle_i64x2(odd[0], odd[1], 0x88);
    words[2] = _mm512_shuffle_i64x2(even[0], even[1], 0xdd);
    words[3] = _mm512_shuffle_i64x2(odd[0], odd[1], 0xdd);
    X8_FN(_unpack)(r, words);
}

/* The reverse, of normal values. */
IFMA_INLINE void KERNEL_FN(_store)(uint64_t *to, const X8 *a)
{
    __m512i words[4];

    X8_FN(_pack)(words, a);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m512i even = i == 0 ? _mm512_shuffle_i64x2(words[0], words[2], 0x44)
                              : _mm512_shuffle_i64x2(words[0], words[2], 0xee);
        __m512i odd = i == 0 ? _mm512_shuffle_i64x2(words[1], words[3], 0x44)
                             : _mm512_shuffle_i64x2(words[1], words[3], 0xee);
        __m512i low = _mm512_unpacklo_epi64(even, odd), high = _mm512_unpackhi_epi64(even, odd);

        _mm512_storeu_si512(to + 16 * i, _mm512_shuffle_i64x2(low, low, 0xd8));
        _mm512_storeu_si512(to + 16 * i + 8, _mm512_shuffle_i64x2(high, high, 0xd8));
    }
}

/* Vector i of r holds value 8 g + i of 64 neighbours in lane g. */
IFMA_INLINE void KERNEL_FN(_load_across)(X8 *r, const uint64_t *from)
{
#pragma GCC unroll 1
    for (int i = 0; i < LANES; i += 2) {
        __m512i words[8];

#pragma GCC unroll 8
        for (int g = 0; g < LANES; g++)
            words[g] = _mm512_loadu_si512(from + 4 * (LANES * g + i));
        ifma_transpose(words);
        X8_FN(_unpack)(&r[i], words);
        X8_FN(_unpack)(&r[i + 1], words + 4);
    }
}

/* The reverse, of normal values. */
IFMA_INLINE void KERNEL_FN(_store_across)(uint64_t *to, const X8 *a)
{
#pragma GCC unroll 1
    for (int i = 0; i < LANES; i += 2) {
        __m512i words[8];

        X8_FN(_pack)(words, &a[i]);
        X8_FN(_pack)(words + 4, &a[i + 1]);
        ifma_transpose(words);
#pragma GCC unroll 8
        for (int g = 0; g < LANES; g++)
            _mm512_storeu_si512(to + 4 * (LANES * g + i), words[g]);
    }
}

/* Turns eight vectors as by _load into eight as by _load_across. */
IFMA_INLINE void KERNEL_FN(_turn)(X8 *r)
{
#pragma GCC unroll 1
    for (int j = 0; j < LIMBS; j++) {
        __m512i t[8];

#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++)
            t[i] = r[i].l[j];
        ifma_transpose(t);
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++)
            r[lane_order[i]].l[j] = t[i];
    }
}

IFMA_INLINE void KERNEL_FN(_turn_back)(X8 *r)
{
#pragma GCC unroll 1
    for (int j = 0; j < LIMBS; j++) {
        __m512i t[8];

#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++)
            t[i] = r[lane_order[i]].l[j];
        ifma_transpose(t);
#pragma GCC unroll 8
        for (int i = 0; i < LANES; i++)
            r[i].l[j] = t[i];
    }
}

/* One twiddle in all lanes. */
IFMA_INLINE void KERNEL_FN(_broadcast)(X8 *r, const uint64_t *twiddle)
{
#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++)
        r->l[j] = ifma_set(ifma_limb(twiddle, 4, j, 1));
}

/* ---- butterflies ---- */

IFMA_INLINE void KERNEL_FN(_pair_down)(X8 *a, X8 *b, const X8 *w)
{
    X8 t = *b;

    X8_FN(_carry)(&t);
    X8_FN(_mul)(&t, &t, w);
#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++) {
        b->l[j] = _mm512_add_epi64(_mm512_sub_epi64(a->l[j], t.l[j]), X8_FN(_modulus)(j, 2));
        a->l[j] = _mm512_add_epi64(a->l[j], t.l[j]);
    }
}

/* a, b < k p; k = 2 leaves a < 4 p, k = 4 reduces it. b < 2 p in any case. */
IFMA_INLINE void KERNEL_FN(_pair_up)(X8 *a, X8 *b, const X8 *w, uint64_t k)
{
    X8 t;

    X8_FN(_sub)(&t, a, b, k);
#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++)
        a->l[j] = _mm512_add_epi64(a->l[j], b->l[j]);
    if (k == 4)
        X8_FN(_reduce_wide)(a);
    X8_FN(_mul)(b, &t, w);
}

/* A stage over 2^stages vectors: 2^s blocks of the `block`th of their first stage. Up: is_odd tells
 * the second, fourth and so on of a pass, which meet sums below 4 p and reduce theirs. */
IFMA_INLINE void KERNEL_FN(_stage)(X8 *v, unsigned stages, unsigned s, const uint64_t *twiddles,
                                   size_t block, bool is_up, bool is_odd)
{
    size_t half = (size_t)1 << (stages - 1 - s);
    X8 w;

    for (size_t i = 0; i < (size_t)1 << s; i++) {
        X8 *a = v + 2 * half * i, *b = a + half;

        KERNEL_FN(_broadcast)(&w, twiddles + 4 * ((block << s) + i));
        for (size_t j = 0; j < half; j++) {
            if (!is_up)
                KERNEL_FN(_pair_down)(a + j, b + j, &w);
            else if (is_odd)
                KERNEL_FN(_pair_up)(a + j, b + j, &w, 4);
            else
                KERNEL_FN(_pair_up)(a + j, b + j, &w, 2);
        }
    }
}

static void KERNEL_FN(_stage_down)(X8 *v, unsigned stages, unsigned s, const uint64_t *twiddles,
                                   size_t block)
{
    KERNEL_FN(_stage)(v, stages, s, twiddles, block, false, false);
}

static void KERNEL_FN(_stage_up)(X8 *v, unsigned stages, unsigned s, const uint64_t *twiddles,
                                 size_t block, bool is_odd)
{
    if (is_odd)
        KERNEL_FN(_stage)(v, stages, s, twiddles, block, true, true);
    else
        KERNEL_FN(_stage)(v, stages, s, twiddles, block, true, false);
}

/* ---- columns ---- */

static void KERNEL_FN(_columns_down)(uint64_t *values, size_t stride, unsigned stages,
                                     size_t columns, const uint64_t *twiddles, size_t block)
{
    X8 v[1 << NTT_COLUMN_STAGES_MAX];

    for (size_t c = 0; c < columns; c += LANES) {
        for (size_t row = 0; row < (size_t)1 << stages; row++)
            KERNEL_FN(_load)(&v[row], values + 4 * (row * stride + c));
        for (unsigned s = 0; s < stages; s++)
            KERNEL_FN(_stage_down)(v, stages, s, twiddles, block);
        for (size_t row = 0; row < (size_t)1 << stages; row++) {
            X8_FN(_reduce_wide)(&v[row]);
            KERNEL_FN(_store)(values + 4 * (row * stride + c), &v[row]);
        }
    }
}

static void KERNEL_FN(_columns_up)(uint64_t *values, size_t stride, unsigned stages, size_t columns,
                                   const uint64_t *twiddles, size_t block)
{
    X8 v[1 << NTT_COLUMN_STAGES_MAX];

    for (size_t c = 0; c < columns; c += LANES) {
        for (size_t row = 0; row < (size_t)1 << stages; row++)
            KERNEL_FN(_load)(&v[row], values + 4 * (row * stride + c));
        for (unsigned done = 0; done < stages; done++)
            KERNEL_FN(_stage_up)(v, stages, stages - 1 - done, twiddles, block, done & 1);
        for (size_t row = 0; row < (size_t)1 << stages; row++) {
            X8_FN(_reduce_wide)(&v[row]);
            KERNEL_FN(_store)(values + 4 * (row * stride + c), &v[row]);
        }
    }
}

/* ---- blocks ---- */

/* The twiddles of the last three stages of 64 values: w[0] for halves of 4, w[1 .. 2] of 2,
 * w[3 .. 6] of 1; lane g is block 8 g' + g of eight values. */
IFMA_INLINE void KERNEL_FN(_last_twiddles)(X8 *w, const uint64_t *twiddles, size_t block)
{
    __m512i words[8];

#pragma GCC unroll 8
    for (int g = 0; g < LANES; g++)
        words[g] = _mm512_castsi256_si512(
            _mm256_loadu_si256((const __m256i *)(twiddles + 4 * (block + (size_t)g))));
    ifma_transpose(words);
    X8_FN(_unpack)(&w[0], words);
#pragma GCC unroll 8
    for (int g = 0; g < LANES; g++)
        words[g] = _mm512_loadu_si512(twiddles + 8 * (block + (size_t)g));
    ifma_transpose(words);
    X8_FN(_unpack)(&w[1], words);
    X8_FN(_unpack)(&w[2], words + 4);
#pragma GCC unroll 2
    for (int k = 0; k < 2; k++) {
#pragma GCC unroll 8
        for (int g = 0; g < LANES; g++)
            words[g] = _mm512_loadu_si512(twiddles + 16 * (block + (size_t)g) + 8 * k);
        ifma_transpose(words);
        X8_FN(_unpack)(&w[3 + 2 * k], words);
        X8_FN(_unpack)(&w[4 + 2 * k], words + 4);
    }
}

/* The stages with halves of 4, 2 and 1 of 64 values, across vectors. */
static void KERNEL_FN(_last_down)(uint64_t *to, X8 *v, const uint64_t *twiddles, size_t block)
{
    X8 w[7];

    KERNEL_FN(_last_twiddles)(w, twiddles, block);
    KERNEL_FN(_turn)(v);
    for (int i = 0; i < 4; i++)
        KERNEL_FN(_pair_down)(&v[i], &v[i + 4], &w[0]);
    for (int i = 0; i < 4; i++)
        KERNEL_FN(_pair_down)(&v[i + (i & 2)], &v[i + (i & 2) + 2], &w[1 + i / 2]);
    for (int i = 0; i < 4; i++)
        KERNEL_FN(_pair_down)(&v[2 * i], &v[2 * i + 1], &w[3 + i]);
    for (int i = 0; i < LANES; i++)
        X8_FN(_reduce_wide)(&v[i]);
    KERNEL_FN(_store_across)(to, v);
}

/* Leaves sums below 4 p, as after an even number of stages. */
static void KERNEL_FN(_first_up)(X8 *v, const uint64_t *from, const uint64_t *twiddles,
                                 size_t block)
{
    X8 w[7];

    KERNEL_FN(_last_twiddles)(w, twiddles, block);
    KERNEL_FN(_load_across)(v, from);
    for (int i = 0; i < 4; i++)
        KERNEL_FN(_pair_up)(&v[2 * i], &v[2 * i + 1], &w[3 + i], 2);
    for (int i = 0; i < 4; i++)
        KERNEL_FN(_pair_up)(&v[i + (i & 2)], &v[i + (i & 2) + 2], &w[1 + i / 2], 4);
    for (int i = 0; i < 4; i++)
        KERNEL_FN(_pair_up)(&v[i], &v[i + 4], &w[0], 2);
    KERNEL_FN(_turn_back)(v);
}

static void KERNEL_FN(_block_down)(uint64_t *values, unsigned log2, const uint64_t *twiddles,
                                   size_t block)
{
    X8 v[BLOCK_VECTORS];
    size_t vectors = ((size_t)1 << log2) / LANES;

    for (size_t i = 0; i < vectors; i++)
        KERNEL_FN(_load)(&v[i], values + 4 * LANES * i);
    for (unsigned s = 0; s + 3 < log2; s++)
        KERNEL_FN(_stage_down)(v, log2 - 3, s, twiddles, block);
    for (size_t i = 0; i < vectors; i += LANES)
        KERNEL_FN(_last_down)(values + 4 * LANES * i, v + i, twiddles, (block << (log2 - 3)) + i);
}

static void KERNEL_FN(_block_up)(uint64_t *values, unsigned log2, const uint64_t *twiddles,
                                 size_t block)
{
    X8 v[BLOCK_VECTORS];
    size_t vectors = ((size_t)1 << log2) / LANES;

    for (size_t i = 0; i < vectors; i += LANES)
        KERNEL_FN(_first_up)(v + i, values + 4 * LANES * i, twiddles, (block << (log2 - 3)) + i);
    for (unsigned s = log2 - 3, done = 3; s-- > 0; done++)
        KERNEL_FN(_stage_up)(v, log2 - 3, s, twiddles, block, done & 1);
    for (size_t i = 0; i < vectors; i++) {
        X8_FN(_reduce_wide)(&v[i]);
        KERNEL_FN(_store)(values + 4 * LANES * i, &v[i]);
    }
}

/* ---- vectors ---- */

/* Eight values, or the last `count`: the rest of the lanes is harmless. */
IFMA_INLINE void KERNEL_FN(_load_some)(X8 *r, const uint64_t *from, size_t count)
{
    uint64_t padded[4 * LANES] = {0};

    if (count < LANES) {
        memcpy(padded, from, 32 * count);
        from = padded;
    }
    KERNEL_FN(_load)(r, from);
}

IFMA_INLINE void KERNEL_FN(_store_some)(uint64_t *to, const X8 *a, size_t count)
{
    uint64_t padded[4 * LANES];

    if (count >= LANES) {
        KERNEL_FN(_store)(to, a);
        return;
    }
    KERNEL_FN(_store)(padded, a);
    memcpy(to, padded, 32 * count);
}

/* From below 2 p to below p. */
IFMA_INLINE void KERNEL_FN(_make_canonical)(X8 *a)
{
    X8 t;

#pragma GCC unroll 8
    for (int j = 0; j < LIMBS; j++)
        t.l[j] = _mm512_sub_epi64(a->l[j], X8_FN(_modulus)(j, 1));
    X8_FN(_carry)(&t);
    X8_FN(_blend)(a, &t, a, _mm512_movepi64_mask(t.l[LIMBS - 1]));
}

static void KERNEL_FN(_scale)(uint64_t *values, const uint64_t *factors, size_t count)
{
    X8 a, b;

    for (size_t i = 0; i < count; i += LANES) {
        KERNEL_FN(_load_some)(&a, values + 4 * i, count - i);
        KERNEL_FN(_load_some)(&b, factors + 4 * i, count - i);
        X8_FN(_mul)(&a, &a, &b);
        KERNEL_FN(_store_some)(values + 4 * i, &a, count - i);
    }
}

static void KERNEL_FN(_multiply)(uint64_t *ret, const uint64_t *a, const uint64_t *b, size_t count)
{
    X8 x, y;

    for (size_t i = 0; i < count; i += LANES) {
        KERNEL_FN(_load_some)(&x, a + 4 * i, count - i);
        KERNEL_FN(_load_some)(&y, b + 4 * i, count - i);
        X8_FN(_mul)(&x, &x, &y);
        KERNEL_FN(_store_some)(ret + 4 * i, &x, count - i);
    }
}

/* 2^exponent / 2^log2 mod p, in all lanes. */
static void KERNEL_FN(_fraction)(X8 *r, unsigned exponent, unsigned log2)
{
    FIELD value = {{1}};

    for (; exponent > log2; exponent--)
        FIELD_FN(_dbl)(&value, &value);
    for (; log2 > exponent; log2--) {
        uint64_t carry = 0, odd = 0 - (value.l[0] & 1);

        for (int j = 0; j < 4; j++)
            value.l[j] = limbs_add_carry(value.l[j], odd & FIELD_FN(_modulus)[j], &carry);
        for (int j = 0; j < 4; j++)
            value.l[j] = value.l[j] >> 1 | (j < 3 ? value.l[j + 1] : carry) << 63;
    }
    KERNEL_FN(_broadcast)(r, value.l);
}

/* multiply left c as c R^2 / R', like the first product here; a factor R' / n makes a b as much too
 * large as c; one of R'^2 / (n R^2) makes plain numbers. */
static void KERNEL_FN(_finish)(uint64_t *c, const uint64_t *a, const uint64_t *b, size_t count,
                               unsigned log2)
{
    X8 x, y, divide, plain;

    KERNEL_FN(_fraction)(&divide, 52 * LIMBS, log2);
    KERNEL_FN(_fraction)(&plain, 2 * (52 * LIMBS - 256), log2);
    for (size_t i = 0; i < count; i += LANES) {
        KERNEL_FN(_load_some)(&x, a + 4 * i, count - i);
        KERNEL_FN(_load_some)(&y, b + 4 * i, count - i);
        X8_FN(_mul)(&x, &x, &y);
        X8_FN(_mul)(&x, &x, &divide);
        KERNEL_FN(_load_some)(&y, c + 4 * i, count - i);
        X8_FN(_sub)(&x, &x, &y, 2);
        X8_FN(_mul)(&x, &x, &plain);
        KERNEL_FN(_make_canonical)(&x);
        KERNEL_FN(_store_some)(c + 4 * i, &x, count - i);
    }
}

static void KERNEL_FN(_divide)(uint64_t *values, size_t count, unsigned log2)
{
    X8 a, factor;

    KERNEL_FN(_fraction)(&factor, 52 * LIMBS, log2);
    for (size_t i = 0; i < count; i += LANES) {
        KERNEL_FN(_load_some)(&a, values + 4 * i, count - i);
        X8_FN(_mul)(&a, &a, &factor);
        KERNEL_FN(_make_canonical)(&a);
        KERNEL_FN(_store_some)(values + 4 * i, &a, count - i);
    }
}

static void KERNEL_FN(_canonical)(uint64_t *values, size_t count)
{
    X8 a;

    for (size_t i = 0; i < count; i += LANES) {
        KERNEL_FN(_load_some)(&a, values + 4 * i, count - i);
        KERNEL_FN(_make_canonical)(&a);
        KERNEL_FN(_store_some)(values + 4 * i, &a, count - i);
    }
}

/* ---- set-up ---- */

static void KERNEL_FN(_set_one)(uint64_t *r)
{
    FIELD one;

    FIELD_FN(_set_one)(&one);
    for (int i = 256; i < 52 * LIMBS; i++)
        FIELD_FN(_dbl)(&one, &one);
    memcpy(r, &one, sizeof one);
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

const struct ntt_kernel KERNEL = {
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

#undef X8
#undef X8_FN
#undef FIELD_FN
#undef KERNEL_FN
#undef KERNEL_JOIN
#undef KERNEL_JOIN2
#undef TWO_ADICITY
#undef FIELD
#undef KERNEL
