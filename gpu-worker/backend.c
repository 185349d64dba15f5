/* Names of phases and faults, and which backends this build has. */
#include "gpu-worker/backend.h"

#include <stdio.h>
#include <string.h>

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

const struct backend_ops *backend_find(const char *name, char *ret_text)
{
    if (strcmp(name, "cpu") == 0)
        return &backend_cpu;
    if (strcmp(name, "cuda") == 0)
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "this build has no CUDA backend; set [GPU] Backend=cpu to prove on the CPU");
    else
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "unknown backend '%.32s'; [GPU] Backend= takes cpu, cuda or auto", name);
    return NULL;
}
