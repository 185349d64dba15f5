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
/* ADD_SLAB: answered once the device can read the slab, or cannot. -EPROTO: more calls than the
 * contract allows, or no such slab. */
int gpu_slabs_on_add(struct gpu_worker *worker, const struct message *grant,
                     const struct message *answer);
/* DROP_SLAB: waits until the device lets go of it (20 ms a GiB), unmaps it and answers. -EPROTO: a
 * partition lies in it. */
int gpu_slabs_on_drop(struct gpu_worker *worker, const struct message *grant,
                      const struct message *answer);
/* SLAB_ATTACHED or SLAB_REFUSED. */
void gpu_slabs_on_event(struct gpu_worker *worker, const struct backend_event *event);
/* Adds to the figures of memory that the device reads (add false: takes away). */
void gpu_slabs_count(struct gpu_worker *worker, uint64_t bytes, bool is_unpinned, bool add);
