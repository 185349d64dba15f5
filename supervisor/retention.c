/* Age of results over jumps of the host's clock: see retention.h. Upstream: durable.c. */
#include "supervisor/retention.h"

int64_t retention_look(struct retention *retention, int64_t realtime_ms, int64_t elapsed_ms,
                       int64_t age_ms)
{
    int64_t jump_ms = 0;
    if (retention->has_looked)
        jump_ms = realtime_ms - retention->realtime_ms - (elapsed_ms - retention->elapsed_ms);
    if (jump_ms <= RETENTION_JUMP_MS && jump_ms >= -RETENTION_JUMP_MS)
        jump_ms = 0;
    retention->has_looked = true;
    retention->realtime_ms = realtime_ms;
    retention->elapsed_ms = elapsed_ms;
    retention->ahead_ms += jump_ms;
    if (jump_ms > 0)
        retention->jumped_ms = elapsed_ms;
    if (retention->ahead_ms < 0 || elapsed_ms - retention->jumped_ms > age_ms)
        retention->ahead_ms = 0;
    return jump_ms;
}

int64_t retention_cutoff_ms(const struct retention *retention, int64_t age_ms)
{
    return retention->realtime_ms - retention->ahead_ms - age_ms;
}
