/* How busy a worker was: over its life and over the last ten seconds, from the progress words of
 * its channel. Pure; the worker's words are input and only ever clamp. */
#pragma once

#include <stdint.h>

enum {
    BUSY_SAMPLES = 11, /* one a second */
    BUSY_INTERVAL_MS = 1000,
};

struct busy {
    uint64_t begin_ns; /* when the worker started */
    uint64_t times_ns[BUSY_SAMPLES], sums_ns[BUSY_SAMPLES];
    uint32_t count, next;
};

/* busy_ns: closed intervals; busy_since_ns: begin of the open one, 0 when idle. */
uint64_t busy_sum(uint64_t busy_ns, uint64_t busy_since_ns, uint64_t now_ns);
void busy_start(struct busy *busy, uint64_t now_ns);
/* At least BUSY_INTERVAL_MS apart; earlier calls are ignored. */
void busy_sample(struct busy *busy, uint64_t now_ns, uint64_t sum_ns);
/* Shares from 0 to 1. */
double busy_share_life(const struct busy *busy, uint64_t now_ns, uint64_t sum_ns);
double busy_share_recent(const struct busy *busy, uint64_t now_ns, uint64_t sum_ns);
