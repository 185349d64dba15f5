/* Limits of control groups, version 2 (one tree) and version 1 (a tree a controller), from the
 * process's own group up to the root: the lowest one acts. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/doctor/doctor.h"
#include "config/units.h"

enum {
    V1_NONE_SHIFT = 50, /* version 1 says "no limit" as a number near 2^63 */
};

/* What a folder's file says; the limit is lowered to it. */
typedef void reader(const struct doctor *doctor, const char *folder, const char *file,
                    struct doctor_limit *limit);

static void lower(struct doctor_limit *limit, uint64_t value, const char *folder, const char *file)
{
    if (value >> V1_NONE_SHIFT || value >= limit->value)
        return;
    limit->value = value;
    snprintf(limit->path, sizeof limit->path, "%.180s/%.60s", folder, file);
}

static void read_number(const struct doctor *doctor, const char *folder, const char *file,
                        struct doctor_limit *limit)
{
    uint64_t value;
    if (doctor_number(doctor, &value, "%s/%s", folder, file) == 0)
        lower(limit, value, folder, file);
}

/* "QUOTA PERIOD" of version 2. */
static void read_cpu_max(const struct doctor *doctor, const char *folder, const char *file,
                         struct doctor_limit *limit)
{
    char *text = doctor_read(doctor, "%s/%s", folder, file);
    uint64_t quota, period;
    if (text && sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) == 2 && period > 0)
        lower(limit, quota * 1000 / period, folder, file);
    free(text);
}

static void read_cfs_quota(const struct doctor *doctor, const char *folder, const char *file,
                           struct doctor_limit *limit)
{
    uint64_t quota, period;
    /* -1, no limit, is no number here. */
    if (doctor_number(doctor, &quota, "%s/%s", folder, file) == 0 &&
        doctor_number(doctor, &period, "%s/cpu.cfs_period_us", folder) == 0 && period > 0)
        lower(limit, quota * 1000 / period, folder, file);
}

static void climb(const struct doctor *doctor, const char *mount, const char *group,
                  const char *file, reader *read, struct doctor_limit *limit)
{
    char folder[256];
    size_t mounted =
        (size_t)snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") ? group : "");
    if (mounted >= sizeof folder)
        return;
    for (;;) {
        read(doctor, folder, file, limit);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(mount))
            return;
        *slash = '\0';
    }
}

/* Whether a list such as "cpu,cpuacct" names the controller. */
static bool has_controller(const char *list, const char *controller)
{
    const size_t bytes = strlen(controller);
    for (const char *at = list; (at = strstr(at, controller)); at += bytes) {
        if ((at == list || at[-1] == ',') && (at[bytes] == ',' || at[bytes] == '\0'))
            return true;
    }
    return false;
}

/* Each line of /proc/PID/cgroup is "id:controllers:path"; id 0 is version 2. */
static void find(const struct doctor *doctor, const char *controller, const char *file_v2,
                 reader *read_v2, const char *file_v1, reader *read_v1, struct doctor_limit *ret)
{
    char *text = doctor_read(doctor, "/proc/%d/cgroup", (int)doctor->pid), *rest, mount[64];
    *ret = (struct doctor_limit){.value = UINT64_MAX};
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *group;
        if (!controllers || !(group = strchr(controllers + 1, ':')))
            continue;
        *controllers++ = '\0';
        *group++ = '\0';
        if (strcmp(line, "0") == 0) {
            climb(doctor, "/sys/fs/cgroup", group, file_v2, read_v2, ret);
            climb(doctor, "/sys/fs/cgroup/unified", group, file_v2, read_v2, ret); /* hybrid */
        } else if (has_controller(controllers, controller)) {
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controllers);
            climb(doctor, mount, group, file_v1, read_v1, ret);
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
            climb(doctor, mount, group, file_v1, read_v1, ret);
        }
    }
    free(text);
}

void doctor_cgroup_limit(const struct doctor *doctor, const char *controller, const char *file_v2,
                         const char *file_v1, struct doctor_limit *ret)
{
    find(doctor, controller, file_v2, read_number, file_v1, read_number, ret);
}

void doctor_cgroup_cpu(const struct doctor *doctor, struct doctor_limit *ret)
{
    find(doctor, "cpu", "cpu.max", read_cpu_max, "cpu.cfs_quota_us", read_cfs_quota, ret);
}

static uint64_t host_memory(const struct doctor *doctor)
{
    char *text = doctor_read(doctor, "/proc/meminfo");
    const char *line = text ? strstr(text, "MemTotal:") : NULL;
    const uint64_t bytes = line ? strtoull(line + 9, NULL, 10) << 10 : 0;
    free(text);
    return bytes;
}

/* What ordinary pages must hold: slabs and keys unless hugepages do, and room to work in. */
static void memory(struct doctor *doctor)
{
    const struct config *config = doctor->config;
    const char *whose = doctor->is_running ? "the service" : "this shell";
    char limit_text[UNITS_TEXT_BYTES], host_text[UNITS_TEXT_BYTES], needed_text[UNITS_TEXT_BYTES];
    const uint64_t host = host_memory(doctor);
    uint64_t needed = UINT64_C(1) << 30;
    struct doctor_limit limit;
    doctor_cgroup_limit(doctor, "memory", "memory.max", "memory.limit_in_bytes", &limit);
    if (config && config->huge_pages == CONFIG_HUGE_PAGES_OFF)
        needed += doctor_slab_bytes(config) + doctor_key_bytes(doctor);
    const uint64_t there = limit.value < host || host == 0 ? limit.value : host;
    const bool is_limited = limit.value < host;
    doctor_size(needed, needed_text);
    doctor_size(host, host_text);
    if (is_limited)
        doctor_add(doctor, there < needed ? DOCTOR_FAIL : DOCTOR_OK, "memory",
                   "the host has %s, the cgroup of %s may use %s (%s)", host_text, whose,
                   doctor_size(limit.value, limit_text), limit.path);
    else
        doctor_add(doctor, there < needed ? DOCTOR_FAIL : DOCTOR_OK, "memory",
                   "the host has %s, and no cgroup above %s limits that", host_text, whose);
    if (there >= needed)
        return;
    doctor_means(doctor,
                 "this configuration needs %s of ordinary pages or more; without them the kernel "
                 "ends workers",
                 needed_text);
    if (is_limited)
        doctor_change(doctor, "MemoryMax= of the unit (systemctl edit cuzkd), or the limit of the "
                              "container");
    else
        doctor_change(doctor, "fewer or smaller slabs ([Ring] Slabs=, SlabSize=)");
}

static void cpu(struct doctor *doctor)
{
    struct doctor_limit limit;
    cpu_set_t usable;
    const int cores =
        sched_getaffinity(doctor->is_running ? doctor->pid : 0, sizeof usable, &usable) == 0
            ? CPU_COUNT(&usable)
            : 1;
    doctor_cgroup_cpu(doctor, &limit);
    if (limit.value == UINT64_MAX) {
        doctor_add(doctor, DOCTOR_OK, "cpu", "%d cores may be used, without a quota", cores);
        return;
    }
    const bool is_short = limit.value < 1000u * (unsigned)cores;
    doctor_add(doctor, is_short ? DOCTOR_WARN : DOCTOR_OK, "cpu",
               "%d cores may be used, with a quota of %.1f of them (%s)", cores,
               (double)limit.value / 1000, limit.path);
    if (!is_short)
        return;
    doctor_means(doctor, "workers make a thread a core and are then held back all together, which "
                         "costs more than fewer threads");
    doctor_change(doctor,
                  "CPUQuota= of the unit away, or [Synthesis] Threads=%.0f and [GPU] "
                  "Threads=%.0f",
                  limit.value < 1000 ? 1 : (double)(limit.value / 1000),
                  limit.value < 1000 ? 1 : (double)(limit.value / 1000));
}

void doctor_cgroups(struct doctor *doctor)
{
    memory(doctor);
    cpu(doctor);
}
