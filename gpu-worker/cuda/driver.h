/* What the CUDA backend asks of the CUDA runtime, and nothing more: plain C calls that return the
 * runtime's own error numbers. Two implementations: driver_cuda.c over cudart (the plug-in), and
 * the tests' stub, which computes in host memory and fails on request. The backend's host code
 * includes no CUDA header, so all of it builds and is tested where there is no CUDA.
 *
 * One device a process. All calls may come from any thread of it. Streams, events: opaque. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of cudaError_t that the backend tells apart (CUDA Runtime API, "Data types"); every other
 * number is an error all the same. */
enum driver_error {
    DRIVER_OK = 0,
    DRIVER_ERROR_INVALID_VALUE = 1,
    DRIVER_ERROR_MEMORY = 2,
    DRIVER_ERROR_INSUFFICIENT_DRIVER = 35,
    DRIVER_ERROR_DEVICES_UNAVAILABLE = 46, /* exclusive mode and taken, or none usable */
    DRIVER_ERROR_NO_DEVICE = 100,
    DRIVER_ERROR_NO_IMAGE = 209, /* no machine code for this card in the build */
    DRIVER_ERROR_ECC = 214,
    DRIVER_ERROR_NOT_READY = 600, /* event_query: not yet */
    DRIVER_ERROR_ILLEGAL_ADDRESS = 700,
    DRIVER_ERROR_ALREADY_REGISTERED = 712,
    DRIVER_ERROR_NOT_REGISTERED = 713,
    DRIVER_ERROR_LAUNCH_FAILURE = 719,
    DRIVER_ERROR_UNKNOWN = 999,
};

enum driver_compute_mode {
    DRIVER_MODE_DEFAULT = 0,
    DRIVER_MODE_PROHIBITED = 2,
    DRIVER_MODE_EXCLUSIVE = 3,
};

struct driver_device {
    char name[64];
    char uuid[64];   /* "GPU-..." or "MIG-..." as nvidia-smi -L prints it */
    char bus_id[16]; /* "0000:3b:00.0" */
    uint64_t memory_bytes;
    int major, minor; /* compute capability */
    int compute_mode; /* enum driver_compute_mode */
    int multiprocessors;
    int copy_engines;
    bool can_register_read_only; /* cudaHostRegisterReadOnly works */
    char lock_path[64];          /* its device node, for the lock of device.h */
};

/* Short name ("cudaErrorMemoryAllocation") and sentence of an error number; never NULL. */
const char *driver_error_name(int error);
const char *driver_error_text(int error);

/* Before driver_open: these make no context. */
int driver_device_count(int *ret_count);
int driver_device_get(int ordinal, struct driver_device *ret);
/* Of the installed driver (0: there is none) and of the runtime in this build: 1000 major + 10
 * minor. */
int driver_versions(int *ret_driver, int *ret_runtime);
/* The compute capabilities that this build has machine code for, "80,90": it runs where the major
 * number is equal and the minor number no lower. */
const char *driver_code_list(void);

/* Makes the context (waiting calls block, they do not spin). */
int driver_open(int ordinal);
/* Tries one kernel's code on the open device: NO_IMAGE where the build has none for it. */
int driver_check_code(void);
int driver_memory(uint64_t *ret_free, uint64_t *ret_total);
/* The last launch error, cleared; sticky errors stay. */
int driver_last_error(void);

int driver_malloc(void **ret_memory, uint64_t bytes);
int driver_free(void *memory);
/* Small pinned host memory of this process's own: results, never slabs or keys. */
int driver_malloc_host(void **ret_memory, uint64_t bytes);
int driver_free_host(void *memory);
/* The whole range in one registration; a copy lies within one or in none. is_read_only: the mapping
 * is PROT_READ, which CUDA takes only when told. Other threads' launches and copies wait meanwhile
 * (some 25 ms a GiB), and unregistering waits for all that is queued. */
int driver_host_register(const void *memory, uint64_t bytes, bool is_read_only);
int driver_host_unregister(const void *memory);

/* Streams do not wait for the default stream. priority: 0 normal, -1 before normal ones (clamped
 * to what the device has), 1 after them. */
int driver_stream_create(void **ret_stream, int priority);
int driver_stream_destroy(void *stream);
int driver_stream_wait(void *stream, void *event);
int driver_event_create(void **ret_event);
int driver_event_destroy(void *event);
int driver_event_record(void *event, void *stream);
/* OK when it has happened (or was never recorded), NOT_READY, or the context's error. */
int driver_event_query(void *event);
/* Blocks the thread without spinning. */
int driver_event_wait(void *event);
/* Both have happened. Resolution about half a microsecond. */
int driver_event_elapsed(double *ret_ms, void *begin, void *end);

int driver_copy_to_device(void *device, const void *host, uint64_t bytes, void *stream);
int driver_copy_to_host(void *host, const void *device, uint64_t bytes, void *stream);
int driver_copy_on_device(void *to, const void *from, uint64_t bytes, void *stream);
int driver_fill(void *device, int byte, uint64_t bytes, void *stream);
/* `call` runs on a thread of the runtime when the stream gets there; it makes no driver call. The
 * stream waits for it: put bells in a stream of their own. Not called once the context is lost. */
int driver_call_host(void *stream, void (*call)(void *context), void *context);

#ifdef __cplusplus
}
#endif
