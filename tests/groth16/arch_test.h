/* Tests of code that is compiled once per instruction set: each program is built for both, and
 * skips (status 77) where the processor lacks what it was built for. */
#pragma once

#include "groth16/curve/arch.h"
#include "tests/test.h"

#ifdef __ADX__
enum { ARCH_TEST_NEEDS_ADX = 1 };
#else
enum { ARCH_TEST_NEEDS_ADX = 0 };
#endif

#define ARCH_TEST_MAIN(...)                                                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        static const struct test_case cases[] = {__VA_ARGS__};                                     \
        if (ARCH_TEST_NEEDS_ADX && !arch_has_adx())                                                \
            return 77;                                                                             \
        return test_main(cases, (int)(sizeof cases / sizeof cases[0]));                            \
    }
