/* cuzk-gpu: one a device. Start-up: options, the supervisor's descriptors, the backend, a proof
 * with a known answer, every slab made readable to the device; then READY and the loop of
 * worker.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu-worker/known_answer.h"
#include "gpu-worker/plugin.h"
#include "gpu-worker/worker.h"
#include "runtime/clock.h"

/* Large: keys of every circuit and slab tables. */
static struct gpu_worker worker;

static int gpu_open_one(const char *name, char *ret_text)
{
    const struct worker_options *given = &worker.frame.options;
    const struct backend_options options = {
        .threads = given->threads,
        .device = given->device[0] ? given->device : NULL,
        .vram_limit = given->vram_limit,
        .requires_pinned = given->requires_pinned,
    };
    int error = backend_find(name, &worker.ops, ret_text);
    if (error == 0)
        error = worker.ops->open(&options, &worker.backend, ret_text);
    if (error == 0)
        worker.ops->describe(worker.backend, &worker.device);
    return error;
}

/* `auto` takes the CPU where there is no device, and says so loudly: nobody may find out from the
 * proving times. */
static int gpu_open_backend(bool *ret_fell_back, uint64_t *ret_opened_ns, char *ret_text)
{
    const bool is_auto = strcmp(worker.frame.options.backend, "auto") == 0;
    int error = gpu_open_one(is_auto ? "cuda" : worker.frame.options.backend, ret_text);
    if (is_auto && error == -ENODEV) {
        log_warn("proving on the CPU, many times slower than on a GPU: %s", ret_text);
        *ret_fell_back = true;
        error = gpu_open_one("cpu", ret_text);
    }
    *ret_opened_ns = clock_now_ns();
    if (error == 0)
        error = known_answer_check(worker.ops, worker.backend, ret_text);
    return error;
}

/* How long a start took, by its parts: what a restart costs. */
static void gpu_report_start(uint64_t begin_ns, uint64_t opened_ns, uint64_t checked_ns)
{
    const uint64_t now_ns = clock_now_ns();
    log_info("GPU_TIMING start device_ms=%.3f known_answer_ms=%.3f slabs_ms=%.3f total_ms=%.3f",
             (double)(opened_ns - begin_ns) / 1e6, (double)(checked_ns - opened_ns) / 1e6,
             (double)(now_ns - checked_ns) / 1e6, (double)(now_ns - begin_ns) / 1e6);
}

static int gpu_ready(bool fell_back)
{
    const uint64_t numbers[4] = {
        worker.ops == &backend_cpu ? READY_BACKEND_CPU : READY_BACKEND_CUDA,
        fell_back,
        worker.device.partitions_useful,
        worker.frame.options.threads,
    };
    struct ready_device device = {.memory_bytes = worker.device.memory_bytes};
    snprintf(device.name, sizeof device.name, "%s", worker.device.name);
    snprintf(device.uuid, sizeof device.uuid, "%s", worker.device.uuid);
    if (worker.ops == &backend_cpu)
        worker.frame.profile = SANDBOX_CLOSED; /* auto fell back: no driver needs more */
    return worker_ready(&worker.frame, numbers, &device, sizeof device);
}

/* Could a process of this program start? The plug-in is loaded; no device is touched, since the
 * worker that is to be replaced has it. */
static int gpu_check(const struct worker_options *options)
{
    char text[GPU_TEXT_BYTES] = "";
    const bool is_auto = strcmp(options->backend, "auto") == 0;
    if (worker_check(options) != 0)
        return WORKER_EXIT_START;
    const int error = backend_find(is_auto ? "cuda" : options->backend, &worker.ops, text);
    if (error == 0 || (is_auto && error == -ENODEV))
        return WORKER_EXIT_STOPPED;
    fprintf(stderr, "%s\n", text);
    return WORKER_EXIT_START;
}

int main(int argc, char **argv)
{
    struct worker_options options;
    char text[GPU_TEXT_BYTES] = "";
    const uint64_t begin_ns = clock_now_ns();
    uint64_t opened_ns, checked_ns;
    bool fell_back = false;
    int status = WORKER_EXIT_START;
    if (worker_options_parse(argc, argv, &options) < 0)
        return WORKER_EXIT_START;
    if (!options.backend[0])
        strcpy(options.backend, "cpu");
    if (options.check[0])
        return gpu_check(&options);
    if (worker_open(&worker.frame, WORKER_GPU, &options, 1) < 0)
        return WORKER_EXIT_START;
    const bool is_cpu = strcmp(options.backend, "cpu") == 0;
    const char *const writable[] = {is_cpu ? NULL : plugin_writable_folder(), NULL};
    int error =
        worker_limit_files(&worker.frame, is_cpu ? SANDBOX_CLOSED : SANDBOX_DEVICE, writable);
    if (error < 0) {
        worker_close(&worker.frame);
        return WORKER_EXIT_START;
    }
    error = gpu_open_backend(&fell_back, &opened_ns, text);
    checked_ns = clock_now_ns();
    if (error == 0)
        error = gpu_worker_start(&worker, text);
    if (error == 0) {
        gpu_report_start(begin_ns, opened_ns, checked_ns);
        if (gpu_ready(fell_back) == 0)
            status = gpu_worker_run(&worker);
    } else {
        log_error("%s", text);
        worker_last_words(&worker.frame, text);
    }
    /* After a sticky error nothing of the device may be touched, not even by unmapping what it may
     * read or by the destructors of its libraries: the process's end frees it. */
    if (status == WORKER_EXIT_DEVICE)
        _exit(status);
    if (worker.backend)
        worker.ops->close(worker.backend);
    worker_close(&worker.frame);
    return status;
}
