/* See load.h. Upstream: files that make-key wrote; downstream: the backend's table. */
#include "bench/pipeline/load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu-worker/plugin.h"
#include "groth16/key/wtns.h"
#include "runtime/clock.h"

enum {
    LOAD_TIMEOUT_MS = 120000,
    LOAD_POLL_MS = 50, /* a device in error may ring no more */
    LOAD_GRAIN = 1 << 12,
};

static int __attribute__((format(printf, 3, 4)))
load_fail(struct load *load, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(load->fault, sizeof load->fault, format, arguments);
    va_end(arguments);
    return error;
}

int load_memory_create(size_t bytes, struct load_memory *ret)
{
    const size_t whole =
        (bytes + LOAD_HUGEPAGE_BYTES - 1) / LOAD_HUGEPAGE_BYTES * LOAD_HUGEPAGE_BYTES;
    struct load_memory memory = {.bytes = whole, .is_hugepage = true};
    memory.memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
    if (memory.memory == MAP_FAILED) {
        memory.is_hugepage = false;
        memory.memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    }
    if (memory.memory == MAP_FAILED)
        return -errno;
    *ret = memory;
    return 0;
}

void load_memory_destroy(struct load_memory *memory)
{
    if (memory->memory)
        munmap(memory->memory, memory->bytes);
    *memory = (struct load_memory){0};
}

static int read_key(struct load *load, int fd)
{
    struct reason reason = {0};
    struct prepared header;
    int error = prepared_read_header(fd, &header, &reason);
    if (error == 0) {
        error = load_memory_create(header.image_bytes, &load->key);
        if (error < 0)
            reason_set(&reason, error, "no memory for %zu bytes", (size_t)header.image_bytes);
    }
    if (error == 0)
        error =
            prepared_load(fd, load->key.memory, load->key.bytes, NULL, load->pool, NULL, &reason);
    if (error == 0)
        error = prepared_attach(load->key.memory, header.image_bytes, &load->prepared, &reason);
    if (error < 0)
        return load_fail(load, error, "the prepared key: %s", reason.text);
    load->layout = prepared_slab_layout(&load->prepared);
    return 0;
}

static int read_witness(struct load *load, int fd)
{
    struct reason reason = {0};
    struct wtns wtns;
    uint64_t done = 0;
    int error = wtns_open(fd, &wtns, &reason);
    if (error == 0)
        error =
            wtns_match(&wtns, load->prepared.curve, load->prepared.shape.variable_count, &reason);
    if (error == 0) {
        error = load_memory_create(wtns.data_bytes, &load->witness);
        if (error < 0)
            reason_set(&reason, error, "no memory for %zu bytes", (size_t)wtns.data_bytes);
    }
    while (error == 0 && done < wtns.data_bytes) {
        const ssize_t got = pread(fd, (uint8_t *)load->witness.memory + done,
                                  wtns.data_bytes - done, (off_t)(wtns.data_off + done));
        if (got <= 0)
            error = reason_set(&reason, got < 0 ? -errno : -EIO, "it cannot be read");
        else
            done += (uint64_t)got;
    }
    return error < 0 ? load_fail(load, error, "the witness: %s", reason.text) : 0;
}

static int read_file(struct load *load, const char *path, int (*reader)(struct load *, int))
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return load_fail(load, -errno, "cannot open %s: %s", path, strerror(errno));
    const int error = reader(load, fd);
    close(fd);
    return error;
}

static int open_backend(struct load *load, const struct load_options *options)
{
    const struct backend_options backend_options = {
        .threads = options->threads, .vram_limit = options->vram_limit, .requires_pinned = true};
    char text[BACKEND_TEXT_BYTES] = "";
    const uint64_t begin_ns = clock_now_ns();
    int error = options->plugin ? plugin_load(options->plugin, options->backend, &load->ops, text)
                                : backend_find(options->backend, &load->ops, text);
    if (error == 0)
        error = load->ops->open(&backend_options, &load->backend, text);
    if (error < 0)
        return load_fail(load, error, "%s", text);
    load->open_ns = clock_now_ns() - begin_ns;
    load->ops->describe(load->backend, &load->device);
    return 0;
}

int load_next_event(struct load *load, struct backend_event *ret_event)
{
    const uint64_t deadline_ns = clock_now_ns() + LOAD_TIMEOUT_MS * UINT64_C(1000000);
    while (!load->ops->poll(load->backend, ret_event)) {
        struct pollfd bell = {.fd = load->ops->event_fd(load->backend), .events = POLLIN};
        uint64_t count;
        if (clock_now_ns() > deadline_ns)
            return load_fail(load, -ETIMEDOUT, "the backend says nothing for %d s",
                             LOAD_TIMEOUT_MS / 1000);
        if (poll(&bell, 1, LOAD_POLL_MS) > 0)
            (void)!read(bell.fd, &count, sizeof count);
    }
    if (ret_event->kind == BACKEND_LOST)
        return load_fail(load, -EIO, "the device is lost: %s", ret_event->text);
    return 0;
}

/* For start-up calls, during which nothing else is in flight. */
static int wait_for(struct load *load, enum backend_event_kind kind, struct backend_event *event)
{
    for (;;) {
        const int error = load_next_event(load, event);
        if (error < 0 || event->kind == kind)
            return error;
        if (event->fault != BACKEND_FAULT_NONE)
            return load_fail(load, -EIO, "%s", event->text);
    }
}

static int load_key(struct load *load)
{
    struct backend_event event;
    const uint64_t begin_ns = clock_now_ns();
    int error = load->ops->load_key(load->backend, LOAD_KEY_ID, &load->prepared);
    if (error < 0)
        return load_fail(load, error, "the backend takes no key: %s", strerror(-error));
    error = wait_for(load, BACKEND_KEY_LOADED, &event);
    if (error < 0)
        return error;
    load->loaded_ns = clock_now_ns();
    load->load_ns = load->loaded_ns - begin_ns;
    memcpy(load->key_text, event.text, sizeof load->key_text);
    return 0;
}

int load_init(struct load *load, const struct load_options *options)
{
    *load = (struct load){0};
    int error = pool_create(options->threads, &load->pool);
    if (error < 0)
        return load_fail(load, error, "cannot start %u threads: %s", options->threads,
                         strerror(-error));
    error = read_file(load, options->key, read_key);
    if (error == 0)
        error = read_file(load, options->witness, read_witness);
    if (error == 0)
        error = open_backend(load, options);
    if (error == 0)
        error = load_key(load);
    return error;
}

void load_destroy(struct load *load)
{
    if (load->backend)
        load->ops->close(load->backend);
    load->backend = NULL;
    load_memory_destroy(&load->key);
    load_memory_destroy(&load->witness);
    if (load->pool)
        pool_free(load->pool);
    load->pool = NULL;
}

struct rows {
    const struct load *load;
    uint8_t *slab;
};

static void evaluate_range(void *context, size_t begin, size_t end)
{
    const struct rows *rows = context;
    const struct prepared *key = &rows->load->prepared;
    const struct slab_layout *layout = &rows->load->layout;
    const uint64_t *witness = rows->load->witness.memory;
    key->curve->evaluate(&key->matrix_a, witness, (uint64_t *)(rows->slab + layout->a_off), begin,
                         end);
    key->curve->evaluate(&key->matrix_b, witness, (uint64_t *)(rows->slab + layout->b_off), begin,
                         end);
}

int load_slab_create(struct load *load, uint32_t index, bool has_evaluations,
                     struct load_memory *ret)
{
    struct load_memory slab;
    struct backend_event event;
    int error = load_memory_create(load->layout.bytes, &slab);
    if (error < 0)
        return load_fail(load, error, "no memory for a slab of %zu bytes",
                         (size_t)load->layout.bytes);
    memcpy((uint8_t *)slab.memory + load->layout.witness_off, load->witness.memory,
           load->layout.witness_bytes);
    if (has_evaluations) {
        struct rows rows = {.load = load, .slab = slab.memory};
        pool_run_range(load->pool, (size_t)1 << load->prepared.shape.domain_log2, LOAD_GRAIN,
                       evaluate_range, &rows);
    }
    if (load->ops->attach_slab) {
        const uint64_t begin_ns = clock_now_ns();
        error = load->ops->attach_slab(load->backend, index, slab.memory, slab.bytes);
        if (error == 0)
            error = wait_for(load, BACKEND_SLAB_ATTACHED, &event);
        else
            load_fail(load, error, "the backend takes no slab: %s", strerror(-error));
        load->register_ns = clock_now_ns() - begin_ns;
    }
    if (error < 0)
        load_memory_destroy(&slab);
    else
        *ret = slab;
    return error;
}

void load_slab_destroy(struct load *load, uint32_t index, struct load_memory *slab)
{
    if (slab->memory && load->ops->detach_slab)
        load->ops->detach_slab(load->backend, index);
    load_memory_destroy(slab);
}
