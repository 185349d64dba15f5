/* Hugepages, locked memory, swap: see doctor.h. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/doctor/doctor.h"
#include "config/units.h"

#define GIB (UINT64_C(1) << 30)

uint64_t doctor_slab_bytes(const struct config *config)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < config->ring_count; i++)
        bytes += config->rings[i].slab_bytes * config->rings[i].slab_count;
    return bytes;
}

uint64_t doctor_key_bytes(const struct doctor *doctor)
{
    char path[PATH_BYTES_MAX];
    struct stat status;
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "%s%s/keys", doctor->root, doctor->config->cache_directory);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_size;
    }
    if (folder)
        closedir(folder);
    return bytes;
}

struct pool {
    uint64_t total, free, reserved;
};

static bool read_pool(const struct doctor *doctor, uint64_t page_bytes, struct pool *ret)
{
    char folder[96];
    snprintf(folder, sizeof folder, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB",
             page_bytes >> 10);
    return doctor_number(doctor, &ret->total, "%s/nr_hugepages", folder) == 0 &&
           doctor_number(doctor, &ret->free, "%s/free_hugepages", folder) == 0 &&
           doctor_number(doctor, &ret->reserved, "%s/resv_hugepages", folder) == 0;
}

/* How to have so many pages in all. */
static void say_how(struct doctor *doctor, uint64_t page_bytes, uint64_t pages)
{
    if (page_bytes == GIB)
        doctor_change(doctor,
                      "hugepagesz=1G hugepages=%" PRIu64 " on the kernel's command line; without a "
                      "reboot, while memory is unbroken: echo %" PRIu64
                      " >/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                      pages, pages);
    else
        doctor_change(
            doctor, "sysctl vm.nr_hugepages=%" PRIu64 ", and the same in /etc/sysctl.d/cuzkd.conf",
            pages);
}

static uint64_t pages_of(uint64_t bytes, uint64_t page_bytes)
{
    return (bytes + page_bytes - 1) / page_bytes;
}

/* The pool of the size that the configuration wants. A daemon that runs has its pages already. */
static void check_pool(struct doctor *doctor, uint64_t page_bytes, const struct pool *pool)
{
    const struct config *config = doctor->config;
    const bool is_required = config->huge_pages == CONFIG_HUGE_PAGES_REQUIRE;
    const uint64_t slabs = pages_of(doctor_slab_bytes(config), page_bytes);
    const uint64_t keys = pages_of(doctor_key_bytes(doctor), page_bytes);
    const uint64_t free = pool->free > pool->reserved ? pool->free - pool->reserved : 0;
    const uint64_t there = doctor->is_running ? pool->total : free;
    char size[UNITS_TEXT_BYTES];
    enum doctor_level level = DOCTOR_OK;
    if (there < slabs)
        level = is_required ? DOCTOR_FAIL : DOCTOR_WARN;
    else if (there < slabs + keys)
        level = DOCTOR_WARN;
    doctor_add(doctor, level, "hugepages",
               "%" PRIu64 " pages of %s, %" PRIu64 " free, %" PRIu64
               " of these reserved; wanted: %" PRIu64 " for slabs, %" PRIu64 " for prepared keys",
               pool->total, doctor_size(page_bytes, size), pool->free, pool->reserved, slabs, keys);
    if (level == DOCTOR_OK)
        return;
    if (there < slabs && is_required)
        doctor_means(doctor, "cuzkd refuses to start ([Ring] HugePages=require)");
    else if (there < slabs)
        doctor_means(doctor, "slabs go to ordinary pages: uploads to a GPU are several times "
                             "slower, and a witness may reach swap");
    else
        doctor_means(doctor, "slabs fit; a key that is loaded when no page is left %s",
                     is_required ? "fails its jobs" : "goes to ordinary pages");
    say_how(doctor, page_bytes,
            pool->total - (doctor->is_running ? pool->total : free) + slabs + keys);
}

static void check_cgroup(struct doctor *doctor, uint64_t page_bytes)
{
    struct doctor_limit limit;
    char text[UNITS_TEXT_BYTES], wanted_text[UNITS_TEXT_BYTES];
    const bool is_large = page_bytes == GIB;
    const uint64_t wanted = doctor_slab_bytes(doctor->config);
    doctor_cgroup_limit(doctor, "hugetlb", is_large ? "hugetlb.1GB.max" : "hugetlb.2MB.max",
                        is_large ? "hugetlb.1GB.limit_in_bytes" : "hugetlb.2MB.limit_in_bytes",
                        &limit);
    if (limit.value == UINT64_MAX)
        return;
    const bool is_short = limit.value < wanted;
    doctor_add(doctor,
               !is_short                                                 ? DOCTOR_OK
               : doctor->config->huge_pages == CONFIG_HUGE_PAGES_REQUIRE ? DOCTOR_FAIL
                                                                         : DOCTOR_WARN,
               "hugepages", "a cgroup limits them to %s (%s)", doctor_size(limit.value, text),
               limit.path);
    if (!is_short)
        return;
    doctor_means(doctor,
                 "slabs take %s; the kernel promises pages beyond the limit and then gives "
                 "none",
                 doctor_size(wanted, wanted_text));
    doctor_change(doctor, "a higher number in that file, or the container's hugetlb limit");
}

void doctor_hugepages(struct doctor *doctor)
{
    static const uint64_t sizes[] = {UINT64_C(2) << 20, GIB};
    const struct config *config = doctor->config;
    for (unsigned i = 0; i < 2; i++) {
        struct pool pool;
        char size[UNITS_TEXT_BYTES];
        const bool is_there = read_pool(doctor, sizes[i], &pool);
        const bool is_wanted = config && config->huge_pages != CONFIG_HUGE_PAGES_OFF &&
                               config->huge_page_bytes == sizes[i];
        doctor_size(sizes[i], size);
        if (is_wanted && is_there) {
            check_pool(doctor, sizes[i], &pool);
            check_cgroup(doctor, sizes[i]);
        } else if (is_wanted) {
            doctor_add(doctor,
                       config->huge_pages == CONFIG_HUGE_PAGES_REQUIRE ? DOCTOR_FAIL : DOCTOR_WARN,
                       "hugepages", "the kernel has no hugepages of %s", size);
            doctor_means(doctor, "[Ring] HugePageSize=%s cannot be had on this machine", size);
            doctor_change(doctor, "[Ring] HugePageSize=2M, or HugePages=off");
        } else if (is_there && pool.total > 0) {
            const bool is_odd = config && config->huge_pages != CONFIG_HUGE_PAGES_OFF;
            doctor_add(doctor, DOCTOR_OK, "hugepages",
                       "%" PRIu64 " pages of %s, %" PRIu64 " free: the configuration uses %s",
                       pool.total, size, pool.free, is_odd ? "another size" : "none");
        }
    }
    if (config && config->huge_pages == CONFIG_HUGE_PAGES_OFF) {
        const bool has_gpu = config->gpu_backend != CONFIG_GPU_BACKEND_CPU;
        doctor_add(doctor, has_gpu ? DOCTOR_WARN : DOCTOR_OK, "hugepages",
                   "[Ring] HugePages=off: slabs lie on ordinary pages");
        if (has_gpu) {
            doctor_means(doctor, "uploads to the GPU and the start are slower");
            doctor_change(doctor, "[Ring] HugePages=require");
        }
    }
}

/* CAP_IPC_LOCK: the limit does not count. */
static bool may_lock_all(const struct doctor *doctor)
{
    char *text = doctor_read(doctor, "/proc/%d/status", (int)doctor->pid);
    const char *line = text ? strstr(text, "\nCapEff:") : NULL;
    const uint64_t capabilities = line ? strtoull(line + 8, NULL, 16) : 0;
    free(text);
    return capabilities >> 14 & 1;
}

void doctor_memlock(struct doctor *doctor)
{
    const char *whose = doctor->is_running ? "of the service" : "of this shell";
    char text[UNITS_TEXT_BYTES], wanted_text[UNITS_TEXT_BYTES];
    uint64_t limit;
    if (!doctor_process_limit(doctor, "Max locked memory", &limit))
        return;
    const bool may_need = doctor->config && doctor->config->huge_pages != CONFIG_HUGE_PAGES_REQUIRE;
    const uint64_t wanted = may_need ? doctor_slab_bytes(doctor->config) : 0;
    const bool is_exempt = may_lock_all(doctor);
    const bool is_short = limit < wanted && !is_exempt;
    if (limit == UINT64_MAX)
        snprintf(text, sizeof text, "unlimited");
    else
        doctor_size(limit, text);
    doctor_add(doctor, is_short ? DOCTOR_WARN : DOCTOR_OK, "memlock",
               "the limit %s on locked memory is %s%s", whose, text,
               is_exempt && limit != UINT64_MAX ? ", and does not count: CAP_IPC_LOCK" : "");
    if (!is_short)
        return;
    doctor_means(doctor, "slabs on ordinary pages (%s) cannot be locked: a witness may reach swap",
                 doctor_size(wanted, wanted_text));
    doctor_change(doctor, doctor->is_running
                              ? "LimitMEMLOCK=infinity in the unit (systemctl edit cuzkd)"
                              : "ulimit -l unlimited; under systemd the unit has it");
}

void doctor_swap(struct doctor *doctor)
{
    char *text = doctor_read(doctor, "/proc/swaps");
    char *first = text ? strchr(text, '\n') : NULL;
    struct doctor_limit limit;
    const bool has_swap = first && strchr(first + 1, '/');
    free(text);
    doctor_cgroup_limit(doctor, "memory", "memory.swap.max", "memory.memsw.limit_in_bytes", &limit);
    if (!has_swap || (limit.value == 0 && doctor->is_running)) {
        doctor_add(doctor, DOCTOR_OK, "swap", "%s",
                   has_swap ? "there is swap, and the service may not use it" : "there is none");
        return;
    }
    doctor_add(doctor, DOCTOR_WARN, "swap", "there is swap, and %s may use it",
               doctor->is_running ? "the service" : "this shell");
    doctor_means(doctor, "what a prover computes with gives witnesses away, and parts of it can be "
                         "written to disk");
    doctor_change(doctor, "MemorySwapMax=0 in the unit (as installed it is there; cgroups of "
                          "version 2 only), else swapoff -a or encrypted swap");
}
