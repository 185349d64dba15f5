/* Names of the phases, as timing lines and trace events show them. */
#include "shm/message.h"

static const char *const phase_names[PHASE_COUNT] = {
    [PHASE_READ] = "read",         [PHASE_CHECK] = "check",
    [PHASE_EVALUATE] = "evaluate", [PHASE_UPLOAD] = "upload",
    [PHASE_NTT] = "ntt",           [PHASE_MSM_A] = "msm_a",
    [PHASE_MSM_B1] = "msm_b1",     [PHASE_MSM_B2] = "msm_b2",
    [PHASE_MSM_L] = "msm_l",       [PHASE_MSM_H] = "msm_h",
    [PHASE_ASSEMBLE] = "assemble", [PHASE_VERIFY] = "verify",
    [PHASE_TOTAL] = "total",       [PHASE_MALLOC_TRIM] = "malloc_trim",
    [PHASE_WAIT] = "wait",
};

const char *phase_to_string(enum phase phase)
{
    const char *name = (unsigned)phase < PHASE_COUNT ? phase_names[phase] : NULL;
    return name ? name : "none";
}

static const char *const operation_names[] = {
    [OPERATION_NONE] = "none",         [OPERATION_SYNTHESIZE] = "synthesize",
    [OPERATION_PROVE] = "prove",       [OPERATION_FINALIZE] = "finalize",
    [OPERATION_CANCEL] = "cancel",     [OPERATION_LOAD_KEY] = "load_key",
    [OPERATION_DROP_KEY] = "drop_key", [OPERATION_STOP] = "stop",
    [OPERATION_TRIM] = "trim",         [OPERATION_LOG_LEVEL] = "log_level",
    [OPERATION_ADD_SLAB] = "add_slab", [OPERATION_DROP_SLAB] = "drop_slab",
    [OPERATION_READY] = "ready",       [OPERATION_UPLOADED] = "uploaded",
};

const char *operation_to_string(enum operation operation)
{
    const char *name = (unsigned)operation < OPERATION_COUNT ? operation_names[operation] : NULL;
    return name ? name : "?";
}

static const char *const blame_names[BLAME_COUNT] = {
    [BLAME_NONE] = "none",   [BLAME_INPUT] = "input",         [BLAME_DEVICE] = "device",
    [BLAME_CHECK] = "check", [BLAME_CANCELLED] = "cancelled",
};

const char *blame_to_string(enum blame blame)
{
    return (unsigned)blame < BLAME_COUNT ? blame_names[blame] : "?";
}
