/* See shm/timing.h. */
#include "shm/timing.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/log.h"

static size_t put_phase(char *text, size_t at, size_t room, enum phase phase, uint32_t us)
{
    int bytes = snprintf(text + at, room - at, " %s_ms=%" PRIu32 ".%03" PRIu32,
                         phase_to_string(phase), us / 1000, us % 1000);
    return bytes > 0 && (size_t)bytes < room - at ? at + (size_t)bytes : at;
}

void timing_log(const char *prefix, const char *event, uint64_t job, uint32_t partition,
                const char *outcome, const uint32_t phase_us[PHASE_COUNT])
{
    char phases[PHASE_COUNT * 32] = "";
    size_t at = 0;

    for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
        if (phase_us[phase] && phase != PHASE_TOTAL)
            at = put_phase(phases, at, sizeof phases, (enum phase)phase, phase_us[phase]);
    }
    if (phase_us[PHASE_TOTAL])
        put_phase(phases, at, sizeof phases, PHASE_TOTAL, phase_us[PHASE_TOTAL]);
    log_info("%s %s job=%" PRIu64 " partition=%" PRIu32 " outcome=%s%s", prefix, event, job,
             partition, outcome, phases);
}
