/* Whether the open device can run what this build was compiled for: asked of one kernel that does
 * nothing, for all .cu files are compiled for the same devices. */

#include <cuda_runtime.h>

#include "gpu-worker/cuda/driver.h"

__global__ void driver_check_kernel()
{
}

int driver_check_code(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, driver_check_kernel);

    if (error != cudaSuccess)
        cudaGetLastError();
    return (int)error;
}
