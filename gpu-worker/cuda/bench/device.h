/* Small helpers of the device bench. A CUDA error ends the program: there is nothing to save. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICE_CHECK(call)                                                                         \
    do {                                                                                           \
        cudaError_t device_error = (call);                                                         \
        if (device_error != cudaSuccess) {                                                         \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                          \
                    cudaGetErrorString(device_error));                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void *device_alloc(size_t bytes)
{
    void *r;

    DEVICE_CHECK(cudaMalloc(&r, bytes ? bytes : 1));
    return r;
}

static inline void device_free(void *memory)
{
    DEVICE_CHECK(cudaFree(memory));
}

enum {
    DEVICE_REPEATS = 5, /* of which the median counts, after one more to warm up */
};

static inline double device_elapsed_ms(cudaEvent_t begin, cudaEvent_t end)
{
    float ms;

    DEVICE_CHECK(cudaEventElapsedTime(&ms, begin, end));
    return ms;
}

static inline int device_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline double device_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, device_compare);
    return values[count / 2];
}
