/* See device.h. Upstream: [GPU] Device=; downstream: the context that all else of the backend lives
 * in. */
#include "gpu-worker/cuda/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gpu-worker/backend.h"
#include "gpu-worker/cuda/errors.h"

enum {
    DEVICE_COUNT_MAX = 64,
};

static int device_find_all(struct driver_device *ret_devices, int *ret_count, char *ret_text);
static int device_match(const struct driver_device *devices, int count, const char *uuid,
                        int *ret_index, char *ret_text);
static int device_lock(const struct driver_device *info, int *ret_fd, char *ret_text);
static int device_check(const struct driver_device *info, char *ret_text);
static int device_start(int ordinal, const struct driver_device *info, char *ret_text);

/* Locks and opens one card. */
static int device_try(int ordinal, const struct driver_device *info, struct device *ret_device,
                      char *ret_text)
{
    int lock_fd = -1;
    int error = device_check(info, ret_text);
    if (error == 0)
        error = device_lock(info, &lock_fd, ret_text);
    if (error == 0)
        error = device_start(ordinal, info, ret_text);
    if (error < 0) {
        if (lock_fd >= 0)
            close(lock_fd);
        return error;
    }
    *ret_device = (struct device){.info = *info, .lock_fd = lock_fd};
    return 0;
}

int device_open(const char *uuid, struct device *ret_device, char *ret_text)
{
    struct driver_device devices[DEVICE_COUNT_MAX];
    int count = 0, index;
    int error = device_find_all(devices, &count, ret_text);
    if (error < 0)
        return error;
    if (uuid && uuid[0]) {
        error = device_match(devices, count, uuid, &index, ret_text);
        return error < 0 ? error : device_try(index, &devices[index], ret_device, ret_text);
    }
    /* What is wrong with the first card tells most. */
    int first_error = 0;
    for (index = 0; index < count; index++) {
        char text[BACKEND_TEXT_BYTES];
        error = device_try(index, &devices[index], ret_device, text);
        if (error == 0)
            return 0;
        if (first_error == 0) {
            first_error = error;
            memcpy(ret_text, text, sizeof text);
        }
    }
    return first_error;
}

void device_close(struct device *device)
{
    if (device->lock_fd >= 0)
        close(device->lock_fd);
    device->lock_fd = -1;
}

/* Finding. */

/* Why CUDA finds nothing: no driver, one that is too old, or no card. */
static int device_explain_none(int error, char *ret_text)
{
    int driver = 0, runtime = 0;
    const bool knows_versions = driver_versions(&driver, &runtime) == DRIVER_OK;
    if (knows_versions && driver == 0) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "no NVIDIA driver is installed here: install the driver of the card, or set [GPU] "
                 "Backend=cpu to prove on the CPU");
        return -ENODEV;
    }
    /* Minor versions of one major are compatible; CUDA itself refuses what is not. */
    if (error == DRIVER_ERROR_INSUFFICIENT_DRIVER ||
        (knows_versions && driver < runtime / 1000 * 1000)) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "the NVIDIA driver is too old: it knows CUDA %d.%d and this build needs %d.%d; "
                 "install a newer driver",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
        return -ENOTSUP;
    }
    if (error == DRIVER_OK || error == DRIVER_ERROR_NO_DEVICE) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "there is no NVIDIA GPU that CUDA can use: see nvidia-smi -L; a card in MIG mode "
                 "needs an instance, and CUDA_VISIBLE_DEVICES= hides cards");
        return -ENODEV;
    }
    errors_explain(ret_text, error, "looking for GPUs", "this machine");
    return errors_to_errno(error);
}

static int device_find_all(struct driver_device *ret_devices, int *ret_count, char *ret_text)
{
    int count = 0;
    int error = driver_device_count(&count);
    if (error != DRIVER_OK || count <= 0)
        return device_explain_none(error, ret_text);
    if (count > DEVICE_COUNT_MAX)
        count = DEVICE_COUNT_MAX;
    for (int i = 0; i < count; i++) {
        error = driver_device_get(i, &ret_devices[i]);
        if (error != DRIVER_OK) {
            char where[32];
            snprintf(where, sizeof where, "GPU %d", i);
            errors_explain(ret_text, error, "reading the properties", where);
            return errors_to_errno(error);
        }
    }
    *ret_count = count;
    return 0;
}

/* "GPU-1234..., GPU-5678...", as many as fit. */
static void device_list(const struct driver_device *devices, int count, char *ret, size_t bytes)
{
    size_t used = 0;
    ret[0] = 0;
    for (int i = 0; i < count && used + sizeof devices->uuid < bytes; i++)
        used += (size_t)snprintf(ret + used, bytes - used, "%s%s", i ? ", " : "", devices[i].uuid);
}

static int device_match(const struct driver_device *devices, int count, const char *uuid,
                        int *ret_index, char *ret_text)
{
    char list[128];
    int found = -1;
    for (int i = 0; i < count; i++) {
        if (strcasecmp(devices[i].uuid, uuid) == 0) {
            *ret_index = i;
            return 0;
        }
        if (strncasecmp(devices[i].uuid, uuid, strlen(uuid)) != 0)
            continue;
        if (found >= 0) {
            snprintf(
                ret_text, BACKEND_TEXT_BYTES,
                "'%.44s' fits several GPUs, %s and %s; give more of the UUID in [GPU] Devices=",
                uuid, devices[found].uuid, devices[i].uuid);
            return -EEXIST;
        }
        found = i;
    }
    if (found < 0) {
        device_list(devices, count, list, sizeof list);
        snprintf(
            ret_text, BACKEND_TEXT_BYTES,
            "there is no GPU '%.44s' here, but %.96s%s; put a UUID of nvidia-smi -L into [GPU] "
            "Devices=",
            uuid, list, strncmp(list, "MIG-", 4) == 0 ? " (a card split by MIG)" : "");
        return -ENODEV;
    }
    *ret_index = found;
    return 0;
}

/* Checks that need no context. */

/* Machine code runs on its own major version, from its own minor version on. */
static bool device_has_code(const struct driver_device *info)
{
    const char *at = driver_code_list();
    for (;;) {
        char *end;
        const int code = (int)strtol(at, &end, 10);
        if (code / 10 == info->major && code % 10 <= info->minor)
            return true;
        end += strcspn(end, ",");
        if (*end == 0)
            return false;
        at = end + 1;
    }
}

static int device_refuse_code(const struct driver_device *info, char *ret_text)
{
    snprintf(ret_text, BACKEND_TEXT_BYTES,
             "%.40s %s has compute capability %d.%d, for which this build has no machine code (it "
             "has %.40s): build with -Dsm_list=%d%d",
             info->name, info->uuid, info->major, info->minor, driver_code_list(), info->major,
             info->minor);
    return -ENOTSUP;
}

static int device_check(const struct driver_device *info, char *ret_text)
{
    if (info->compute_mode == DRIVER_MODE_PROHIBITED) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "%.40s %s is in compute mode Prohibited, which lets no program compute on it: an "
                 "administrator can change that with nvidia-smi -c DEFAULT",
                 info->name, info->uuid);
        return -EPERM;
    }
    return device_has_code(info) ? 0 : device_refuse_code(info, ret_text);
}

/* The lock. */

/* Who holds the flock on this file, from /proc/locks; 0: not to be seen from here. */
static long device_lock_holder(int fd)
{
    struct stat status;
    char line[128];
    long pid = 0;
    FILE *file = fopen("/proc/locks", "re");
    if (!file)
        return 0;
    if (fstat(fd, &status) == 0) {
        while (pid == 0 && fgets(line, sizeof line, file)) {
            long holder;
            unsigned major, minor;
            unsigned long long inode;
            if (sscanf(line, "%*d: FLOCK %*s WRITE %ld %x:%x:%llu", &holder, &major, &minor,
                       &inode) == 4 &&
                makedev(major, minor) == status.st_dev && inode == status.st_ino)
                pid = holder;
        }
    }
    fclose(file);
    return pid;
}

static int device_lock(const struct driver_device *info, int *ret_fd, char *ret_text)
{
    char name[32] = "";
    const int fd = open(info->lock_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        const int error = -errno;
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "%.32s %.48s cannot be locked: %.60s: %.32s; the service must see the card's "
                 "device node",
                 info->name, info->uuid,
                 info->lock_path[0] ? info->lock_path : "/proc/driver/nvidia names no device node",
                 strerror(-error));
        return error;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *ret_fd = fd;
        return 0;
    }
    const int error = errno == EWOULDBLOCK ? -EBUSY : -errno;
    const long pid = device_lock_holder(fd);
    if (pid)
        snprintf(name, sizeof name, "process %ld", pid);
    if (error == -EBUSY)
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "%.40s %s is held by another GPU worker (%s): one worker a card; stop it or name "
                 "another card in [GPU] Devices=",
                 info->name, info->uuid, pid ? name : "its process is not to be seen from here");
    else
        snprintf(ret_text, BACKEND_TEXT_BYTES, "%.40s %s cannot be locked: %s: %s", info->name,
                 info->uuid, info->lock_path, strerror(-error));
    close(fd);
    return error;
}

/* The context. */

static int device_start(int ordinal, const struct driver_device *info, char *ret_text)
{
    int error = driver_open(ordinal);
    if (error == DRIVER_ERROR_DEVICES_UNAVAILABLE) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "%.40s %s %s: stop the program that uses it (nvidia-smi shows it)", info->name,
                 info->uuid,
                 info->compute_mode == DRIVER_MODE_EXCLUSIVE
                     ? "is in compute mode Exclusive_Process and another program has it"
                     : "is busy or unavailable");
        return -EBUSY;
    }
    if (error != DRIVER_OK) {
        char where[112];
        snprintf(where, sizeof where, "%.40s %s", info->name, info->uuid);
        errors_explain(ret_text, error, "starting CUDA", where);
        return errors_to_errno(error);
    }
    error = driver_check_code();
    if (error == DRIVER_ERROR_NO_IMAGE)
        return device_refuse_code(info, ret_text);
    if (error != DRIVER_OK) {
        errors_explain(ret_text, error, "loading the kernels", info->uuid);
        return errors_to_errno(error);
    }
    return 0;
}
