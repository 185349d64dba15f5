/* Slabs as the device sees them: registered when they come, let go of before they go. Each keeps
 * its one event itself, so that any number of them may come at once. The backend's table points
 * here (cuda.c): owner thread, except where the registrar answers. */
#pragma once

#include "gpu-worker/backend.h"
#include "gpu-worker/cuda/registrar.h"

enum {
    /* Slabs of the supervisor and one for the known-answer proof. */
    SLAB_COUNT = SLABS_MAX + 1,
};

enum slab_state {
    SLAB_NONE,
    SLAB_ATTACHING,
    SLAB_ATTACHED, /* is_pinned: registered */
    SLAB_REFUSED,
    SLAB_DETACHING,
};

struct slab {
    struct registrar_job job;
    enum slab_state state;
    bool is_pinned;
    bool has_event; /* SLAB_ATTACHED or SLAB_REFUSED, not yet polled */
    char text[BACKEND_TEXT_BYTES];
};

/* As in backend.h. Detaching waits for the registrar, a minute at most (-ETIMEDOUT); -EIO:
 * the device did not let go, and is lost. */
int slab_attach(struct backend *backend, uint32_t index, const void *memory, size_t bytes);
int slab_detach(struct backend *backend, uint32_t index);
/* The next event of a slab, if there is one. Mutex held. */
bool slab_take_event(struct backend *backend, struct backend_event *ret_event);
