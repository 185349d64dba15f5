/* The stub's devices: what is found, opened and refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu-worker/stub/stub_internal.h"

const char *driver_error_name(int error)
{
    switch (error) {
    case DRIVER_OK:
        return "cudaSuccess";
    case DRIVER_ERROR_INVALID_VALUE:
        return "cudaErrorInvalidValue";
    case DRIVER_ERROR_MEMORY:
        return "cudaErrorMemoryAllocation";
    case DRIVER_ERROR_INSUFFICIENT_DRIVER:
        return "cudaErrorInsufficientDriver";
    case DRIVER_ERROR_DEVICES_UNAVAILABLE:
        return "cudaErrorDevicesUnavailable";
    case DRIVER_ERROR_NO_DEVICE:
        return "cudaErrorNoDevice";
    case DRIVER_ERROR_NO_IMAGE:
        return "cudaErrorNoKernelImageForDevice";
    case DRIVER_ERROR_ECC:
        return "cudaErrorECCUncorrectable";
    case DRIVER_ERROR_NOT_READY:
        return "cudaErrorNotReady";
    case DRIVER_ERROR_ILLEGAL_ADDRESS:
        return "cudaErrorIllegalAddress";
    case DRIVER_ERROR_ALREADY_REGISTERED:
        return "cudaErrorHostMemoryAlreadyRegistered";
    case DRIVER_ERROR_NOT_REGISTERED:
        return "cudaErrorHostMemoryNotRegistered";
    case DRIVER_ERROR_LAUNCH_FAILURE:
        return "cudaErrorLaunchFailure";
    default:
        return "cudaErrorUnknown";
    }
}

const char *driver_error_text(int error)
{
    return error == DRIVER_OK ? "no error" : "an error of the stub";
}

int driver_device_count(int *ret_count)
{
    struct stub_call call;
    int error = stub_enter(STUB_device_count, &call);
    if (error == DRIVER_OK && stub.driver_version < stub.runtime_version / 1000 * 1000)
        error = DRIVER_ERROR_INSUFFICIENT_DRIVER;
    else if (error == DRIVER_OK && stub.device_count == 0)
        error = DRIVER_ERROR_NO_DEVICE;
    else if (error == DRIVER_OK)
        *ret_count = stub.device_count;
    return stub_leave(error);
}

/* DIR/gpuI; without DIR a file of this process alone, which outlives nothing. */
static void lock_path(struct driver_device *device, int ordinal)
{
    static int private_fds[STUB_DEVICES_MAX];
    if (stub.lock_folder[0]) {
        snprintf(device->lock_path, sizeof device->lock_path, "%.48s/gpu%d", stub.lock_folder,
                 ordinal);
        const int fd = open(device->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
        return;
    }
    if (!private_fds[ordinal])
        private_fds[ordinal] = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    snprintf(device->lock_path, sizeof device->lock_path, "/proc/self/fd/%d", private_fds[ordinal]);
}

int driver_device_get(int ordinal, struct driver_device *ret)
{
    struct stub_call call;
    const int error = stub_enter(STUB_device_get, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    if (ordinal < 0 || ordinal >= stub.device_count)
        return stub_leave(DRIVER_ERROR_INVALID_VALUE);
    *ret = stub.devices[ordinal];
    lock_path(ret, ordinal);
    return stub_leave(DRIVER_OK);
}

int driver_versions(int *ret_driver, int *ret_runtime)
{
    *ret_driver = stub.driver_version;
    *ret_runtime = stub.runtime_version;
    return DRIVER_OK;
}

const char *driver_code_list(void)
{
    return stub.code_list;
}

int driver_open(int ordinal)
{
    struct stub_call call;
    int error = stub_enter(STUB_open, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    const struct driver_device *device = &stub.devices[ordinal];
    if (device->compute_mode == DRIVER_MODE_PROHIBITED ||
        (device->compute_mode == DRIVER_MODE_EXCLUSIVE && stub.is_busy[ordinal]))
        return stub_leave(DRIVER_ERROR_DEVICES_UNAVAILABLE);
    stub.ordinal = ordinal;
    return stub_leave(DRIVER_OK);
}

int driver_check_code(void)
{
    struct stub_call call;
    return stub_leave(stub_enter(STUB_check_code, &call));
}

int driver_last_error(void)
{
    struct stub_call call;
    const int error = stub_enter(STUB_last_error, &call);
    const int last = stub.last_error;
    stub.last_error = DRIVER_OK;
    return stub_leave(error != DRIVER_OK ? error : stub.sticky ? stub.sticky : last);
}
