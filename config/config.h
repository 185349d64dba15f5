/* The run-time configuration of cuzkd: one file, its drop-ins, defaults for the rest. Read once by
 * the supervisor at start (and by --check-config); workers get what they need in their arguments.
 * Every key, with type, default and range, is a row of config/options.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/devices.h"
#include "config/limits.h"
#include "runtime/log.h"
#include "runtime/loop.h"
#include "runtime/sandbox.h"

#define CONFIG_PATH_DEFAULT "/etc/cuzkd/cuzkd.conf"

enum config_huge_pages { /* the values of enum slab_pages */
                         CONFIG_HUGE_PAGES_REQUIRE,
                         CONFIG_HUGE_PAGES_PREFER,
                         CONFIG_HUGE_PAGES_OFF,
};

enum config_malloc_trim {
    CONFIG_MALLOC_TRIM_ALWAYS,
    CONFIG_MALLOC_TRIM_IDLE,
    CONFIG_MALLOC_TRIM_OFF,
};

enum config_gpu_backend {
    CONFIG_GPU_BACKEND_CUDA,
    CONFIG_GPU_BACKEND_CPU,
    CONFIG_GPU_BACKEND_AUTO,
};

/* Who evaluates a = A w and b = B w. */
enum config_evaluate {
    CONFIG_EVALUATE_AUTO, /* the device where there is one */
    CONFIG_EVALUATE_GPU,
    CONFIG_EVALUATE_CPU,
};

struct config_ring {
    char name[NAME_BYTES_MAX + 1]; /* "default" for the plain [Ring] */
    uint32_t slab_count;
    uint64_t slab_bytes; /* a multiple of huge_page_bytes unless huge_pages is off */
};

struct config_circuit {
    char name[NAME_BYTES_MAX + 1];
    char *zkey_path; /* absolute, never NULL */
    char *r1cs_path; /* NULL when not given */
};

/* When a worker is replaced without need: supervisor/recycle.h. 0: never. */
struct config_recycle {
    uint32_t after; /* partitions */
    uint32_t fragmentation_percent;
};

struct config_origins;

/* Strings are owned by the object; config_destroy frees them. */
struct config {
    char *socket_path;       /* both fit sockaddr_un */
    char *admin_socket_path; /* derived from socket_path when not given; never NULL */
    uint32_t socket_mode, admin_socket_mode;
    char *socket_group, *admin_socket_group; /* name or number; NULL when not given */
    char *state_directory;
    char *cache_directory;
    char *spool_directory;    /* derived from state_directory when not given; never NULL */
    uint64_t spool_bytes_max; /* 0: none */
    uint64_t intake_timeout_ns;
    enum loop_kind event_loop;
    enum log_level log_level;
    enum sandbox_policy sandbox;
    uint64_t stall_timeout_ns;
    uint32_t attempts_max;
    uint64_t stop_timeout_ns;
    uint32_t results_max; /* how much of what has ended is kept, and how long */
    uint64_t results_age_ns, results_bytes;
    uint32_t user_jobs_max; /* of one uid, not ended; 0: no limit but the daemon's */
    uint64_t user_bytes_max;

    enum config_huge_pages huge_pages;
    uint64_t huge_page_bytes;            /* 2 MiB or 1 GiB */
    struct config_ring rings[RINGS_MAX]; /* [0] is the plain [Ring]; the rest in file order */
    uint32_t ring_count;

    uint32_t synth_workers;
    uint32_t synth_threads; /* never 0: auto is resolved to the cores this process may use */
    enum config_malloc_trim synth_malloc_trim;
    struct config_recycle synth_recycle;
    enum config_evaluate synth_evaluate;
    bool device_evaluates; /* what synth_evaluate comes to: slabs hold the witness alone */
    enum config_gpu_backend gpu_backend;
    uint32_t gpu_threads; /* never 0 */
    char *gpu_devices_text;
    struct devices gpu_devices;   /* the same, parsed */
    uint64_t gpu_vram_limit;      /* 0: none */
    uint32_t gpu_requires_pinned; /* 0 or 1 */
    enum config_malloc_trim gpu_malloc_trim;
    struct config_recycle gpu_recycle;
    uint32_t finalizer_workers;
    enum config_malloc_trim finalizer_malloc_trim;
    struct config_recycle finalizer_recycle;

    struct config_circuit *circuits;
    uint32_t circuit_count;

    struct config_origins *origins; /* where each value was set; for config_print_effective */
};

/* One sentence or two for the operator: "FILE:LINE: what is wrong; what is allowed". */
struct config_fault {
    char text[1024];
};

/* Reads `path` and the files PATH.d/ *.conf in the order of their names (a later file overrides an
 * earlier one; a key twice in one file is refused). NULL: defaults only. *ret need not be
 * initialised; it is destroyed with config_destroy and is untouched on failure. Blocking.
 * Returns 0; -EBADMSG for content; -ENOENT, -EACCES, ... when a file cannot be read; -ENOMEM. In
 * every failure ret_fault says why. */
int config_load(const char *path, struct config *ret, struct config_fault *ret_fault);
/* The same of a main file that may be absent: then what PATH.d/ says lies over the defaults. */
int config_load_optional(const char *path, struct config *ret, struct config_fault *ret_fault);
/* Accepts a zeroed object. */
void config_destroy(struct config *config);

/* The --check-config output: a configuration file with every effective value, each with a comment
 * that says where it was set ("default", "FILE:LINE"). Loading the output gives the same values. */
void config_print_effective(const struct config *config, FILE *out);
/* The annotated sample, cuzkd.conf.sample: every key, commented out, at its default. */
void config_print_sample(FILE *out);
/* The same table as a man page in troff, cuzkd.conf(5). */
void config_print_man(FILE *out);

const char *config_huge_pages_to_string(enum config_huge_pages value);
const char *config_malloc_trim_to_string(enum config_malloc_trim value);
const char *config_evaluate_to_string(enum config_evaluate value);
const char *config_gpu_backend_to_string(enum config_gpu_backend value);
