/* What a configuration takes: see memory_plan.h. */
#include "supervisor/memory_plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/units.h"
#include "runtime/files.h"
#include "runtime/log.h"
#include "supervisor/admission.h"

#define MIB UINT64_C(1048576)

/* Heaps, from what the processes were seen to take; docs/performance.md has figures. */
enum {
    PLAN_SYNTH_MIB = 32,
    PLAN_THREAD_MIB = 1,
    /* The CPU backend works on copies of a and b and on h, together about a slab of the largest
     * size, and on buckets. */
    PLAN_CPU_MIB = 64,
    PLAN_CUDA_MIB = 512, /* the runtime of the driver */
    PLAN_FINALIZER_MIB = 16,
    PLAN_RECORDS_MIB = 64, /* slots, jobs, connections, journal */
};

/* ---- the plan ---- */

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
    return step ? (bytes + step - 1) / step * step : bytes;
}

static void add_keys(const struct config *config, struct memory_plan *plan)
{
    char path[PATH_BYTES_MAX + 8];
    struct dirent *entry;
    if (!config->cache_directory)
        return;
    snprintf(path, sizeof path, "%s/keys", config->cache_directory);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        struct stat status;
        size_t bytes = strlen(entry->d_name);
        if (bytes < 4 || strcmp(entry->d_name + bytes - 4, ".czk") != 0 ||
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        plan->key_count++;
        plan->key_bytes += round_up((uint64_t)status.st_size, plan->page_bytes);
    }
    if (folder)
        closedir(folder);
}

void memory_plan_make(const struct config *config, struct memory_plan *ret)
{
    struct memory_plan plan = {.policy = config->huge_pages};
    uint64_t largest = 0;
    const uint32_t gpus = config->gpu_devices.count ? config->gpu_devices.count : 1;
    if (config->huge_pages != CONFIG_HUGE_PAGES_OFF)
        plan.page_bytes = config->huge_page_bytes;
    for (uint32_t i = 0; i < config->ring_count; i++) {
        const struct config_ring *ring = &config->rings[i];
        plan.slab_count += ring->slab_count;
        plan.slab_bytes += ring->slab_bytes * ring->slab_count;
        largest = ring->slab_bytes > largest ? ring->slab_bytes : largest;
    }
    add_keys(config, &plan);
    plan.synth_bytes = config->synth_workers *
                       (PLAN_SYNTH_MIB + (uint64_t)config->synth_threads * PLAN_THREAD_MIB) * MIB;
    plan.gpu_bytes = gpus * (config->gpu_backend == CONFIG_GPU_BACKEND_CPU
                                 ? largest + (PLAN_CPU_MIB + config->gpu_threads) * MIB
                                 : PLAN_CUDA_MIB * MIB);
    plan.finalizer_bytes = (uint64_t)config->finalizer_workers * PLAN_FINALIZER_MIB * MIB;
    plan.supervisor_bytes = (PLAN_RECORDS_MIB + ADMISSION_INLINE_MIB_MAX +
                             ADMISSION_RESULT_MIB_MAX + (uint64_t)JOBS_FINISHED_MIB_MAX) *
                            MIB;
    *ret = plan;
}

uint64_t memory_plan_huge_bytes(const struct memory_plan *plan)
{
    return plan->policy == CONFIG_HUGE_PAGES_OFF ? 0 : plan->slab_bytes + plan->key_bytes;
}

uint64_t memory_plan_total_bytes(const struct memory_plan *plan)
{
    return plan->slab_bytes + plan->key_bytes + plan->synth_bytes + plan->gpu_bytes +
           plan->finalizer_bytes + plan->supervisor_bytes;
}

uint64_t memory_plan_ordinary_bytes(const struct memory_plan *plan)
{
    return memory_plan_total_bytes(plan) - memory_plan_huge_bytes(plan);
}

/* ---- the machine ---- */

static uint64_t meminfo(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found ? strtoull(found + strlen(name), NULL, 10) << 10 : UINT64_MAX;
}

static void lower_to(const char *mount, const char *group, const char *file,
                     struct memory_plan_host *host)
{
    char folder[160], path[sizeof host->limit_path];
    uint64_t limit;
    snprintf(folder, sizeof folder, "%s", group);
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", mount, strcmp(folder, "/") ? folder : "", file);
        if (files_read_number(path, &limit) == 0 && limit < host->limit_bytes) {
            host->limit_bytes = limit;
            memcpy(host->limit_path, path, sizeof path);
        }
        char *slash = strrchr(folder, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Each line of /proc/self/cgroup is "id:controllers:path"; id 0 is the unified hierarchy. */
static void read_limit(struct memory_plan_host *host)
{
    char *text, *rest;
    size_t bytes;
    if (files_read("/proc/self/cgroup", 16384, &text, &bytes) < 0)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group;
        if (!controllers || !(group = strchr(++controllers, ':')))
            continue;
        *group++ = '\0';
        if (*controllers == '\0')
            lower_to("/sys/fs/cgroup", group, "memory.max", host);
        else if (strcmp(controllers, "memory") == 0)
            lower_to("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", host);
    }
    free(text);
}

static bool is_running(const struct config *config)
{
    char path[PATH_BYTES_MAX + 8];
    snprintf(path, sizeof path, "%s/lock", config->state_directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_locked = flock(fd, LOCK_SH | LOCK_NB) < 0;
    close(fd);
    return is_locked;
}

void memory_plan_look(const struct config *config, struct memory_plan_host *ret)
{
    struct memory_plan_host host = {.available_bytes = UINT64_MAX,
                                    .total_bytes = UINT64_MAX,
                                    .limit_bytes = UINT64_MAX,
                                    .memlock_bytes = UINT64_MAX};
    struct rlimit limit;
    char *text;
    size_t bytes;
    host.has_hugepages = hugepages_read(config->huge_page_bytes, &host.pool) == 0;
    host.is_running = is_running(config);
    if (files_read("/proc/meminfo", 65536, &text, &bytes) == 0) {
        host.available_bytes = meminfo(text, "MemAvailable:");
        host.total_bytes = meminfo(text, "MemTotal:");
        free(text);
    }
    read_limit(&host);
    if (geteuid() != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
        host.memlock_bytes = limit.rlim_max;
    *ret = host;
}

/* ---- the verdict ---- */

static enum memory_plan_verdict judge_hugepages(const struct memory_plan *plan,
                                                const struct memory_plan_host *host, char *text,
                                                size_t room)
{
    const struct hugepages *pool = &host->pool;
    const uint64_t wanted = memory_plan_huge_bytes(plan) / plan->page_bytes;
    const uint64_t there =
        (host->is_running ? pool->total : hugepages_available(pool)) + pool->overcommit;
    char page[UNITS_TEXT_BYTES], limit[UNITS_TEXT_BYTES];
    units_print_size(plan->page_bytes, page);
    if (!host->has_hugepages || wanted > there) {
        snprintf(text, room,
                 "hugepages are short: %llu of %s are wanted, and the pool has %llu, %llu of them "
                 "free: raise vm.nr_hugepages by %llu, or use fewer or smaller slabs",
                 (unsigned long long)wanted, page, (unsigned long long)pool->total,
                 (unsigned long long)hugepages_available(pool),
                 (unsigned long long)(wanted - (host->has_hugepages ? there : 0)));
        return MEMORY_PLAN_SHORT_HUGEPAGES;
    }
    if (pool->cgroup_limit_bytes < memory_plan_huge_bytes(plan)) {
        snprintf(text, room, "the cgroup may have %s of hugepages only: raise %s",
                 units_print_size(pool->cgroup_limit_bytes, limit), pool->cgroup_limit_path);
        return MEMORY_PLAN_SHORT_CGROUP;
    }
    return MEMORY_PLAN_FITS;
}

enum memory_plan_verdict memory_plan_judge(const struct memory_plan *plan,
                                           const struct memory_plan_host *host, char *ret_text,
                                           size_t room)
{
    const uint64_t there = host->is_running ? host->total_bytes : host->available_bytes;
    uint64_t ordinary = memory_plan_ordinary_bytes(plan);
    char wanted[UNITS_TEXT_BYTES], has[UNITS_TEXT_BYTES];
    ret_text[0] = '\0';
    if (plan->policy == CONFIG_HUGE_PAGES_REQUIRE) {
        enum memory_plan_verdict verdict = judge_hugepages(plan, host, ret_text, room);
        if (verdict != MEMORY_PLAN_FITS)
            return verdict;
    } else if (plan->policy == CONFIG_HUGE_PAGES_PREFER) {
        /* What the pool has not comes from ordinary memory. */
        uint64_t huge = host->has_hugepages
                            ? (host->is_running ? host->pool.total
                                                : hugepages_available(&host->pool)) *
                                  plan->page_bytes
                            : 0;
        uint64_t slabs = memory_plan_huge_bytes(plan);
        ordinary += slabs > huge ? slabs - huge : 0;
    }
    units_print_size(ordinary, wanted);
    if (ordinary > there) {
        snprintf(ret_text, room, "memory is short: up to %s may be wanted and the machine has %s %s",
                 wanted, units_print_size(there, has), host->is_running ? "in all" : "available");
        return MEMORY_PLAN_SHORT_MEMORY;
    }
    if (ordinary > host->limit_bytes) {
        snprintf(ret_text, room, "memory is short: up to %s may be wanted and %s says %s", wanted,
                 host->limit_path, units_print_size(host->limit_bytes, has));
        return MEMORY_PLAN_SHORT_MEMORY;
    }
    return MEMORY_PLAN_FITS;
}

/* ---- in words ---- */

static void print_line(FILE *out, const char *what, uint64_t bytes)
{
    char size[UNITS_TEXT_BYTES];
    fprintf(out, "#   %-28s %s\n", what, units_print_size(bytes, size));
}

static void print_host(const struct memory_plan *plan, const struct memory_plan_host *host,
                       FILE *out)
{
    char size[UNITS_TEXT_BYTES];
    if (plan->page_bytes) {
        const struct hugepages *pool = &host->pool;
        fprintf(out, "#   hugepages of %s: %llu wanted, %llu in the pool, %llu free; ",
                units_print_size(plan->page_bytes, size),
                (unsigned long long)(memory_plan_huge_bytes(plan) / plan->page_bytes),
                (unsigned long long)pool->total, (unsigned long long)hugepages_available(pool));
        if (pool->cgroup_limit_bytes == UINT64_MAX || !host->has_hugepages)
            fprintf(out, "no cgroup limit\n");
        else
            fprintf(out, "limit %s (%s)\n", units_print_size(pool->cgroup_limit_bytes, size),
                    pool->cgroup_limit_path);
    }
    if (host->available_bytes != UINT64_MAX)
        fprintf(out, "#   memory available: %s", units_print_size(host->available_bytes, size));
    if (host->limit_bytes < host->total_bytes)
        fprintf(out, "; limit %s (%s)", units_print_size(host->limit_bytes, size),
                host->limit_path);
    fprintf(out, "\n");
    if (plan->policy != CONFIG_HUGE_PAGES_REQUIRE && host->memlock_bytes < plan->slab_bytes)
        fprintf(out,
                "#   RLIMIT_MEMLOCK is %s: slabs on ordinary pages are not kept out of swap; set "
                "LimitMEMLOCK=infinity\n",
                units_print_size(host->memlock_bytes, size));
    if (host->is_running)
        fprintf(out, "#   a daemon runs on this state folder: what it holds is counted as there\n");
}

enum memory_plan_verdict memory_plan_print(const struct config *config, FILE *out)
{
    struct memory_plan plan;
    struct memory_plan_host host;
    char size[UNITS_TEXT_BYTES], text[512], label[64];
    memory_plan_make(config, &plan);
    memory_plan_look(config, &host);
    enum memory_plan_verdict verdict = memory_plan_judge(&plan, &host, text, sizeof text);
    fprintf(out, "\n# Memory plan (HugePages=%s):\n",
            config_huge_pages_to_string(config->huge_pages));
    for (uint32_t i = 0; i < config->ring_count; i++)
        fprintf(out, "#   ring %s: %u slabs of %s\n", config->rings[i].name,
                config->rings[i].slab_count, units_print_size(config->rings[i].slab_bytes, size));
    fprintf(out, "#   a partition takes %s\n",
            config->device_evaluates
                ? "32 bytes a wire: its witness (the card evaluates)"
                : "32 bytes a wire and 64 a point of the domain: its witness and two evaluations");
    snprintf(label, sizeof label, "slabs (%u)", plan.slab_count);
    print_line(out, label, plan.slab_bytes);
    snprintf(label, sizeof label, "prepared keys so far (%u)", plan.key_count);
    print_line(out, label, plan.key_bytes);
    print_line(out, "synthesis heaps, about", plan.synth_bytes);
    print_line(out, "GPU workers' heaps, about", plan.gpu_bytes);
    print_line(out, "finalizers' heaps, about", plan.finalizer_bytes);
    print_line(out, "records, results, at most", plan.supervisor_bytes);
    print_line(out, "all together, at most", memory_plan_total_bytes(&plan));
    print_host(&plan, &host, out);
    fprintf(out, verdict == MEMORY_PLAN_FITS ? "#   it fits\n" : "#   IT DOES NOT FIT: %s\n", text);
    return verdict;
}

void memory_plan_log(const struct config *config)
{
    struct memory_plan plan;
    char total[UNITS_TEXT_BYTES], slabs[UNITS_TEXT_BYTES], keys[UNITS_TEXT_BYTES],
        rest[UNITS_TEXT_BYTES];
    memory_plan_make(config, &plan);
    const uint64_t rest_bytes =
        memory_plan_total_bytes(&plan) - plan.slab_bytes - plan.key_bytes;
    log_info("memory plan: at most %s: %s of slabs, %s of keys that are prepared, up to %s of heaps, "
             "records and results",
             units_print_size(memory_plan_total_bytes(&plan), total),
             units_print_size(plan.slab_bytes, slabs), units_print_size(plan.key_bytes, keys),
             units_print_size(rest_bytes, rest));
}
