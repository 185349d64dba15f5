/* Names of phases and faults, and which backends this build has. */
#include "gpu-worker/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpu-worker/plugin.h"

const char *backend_phase_to_string(enum backend_phase phase)
{
    static const char *const names[BACKEND_PHASE_COUNT] = {
        "upload", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_l", "msm_h",
    };
    return (unsigned)phase < BACKEND_PHASE_COUNT ? names[phase] : "?";
}

const char *backend_fault_to_string(enum backend_fault fault)
{
    switch (fault) {
    case BACKEND_FAULT_NONE:
        return "none";
    case BACKEND_FAULT_CANCELLED:
        return "cancelled";
    case BACKEND_FAULT_INPUT:
        return "input";
    case BACKEND_FAULT_MEMORY:
        return "memory";
    case BACKEND_FAULT_DEVICE:
        return "device";
    case BACKEND_FAULT_STICKY:
        return "sticky";
    }
    return "?";
}

int backend_find(const char *name, const struct backend_ops **ret_ops, char *ret_text)
{
    char path[PLUGIN_PATH_BYTES];
    if (strcmp(name, "cpu") == 0) {
        *ret_ops = &backend_cpu;
        return 0;
    }
    if (strcmp(name, "cuda") != 0) {
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "unknown backend '%.32s'; [GPU] Backend= takes cpu, cuda or auto", name);
        return -EINVAL;
    }
    const int error = plugin_path(name, path, ret_text);
    return error < 0 ? error : plugin_load(path, name, ret_ops, ret_text);
}
