/* Slabs made readable to the device: registered when they arrive, each once, and let go of before
 * they are unmapped. Part of the GPU worker; see worker.h. */
#pragma once

#include "gpu-worker/worker.h"

/* Before READY: waits until every slab that the supervisor sends at start is readable, with
 * progress in the log, and only takes slabs meanwhile. 0, or negative errno with one line in
 * ret_text (GPU_TEXT_BYTES). Blocking, 0.03 s a GiB. */
int gpu_slabs_wait(struct gpu_worker *worker, char *ret_text);
/* Hands the slabs that have arrived to the backend: how many. */
unsigned gpu_slabs_attach(struct gpu_worker *worker);
/* SLAB_ATTACHED or SLAB_REFUSED. */
void gpu_slabs_on_event(struct gpu_worker *worker, const struct backend_event *event);
/* Adds to the figures of memory that the device reads (add false: takes away). */
void gpu_slabs_count(struct gpu_worker *worker, uint64_t bytes, bool is_unpinned, bool add);
