/* cuzk-gpu: one a device. Start-up: options, the supervisor's descriptors, the backend, a proof
 * with a known answer; then READY and the loop of worker.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-worker/known_answer.h"
#include "gpu-worker/worker.h"

/* Large: keys of every circuit and slab tables. */
static struct gpu_worker worker;

static int gpu_open_one(const char *name, char *ret_text)
{
    const struct backend_options options = {.threads = worker.frame.options.threads};
    int error = backend_find(name, &worker.ops, ret_text);
    if (error == 0)
        error = worker.ops->open(&options, &worker.backend, ret_text);
    if (error == 0)
        worker.ops->describe(worker.backend, &worker.device);
    return error;
}

/* `auto` takes the CPU where there is no device, and says so loudly: nobody may find out from the
 * proving times. */
static int gpu_open_backend(bool *ret_fell_back)
{
    char text[BACKEND_TEXT_BYTES];
    const bool is_auto = strcmp(worker.frame.options.backend, "auto") == 0;
    int error = gpu_open_one(is_auto ? "cuda" : worker.frame.options.backend, text);
    if (is_auto && error == -ENODEV) {
        log_warn("proving on the CPU, many times slower than on a GPU: %s", text);
        *ret_fell_back = true;
        error = gpu_open_one("cpu", text);
    }
    if (error == 0)
        error = known_answer_check(worker.ops, worker.backend, text);
    if (error < 0)
        log_error("%s", text);
    return error;
}

int main(int argc, char **argv)
{
    struct worker_options options;
    bool fell_back = false;
    int status = WORKER_EXIT_START;
    if (worker_options_parse(argc, argv, &options) < 0)
        return WORKER_EXIT_START;
    if (!options.backend[0])
        strcpy(options.backend, "cpu");
    if (worker_open(&worker.frame, WORKER_GPU, &options, 1) < 0)
        return WORKER_EXIT_START;
    if (gpu_open_backend(&fell_back) == 0) {
        const uint64_t numbers[4] = {
            worker.ops == &backend_cpu ? READY_BACKEND_CPU : READY_BACKEND_CUDA,
            fell_back,
            worker.device.partitions_useful,
            options.threads,
        };
        worker_ready(&worker.frame, numbers, worker.device.name);
        status = gpu_worker_run(&worker);
    }
    /* After a sticky error nothing of the device may be touched: the process's end frees it. */
    if (worker.backend && status != WORKER_EXIT_DEVICE)
        worker.ops->close(worker.backend);
    worker_close(&worker.frame);
    return status;
}
