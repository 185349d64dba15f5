/* The registry of circuits: what may be proved, and whether its key is in memory. Preparing a key
 * and loading it are done by disposable cuzk-synth processes (supervisor/helper.h), since both
 * parse what a client gave. Prepared circuits are kept in the state folder (circuits/NAME.json) and
 * their keys in the cache folder (keys/DIGEST.czk); both survive a restart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "protocol/reply.h"
#include "shm/slab.h"
#include "supervisor/circuit_store.h"
#include "supervisor/facts.h"
#include "supervisor/helper.h"

struct supervisor;
struct worker;

enum circuit_state {
    CIRCUIT_PREPARING, /* a helper makes the prepared key, or will */
    CIRCUIT_PREPARED,  /* the key lies in the cache folder */
    CIRCUIT_LOADING,   /* a helper reads it into memory */
    CIRCUIT_SHARING,   /* workers are being given the memory */
    CIRCUIT_LOADED,
    /* See error. Its key may still lie in memory, until the last of its partitions is gone. */
    CIRCUIT_FAILED,
};

enum {
    CIRCUITS_PREPARES_MAX = 2,    /* helpers at once: each uses every core */
    CIRCUITS_SILENCE_S_MAX = 600, /* a helper that reports no progress for so long is stuck */
    /* One death of a GPU worker over a key may be bad luck; two in a row, with nothing else in its
     * hands, are the key's. */
    CIRCUITS_KEY_DEATHS_MAX = 2,
    CIRCUITS_PLAN_BYTES = 256,
};

struct circuit {
    struct supervisor *supervisor;
    char name[NAME_BYTES_MAX + 1];
    uint32_t key; /* index under which workers know it */
    enum circuit_state state;
    struct facts facts;
    struct circuit_source source;
    bool is_configured;  /* named in the configuration */
    uint32_t ring;       /* the smallest slabs that fit */
    bool is_too_large;   /* no slab of the configuration fits: no new jobs, FAILED once at rest */
    uint32_t slot_count; /* partitions of it in flight */
    struct slab memory;  /* of the key; fd -1 unless LOADING or later */
    int shared_fd;       /* the same, read-only: what workers get */
    bool is_shared;      /* it has been offered to workers */
    uint64_t load_number; /* counts loads: workers that come later get the keys in this order */
    bool is_key_suspect; /* a GPU worker died while it loaded this and other things: alone next */
    bool may_load_again; /* FAILED by a refusal that may pass: PREPARED once the key is let go of */
    uint32_t key_deaths; /* of GPU workers that were loading this key and nothing else */
    char plans[GPU_WORKERS_MAX][CIRCUITS_PLAN_BYTES]; /* where each GPU worker keeps the key */
    struct helper *helper;
    int zkey_fd, r1cs_fd;       /* -1 unless PREPARING */
    char error[1024];           /* of the last attempt to prepare or load it; "" */
    enum reply_code error_code; /* of a failed preparation: BAD_INPUT or FAILED */
};

struct circuits {
    struct circuit *entries[CIRCUITS_MAX]; /* by key index; NULL when unused */
    uint32_t count;
    uint32_t next_key; /* searched from here, so that an index rests before it is used again */
    uint32_t prepares_running, loads_running;
    uint64_t loads; /* ever, that came into memory */
    struct circuit_store store;
};

static inline bool circuit_is_loaded(const struct circuit *circuit)
{
    return circuit->state == CIRCUIT_LOADED;
}

static inline bool circuit_has_facts(const struct circuit *circuit)
{
    return circuit->facts.curve != NULL;
}

/* Bytes of a slab that one partition takes, in the daemon's mode of evaluation. */
uint64_t circuit_slab_bytes(const struct circuit *circuit);
const char *circuit_state_to_string(enum circuit_state state); /* as clients see it */

/* Opens the folders, takes in what they hold and begins to prepare what the configuration names.
 * Logs what failed. */
int circuits_init(struct supervisor *supervisor);
void circuits_destroy(struct circuits *circuits);
/* Some circuit's prepared key has that digest. */
bool circuits_use_digest(const struct circuits *circuits, const char *digest);
struct circuit *circuits_find(const struct circuits *circuits, const char *name);

/* A new entry of a name that is not taken; NULL when no index or memory is left. */
struct circuit *circuits_create(struct supervisor *supervisor, const char *name);
/* Begins to prepare a new circuit; control_waits_circuit_settled() tells when it is done. Takes the
 * descriptors over (r1cs_fd may be -1), also on failure. -EEXIST, -ENOSPC (no index is free). */
int circuits_add(struct supervisor *supervisor, const char *name, int zkey_fd, int r1cs_fd,
                 struct circuit **ret);
/* Out of the registry and of the state folder. -EBUSY: partitions of it are in flight, or it is
 * being prepared or loaded. */
int circuits_remove(struct supervisor *supervisor, struct circuit *circuit);

/* Begins to load a PREPARED key. Where that fails, the jobs that wait for it fail. */
void circuits_load(struct supervisor *supervisor, struct circuit *circuit);
/* Starts helpers that wait; calls a key LOADED once every worker has it; lets go of keys that were
 * given up. */
void circuits_tick(struct supervisor *supervisor);
