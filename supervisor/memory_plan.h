/* What a configuration takes of memory at most, and whether this machine has that: for
 * --check-config and for the log at start. Slabs are exact, keys as far as they lie prepared in the
 * cache folder, heaps of processes estimated. Upstream: main.c, supervisor.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "shm/hugepages.h"

/* The values are exit statuses of --check-config. */
enum memory_plan_verdict {
    MEMORY_PLAN_FITS = 0,
    MEMORY_PLAN_SHORT_HUGEPAGES = 3, /* in the pool */
    MEMORY_PLAN_SHORT_CGROUP = 4,    /* the cgroup's hugetlb limit */
    MEMORY_PLAN_SHORT_MEMORY = 5,    /* ordinary memory, of the machine or the cgroup */
};

struct memory_plan {
    enum config_huge_pages policy;
    uint64_t page_bytes; /* of hugepages; 0: HugePages=off */
    uint32_t slab_count, key_count;
    uint64_t slab_bytes;
    uint64_t key_bytes; /* all prepared keys at once, each rounded up to pages */
    uint64_t synth_bytes, gpu_bytes, finalizer_bytes; /* heaps of all workers of the kind */
    uint64_t supervisor_bytes;                        /* records, inline witnesses, results */
};

struct memory_plan_host {
    bool has_hugepages; /* then pool counts */
    struct hugepages pool;
    bool is_running; /* a daemon has the state folder: what it holds is not free */
    uint64_t available_bytes, total_bytes;
    uint64_t limit_bytes; /* of the memory controller, lowest on the way to the root; UINT64_MAX */
    char limit_path[256];
    uint64_t memlock_bytes; /* UINT64_MAX: none, or one that does not bind us */
};

/* Reads the cache folder. */
void memory_plan_make(const struct config *config, struct memory_plan *ret);
/* Reads the machine. */
void memory_plan_look(const struct config *config, struct memory_plan_host *ret);

/* On hugepages under require and prefer, and everything else. */
uint64_t memory_plan_huge_bytes(const struct memory_plan *plan);
uint64_t memory_plan_ordinary_bytes(const struct memory_plan *plan);
uint64_t memory_plan_total_bytes(const struct memory_plan *plan);
/* Pure. text: one line on what is short and what to do, "" when nothing is. */
enum memory_plan_verdict memory_plan_judge(const struct memory_plan *plan,
                                           const struct memory_plan_host *host, char *ret_text,
                                           size_t room);
/* As comments of a configuration file, with the verdict. */
enum memory_plan_verdict memory_plan_print(const struct config *config, FILE *out);
void memory_plan_log(const struct config *config);
