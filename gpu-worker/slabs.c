/* See slabs.h. Upstream: the courier (shm/port.h); downstream: the backend's registrations. */
#include "gpu-worker/slabs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "config/units.h"
#include "runtime/clock.h"

enum {
    GPU_SLABS_REPORT_NS = 2000000000,
};

static int gpu_slabs_before_unmap(void *context, uint32_t index);

static void gpu_slabs_add(_Atomic uint64_t *figure, uint64_t add)
{
    atomic_store_explicit(figure, atomic_load_explicit(figure, memory_order_relaxed) + add,
                          memory_order_relaxed);
}

void gpu_slabs_count(struct gpu_worker *worker, uint64_t bytes, bool is_unpinned, bool add)
{
    struct channel_progress *progress = &worker->frame.port.channel.layout->progress;
    if (!worker->ops->attach_slab) /* nothing needs to be registered */
        return;
    gpu_slabs_add(is_unpinned ? &progress->unpinned_bytes : &progress->pinned_bytes,
                  add ? bytes : -bytes);
}

/* Where a shortage of lockable memory would be the cause. */
static const char *gpu_slabs_limit(char *ret, size_t bytes)
{
    struct rlimit limit;
    char size[UNITS_TEXT_BYTES];
    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        snprintf(ret, bytes, "RLIMIT_MEMLOCK is no limit here");
    else
        snprintf(ret, bytes, "RLIMIT_MEMLOCK is %s: set LimitMEMLOCK=infinity in the unit",
                 units_print_size(limit.rlim_cur, size));
    return ret;
}

/* Whoever asked for the slab at run time hears of it. */
static void gpu_slabs_answer(struct gpu_worker *worker, uint32_t index)
{
    const struct gpu_slab *slab = &worker->slabs[index];
    for (unsigned i = 0; i < SLAB_CALLS_HELD_MAX; i++) {
        struct gpu_slab_call *call = &worker->slab_calls[i];
        if (!call->is_open || call->grant.numbers[SLAB_CALL_INDEX] != index)
            continue;
        call->is_open = false;
        if (slab->is_refused)
            port_answer_fail(&call->answer, BLAME_DEVICE, -ENOMEM, worker->slab_fault);
        log_info("slab %u is %s in %.3f ms", index,
                 slab->is_refused ? "refused by the device" : "readable to the device",
                 (double)(clock_now_ns() - call->taken_ns) / 1e6);
        port_complete(&worker->frame.port, &call->answer);
    }
}

static void gpu_slabs_refused(struct gpu_worker *worker, uint32_t index, const char *why)
{
    struct gpu_slab *slab = &worker->slabs[index];
    char limit[128], size[UNITS_TEXT_BYTES];
    slab->is_refused = true;
    worker->slabs_refused++;
    snprintf(worker->slab_fault, sizeof worker->slab_fault,
             "slab %u (%s) cannot be registered with the device: %.255s; %s, or [GPU] "
             "RequirePinned=no to go on with slow copies",
             index, units_print_size(slab->bytes, size), why, gpu_slabs_limit(limit, sizeof limit));
    if (worker->is_ready) /* before, it is the reason why there is no start, said once */
        log_error("%s", worker->slab_fault);
    gpu_slabs_answer(worker, index);
}

static void gpu_slabs_attached(struct gpu_worker *worker, uint32_t index, bool is_unpinned,
                               const char *why)
{
    struct channel_progress *progress = &worker->frame.port.channel.layout->progress;
    struct gpu_slab *slab = &worker->slabs[index];
    slab->is_attached = true;
    slab->is_unpinned = is_unpinned;
    worker->slabs_attached++;
    gpu_slabs_answer(worker, index);
    if (!worker->ops->attach_slab)
        return;
    gpu_slabs_count(worker, slab->bytes, is_unpinned, true);
    if (!is_unpinned) {
        atomic_fetch_add_explicit(&progress->slabs_pinned, 1, memory_order_relaxed);
        return;
    }
    /* Once with the reason; status counts the rest. */
    if (atomic_fetch_add_explicit(&progress->slabs_unpinned, 1, memory_order_relaxed) == 0)
        log_warn("slab %u is not pinned, and likely others: uploads from it are several times "
                 "slower: %s",
                 index, why);
}

int gpu_slabs_on_add(struct gpu_worker *worker, const struct message *grant,
                     const struct message *answer)
{
    const uint64_t index = grant->numbers[SLAB_CALL_INDEX];
    struct gpu_slab_call *call = NULL;
    for (unsigned i = 0; i < SLAB_CALLS_HELD_MAX && !call; i++)
        call = worker->slab_calls[i].is_open ? NULL : &worker->slab_calls[i];
    if (!call || index >= SLABS_MAX)
        return -EPROTO;
    const struct gpu_slab *slab = &worker->slabs[index];
    *call = (struct gpu_slab_call){
        .is_open = true, .grant = *grant, .answer = *answer, .taken_ns = worker->frame.turn_ns};
    if (!worker->frame.port.slabs[index].memory) {
        call->is_open = false;
        port_answer_fail(&call->answer, BLAME_DEVICE, -ENOENT, "the slab did not arrive");
        port_complete(&worker->frame.port, &call->answer);
    } else if (slab->is_attached || slab->is_refused) {
        gpu_slabs_answer(worker, (uint32_t)index);
    } /* else gpu_slabs_attach() has handed it to the backend, or will in this turn */
    return 0;
}

int gpu_slabs_on_drop(struct gpu_worker *worker, const struct message *grant,
                      const struct message *answer)
{
    const int error = port_drop_slab(&worker->frame.port, grant->numbers[SLAB_CALL_INDEX]);
    if (error == 0)
        port_complete(&worker->frame.port, answer);
    return error;
}

unsigned gpu_slabs_attach(struct gpu_worker *worker)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SLABS_MAX; i++) {
        const struct port_slab *mapped = &worker->frame.port.slabs[i];
        struct gpu_slab *slab = &worker->slabs[i];
        if (!mapped->memory || slab->memory == mapped->memory)
            continue;
        *slab = (struct gpu_slab){.memory = mapped->memory, .bytes = mapped->bytes};
        count++;
        if (!worker->ops->attach_slab) {
            gpu_slabs_attached(worker, i, false, "");
            continue;
        }
        const int error =
            worker->ops->attach_slab(worker->backend, i, mapped->memory, mapped->bytes);
        if (error < 0)
            gpu_slabs_refused(worker, i, strerror(-error));
    }
    return count;
}

void gpu_slabs_on_event(struct gpu_worker *worker, const struct backend_event *event)
{
    if (event->id >= SLABS_MAX || !worker->slabs[event->id].memory)
        return; /* it has left meanwhile */
    if (event->kind == BACKEND_SLAB_ATTACHED)
        gpu_slabs_attached(worker, (uint32_t)event->id, event->is_unpinned, event->text);
    else
        gpu_slabs_refused(worker, (uint32_t)event->id, event->text);
}

static int gpu_slabs_before_unmap(void *context, uint32_t index)
{
    struct gpu_worker *worker = context;
    struct channel_progress *progress = &worker->frame.port.channel.layout->progress;
    struct gpu_slab *slab = &worker->slabs[index];
    if (slab->memory && worker->ops->detach_slab) {
        const int error = worker->ops->detach_slab(worker->backend, index);
        if (error == -EBUSY)
            return -EPROTO; /* the supervisor takes a slab away that a partition lies in */
        if (error < 0)
            return error;
    }
    if (slab->is_attached && worker->ops->attach_slab) {
        gpu_slabs_count(worker, slab->bytes, slab->is_unpinned, false);
        atomic_fetch_sub_explicit(slab->is_unpinned ? &progress->slabs_unpinned
                                                    : &progress->slabs_pinned,
                                  1, memory_order_relaxed);
    }
    *slab = (struct gpu_slab){0};
    return 0;
}

static void gpu_slabs_report(const struct gpu_worker *worker, uint64_t *next_ns)
{
    if (worker->frame.turn_ns < *next_ns)
        return;
    log_info("registered %u of %u slabs with the device", worker->slabs_attached,
             worker->frame.options.slabs);
    *next_ns = worker->frame.turn_ns + GPU_SLABS_REPORT_NS;
}

/* Slabs and their events; nothing else is asked of the backend yet. */
static int gpu_slabs_turn(struct gpu_worker *worker, char *ret_text)
{
    struct backend_event event;
    worker_turn(&worker->frame);
    const int error = port_receive(&worker->frame.port);
    if (error < 0) {
        snprintf(ret_text, GPU_TEXT_BYTES, "the slabs did not arrive from the supervisor: %s",
                 strerror(-error));
        return error;
    }
    gpu_slabs_attach(worker);
    while (worker->ops->poll(worker->backend, &event)) {
        if (event.kind == BACKEND_LOST) {
            snprintf(ret_text, GPU_TEXT_BYTES, "the device is lost: %s", event.text);
            return -EIO;
        }
        if (event.kind == BACKEND_SLAB_ATTACHED || event.kind == BACKEND_SLAB_REFUSED)
            gpu_slabs_on_event(worker, &event);
    }
    if (worker->slabs_refused > 0) {
        snprintf(ret_text, GPU_TEXT_BYTES, "%s", worker->slab_fault);
        return -ENOMEM;
    }
    return 0;
}

int gpu_slabs_wait(struct gpu_worker *worker, char *ret_text)
{
    const unsigned expected = worker->frame.options.slabs;
    uint64_t report_ns = clock_now_ns() + GPU_SLABS_REPORT_NS;
    int error = 0;
    worker->frame.port.before_unmap = gpu_slabs_before_unmap;
    worker->frame.port.before_unmap_context = worker;
    for (;;) {
        error = gpu_slabs_turn(worker, ret_text);
        if (error < 0 || worker->slabs_attached >= expected)
            break;
        gpu_slabs_report(worker, &report_ns);
        error = worker_wait(&worker->frame, report_ns);
        if (error < 0) {
            snprintf(ret_text, GPU_TEXT_BYTES, "waiting for slabs: %s", strerror(-error));
            break;
        }
    }
    return error;
}
