/* Memory of the stub's device, host memory that is known to it, and copies between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/gpu-worker/stub/stub_internal.h"

enum {
    PAGE_BYTES = 4096,
    /* Fresh device memory holds anything; so much of it is spoilt here. */
    SPOILT_BYTES_MAX = 4 << 20,
};

enum region_kind {
    REGION_DEVICE,
    REGION_PINNED, /* driver_malloc_host */
    REGION_REGISTERED,
    REGION_REGISTERED_READ_ONLY,
};

struct region {
    struct region *next;
    enum region_kind kind;
    const char *begin;
    uint64_t bytes;
};

static struct region *regions;

static struct region *find(const void *begin)
{
    for (struct region *r = regions; r; r = r->next)
        if (r->begin == begin)
            return r;
    return NULL;
}

/* The region that this range lies in, as a whole; *ret_touches: it touches some region. */
static const struct region *find_around(const void *begin, uint64_t bytes, bool *ret_touches)
{
    const char *from = begin;
    *ret_touches = false;
    for (const struct region *r = regions; r; r = r->next) {
        if (from >= r->begin && bytes <= r->bytes && from + bytes <= r->begin + r->bytes)
            return r;
        *ret_touches |= from < r->begin + r->bytes && r->begin < from + bytes;
    }
    return NULL;
}

static void add(enum region_kind kind, const void *begin, uint64_t bytes)
{
    struct region *region = malloc(sizeof *region);
    if (!region)
        stub_misuse("no memory");
    *region = (struct region){.next = regions, .kind = kind, .begin = begin, .bytes = bytes};
    regions = region;
}

/* Also unmaps what is ours. */
static void drop(struct region *region)
{
    struct region **at = &regions;
    while (*at != region)
        at = &(*at)->next;
    *at = region->next;
    if (region->kind == REGION_DEVICE) {
        const uint64_t pages = (region->bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        munmap((char *)region->begin - PAGE_BYTES, (pages + 2) * PAGE_BYTES);
    } else if (region->kind == REGION_PINNED) {
        free((char *)region->begin);
    }
    free(region);
}

void stub_memory_reset(void)
{
    while (regions)
        drop(regions);
}

unsigned stub_registered_count(void)
{
    unsigned count = 0;
    for (const struct region *r = regions; r; r = r->next)
        count += r->kind >= REGION_REGISTERED;
    return count;
}

uint64_t stub_allocated_bytes(void)
{
    uint64_t bytes = 0;
    for (const struct region *r = regions; r; r = r->next)
        bytes += r->kind == REGION_DEVICE ? r->bytes : 0;
    return bytes;
}

bool stub_is_device(const void *begin, uint64_t bytes)
{
    bool touches;
    const struct region *region = find_around(begin, bytes, &touches);
    return region && region->kind == REGION_DEVICE;
}

int stub_check_device(const char *what, const void *begin, uint64_t bytes)
{
    pthread_mutex_lock(&stub.mutex);
    const bool is_inside = stub_is_device(begin, bytes);
    pthread_mutex_unlock(&stub.mutex);
    if (is_inside)
        return DRIVER_OK;
    fprintf(stderr, "stub: illegal address: %s, %p and %llu bytes on\n", what, begin,
            (unsigned long long)bytes);
    return DRIVER_ERROR_ILLEGAL_ADDRESS;
}

/* driver.h: memory */

int driver_memory(uint64_t *ret_free, uint64_t *ret_total)
{
    struct stub_call call;
    const int error = stub_enter(STUB_memory, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    *ret_total = stub.devices[stub.ordinal].memory_bytes;
    *ret_free = *ret_total - stub_allocated_bytes();
    return stub_leave(DRIVER_OK);
}

int driver_malloc(void **ret_memory, uint64_t bytes)
{
    struct stub_call call;
    const int error = stub_enter(STUB_malloc, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    if (bytes == 0)
        return stub_leave(DRIVER_ERROR_INVALID_VALUE);
    if (bytes > stub.devices[stub.ordinal].memory_bytes - stub_allocated_bytes())
        return stub_leave(DRIVER_ERROR_MEMORY);
    const uint64_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    char *memory = mmap(NULL, (pages + 2) * PAGE_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED ||
        mprotect(memory + PAGE_BYTES, pages * PAGE_BYTES, PROT_READ | PROT_WRITE) < 0)
        stub_misuse("no memory");
    memset(memory + PAGE_BYTES, 0xa5, bytes < SPOILT_BYTES_MAX ? bytes : SPOILT_BYTES_MAX);
    add(REGION_DEVICE, memory + PAGE_BYTES, bytes);
    *ret_memory = memory + PAGE_BYTES;
    return stub_leave(DRIVER_OK);
}

int driver_free(void *memory)
{
    struct stub_call call;
    const int error = stub_enter(STUB_free, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct region *region = find(memory);
    if (!region || region->kind != REGION_DEVICE)
        stub_misuse("free of %p, which was not allocated", memory);
    if (stub_is_in_use(region->begin, region->bytes))
        stub_misuse("device memory freed while work on it is queued");
    drop(region);
    return stub_leave(DRIVER_OK);
}

int driver_malloc_host(void **ret_memory, uint64_t bytes)
{
    struct stub_call call;
    const int error = stub_enter(STUB_malloc_host, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    const uint64_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    void *memory = aligned_alloc(PAGE_BYTES, pages * PAGE_BYTES);
    if (!memory)
        stub_misuse("no memory");
    memset(memory, 0xa5, bytes);
    add(REGION_PINNED, memory, bytes);
    *ret_memory = memory;
    return stub_leave(DRIVER_OK);
}

int driver_free_host(void *memory)
{
    struct stub_call call;
    const int error = stub_enter(STUB_free_host, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct region *region = find(memory);
    if (!region || region->kind != REGION_PINNED)
        stub_misuse("free of %p, which was not allocated", memory);
    if (stub_is_in_use(region->begin, region->bytes))
        stub_misuse("pinned memory freed while a copy of it is queued");
    drop(region);
    return stub_leave(DRIVER_OK);
}

/* Read-only mappings are refused, as CUDA does, where they cannot be registered as such. */
int driver_host_register(const void *memory, uint64_t bytes, bool is_read_only)
{
    struct stub_call call;
    bool touches;
    const int error = stub_enter(STUB_host_register, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    if (bytes == 0)
        return stub_leave(DRIVER_ERROR_INVALID_VALUE);
    if (find_around(memory, bytes, &touches) || touches)
        return stub_leave(DRIVER_ERROR_ALREADY_REGISTERED);
    if (is_read_only && !stub.devices[stub.ordinal].can_register_read_only)
        return stub_leave(DRIVER_ERROR_INVALID_VALUE);
    add(is_read_only ? REGION_REGISTERED_READ_ONLY : REGION_REGISTERED, memory, bytes);
    if (stub_registered_count() > stub.registered_max)
        stub.registered_max = stub_registered_count();
    return stub_leave(DRIVER_OK);
}

int driver_host_unregister(const void *memory)
{
    struct stub_call call;
    const int error = stub_enter(STUB_host_unregister, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct region *region = find(memory);
    if (!region || region->kind < REGION_REGISTERED)
        return stub_leave(DRIVER_ERROR_NOT_REGISTERED);
    if (stub_is_in_use(region->begin, region->bytes))
        stub_misuse("host memory unregistered while a copy of it is queued");
    drop(region);
    return stub_leave(DRIVER_OK);
}

/* driver.h: copies */

struct copy {
    void *to;
    const void *from;
    uint64_t bytes;
    int fill;          /* byte, or -1: a copy */
    uint8_t staging[]; /* of pageable memory */
};

static int run_copy(void *arguments)
{
    const struct copy *copy = arguments;
    if (copy->fill >= 0)
        memset(copy->to, copy->fill, copy->bytes);
    else
        memmove(copy->to, copy->from, copy->bytes);
    return DRIVER_OK;
}

/* Host memory is read or written when the stream gets there if it is registered. Otherwise reading
 * happens at once, into a buffer, and `ret_is_pageable` says so. One that is registered in part is
 * refused, as CUDA does. */
static int look_at_host(const void *memory, uint64_t bytes, bool is_written, bool *ret_is_pageable)
{
    bool touches;
    const struct region *region = find_around(memory, bytes, &touches);
    *ret_is_pageable = !region;
    if (region && (region->kind == REGION_DEVICE ||
                   (is_written && region->kind == REGION_REGISTERED_READ_ONLY)))
        return DRIVER_ERROR_INVALID_VALUE;
    return !region && touches ? DRIVER_ERROR_INVALID_VALUE : DRIVER_OK;
}

/* Mutex held. */
static int enqueue_copy(const struct stub_call *call, const struct copy *copy, bool is_pageable,
                        void *stream)
{
    struct copy *arguments = malloc(sizeof *arguments + (is_pageable ? copy->bytes : 0));
    if (!arguments)
        stub_misuse("no memory");
    *arguments = *copy;
    if (is_pageable)
        arguments->from = memcpy(arguments->staging, copy->from, copy->bytes);
    struct stub_operation operation = {
        .call = *call,
        .run = run_copy,
        .arguments = arguments,
        .ranges = {{copy->to, copy->bytes}, {arguments->from, copy->fill < 0 ? copy->bytes : 0}},
        .range_count = 2,
    };
    if (call->function == STUB_copy_to_host && copy->bytes)
        operation.result = copy->to;
    stub_enqueue(stream, &operation);
    return DRIVER_OK;
}

int driver_copy_to_device(void *device, const void *host, uint64_t bytes, void *stream)
{
    struct stub_call call;
    const struct copy copy = {.to = device, .from = host, .bytes = bytes, .fill = -1};
    bool is_pageable = false;
    int error = stub_enter(STUB_copy_to_device, &call);
    if (error == DRIVER_OK && !stub_is_device(device, bytes))
        error = DRIVER_ERROR_INVALID_VALUE;
    if (error == DRIVER_OK)
        error = look_at_host(host, bytes, false, &is_pageable);
    if (error != DRIVER_OK)
        return stub_leave(error);
    return stub_leave(enqueue_copy(&call, &copy, is_pageable, stream));
}

int driver_copy_to_host(void *host, const void *device, uint64_t bytes, void *stream)
{
    struct stub_call call;
    const struct copy copy = {.to = host, .from = device, .bytes = bytes, .fill = -1};
    bool is_pageable = false;
    int error = stub_enter(STUB_copy_to_host, &call);
    if (error == DRIVER_OK && !stub_is_device(device, bytes))
        error = DRIVER_ERROR_INVALID_VALUE;
    if (error == DRIVER_OK)
        error = look_at_host(host, bytes, true, &is_pageable);
    if (error == DRIVER_OK && is_pageable)
        stub_misuse("a copy to pageable memory would wait for the device");
    return stub_leave(error == DRIVER_OK ? enqueue_copy(&call, &copy, false, stream) : error);
}

int driver_copy_on_device(void *to, const void *from, uint64_t bytes, void *stream)
{
    struct stub_call call;
    const struct copy copy = {.to = to, .from = from, .bytes = bytes, .fill = -1};
    int error = stub_enter(STUB_copy_on_device, &call);
    if (error == DRIVER_OK && (!stub_is_device(to, bytes) || !stub_is_device(from, bytes)))
        error = DRIVER_ERROR_INVALID_VALUE;
    return stub_leave(error == DRIVER_OK ? enqueue_copy(&call, &copy, false, stream) : error);
}

int driver_fill(void *device, int byte, uint64_t bytes, void *stream)
{
    struct stub_call call;
    const struct copy copy = {.to = device, .bytes = bytes, .fill = byte & 0xff};
    int error = stub_enter(STUB_fill, &call);
    if (error == DRIVER_OK && !stub_is_device(device, bytes))
        error = DRIVER_ERROR_INVALID_VALUE;
    return stub_leave(error == DRIVER_OK ? enqueue_copy(&call, &copy, false, stream) : error);
}
