/* Template: eight elements of the quadratic extension at a time, over ifma.inc.h.
 *
 * Set FIELD (the base field, e.g. bn254_fp) and FP2 (the extension, e.g. bn254_fp2) before the
 * include; both are undefined at the end. Same conventions as ifma.inc.h, bounds hold for both
 * halves. With one reduction for two products, schoolbook costs no more than Karatsuba and needs
 * no sums. */

#define IFMA_JOIN2(a, b) a##b
#define IFMA_JOIN(a, b)  IFMA_JOIN2(a, b)
#define X8_FN(name)      IFMA_JOIN(FP2, _x8##name)
#define BASE_FN(name)    IFMA_JOIN(FIELD, _x8##name)
#define X8               IFMA_JOIN(FP2, _x8)
#define BASE             IFMA_JOIN(FIELD, _x8)

typedef struct {
    BASE c0, c1;
} X8;

IFMA_INLINE void X8_FN(_carry)(X8 *r)
{
    BASE_FN(_carry)(&r->c0);
    BASE_FN(_carry)(&r->c1);
}

IFMA_INLINE void X8_FN(_sub)(X8 *r, const X8 *a, const X8 *b, uint64_t k)
{
    BASE_FN(_sub)(&r->c0, &a->c0, &b->c0, k);
    BASE_FN(_sub)(&r->c1, &a->c1, &b->c1, k);
}

IFMA_INLINE void X8_FN(_add)(X8 *r, const X8 *a, const X8 *b)
{
    BASE_FN(_add)(&r->c0, &a->c0, &b->c0);
    BASE_FN(_add)(&r->c1, &a->c1, &b->c1);
}

IFMA_INLINE void X8_FN(_reduce)(X8 *r)
{
    BASE_FN(_reduce)(&r->c0);
    BASE_FN(_reduce)(&r->c1);
}

/* c0 = a0 b0 + a1 (4 p - b1), c1 = a0 b1 + a1 b0, for b below 4 p. */
IFMA_INLINE void X8_FN(_mul)(X8 *r, const X8 *a, const X8 *b)
{
    BASE minus, zero = {0}, c0;

    BASE_FN(_sub)(&minus, &zero, &b->c1, 4);
    BASE_FN(_mul_add)(&c0, &a->c0, &b->c0, &a->c1, &minus);
    BASE_FN(_mul_add)(&r->c1, &a->c0, &b->c1, &a->c1, &b->c0);
    r->c0 = c0;
}

/* c0 = (a0 + a1)(a0 - a1), c1 = (a0 + a0) a1, for a below 2 p. */
IFMA_INLINE void X8_FN(_sqr)(X8 *r, const X8 *a)
{
    BASE sum, difference, twice;

    BASE_FN(_add)(&sum, &a->c0, &a->c1);
    BASE_FN(_sub)(&difference, &a->c0, &a->c1, 2);
    BASE_FN(_add)(&twice, &a->c0, &a->c0);
    BASE_FN(_mul)(&r->c1, &twice, &a->c1);
    BASE_FN(_mul)(&r->c0, &sum, &difference);
}

IFMA_INLINE void X8_FN(_blend)(X8 *r, const X8 *a, const X8 *b, __mmask8 take_b)
{
    BASE_FN(_blend)(&r->c0, &a->c0, &b->c0, take_b);
    BASE_FN(_blend)(&r->c1, &a->c1, &b->c1, take_b);
}

#undef BASE
#undef X8
#undef BASE_FN
#undef X8_FN
#undef IFMA_JOIN
#undef IFMA_JOIN2
#undef FP2
#undef FIELD
