/* The service's folders, and the limits of the daemon that runs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "client/doctor/doctor.h"
#include "config/units.h"

#define DISK_BYTES_MIN   (UINT64_C(64) << 20)
#define DISK_BYTES_SMALL (UINT64_C(1) << 30)

enum {
    OPEN_FILES_USUAL = 4096,
};

/* The folder, or the nearest above it that is there. */
static bool free_space(const struct doctor *doctor, const char *folder, uint64_t *ret_bytes)
{
    char path[PATH_BYTES_MAX];
    struct statvfs space;
    snprintf(path, sizeof path, "%s%s", doctor->root, folder);
    while (statvfs(path, &space) < 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash || slash == path)
            return false;
        *slash = '\0';
    }
    *ret_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    return true;
}

static void check_folder(struct doctor *doctor, const char *what, const char *option,
                         const char *folder)
{
    char text[UNITS_TEXT_BYTES];
    uint64_t bytes;
    if (!free_space(doctor, folder, &bytes)) {
        doctor_add(doctor, DOCTOR_WARN, "disk", "the %s folder %s cannot be examined: %s", what,
                   folder, strerror(errno));
        return;
    }
    const enum doctor_level level = bytes < DISK_BYTES_MIN     ? DOCTOR_FAIL
                                    : bytes < DISK_BYTES_SMALL ? DOCTOR_WARN
                                                               : DOCTOR_OK;
    doctor_add(doctor, level, "disk", "%s free for the %s folder %s", doctor_size(bytes, text),
               what, folder);
    if (level == DOCTOR_OK)
        return;
    doctor_means(doctor, "%s when it is full",
                 strcmp(what, "cache") == 0 ? "circuits cannot be added" : "jobs are not accepted");
    doctor_change(doctor, "room there, or another folder ([Supervisor] %s=)", option);
}

void doctor_disk(struct doctor *doctor)
{
    if (!doctor->config)
        return;
    check_folder(doctor, "state", "StateDirectory", doctor->config->state_directory);
    check_folder(doctor, "spool", "SpoolDirectory", doctor->config->spool_directory);
    check_folder(doctor, "cache", "CacheDirectory", doctor->config->cache_directory);
}

/* Whether the process lives in a unit of the service manager. */
static bool is_in_unit(const struct doctor *doctor)
{
    char *text = doctor_read(doctor, "/proc/%d/cgroup", (int)doctor->pid);
    const bool is_unit = text && strstr(text, ".service");
    free(text);
    return is_unit;
}

void doctor_limits(struct doctor *doctor)
{
    struct doctor_limit tasks;
    uint64_t files;
    if (!doctor->is_running)
        return;
    const bool is_unit = is_in_unit(doctor);
    if (doctor_process_limit(doctor, "Max open files", &files)) {
        const bool is_short = files < OPEN_FILES_USUAL;
        doctor_add(doctor, is_short ? DOCTOR_WARN : DOCTOR_OK, "limits",
                   "the service may have %" PRIu64 " files open", files);
        if (is_short) {
            doctor_means(doctor, "%" PRIu64 " connections at most, and few large inputs at a time",
                         files / 4);
            doctor_change(doctor, is_unit ? "LimitNOFILE=65536 in the unit (systemctl edit cuzkd)"
                                          : "ulimit -n 65536 before it is started");
        }
    }
    doctor_cgroup_limit(doctor, "pids", "pids.max", "pids.max", &tasks);
    if (tasks.value < 512) {
        doctor_add(doctor, DOCTOR_WARN, "limits", "a cgroup allows %" PRIu64 " tasks (%s)",
                   tasks.value, tasks.path);
        doctor_means(doctor, "workers with many threads do not start");
        doctor_change(doctor, "TasksMax= of the unit, or the container's limit");
    }
}
