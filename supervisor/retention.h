/* The clock by which kept results age. It is the host's, since results outlive the daemon; but what
 * the host's clock gains by a jump, and not by the passing of time, ends none of them. Pure:
 * durable.c gives the times, from its tick.
 *
 * After a jump ahead, what ended before it bears a time of the old clock, what ends after it one of
 * the new. For the age of a result the old clock goes on: those of before reach it when they would
 * have, those of after cannot reach it yet. Then the new one alone is right. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    RETENTION_JUMP_MS = 1000, /* between two looks; less is a clock that is being adjusted */
};

/* Zeroed to begin with. */
struct retention {
    bool has_looked;
    int64_t realtime_ms, elapsed_ms; /* at the last look */
    int64_t ahead_ms;                /* of the old clock; 0 or more */
    int64_t jumped_ms;               /* when, as elapsed time */
};

/* realtime_ms: since the epoch. elapsed_ms: of a clock that is never set and counts suspension
 * (CLOCK_BOOTTIME). age_ms: ResultsAge=. Returns by how much the host's clock has jumped since the
 * last look, 0 for not at all, below 0 for back. */
int64_t retention_look(struct retention *retention, int64_t realtime_ms, int64_t elapsed_ms,
                       int64_t age_ms);
/* As of the last look: results of which the end bears an earlier time are too old. */
int64_t retention_cutoff_ms(const struct retention *retention, int64_t age_ms);

enum {
    RETENTION_TEXT_BYTES = 256,
};

/* For a file that outlives the daemon: a jump is noticed, and its results are kept, over a restart
 * too. boot_id: the kernel's, without blanks. */
void retention_format(const struct retention *retention, const char *boot_id,
                      char ret[RETENTION_TEXT_BYTES]);
/* From such a text; the elapsed time of another boot is none of this one: what has passed since
 * then is the host's clock's to say, and results that are kept for a jump have all their time
 * again. -EBADMSG: it is none, and *ret is untouched. */
int retention_parse(const char *text, const char *boot_id, int64_t elapsed_ms,
                    struct retention *ret);
