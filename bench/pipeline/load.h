/* A circuit as the measurements of bench/pipeline need it, without a daemon: its prepared key
 * and one witness in memory, and the backend that is to prove it. One process, one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu-worker/backend.h"
#include "groth16/key/prepared.h"
#include "groth16/pool.h"

enum {
    LOAD_KEY_ID = 0,
    LOAD_HUGEPAGE_BYTES = 2 << 20,
};

struct load_memory {
    void *memory;
    size_t bytes;
    bool is_hugepage;
};

struct load {
    struct pool *pool;
    struct load_memory key, witness; /* witness: the values alone */
    struct prepared prepared;
    struct slab_layout layout;
    const struct backend_ops *ops;
    struct backend *backend;
    struct backend_device device;
    uint64_t open_ns, register_ns, load_ns; /* the backend's start, a slab, the key */
    uint64_t loaded_ns;                     /* when the key was there */
    char key_text[BACKEND_TEXT_BYTES];      /* the plan, in the backend's words */
    char fault[512];                        /* of the call that failed */
};

struct load_options {
    const char *key, *witness; /* a prepared key and a .wtns file */
    const char *backend;       /* "cpu" or "cuda" */
    const char *plugin;        /* path of a plug-in instead of the installed one; NULL */
    uint64_t vram_limit;
    unsigned threads;
};

/* Anonymous memory on hugepages where there are some; the caller may see that there were none. */
int load_memory_create(size_t bytes, struct load_memory *ret);
void load_memory_destroy(struct load_memory *memory);

/* Reads key and witness, opens the backend and loads the key into it. Blocking. Negative errno and
 * load->fault on failure; load_destroy is to be called in any case. */
int load_init(struct load *load, const struct load_options *options);
void load_destroy(struct load *load);

/* A slab of this circuit with the witness in it and, where asked for, a and b; registered with the
 * backend under this index. */
int load_slab_create(struct load *load, uint32_t index, bool has_evaluations,
                     struct load_memory *ret);
void load_slab_destroy(struct load *load, uint32_t index, struct load_memory *slab);

/* Waits for the next event of the backend. -ETIMEDOUT, or -EIO for an event that says LOST; fault
 * is set. */
int load_next_event(struct load *load, struct backend_event *ret_event);
