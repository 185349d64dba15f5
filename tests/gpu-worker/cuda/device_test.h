/* For test programs that need a GPU: without one they are skipped (meson's exit status 77). */
#pragma once

#include <cuda_runtime_api.h>

#include "tests/test.h"

#define ASSERT_CUDA(call) ASSERT_INT(call, cudaSuccess)

static inline int device_test_main(const struct test_case *cases, int count)
{
    int devices = 0;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: no CUDA device\n");
        return 77;
    }
    return test_main(cases, count);
}

#define DEVICE_TEST_MAIN(...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        static const struct test_case cases[] = {__VA_ARGS__};                                     \
        return device_test_main(cases, (int)(sizeof cases / sizeof cases[0]));                     \
    }
