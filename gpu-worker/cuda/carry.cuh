/* 32-bit arithmetic with a carry flag that lives from one call to the next, the alphabet of
 * field.cuh. On the device each is one PTX instruction, and the assembler pairs lo and hi products
 * into one 64-bit multiply-add. On the host the flag is a variable, so that the same code above
 * runs in unit tests. Names: _cc sets the flag, c after the operation uses it. */
#pragma once

#include <stdint.h>

/* A plain C++ compiler sees the host's side. */
#ifndef __CUDACC__
#define __host__
#define __device__
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#endif

#define CARRY_FN static __host__ __device__ __forceinline__

#ifndef __CUDA_ARCH__
static uint32_t carry_host;

static inline uint32_t carry_host_add(uint32_t a, uint32_t b, uint32_t carry_in)
{
    uint64_t t = (uint64_t)a + b + carry_in;

    carry_host = (uint32_t)(t >> 32);
    return (uint32_t)t;
}

/* The flag of a subtraction is the borrow. */
static inline uint32_t carry_host_sub(uint32_t a, uint32_t b, uint32_t borrow_in)
{
    uint64_t t = (uint64_t)a - b - borrow_in;

    carry_host = (uint32_t)(t >> 32) & 1;
    return (uint32_t)t;
}

static inline uint32_t carry_host_lo(uint32_t a, uint32_t b)
{
    return a * b;
}

static inline uint32_t carry_host_hi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
#endif

#ifdef __CUDA_ARCH__
#define CARRY_TWO(name, ptx, host)                                                                 \
    CARRY_FN uint32_t name(uint32_t a, uint32_t b)                                                 \
    {                                                                                              \
        uint32_t r;                                                                                \
        asm volatile(ptx ".u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));                           \
        return r;                                                                                  \
    }
#define CARRY_THREE(name, ptx, host)                                                               \
    CARRY_FN uint32_t name(uint32_t a, uint32_t b, uint32_t c)                                     \
    {                                                                                              \
        uint32_t r;                                                                                \
        asm volatile(ptx ".u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));               \
        return r;                                                                                  \
    }
#else
#define CARRY_TWO(name, ptx, host)                                                                 \
    CARRY_FN uint32_t name(uint32_t a, uint32_t b)                                                 \
    {                                                                                              \
        return host;                                                                               \
    }
#define CARRY_THREE(name, ptx, host)                                                               \
    CARRY_FN uint32_t name(uint32_t a, uint32_t b, uint32_t c)                                     \
    {                                                                                              \
        return host;                                                                               \
    }
#endif

CARRY_TWO(add, "add", a + b) /* leaves the flag */
CARRY_TWO(add_cc, "add.cc", carry_host_add(a, b, 0))
CARRY_TWO(addc_cc, "addc.cc", carry_host_add(a, b, carry_host))
CARRY_TWO(addc, "addc", carry_host_add(a, b, carry_host))
CARRY_TWO(sub_cc, "sub.cc", carry_host_sub(a, b, 0))
CARRY_TWO(subc_cc, "subc.cc", carry_host_sub(a, b, carry_host))
CARRY_TWO(subc, "subc", carry_host_sub(a, b, carry_host))
CARRY_TWO(mul_lo, "mul.lo", carry_host_lo(a, b))
CARRY_THREE(mad_lo_cc, "mad.lo.cc", carry_host_add(carry_host_lo(a, b), c, 0))
CARRY_THREE(madc_lo_cc, "madc.lo.cc", carry_host_add(carry_host_lo(a, b), c, carry_host))
CARRY_THREE(madc_hi_cc, "madc.hi.cc", carry_host_add(carry_host_hi(a, b), c, carry_host))
CARRY_THREE(madc_hi, "madc.hi", carry_host_add(carry_host_hi(a, b), c, carry_host))

/* Both halves of a product, as one instruction. */
CARRY_FN void mul_wide(uint32_t *low, uint32_t *high, uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;

    *low = (uint32_t)product;
    *high = (uint32_t)(product >> 32);
}

#undef CARRY_TWO
#undef CARRY_THREE
