/* Age of results over jumps of the host's clock: see retention.h. Upstream: durable.c. */
#include "supervisor/retention.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void retention_format(const struct retention *retention, const char *boot_id,
                      char ret[RETENTION_TEXT_BYTES])
{
    snprintf(ret, RETENTION_TEXT_BYTES, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.63s\n",
             retention->realtime_ms, retention->elapsed_ms, retention->ahead_ms,
             retention->jumped_ms, boot_id);
}

int retention_parse(const char *text, const char *boot_id, int64_t elapsed_ms,
                    struct retention *ret)
{
    struct retention found = {.has_looked = true};
    char boot[64];
    /* Fifty thousand years and more: no sum of two of them runs over. */
    const int64_t max_ms = INT64_C(1) << 60;
    if (sscanf(text, "%19" SCNd64 " %19" SCNd64 " %19" SCNd64 " %19" SCNd64 " %63s",
               &found.realtime_ms, &found.elapsed_ms, &found.ahead_ms, &found.jumped_ms,
               boot) != 5 ||
        found.realtime_ms < 0 || found.realtime_ms > max_ms || found.elapsed_ms < 0 ||
        found.elapsed_ms > max_ms || found.ahead_ms < 0 || found.ahead_ms > max_ms ||
        found.jumped_ms < -max_ms || found.jumped_ms > found.elapsed_ms)
        return -EBADMSG;
    if (strcmp(boot, boot_id) != 0 || found.elapsed_ms > elapsed_ms) {
        found.has_looked = false;
        found.jumped_ms = elapsed_ms;
    }
    *ret = found;
    return 0;
}
