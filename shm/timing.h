/* Timing lines, one grep-able form for all processes and all paths (success, failure, discard):
 *
 *   SYN_TIMING partition job=7 partition=3 outcome=ok read_ms=1.234 check_ms=0.100 total_ms=9.001
 *
 * Prefix by stage: SYN_TIMING, GPU_TIMING, FIN_TIMING, SUP_TIMING. Only phases that ran are shown;
 * times in ms with microsecond digits; always job and partition. */
#pragma once

#include "shm/message.h"

/* prefix "SYN_TIMING"; outcome "ok", "failed", "cancelled", "discarded". */
void timing_log(const char *prefix, const char *event, uint64_t job, uint32_t partition,
                const char *outcome, const uint32_t phase_us[PHASE_COUNT]);
