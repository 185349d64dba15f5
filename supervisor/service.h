/* What the service manager hears of the supervisor: what it is doing in words, that it is ready,
 * that the main loop turns, and more time only where something moves on. Without systemd none of it
 * does anything. */
#pragma once

#include <stdint.h>

struct supervisor;

enum {
    SERVICE_MORE_S = 120, /* what one sign of progress is worth, starting or stopping */
    SERVICE_STATUS_S = 5, /* between two texts of an unchanged phase */
};

struct service {
    uint64_t watchdog_ns, watchdog_next_ns; /* period and next due; 0: not wanted */
    uint64_t progress;                      /* figure at the last look */
    uint64_t status_next_ns;
    char status[160]; /* what was said last */
};

void service_init(struct supervisor *supervisor);
/* Once a turn of the main loop and nowhere else: feeding the watchdog proves that it turns. */
void service_turn(struct supervisor *supervisor);
/* When service_turn has something to do next; UINT64_MAX: only after an event. */
uint64_t service_deadline(const struct supervisor *supervisor);
/* Once a second: progress, and the text. */
void service_tick(struct supervisor *supervisor);
/* The phase has changed to serving or to finishing. */
void service_ready(struct supervisor *supervisor);
void service_stopping(struct supervisor *supervisor);
