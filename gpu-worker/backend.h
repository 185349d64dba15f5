/* What computes the five sums of a proof: one table of operations per kind of device. Called by the
 * GPU worker's loop (gpu-worker/worker.c), by the known-answer proof at start and by the
 * conformance suite; implemented by gpu-worker/cpu and by device plug-ins. A backend sees keys and
 * slabs as plain read-only memory and knows nothing of channels or other processes.
 *
 * Coarse and asynchronous. One thread, the owner, makes every call; apart from open and close none
 * of them waits for the device. Results come as events: the backend rings its eventfd (a bell, not
 * the truth) and the owner polls until nothing is left.
 *
 *   load_key ──► KEY_LOADED | KEY_REFUSED            drop_key ──► KEY_DROPPED
 *   start    ──► (PHASE_BEGAN, PHASE_ENDED)*, UPLOADED, PROVED | FAILED
 *   any time ──► LOST: the device's context is gone; the process must end and be replaced
 *
 * Between start and PROVED or FAILED the backend holds the partition: it may read the slab until it
 * says UPLOADED (or the end), and the key until then. Several partitions are held at once; whenever
 * the device can take more work the backend picks, among those held and not yet begun, the one with
 * the lowest order key (ties: the lower id), and uploads ahead in the same order. Begun work is
 * never overtaken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"
#include "groth16/curve/curve.h"
#include "groth16/key/prepared.h"

enum {
    BACKEND_ABI = 4,
    BACKEND_PARTITIONS_MAX = GRANTS_HELD_MAX,
    /* Loads and drops not yet answered. */
    BACKEND_KEY_CALLS_MAX = KEY_CALLS_HELD_MAX,
    /* Key ids: those of the supervisor and one for the known-answer proof. */
    BACKEND_KEY_KNOWN_ANSWER = CIRCUITS_MAX,
    BACKEND_KEYS_MAX = CIRCUITS_MAX + 1,
    BACKEND_TEXT_BYTES = 256,
};

struct backend;

/* In the order in which a timing line shows them; a backend may run them in another. */
enum backend_phase {
    BACKEND_PHASE_UPLOAD,
    BACKEND_PHASE_NTT,
    BACKEND_PHASE_MSM_A,
    BACKEND_PHASE_MSM_B1,
    BACKEND_PHASE_MSM_B2,
    BACKEND_PHASE_MSM_L,
    BACKEND_PHASE_MSM_H,
    BACKEND_PHASE_COUNT,
};

/* What went wrong, by what the caller can do about it. */
enum backend_fault {
    BACKEND_FAULT_NONE,
    BACKEND_FAULT_CANCELLED, /* the caller asked */
    BACKEND_FAULT_INPUT,     /* key and slab do not fit together; trying again gives the same */
    BACKEND_FAULT_MEMORY,    /* host or device memory short: text names need and free */
    BACKEND_FAULT_DEVICE,    /* this partition failed; the backend goes on */
    BACKEND_FAULT_STICKY,    /* comes with LOST only: nothing works any more in this process */
};

struct backend_options {
    unsigned threads;    /* host threads for computing, >= 1 */
    const char *device;  /* UUID; NULL: the first usable one */
    uint64_t vram_limit; /* bytes, 0: none */
    /* Host memory that cannot be registered is refused. Otherwise it is read by ordinary copies,
     * several times slower, and the event that tells of it says so. */
    bool requires_pinned;
};

struct backend_device {
    char name[64];              /* "cpu", or the card's name */
    char uuid[64];              /* "cpu", or "GPU-..." */
    uint64_t memory_bytes;      /* of the device, 0 for the host */
    unsigned partitions_useful; /* in flight: more of them bring nothing */
    /* While work is in flight the owner polls at least this often, bell or not: a device in error
     * may ring no more. 0: the bell is enough. */
    uint64_t poll_interval_ns;
};

struct backend_partition {
    uint64_t id;        /* of the caller's choosing, unique among those held; events repeat it */
    uint64_t order_key; /* lowest first */
    uint32_t key;       /* loaded */
    uint32_t slab_index;
    const void *slab; /* laid out by prepared_slab_layout() of that key; read only */
    size_t slab_bytes;
    /* a and b lie in the slab; otherwise only the witness does and the backend evaluates them from
     * the key's matrices. */
    bool has_evaluations;
};

enum backend_event_kind {
    BACKEND_KEY_LOADED,
    BACKEND_KEY_REFUSED,
    BACKEND_KEY_DROPPED,
    BACKEND_SLAB_ATTACHED,
    BACKEND_SLAB_REFUSED,
    BACKEND_PHASE_BEGAN, /* progress; a device that measures afterwards may leave it out */
    BACKEND_PHASE_ENDED,
    BACKEND_UPLOADED,
    BACKEND_PROVED,
    BACKEND_FAILED,
    BACKEND_LOST,
};

struct backend_event {
    enum backend_event_kind kind;
    enum backend_phase phase;  /* PHASE_* */
    enum backend_fault fault;  /* *_REFUSED, FAILED, LOST */
    uint64_t id;               /* partition id, key id or slab index */
    uint64_t begin_ns, end_ns; /* PHASE_*, CLOCK_MONOTONIC */
    uint64_t bytes;            /* PHASE_ENDED of an upload: moved */
    /* PROVED: the five sums (groth16/verify/sums.h); borrowed until the next call. */
    const void *sums;
    size_t sums_bytes;
    /* SLAB_ATTACHED, KEY_LOADED: the device reads this memory by ordinary copies; text says why. */
    bool is_unpinned;
    /* *_REFUSED, FAILED, LOST: what, likely cause. KEY_LOADED: where the key lies (the plan), in
     * one line. "" otherwise. */
    char text[BACKEND_TEXT_BYTES];
};

struct backend_ops {
    const char *name; /* "cpu", "cuda": as in [GPU] Backend= */
    uint32_t abi;     /* BACKEND_ABI */

    /* Takes the device. Blocking. On failure negative errno and ret_text (BACKEND_TEXT_BYTES) says
     * in one line why and what to change; -ENODEV: there is no such device here. */
    int (*open)(const struct backend_options *options, struct backend **ret_backend,
                char *ret_text);
    /* Waits for what the device was given, within a minute, begins nothing more and frees
     * everything; of a lost device, or one that does not end, what it may still touch stays. */
    void (*close)(struct backend *backend);
    void (*describe)(const struct backend *backend, struct backend_device *ret_device);
    /* Readable when events may wait. Owned by the backend; the owner reads it, then polls. */
    int (*event_fd)(const struct backend *backend);

    /* Makes a slab readable to the device (registration). NULL where host memory needs none.
     * attach_slab: 0, then SLAB_ATTACHED or SLAB_REFUSED. detach_slab: -EBUSY while a held
     * partition lies in it that is not UPLOADED; otherwise waits until the device lets go of it, so
     * that the caller may unmap. -EIO, -ETIMEDOUT: it does not; LOST follows the first. */
    int (*attach_slab)(struct backend *backend, uint32_t index, const void *memory, size_t bytes);
    int (*detach_slab)(struct backend *backend, uint32_t index);

    /* *prepared and the image behind it stay valid and unchanged until KEY_REFUSED or KEY_DROPPED.
     * -EEXIST loaded already, -EAGAIN too many calls open, -ENOMEM. */
    int (*load_key)(struct backend *backend, uint32_t key, const struct prepared *prepared);
    /* -ENOENT not loaded, -EBUSY while a held partition uses it, -EAGAIN. */
    int (*drop_key)(struct backend *backend, uint32_t key);

    /* Takes a partition. -EAGAIN with BACKEND_PARTITIONS_MAX held, -ENOENT key not loaded,
     * -EINVAL the slab is smaller than slab_layout_used_bytes() of the key's layout, -EEXIST id in
     * use, -ENOTSUP this backend does not evaluate and the slab holds no evaluations. */
    int (*start)(struct backend *backend, const struct backend_partition *partition);
    /* Its FAILED (fault CANCELLED) follows when what the device was given of it has ended (one
     * phase on the CPU, at most the partition on a card), or PROVED when it was faster. Unknown ids
     * are ignored. */
    void (*cancel)(struct backend *backend, uint64_t id);
    /* 1 with the next event, 0 when there is none. */
    int (*poll)(struct backend *backend, struct backend_event *ret_event);
    /* A figure that changes with every piece of work that has come to an end, events or not: by it
     * a slow device is told from one that hangs. Pieces end every few seconds at the latest. NULL:
     * the events are all there is. */
    uint64_t (*progress)(const struct backend *backend);
};

const char *backend_phase_to_string(enum backend_phase phase);
const char *backend_fault_to_string(enum backend_fault fault);

extern const struct backend_ops backend_cpu;

/* The one symbol of a plug-in (libcuzk-cuda.so): its table. */
#define BACKEND_PLUGIN_SYMBOL "cuzk_backend_plugin"
extern const struct backend_ops cuzk_backend_plugin;

/* The table for a name of [GPU] Backend= ("cpu" or "cuda"). On failure ret_text
 * (BACKEND_TEXT_BYTES) says in one line why and what to do; -ENODEV: this installation has no such
 * backend, -ELIBBAD: it has one that cannot be used. */
int backend_find(const char *name, const struct backend_ops **ret_ops, char *ret_text);
