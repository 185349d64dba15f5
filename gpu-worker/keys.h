/* Keys on their way to the device and away from it: one open call a grant, answered by the
 * backend's event. Part of the GPU worker; see worker.h. */
#pragma once

#include "gpu-worker/worker.h"

/* LOAD_KEY or DROP_KEY. -EPROTO: more of them than the contract allows, or an impossible key. */
int gpu_keys_on_grant(struct gpu_worker *worker, const struct message *grant,
                      const struct message *answer);
/* KEY_LOADED, KEY_REFUSED or KEY_DROPPED. */
void gpu_keys_on_event(struct gpu_worker *worker, const struct backend_event *event);
