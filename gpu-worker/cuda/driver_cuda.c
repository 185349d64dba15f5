/* driver.h over the CUDA runtime: the one file of the host code that knows CUDA. */
#include "gpu-worker/cuda/driver.h"

#include <assert.h>
#include <ctype.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* driver.h repeats the runtime's numbers. */
#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), #ours)
SAME(DRIVER_ERROR_INVALID_VALUE, cudaErrorInvalidValue);
SAME(DRIVER_ERROR_MEMORY, cudaErrorMemoryAllocation);
SAME(DRIVER_ERROR_INSUFFICIENT_DRIVER, cudaErrorInsufficientDriver);
SAME(DRIVER_ERROR_DEVICES_UNAVAILABLE, cudaErrorDevicesUnavailable);
SAME(DRIVER_ERROR_NO_DEVICE, cudaErrorNoDevice);
SAME(DRIVER_ERROR_NO_IMAGE, cudaErrorNoKernelImageForDevice);
SAME(DRIVER_ERROR_ECC, cudaErrorECCUncorrectable);
SAME(DRIVER_ERROR_NOT_READY, cudaErrorNotReady);
SAME(DRIVER_ERROR_ILLEGAL_ADDRESS, cudaErrorIllegalAddress);
SAME(DRIVER_ERROR_ALREADY_REGISTERED, cudaErrorHostMemoryAlreadyRegistered);
SAME(DRIVER_ERROR_NOT_REGISTERED, cudaErrorHostMemoryNotRegistered);
SAME(DRIVER_ERROR_LAUNCH_FAILURE, cudaErrorLaunchFailure);
SAME(DRIVER_ERROR_UNKNOWN, cudaErrorUnknown);
SAME(DRIVER_MODE_PROHIBITED, cudaComputeModeProhibited);
SAME(DRIVER_MODE_EXCLUSIVE, cudaComputeModeExclusiveProcess);

static int open_ordinal = -1;
static bool can_register_read_only;
/* The runtime's current device is a thread's own. */
static _Thread_local int thread_ordinal = -1;

/* A failed call is remembered by the runtime, where the next launch would find it: forget it. */
static int pass(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
    return (int)error;
}

static cudaError_t make_current(void)
{
    if (thread_ordinal == open_ordinal)
        return cudaSuccess;
    const cudaError_t error = cudaSetDevice(open_ordinal);
    if (error == cudaSuccess)
        thread_ordinal = open_ordinal;
    return error;
}

#define ON_DEVICE(call)                                                                            \
    do {                                                                                           \
        const cudaError_t current_error = make_current();                                          \
        return pass(current_error == cudaSuccess ? (call) : current_error);                        \
    } while (0)

const char *driver_error_name(int error)
{
    return cudaGetErrorName((cudaError_t)error);
}

const char *driver_error_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

/* Finding devices. */

int driver_device_count(int *ret_count)
{
    /* Code that is loaded at its first launch makes that launch wait for the whole card. Heeded
     * only before the first call of the runtime, which this is. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    return pass(cudaGetDeviceCount(ret_count));
}

/* "GPU-" or "MIG-" and the usual groups. */
static void format_uuid(const cudaUUID_t *uuid, bool is_instance, char *ret)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    ret += sprintf(ret, "%s", is_instance ? "MIG" : "GPU");
    for (unsigned i = 0; i < sizeof uuid->bytes; i++)
        ret += sprintf(ret, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       b[i]);
}

/* "/dev/nvidia3"; the kernel driver says which node belongs to the card. */
static void find_node(const char *bus_id, char *ret, size_t ret_bytes)
{
    char path[96], line[128];
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", bus_id);
    FILE *file = fopen(path, "re");
    unsigned minor;
    if (!file)
        return;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Device Minor: %u", &minor) == 1)
            snprintf(ret, ret_bytes, "/dev/nvidia%u", minor);
    fclose(file);
}

int driver_device_get(int ordinal, struct driver_device *ret)
{
    struct cudaDeviceProp properties;
    struct driver_device device = {.lock_path = ""};
    cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
    if (error == cudaSuccess)
        error = cudaDeviceGetPCIBusId(device.bus_id, sizeof device.bus_id, ordinal);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&device.compute_mode, cudaDevAttrComputeMode, ordinal);
    if (error != cudaSuccess)
        return pass(error);
    for (char *c = device.bus_id; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    snprintf(device.name, sizeof device.name, "%.63s", properties.name);
    format_uuid(&properties.uuid, strstr(properties.name, " MIG ") != NULL, device.uuid);
    device.memory_bytes = properties.totalGlobalMem;
    device.major = properties.major;
    device.minor = properties.minor;
    device.multiprocessors = properties.multiProcessorCount;
    device.copy_engines = properties.asyncEngineCount;
    device.can_register_read_only = properties.hostRegisterReadOnlySupported;
    find_node(device.bus_id, device.lock_path, sizeof device.lock_path);
    *ret = device;
    return DRIVER_OK;
}

int driver_versions(int *ret_driver, int *ret_runtime)
{
    cudaError_t error = cudaDriverGetVersion(ret_driver);
    if (error == cudaSuccess)
        error = cudaRuntimeGetVersion(ret_runtime);
    return pass(error);
}

const char *driver_code_list(void)
{
    return DRIVER_CODE_LIST;
}

/* The open device. */

int driver_open(int ordinal)
{
    struct driver_device device;
    int error = driver_device_get(ordinal, &device);
    if (error == DRIVER_OK)
        error = pass(
            cudaInitDevice(ordinal, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    if (error != DRIVER_OK)
        return error;
    open_ordinal = ordinal;
    can_register_read_only = device.can_register_read_only;
    ON_DEVICE(cudaFree(NULL)); /* makes the context now */
}

int driver_memory(uint64_t *ret_free, uint64_t *ret_total)
{
    size_t free_bytes = 0, total_bytes = 0;
    cudaError_t error = make_current();
    if (error == cudaSuccess)
        error = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (error != cudaSuccess)
        return pass(error);
    *ret_free = free_bytes;
    *ret_total = total_bytes;
    return DRIVER_OK;
}

int driver_last_error(void)
{
    return (int)cudaGetLastError();
}

int driver_malloc(void **ret_memory, uint64_t bytes)
{
    ON_DEVICE(cudaMalloc(ret_memory, bytes));
}

int driver_free(void *memory)
{
    ON_DEVICE(cudaFree(memory));
}

int driver_malloc_host(void **ret_memory, uint64_t bytes)
{
    ON_DEVICE(cudaHostAlloc(ret_memory, bytes, cudaHostAllocDefault));
}

int driver_free_host(void *memory)
{
    ON_DEVICE(cudaFreeHost(memory));
}

int driver_host_register(const void *memory, uint64_t bytes, bool is_read_only)
{
    const unsigned flags =
        is_read_only && can_register_read_only ? cudaHostRegisterReadOnly : cudaHostRegisterDefault;
    ON_DEVICE(cudaHostRegister((void *)memory, bytes, flags));
}

int driver_host_unregister(const void *memory)
{
    ON_DEVICE(cudaHostUnregister((void *)memory));
}

/* Streams and events. */

int driver_stream_create(void **ret_stream, int priority)
{
    int least = 0, greatest = 0;
    cudaError_t error = make_current();
    if (error == cudaSuccess)
        error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (error != cudaSuccess)
        return pass(error);
    /* The range is [least, greatest] = [0, -5] or so: lower numbers go first. "Normal" lies one
     * above the least where there is room for three. */
    const int normal = least > greatest + 1 ? least - 1 : least;
    int wanted = normal + priority;
    wanted = wanted > least ? least : wanted < greatest ? greatest : wanted;
    return pass(
        cudaStreamCreateWithPriority((cudaStream_t *)ret_stream, cudaStreamNonBlocking, wanted));
}

int driver_stream_destroy(void *stream)
{
    ON_DEVICE(cudaStreamDestroy(stream));
}

int driver_stream_wait(void *stream, void *event)
{
    ON_DEVICE(cudaStreamWaitEvent(stream, event, 0));
}

int driver_event_create(void **ret_event)
{
    ON_DEVICE(cudaEventCreateWithFlags((cudaEvent_t *)ret_event, cudaEventBlockingSync));
}

int driver_event_destroy(void *event)
{
    ON_DEVICE(cudaEventDestroy(event));
}

int driver_event_record(void *event, void *stream)
{
    ON_DEVICE(cudaEventRecord(event, stream));
}

int driver_event_query(void *event)
{
    ON_DEVICE(cudaEventQuery(event));
}

int driver_event_wait(void *event)
{
    ON_DEVICE(cudaEventSynchronize(event));
}

int driver_event_elapsed(double *ret_ms, void *begin, void *end)
{
    float ms = 0;
    const int error = pass(cudaEventElapsedTime(&ms, begin, end));
    if (error == DRIVER_OK)
        *ret_ms = ms;
    return error;
}

/* Work. */

int driver_copy_to_device(void *device, const void *host, uint64_t bytes, void *stream)
{
    ON_DEVICE(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
}

int driver_copy_to_host(void *host, const void *device, uint64_t bytes, void *stream)
{
    ON_DEVICE(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
}

int driver_copy_on_device(void *to, const void *from, uint64_t bytes, void *stream)
{
    ON_DEVICE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

int driver_fill(void *device, int byte, uint64_t bytes, void *stream)
{
    ON_DEVICE(cudaMemsetAsync(device, byte, bytes, stream));
}

int driver_call_host(void *stream, void (*call)(void *context), void *context)
{
    ON_DEVICE(cudaLaunchHostFunc(stream, call, context));
}
