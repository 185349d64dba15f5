/* What the processor can do (arch.h). */

#include "groth16/curve/arch.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF7_EBX_BMI2 = 1u << 8, LEAF7_EBX_ADX = 1u << 19 };

bool arch_is_forced(const char *level)
{
    const char *forced = getenv("CUZK_CPU");

    return forced && strcmp(forced, level) == 0;
}

static bool ask_processor(void)
{
    const unsigned needed = LEAF7_EBX_BMI2 | LEAF7_EBX_ADX;
    unsigned eax, ebx, ecx, edx;

    if (arch_is_forced("portable"))
        return false;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & needed) == needed;
}

bool arch_has_adx(void)
{
    /* 0 not asked yet, 1 no, 2 yes. Racing threads store the same answer; CPUID is slow in guests.
     */
    static _Atomic int answer;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);

    if (known == 0) {
        known = ask_processor() ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}
