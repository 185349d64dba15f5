/* What the files of the CUDA backend share. Three threads:
 *
 *   owner       calls backend.h (cuda.c): notes what is wanted and polls what came out
 *   driver      turns that into streams, events and launches (engine.c, flight.c, key.c)
 *   registrar   registers host memory, which takes long (registrar.c)
 *
 * One mutex guards what they share; nobody computes, waits for the device or calls the driver while
 * holding it. The driver thread sleeps on `wake`, rung by the owner, by the registrar and by host
 * callbacks of the bell streams; while work is in flight it also looks every ENGINE_WAKE_MS, since
 * a device in error may ring no more. What it then believes is driver_event_query alone. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "gpu-worker/backend.h"
#include "gpu-worker/cuda/arena.h"
#include "gpu-worker/cuda/device.h"
#include "gpu-worker/cuda/flight.h"
#include "gpu-worker/cuda/key.h"
#include "gpu-worker/cuda/outbox.h"
#include "gpu-worker/cuda/pass.h"
#include "gpu-worker/cuda/plan.h"
#include "gpu-worker/cuda/registrar.h"
#include "gpu-worker/cuda/slab.h"
#include "gpu-worker/cuda/timeline.h"
#include "gpu-worker/cuda/work.h"
#include "groth16/pool.h"

enum {
    ENGINE_WAKE_MS = 50,
    WITNESSES_MAX = 2 * PLAN_PASS_MAX,
};

enum engine_stream {
    STREAM_UPLOAD,   /* slabs */
    STREAM_CHUNK,    /* the chunks of streamed keys */
    STREAM_WITNESS,  /* plan of the witness; sums A, B1, L, B2 */
    STREAM_QUOTIENT, /* a and b, the quotient; plan and sum of H */
    STREAM_LOAD,     /* keys and their tables, after everything else */
    STREAM_CLOCK,    /* always empty: see timeline.h */
    /* Host callbacks, each where nothing later has to wait for something earlier. */
    STREAM_BELL_UPLOAD,
    STREAM_BELL_COMPUTE,
    STREAM_BELL_LOAD,
    STREAM_COUNT,
};

struct backend {
    /* Constant after open. */
    struct device device;
    bool has_device, has_mutex, has_driver;
    bool requires_pinned, is_limited; /* [GPU] RequirePinned=, VramLimit= is set */
    int event_fd;
    pthread_t driver;
    struct registrar *registrar;
    void *streams[STREAM_COUNT];

    pthread_mutex_t mutex;
    /* Guarded by the mutex. */
    pthread_cond_t wake;         /* the driver thread */
    pthread_cond_t slab_changed; /* the owner, in detach_slab */
    bool is_rung, is_stopping;   /* a turn is due; close was called */
    bool is_lost, is_lost_told;
    char lost_text[BACKEND_TEXT_BYTES];
    struct flight flights[BACKEND_PARTITIONS_MAX]; /* in part: see flight.h */
    struct key *keys[BACKEND_KEYS_MAX];            /* in part: see key.h */
    unsigned key_calls;
    /* Loading and dropping, in the order of calls; one more that is answered this moment. */
    struct key *key_queue[BACKEND_KEY_CALLS_MAX + 1];
    unsigned key_queue_count;
    struct slab slabs[SLAB_COUNT];
    unsigned slab_events; /* slabs with has_event */
    struct outbox outbox;

    /* The driver thread's alone. */
    struct arena arena;
    void *arena_memory, *sums_host;
    struct workspace workspace;
    struct workspace_layout layout;
    uint8_t *workspace_memory;
    struct flight *witness_holders[WITNESSES_MAX];
    struct pass pass;
    struct pool *pool;      /* of this one thread: for adding the sums of chunks */
    void *evaluations_free; /* event: the last quotient has consumed a and b */
    struct timeline timeline;
    void *piece_events[KEY_PIECES], *load_event; /* of the key that is being loaded */
    uint64_t launches;
    _Atomic uint64_t moves;    /* turns in which something had happened or was begun; all read it */
    struct backend *next_lost; /* of those closed; see cuda_close */
    bool is_odd;               /* an event answered neither yes nor no in this turn */
    unsigned odd_turns;        /* so many such turns in a row */
};

/* Wakes the driver thread. Takes the mutex. */
void engine_ring(void *backend);
/* The driver thread. */
void *engine_run(void *backend);
/* Whether the event has happened. An error that kills the context loses the backend; another says
 * "not yet", for so many turns in a row. Driver thread. */
bool engine_has_happened(struct backend *backend, void *event);
/* The context is gone: nothing touches the device any more, LOST is told. Any thread. */
void engine_lose(struct backend *backend, int error, const char *what);
/* What failed, in words; loses the backend when the error is sticky. Any thread. */
enum backend_fault engine_fault(struct backend *backend, const struct work *work, char *ret_text);
