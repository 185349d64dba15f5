/* See devices.h. */
#include "config/devices.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_uuid(const char *word, size_t bytes)
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-/";
    return bytes > 4 && bytes < DEVICE_UUID_BYTES &&
           (strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0) &&
           strspn(word, letters) >= bytes;
}

int devices_parse(const char *text, struct devices *ret)
{
    struct devices devices = {0};
    if (strcmp(text, "auto") == 0) {
        *ret = devices;
        return 0;
    }
    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        const size_t bytes = strcspn(text, " \t");
        if (!is_uuid(text, bytes))
            return -EINVAL;
        if (devices.count == GPU_WORKERS_MAX)
            return -E2BIG;
        memcpy(devices.uuids[devices.count], text, bytes);
        for (uint32_t i = 0; i < devices.count; i++) {
            if (strcasecmp(devices.uuids[i], devices.uuids[devices.count]) == 0)
                return -EEXIST;
        }
        devices.count++;
        text += bytes;
    }
    if (devices.count == 0)
        return -EINVAL;
    *ret = devices;
    return 0;
}
