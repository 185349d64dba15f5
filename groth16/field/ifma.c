/* Asks the processor and the environment once (see ifma.h). */

#include "groth16/field/ifma.h"

#include <stdatomic.h>

#include "groth16/curve/arch.h"

static bool ask(void)
{
    if (arch_is_forced("portable") || arch_is_forced("adx"))
        return false;
    /* These also ask whether the kernel keeps the registers (XCR0). */
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("bmi2");
}

bool ifma_is_available(void)
{
    static _Atomic int answer; /* 0 not asked yet, 1 no, 2 yes; racing threads store the same */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);

    if (known == 0) {
        known = ask() ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}
