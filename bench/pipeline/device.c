/* See device.h. Prototypes: CUDA Driver API; declared here because only a few calls are
 * needed and the tree builds without CUDA. */
#include "bench/pipeline/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct device {
    void *library, *context, *stream, *begin, *end;
    int ordinal;
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*retain)(void **, int);
    int (*release)(int);
    int (*set_current)(void *);
    int (*malloc)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*host_register)(void *, size_t, unsigned);
    int (*host_unregister)(void *);
    int (*stream_create)(void **, unsigned);
    int (*stream_synchronize)(void *);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_elapsed)(float *, void *, void *);
    int (*copy)(uint64_t, const void *, size_t, void *);
};

enum {
    DEVICE_STREAM_NON_BLOCKING = 1,
    DEVICE_REGISTER_READ_ONLY = 8,
};

static const struct symbol {
    const char *name;
    size_t off;
} symbols[] = {
    {"cuInit", offsetof(struct device, init)},
    {"cuDeviceGet", offsetof(struct device, device_get)},
    {"cuDevicePrimaryCtxRetain", offsetof(struct device, retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(struct device, release)},
    {"cuCtxSetCurrent", offsetof(struct device, set_current)},
    {"cuMemAlloc_v2", offsetof(struct device, malloc)},
    {"cuMemFree_v2", offsetof(struct device, free)},
    {"cuMemHostRegister_v2", offsetof(struct device, host_register)},
    {"cuMemHostUnregister", offsetof(struct device, host_unregister)},
    {"cuStreamCreate", offsetof(struct device, stream_create)},
    {"cuStreamSynchronize", offsetof(struct device, stream_synchronize)},
    {"cuEventCreate", offsetof(struct device, event_create)},
    {"cuEventRecord", offsetof(struct device, event_record)},
    {"cuEventElapsedTime", offsetof(struct device, event_elapsed)},
    {"cuMemcpyHtoDAsync_v2", offsetof(struct device, copy)},
};

static int find_symbols(struct device *device, char *ret_text, size_t text_bytes)
{
    device->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!device->library) {
        snprintf(ret_text, text_bytes, "no CUDA driver: %s", dlerror());
        return -ENODEV;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(device->library, symbols[i].name);
        if (!symbol) {
            snprintf(ret_text, text_bytes, "this CUDA driver has no %s", symbols[i].name);
            return -ENODEV;
        }
        *(void **)((char *)device + symbols[i].off) = symbol;
    }
    return 0;
}

int device_open(struct device **ret, char *ret_text, size_t text_bytes)
{
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return -ENOMEM;
    int error = find_symbols(device, ret_text, text_bytes);
    if (error == 0) {
        int result = device->init(0);
        if (result == 0)
            result = device->device_get(&device->ordinal, 0);
        if (result == 0)
            result = device->retain(&device->context, device->ordinal);
        if (result == 0)
            result = device->set_current(device->context);
        if (result == 0)
            result = device->stream_create(&device->stream, DEVICE_STREAM_NON_BLOCKING);
        if (result == 0)
            result = device->event_create(&device->begin, 0);
        if (result == 0)
            result = device->event_create(&device->end, 0);
        if (result != 0) {
            snprintf(ret_text, text_bytes, "CUDA driver error %d while opening device 0", result);
            error = -ENODEV;
        }
    }
    if (error < 0)
        device_close(device);
    else
        *ret = device;
    return error;
}

void device_close(struct device *device)
{
    if (device->context)
        device->release(device->ordinal);
    if (device->library)
        dlclose(device->library);
    free(device);
}

static int to_errno(int result)
{
    return result == 0 ? 0 : result == 2 ? -ENOMEM : -EIO;
}

int device_malloc(struct device *device, size_t bytes, uint64_t *ret)
{
    return to_errno(device->malloc(ret, bytes));
}

int device_free(struct device *device, uint64_t memory)
{
    return to_errno(device->free(memory));
}

int device_register(struct device *device, const void *memory, size_t bytes, bool is_read_only)
{
    return to_errno(
        device->host_register((void *)memory, bytes, is_read_only ? DEVICE_REGISTER_READ_ONLY : 0));
}

int device_unregister(struct device *device, const void *memory)
{
    return to_errno(device->host_unregister((void *)memory));
}

int device_copy(struct device *device, uint64_t to, const void *from, size_t bytes,
                uint64_t *ret_ns)
{
    float ms = 0;
    /* The thread may be another one than that of device_open. */
    int result = device->set_current(device->context);
    if (result == 0)
        result = device->event_record(device->begin, device->stream);
    if (result == 0)
        result = device->copy(to, from, bytes, device->stream);
    if (result == 0)
        result = device->event_record(device->end, device->stream);
    if (result == 0)
        result = device->stream_synchronize(device->stream);
    if (result == 0)
        result = device->event_elapsed(&ms, device->begin, device->end);
    if (result == 0)
        *ret_ns = (uint64_t)(ms * 1e6f);
    return to_errno(result);
}
