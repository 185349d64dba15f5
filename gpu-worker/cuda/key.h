/* A key's copy on the device, made step by step on the driver thread while proofs of other keys go
 * on: registered, planned, copied in pieces, tables filled; and taken away again.
 *
 *   REGISTER ──► PLACE ──► COPY ──► FILL ──► loaded ──► RELEASE ──► gone
 *       └──────────┴─────────┴───────┴──► UNDO ──► RELEASE ──► refused */
#pragma once

#include "gpu-worker/cuda/driver.h"
#include "gpu-worker/cuda/plan.h"
#include "gpu-worker/cuda/registrar.h"

struct backend;

enum {
    KEY_PIECES = 2, /* copies enqueued at a time */
    KEY_COPIES_MAX = 16,
};

enum key_state {
    KEY_LOADING,
    KEY_LOADED,
    KEY_DROPPING,
};

enum key_step {
    KEY_STEP_REGISTER,
    KEY_STEP_PLACE,
    KEY_STEP_COPY,
    KEY_STEP_FILL,
    KEY_STEP_UNDO,    /* failed: waits until the device has let go */
    KEY_STEP_RELEASE, /* waits for the registrar */
};

struct key_copy {
    uint64_t to_off; /* in the key's range */
    const void *from;
    uint64_t bytes;
};

struct key {
    /* Constant. */
    uint32_t id;
    const struct prepared *prepared;
    /* The mutex's. */
    enum key_state state;
    bool is_job_done;
    /* The driver thread's; constant once loaded. */
    enum key_step step;
    struct registrar_job job;
    uint64_t begin_ns, registered_ns, copied_ns; /* the parts of a load end */
    bool is_registered;                          /* the image is readable to the copy engine */
    bool is_unpinned;                            /* it should be and is not */
    char unpinned_text[BACKEND_TEXT_BYTES / 2];
    struct plan plan;
    uint8_t *memory; /* device */
    void *load_memory;
    struct matrix matrices[PLAN_MATRIX_COUNT]; /* device pointers */
    struct key_copy copies[KEY_COPIES_MAX];
    unsigned copy_count, copy_index;
    uint64_t copied_bytes; /* of the copy at copy_index */
    bool is_piece_pending[KEY_PIECES];
    enum sums_point fill_point; /* the next table to fill: of this array, at this level */
    unsigned fill_level;
    enum backend_fault fault; /* why it is refused */
    char text[BACKEND_TEXT_BYTES];
};

/* The mapping of a key made of one image: what the registrar takes. False for others (the
 * known-answer key). */
bool key_image(const struct prepared *prepared, const void **ret_memory, uint64_t *ret_bytes);
/* Has the key's memory registered: the first step, on the owner's thread. */
void key_register(struct backend *backend, struct key *key);
/* One step of a load; and of a drop or what is left of a failed load. Returns whether anything was
 * done; *ret_is_over: the call is answered (and, unless it is loaded now, the key
 * is freed). Driver thread, without the
 * mutex. */
bool key_load(struct backend *backend, struct key *key, bool *ret_is_over);
bool key_drop(struct backend *backend, struct key *key, bool *ret_is_over);
/* Whether the load waits until no partition is on the device. */
bool key_wants_quiet(const struct key *key);

static inline void *key_bases(const struct key *key, enum sums_point point)
{
    return key->memory + key->plan.bases_off[point];
}
