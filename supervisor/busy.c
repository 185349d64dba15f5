/* Busy shares: see busy.h. */
#include "supervisor/busy.h"

uint64_t busy_sum(uint64_t busy_ns, uint64_t busy_since_ns, uint64_t now_ns)
{
    return busy_ns + (busy_since_ns && busy_since_ns < now_ns ? now_ns - busy_since_ns : 0);
}

void busy_start(struct busy *busy, uint64_t now_ns)
{
    *busy = (struct busy){.begin_ns = now_ns};
}

void busy_sample(struct busy *busy, uint64_t now_ns, uint64_t sum_ns)
{
    uint32_t last = (busy->next + BUSY_SAMPLES - 1) % BUSY_SAMPLES;
    if (busy->count > 0 && now_ns - busy->times_ns[last] < (uint64_t)BUSY_INTERVAL_MS * 1000000u)
        return;
    busy->times_ns[busy->next] = now_ns;
    busy->sums_ns[busy->next] = sum_ns;
    busy->next = (busy->next + 1) % BUSY_SAMPLES;
    if (busy->count < BUSY_SAMPLES)
        busy->count++;
}

static double share(uint64_t from_ns, uint64_t to_ns, uint64_t from_sum_ns, uint64_t to_sum_ns)
{
    if (to_ns <= from_ns || to_sum_ns <= from_sum_ns)
        return 0.0;
    double value = (double)(to_sum_ns - from_sum_ns) / (double)(to_ns - from_ns);
    return value > 1.0 ? 1.0 : value;
}

double busy_share_life(const struct busy *busy, uint64_t now_ns, uint64_t sum_ns)
{
    return share(busy->begin_ns, now_ns, 0, sum_ns);
}

double busy_share_recent(const struct busy *busy, uint64_t now_ns, uint64_t sum_ns)
{
    if (busy->count == 0)
        return busy_share_life(busy, now_ns, sum_ns);
    uint32_t oldest = (busy->next + BUSY_SAMPLES - busy->count) % BUSY_SAMPLES;
    return share(busy->times_ns[oldest], now_ns, busy->sums_ns[oldest], sum_ns);
}
