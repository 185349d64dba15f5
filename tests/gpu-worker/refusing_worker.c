/* A GPU worker whose device takes keys but not every slab: slab 0 is refused by the call, slab 1 by
 * an event, slab 2 is taken and slab 3 taken unpinned. Started by test_gpu_worker.c in place of
 * cuzk-gpu. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gpu-worker/worker.h"
#include "shm/bell.h"

struct backend {
    int event_fd;
    struct backend_event events[16];
    unsigned count;
};

static struct backend device;
static struct gpu_worker worker;

static int refusing_open(const struct backend_options *options, struct backend **ret_backend,
                         char *ret_text)
{
    (void)options;
    (void)ret_text;
    device.event_fd = bell_create();
    *ret_backend = &device;
    return 0;
}

static void refusing_close(struct backend *backend)
{
    close(backend->event_fd);
}

static int refusing_event_fd(const struct backend *backend)
{
    return backend->event_fd;
}

static void post(struct backend *backend, struct backend_event event)
{
    backend->events[backend->count++] = event;
    bell_ring(backend->event_fd);
}

static int refusing_attach_slab(struct backend *backend, uint32_t index, const void *memory,
                                size_t bytes)
{
    (void)memory;
    (void)bytes;
    if (index == 0)
        return -ENOMEM;
    if (index == 1)
        post(backend, (struct backend_event){.kind = BACKEND_SLAB_REFUSED,
                                             .id = index,
                                             .fault = BACKEND_FAULT_MEMORY,
                                             .text = "out of mappings"});
    else
        post(backend, (struct backend_event){.kind = BACKEND_SLAB_ATTACHED,
                                             .id = index,
                                             .is_unpinned = index == 3,
                                             .text = "not lockable"});
    return 0;
}

static int refusing_detach_slab(struct backend *backend, uint32_t index)
{
    (void)backend;
    log_info("detached slab %u", index);
    return 0;
}

static int refusing_load_key(struct backend *backend, uint32_t key, const struct prepared *prepared)
{
    (void)prepared;
    post(backend, (struct backend_event){.kind = BACKEND_KEY_LOADED,
                                         .id = key,
                                         .is_unpinned = key == 1,
                                         .text = "resident, no tables"});
    return 0;
}

static int refusing_start(struct backend *backend, const struct backend_partition *partition)
{
    (void)backend;
    (void)partition;
    abort(); /* no slab was ever attached */
}

static int refusing_poll(struct backend *backend, struct backend_event *ret_event)
{
    if (backend->count == 0)
        return 0;
    *ret_event = backend->events[--backend->count];
    return 1;
}

static const struct backend_ops refusing_ops = {
    .name = "refusing",
    .abi = BACKEND_ABI,
    .open = refusing_open,
    .close = refusing_close,
    .event_fd = refusing_event_fd,
    .attach_slab = refusing_attach_slab,
    .detach_slab = refusing_detach_slab,
    .load_key = refusing_load_key,
    .start = refusing_start,
    .poll = refusing_poll,
};

int main(int argc, char **argv)
{
    struct worker_options options;
    char text[GPU_TEXT_BYTES];
    if (worker_options_parse(argc, argv, &options) < 0 ||
        worker_open(&worker.frame, WORKER_GPU, &options, 1) < 0)
        return WORKER_EXIT_START;
    worker.ops = &refusing_ops;
    worker.ops->open(NULL, &worker.backend, NULL);
    if (gpu_worker_start(&worker, text) < 0) {
        worker_last_words(&worker.frame, text);
        return WORKER_EXIT_START;
    }
    worker_ready(&worker.frame, NULL, "refusing", sizeof "refusing");
    const int status = gpu_worker_run(&worker);
    worker.ops->close(worker.backend);
    worker_close(&worker.frame);
    return status;
}
