/* See liveness.h. Upstream: stalls.c. */
#include "supervisor/liveness.h"

#define LIVENESS_INTERVAL_MAX_NS UINT64_C(1000000000)

static const unsigned patience[LIVENESS_STAGE_COUNT] = {
    [LIVENESS_RESTING] = 0, [LIVENESS_STARTING] = 2, [LIVENESS_CATCHING_UP] = 1,
    [LIVENESS_WORKING] = 1, [LIVENESS_TRIMMING] = 5, [LIVENESS_STOPPING] = 1,
};

uint64_t liveness_interval_ns(uint64_t timeout_ns)
{
    uint64_t interval_ns = timeout_ns / LIVENESS_LOOKS;
    return interval_ns < LIVENESS_INTERVAL_MAX_NS ? interval_ns : LIVENESS_INTERVAL_MAX_NS;
}

bool liveness_look(struct liveness *liveness, enum liveness_stage stage, uint64_t progress,
                   uint64_t timeout_ns, uint64_t now_ns)
{
    uint64_t gap_ns = now_ns - liveness->looked_ns;
    uint64_t gap_max_ns = 2 * liveness_interval_ns(timeout_ns);
    bool moves = stage != liveness->stage || progress != liveness->progress;
    if (timeout_ns == 0 || stage == LIVENESS_RESTING || moves)
        liveness->still_ns = 0;
    else
        liveness->still_ns += gap_ns < gap_max_ns ? gap_ns : gap_max_ns;
    liveness->stage = stage;
    liveness->progress = progress;
    liveness->looked_ns = now_ns;
    return liveness->still_ns > 0 && liveness->still_ns >= patience[stage] * timeout_ns;
}

const char *liveness_stage_to_string(enum liveness_stage stage)
{
    static const char *const names[LIVENESS_STAGE_COUNT] = {"resting", "starting", "catching up",
                                                            "working", "trimming", "stopping"};
    return (unsigned)stage < LIVENESS_STAGE_COUNT ? names[stage] : "?";
}
