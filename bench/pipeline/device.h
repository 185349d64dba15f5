/* Copies to a device through the CUDA driver itself (libcuda.so.1, opened at run time), beside any
 * backend: the yardsticks of `cuzk-bench pipeline`. Shares the device's primary context with a
 * plug-in in the same process. One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;

/* -ENODEV: no driver or no device here; any failure leaves a sentence. */
int device_open(struct device **ret, char *ret_text, size_t text_bytes);
void device_close(struct device *device);

/* ret: memory of the device. Negative errno. */
int device_malloc(struct device *device, size_t bytes, uint64_t *ret);
int device_free(struct device *device, uint64_t memory);
/* is_read_only: the device will not write there; needed for memory mapped without that right. */
int device_register(struct device *device, const void *memory, size_t bytes, bool is_read_only);
int device_unregister(struct device *device, const void *memory);
/* Copies and waits; *ret_ns by the device's events. */
int device_copy(struct device *device, uint64_t to, const void *from, size_t bytes,
                uint64_t *ret_ns);
