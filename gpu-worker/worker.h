/* The GPU worker: takes PROVE, LOAD_KEY, DROP_KEY and CANCEL from the supervisor, keeps the backend
 * fed, answers with the five sums. Everything it holds is here; one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu-worker/backend.h"
#include "shm/worker.h"

/* A PROVE grant, from taken to answered. */
struct gpu_held {
    bool is_held;
    bool is_started; /* the backend has it; its id there is the grant's generation */
    struct message grant, answer;
    uint64_t taken_ns;
};

/* A LOAD_KEY or DROP_KEY that the backend has not answered. */
struct gpu_key_call {
    bool is_open;
    struct message grant, answer;
    uint64_t taken_ns;
};

/* An ADD_SLAB that the backend has not answered. */
struct gpu_slab_call {
    bool is_open;
    struct message grant, answer;
    uint64_t taken_ns;
};

struct gpu_key {
    bool is_attached; /* `prepared` points into the port's mapping */
    bool is_loaded;   /* the backend said so */
    bool is_unpinned;
    struct prepared prepared;
};

struct gpu_slab {
    const void *memory; /* what was attached, NULL when nothing */
    size_t bytes;
    bool is_attached; /* the backend said so */
    bool is_refused;  /* the backend cannot read it */
    bool is_unpinned;
};

enum {
    GPU_TEXT_BYTES = CHANNEL_LAST_WORDS_BYTES,
};

struct gpu_worker {
    struct worker frame;
    const struct backend_ops *ops;
    struct backend *backend;
    struct backend_device device;
    bool is_ready;
    bool is_lost; /* sticky device error */
    struct loop_watch events;
    struct gpu_held held[GRANTS_HELD_MAX];
    struct gpu_key_call key_calls[BACKEND_KEY_CALLS_MAX];
    struct gpu_key keys[CIRCUITS_MAX];
    struct gpu_slab slabs[SLABS_MAX];
    struct gpu_slab_call slab_calls[SLAB_CALLS_HELD_MAX];
    unsigned slabs_attached, slabs_refused; /* ever */
    char slab_fault[GPU_TEXT_BYTES];        /* why the last one was refused */
};

/* frame, ops, backend and device are set: watches the backend's bell and makes the slabs of the
 * start readable (gpu-worker/slabs.h). READY is said afterwards. 0, or negative errno with one line
 * in ret_text (GPU_TEXT_BYTES). */
int gpu_worker_start(struct gpu_worker *worker, char *ret_text);

/* Whom an answer blames for a fault of the backend. */
enum blame gpu_worker_blame(enum backend_fault fault);

/* It is started and READY is said: loops until STOP or an error. Returns the program's exit status
 * (enum worker_exit). */
int gpu_worker_run(struct gpu_worker *worker);
