/* cuzkctl doctor: what on this host keeps the service from working well, what that means, and what
 * to change. Each file looks at one side of the host and adds its findings to the report. All paths
 * of the system are read below `root`, which is "" but in tests: there it is a folder with made-up
 * /proc and /sys. Nothing here changes anything. Called by ctl_doctor.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_WARN, /* it works, not as well or as safely as it could */
    DOCTOR_FAIL, /* the service does not start, or not with this configuration */
};

enum {
    DOCTOR_FINDINGS_MAX = 96,
    DOCTOR_TEXT_BYTES = 512,
};

struct doctor_finding {
    enum doctor_level level;
    const char *check;              /* "hugepages": a literal */
    char found[DOCTOR_TEXT_BYTES];  /* what is */
    char means[DOCTOR_TEXT_BYTES];  /* "" when all is well */
    char change[DOCTOR_TEXT_BYTES]; /* a command or an option; "" when there is nothing */
};

/* Large: one a run. */
struct doctor {
    const char *root;
    const struct config *config; /* NULL: it cannot be read */
    pid_t pid;                   /* whose limits count: the daemon's, or our own */
    bool is_running;             /* pid is the daemon's */
    struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
    unsigned count;
};

const char *doctor_level_to_string(enum doctor_level level); /* "ok", "warn", "fail" */
enum doctor_level doctor_worst(const struct doctor *doctor);

/* Adds a finding; its texts follow by doctor_means and doctor_change. Beyond the most that fit, the
 * last one is written over. */
void doctor_add(struct doctor *doctor, enum doctor_level level, const char *check,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
void doctor_means(struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_change(struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "23.5G", "512M": for reading; at least UNITS_TEXT_BYTES of room. Returns ret. */
const char *doctor_size(uint64_t bytes, char *ret);

/* A small file below the root, NUL-terminated, in memory the caller frees; NULL when it cannot be
 * read. */
char *doctor_read(const struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A number in such a file, "max" being UINT64_MAX; 0 or negative errno. */
int doctor_number(const struct doctor *doctor, uint64_t *ret, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool doctor_exists(const struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The hard limit of pid, "Max locked memory" or another of /proc/PID/limits; UINT64_MAX: none. */
bool doctor_process_limit(const struct doctor *doctor, const char *name, uint64_t *ret);

/* doctor_cgroup.c: limits of the cgroups between pid and the root, the lowest counts. v2 and v1. */
struct doctor_limit {
    uint64_t value; /* UINT64_MAX: none */
    char path[256]; /* the file that says so */
};
/* controller: "memory", "hugetlb", "pids"; the files of version 2 and version 1. */
void doctor_cgroup_limit(const struct doctor *doctor, const char *controller, const char *file_v2,
                         const char *file_v1, struct doctor_limit *ret);
/* Processors' worth of time, in thousandths; UINT64_MAX: no limit. */
void doctor_cgroup_cpu(const struct doctor *doctor, struct doctor_limit *ret);
void doctor_cgroups(struct doctor *doctor);

/* doctor_memory.c */
void doctor_hugepages(struct doctor *doctor);
void doctor_memlock(struct doctor *doctor);
void doctor_swap(struct doctor *doctor);
/* Bytes of slabs that the configuration wants, and of prepared keys in its cache folder. */
uint64_t doctor_slab_bytes(const struct config *config);
uint64_t doctor_key_bytes(const struct doctor *doctor);

/* doctor_gpu.c */
void doctor_driver(struct doctor *doctor);
void doctor_nodes(struct doctor *doctor);
/* gpu_pid: of a GPU worker that runs, whose slabs are looked for; 0: none. */
void doctor_numa(struct doctor *doctor, pid_t gpu_pid);

/* doctor_kernel.c: tried in this process, not below the root. */
void doctor_io_uring(struct doctor *doctor);
void doctor_sandbox(struct doctor *doctor);

/* doctor_service.c */
void doctor_disk(struct doctor *doctor);
void doctor_limits(struct doctor *doctor); /* of the running daemon: open files, tasks */
