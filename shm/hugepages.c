/* See shm/hugepages.h. The kernel promises hugepages by its host-wide pool but gives them by the
 * cgroup's fault limit as well: an explanation needs both. */
#include "shm/hugepages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/files.h"

static int read_figure(size_t page_bytes, const char *file, uint64_t *ret)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%zukB/%s", page_bytes >> 10,
             file);
    return files_read_number(path, ret);
}

/* Lowers *limit to the lowest one between the cgroup `group` and the root of `mount`. */
static void lower_to_cgroup(const char *mount, const char *group, const char *file,
                            struct hugepages *pool)
{
    char path[sizeof pool->cgroup_limit_path], folder[192];
    uint64_t limit;

    snprintf(folder, sizeof folder, "%s", group);
    for (;;) {
        char *slash;
        snprintf(path, sizeof path, "%s%s/%s", mount, strcmp(folder, "/") ? folder : "", file);
        if (files_read_number(path, &limit) == 0 && limit < pool->cgroup_limit_bytes) {
            pool->cgroup_limit_bytes = limit;
            memcpy(pool->cgroup_limit_path, path, sizeof path);
        }
        slash = strrchr(folder, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Each line of /proc/self/cgroup is "id:controllers:path"; id 0 is the unified hierarchy. */
static void read_cgroup_limit(size_t page_bytes, struct hugepages *pool)
{
    char *text, *line, *rest, file[64];
    size_t bytes;
    const char *size = page_bytes >= 1 << 30 ? "1GB" : "2MB";

    pool->cgroup_limit_bytes = UINT64_MAX;
    if (files_read("/proc/self/cgroup", 16384, &text, &bytes) < 0)
        return;
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group;
        if (!controllers || !(group = strchr(++controllers, ':')))
            continue;
        *group++ = '\0';
        if (strncmp(line, "0:", 2) == 0 && *controllers == '\0') {
            snprintf(file, sizeof file, "hugetlb.%s.max", size);
            lower_to_cgroup("/sys/fs/cgroup", group, file, pool);
            lower_to_cgroup("/sys/fs/cgroup/unified", group, file, pool); /* hybrid hosts */
        } else if (strstr(controllers, "hugetlb")) {
            snprintf(file, sizeof file, "hugetlb.%s.limit_in_bytes", size);
            lower_to_cgroup("/sys/fs/cgroup/hugetlb", group, file, pool);
        }
    }
    free(text);
}

int hugepages_read(size_t page_bytes, struct hugepages *ret)
{
    struct hugepages pool = {0};

    if (read_figure(page_bytes, "nr_hugepages", &pool.total) < 0 ||
        read_figure(page_bytes, "free_hugepages", &pool.free) < 0 ||
        read_figure(page_bytes, "resv_hugepages", &pool.reserved) < 0 ||
        read_figure(page_bytes, "surplus_hugepages", &pool.surplus) < 0 ||
        read_figure(page_bytes, "nr_overcommit_hugepages", &pool.overcommit) < 0)
        return -ENOENT;
    read_cgroup_limit(page_bytes, &pool);
    *ret = pool;
    return 0;
}

uint64_t hugepages_available(const struct hugepages *pool)
{
    return pool->free > pool->reserved ? pool->free - pool->reserved : 0;
}

/* The sysctl sets the pool of the default size only. */
static void explain_remedy(size_t page_bytes, uint64_t pages, char *text, size_t room)
{
    char *meminfo, *found;
    size_t bytes;
    unsigned long long default_kb = 0;

    if (files_read("/proc/meminfo", 65536, &meminfo, &bytes) == 0) {
        found = strstr(meminfo, "Hugepagesize:");
        if (found)
            default_kb = strtoull(found + strlen("Hugepagesize:"), NULL, 10);
        free(meminfo);
    }
    if (default_kb == page_bytes >> 10)
        snprintf(text, room, "sysctl vm.nr_hugepages=%llu", (unsigned long long)pages);
    else
        snprintf(text, room,
                 "write %llu to /sys/kernel/mm/hugepages/hugepages-%zukB/nr_hugepages, or boot "
                 "with hugepagesz=%zuK hugepages=%llu",
                 (unsigned long long)pages, page_bytes >> 10, page_bytes >> 10,
                 (unsigned long long)pages);
}

void hugepages_explain(const char *cause, size_t bytes, size_t page_bytes, struct slab_fault *ret)
{
    uint64_t wanted = (bytes + page_bytes - 1) / page_bytes, available;
    char remedy[192], limit[sizeof((struct hugepages *)0)->cgroup_limit_path + 64] = "no limit";
    struct hugepages pool;

    if (hugepages_read(page_bytes, &pool) < 0) {
        snprintf(ret->text, sizeof ret->text, "%s: the kernel has no hugepages of %zu MiB", cause,
                 page_bytes >> 20);
        return;
    }
    available = hugepages_available(&pool);
    if (available < wanted)
        explain_remedy(page_bytes, pool.total + wanted - available, remedy, sizeof remedy);
    else
        snprintf(remedy, sizeof remedy, "raise the cgroup's limit");
    if (pool.cgroup_limit_bytes != UINT64_MAX)
        snprintf(limit, sizeof limit, "%llu bytes (%s)",
                 (unsigned long long)pool.cgroup_limit_bytes, pool.cgroup_limit_path);
    snprintf(ret->text, sizeof ret->text,
             "%s: %llu hugepages of %zu MiB wanted; the pool has %llu, %llu free, %llu of these "
             "reserved, %llu surplus; cgroup hugetlb limit: %.200s. Remedy: %s",
             cause, (unsigned long long)wanted, page_bytes >> 20, (unsigned long long)pool.total,
             (unsigned long long)pool.free, (unsigned long long)pool.reserved,
             (unsigned long long)pool.surplus, limit, remedy);
}
