/* Montgomery products of 4 and 6 limbs with MULX, ADCX and ADOX, for mont.h only.
 *
 * The algorithm is limbs_mont_mul_portable's: row by row t = t + a b_i, m = t_0 n0, t = (t + m p) /
 * 2^64, and at the end t - p where that is not negative. In each half row ADOX adds the low halves
 * of the limb products and ADCX the high halves, so neither chain waits for the other. The no-carry
 * condition (top limb of p below 2^63 - 1) lets both end in one limb. */

#pragma once

#include "groth16/field/limbs.h"
#include "groth16/field/limbs_x86.h"

/* Keeps a pointer in one register: the limbs' addresses must not take a register each. */
#define ADX_HOLD(pointer) __asm__("" : "+r"(pointer))

/* RDX holds the multiplier, lo and hi are scratch; t_0.. and top are t, limb by limb. */
#define ADX_NEXT_BEGIN(b)                                                                          \
    "movq " b ", %%rdx\n\t"                                                                        \
    "xorl %k[lo], %k[lo]\n\t"

#define ADX_STEP(a, t, next)                                                                       \
    "mulxq " a ", %[lo], %[hi]\n\t"                                                                \
    "adoxq %[lo], " t "\n\t"                                                                       \
    "adcxq %[hi], " next "\n\t"

/* The last limb of a row: both chains end in top. */
#define ADX_NEXT_END(a, t)                                                                         \
    "mulxq " a ", %[lo], %[top]\n\t"                                                               \
    "movl $0, %k[hi]\n\t"                                                                          \
    "adoxq %[lo], " t "\n\t"                                                                       \
    "adcxq %[hi], %[top]\n\t"                                                                      \
    "adoxq %[hi], %[top]\n\t"

/* m into RDX, and the lowest limb of t + m p, which is 0 and leaves its carry. */
#define ADX_REDUCE_BEGIN                                                                           \
    "movq %[n0], %%rdx\n\t"                                                                        \
    "imulq %[t0], %%rdx\n\t"                                                                       \
    "xorl %k[lo], %k[lo]\n\t"                                                                      \
    "mulxq %[p0], %[lo], %[hi]\n\t"                                                                \
    "adcxq %[t0], %[lo]\n\t"                                                                       \
    "movq %[hi], %[t0]\n\t"

/* The row shifts down by a limb as it goes: t_(j-1) = t_j + low(m p_j) + carries. */
#define ADX_SHIFT(p, t, previous)                                                                  \
    "adcxq " t ", " previous "\n\t"                                                                \
    "mulxq " p ", %[lo], " t "\n\t"                                                                \
    "adoxq %[lo], " previous "\n\t"

#define ADX_REDUCE_END(last)                                                                       \
    "movl $0, %k[lo]\n\t"                                                                          \
    "adcxq %[lo], " last "\n\t"                                                                    \
    "adoxq %[top], " last "\n\t"

#define ADX_FIRST4                                                                                 \
    "movq %[b0], %%rdx\n\t"                                                                        \
    "mulxq %[a0], %[t0], %[t1]\n\t"                                                                \
    "mulxq %[a1], %[lo], %[t2]\n\t"                                                                \
    "addq %[lo], %[t1]\n\t"                                                                        \
    "mulxq %[a2], %[lo], %[t3]\n\t"                                                                \
    "adcq %[lo], %[t2]\n\t"                                                                        \
    "mulxq %[a3], %[lo], %[top]\n\t"                                                               \
    "adcq %[lo], %[t3]\n\t"                                                                        \
    "adcq $0, %[top]\n\t"

#define ADX_NEXT4(b)                                                                               \
    ADX_NEXT_BEGIN(b)                                                                              \
    ADX_STEP("%[a0]", "%[t0]", "%[t1]") ADX_STEP("%[a1]", "%[t1]", "%[t2]")                        \
        ADX_STEP("%[a2]", "%[t2]", "%[t3]") ADX_NEXT_END("%[a3]", "%[t3]")

#define ADX_REDUCE4                                                                                \
    ADX_REDUCE_BEGIN ADX_SHIFT("%[p1]", "%[t1]", "%[t0]") ADX_SHIFT("%[p2]", "%[t2]", "%[t1]")     \
        ADX_SHIFT("%[p3]", "%[t3]", "%[t2]") ADX_REDUCE_END("%[t3]")

LIMBS_INLINE void mont_mul4_adx(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                const uint64_t *p, uint64_t n0)
{
    uint64_t t0, t1, t2, t3, top, lo, hi, product[4];

    ADX_HOLD(a);
    ADX_HOLD(b);
    __asm__(ADX_FIRST4 ADX_REDUCE4 ADX_NEXT4("%[b1]") ADX_REDUCE4 ADX_NEXT4("%[b2]")
                ADX_REDUCE4 ADX_NEXT4("%[b3]") ADX_REDUCE4
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [top] "=&r"(top),
              [lo] "=&r"(lo), [hi] "=&r"(hi)
            : [a0] "m"(a[0]), [a1] "m"(a[1]), [a2] "m"(a[2]), [a3] "m"(a[3]), [b0] "m"(b[0]),
              [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [p0] "m"(p[0]), [p1] "m"(p[1]),
              [p2] "m"(p[2]), [p3] "m"(p[3]), [n0] "rm"(n0)
            : "rdx", "cc");
    product[0] = t0;
    product[1] = t1;
    product[2] = t2;
    product[3] = t3;
    limbs_reduce_once4_x86(r, product, p);
}

#define ADX_FIRST6                                                                                 \
    "movq %[b0], %%rdx\n\t"                                                                        \
    "mulxq %[a0], %[t0], %[t1]\n\t"                                                                \
    "mulxq %[a1], %[lo], %[t2]\n\t"                                                                \
    "addq %[lo], %[t1]\n\t"                                                                        \
    "mulxq %[a2], %[lo], %[t3]\n\t"                                                                \
    "adcq %[lo], %[t2]\n\t"                                                                        \
    "mulxq %[a3], %[lo], %[t4]\n\t"                                                                \
    "adcq %[lo], %[t3]\n\t"                                                                        \
    "mulxq %[a4], %[lo], %[t5]\n\t"                                                                \
    "adcq %[lo], %[t4]\n\t"                                                                        \
    "mulxq %[a5], %[lo], %[top]\n\t"                                                               \
    "adcq %[lo], %[t5]\n\t"                                                                        \
    "adcq $0, %[top]\n\t"

#define ADX_NEXT6(b)                                                                               \
    ADX_NEXT_BEGIN(b)                                                                              \
    ADX_STEP("%[a0]", "%[t0]", "%[t1]") ADX_STEP("%[a1]", "%[t1]", "%[t2]")                        \
        ADX_STEP("%[a2]", "%[t2]", "%[t3]") ADX_STEP("%[a3]", "%[t3]", "%[t4]")                    \
            ADX_STEP("%[a4]", "%[t4]", "%[t5]") ADX_NEXT_END("%[a5]", "%[t5]")

#define ADX_REDUCE6                                                                                \
    ADX_REDUCE_BEGIN ADX_SHIFT("%[p1]", "%[t1]", "%[t0]") ADX_SHIFT("%[p2]", "%[t2]", "%[t1]")     \
        ADX_SHIFT("%[p3]", "%[t3]", "%[t2]") ADX_SHIFT("%[p4]", "%[t4]", "%[t3]")                  \
            ADX_SHIFT("%[p5]", "%[t5]", "%[t4]") ADX_REDUCE_END("%[t5]")

LIMBS_INLINE void mont_mul6_adx(uint64_t *r, const uint64_t *a, const uint64_t *b,
                                const uint64_t *p, uint64_t n0)
{
    uint64_t t0, t1, t2, t3, t4, t5, top, lo, hi, product[6];

    ADX_HOLD(a);
    ADX_HOLD(b);
    __asm__(ADX_FIRST6 ADX_REDUCE6 ADX_NEXT6("%[b1]") ADX_REDUCE6 ADX_NEXT6("%[b2]")
                ADX_REDUCE6 ADX_NEXT6("%[b3]") ADX_REDUCE6 ADX_NEXT6("%[b4]")
                    ADX_REDUCE6 ADX_NEXT6("%[b5]") ADX_REDUCE6
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4),
              [t5] "=&r"(t5), [top] "=&r"(top), [lo] "=&r"(lo), [hi] "=&r"(hi)
            : [a0] "m"(a[0]), [a1] "m"(a[1]), [a2] "m"(a[2]), [a3] "m"(a[3]), [a4] "m"(a[4]),
              [a5] "m"(a[5]), [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]),
              [b4] "m"(b[4]), [b5] "m"(b[5]), [p0] "m"(p[0]), [p1] "m"(p[1]), [p2] "m"(p[2]),
              [p3] "m"(p[3]), [p4] "m"(p[4]), [p5] "m"(p[5]), [n0] "rm"(n0)
            : "rdx", "cc");
    product[0] = t0;
    product[1] = t1;
    product[2] = t2;
    product[3] = t3;
    product[4] = t4;
    product[5] = t5;
    limbs_reduce_once6_x86(r, product, p);
}
