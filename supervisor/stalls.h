/* Workers that stand still, and those that do not die. A stalled one is looked at (its state in
 * /proc, what it was at, its last trace events: log and last_error), killed and replaced; its
 * partitions are treated as after a death of its own. One that was killed and is not gone after
 * WORKER_KILL_S_MAX is written off (recovery.h). */
#pragma once

#include <stdint.h>

struct supervisor;

/* Once a turn: looks as often as StallTimeout= needs it. */
void stalls_tick(struct supervisor *supervisor);
/* When the next look is due; UINT64_MAX: nobody has anything to do. */
uint64_t stalls_deadline(const struct supervisor *supervisor);
