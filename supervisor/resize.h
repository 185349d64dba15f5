/* Rings of another size without a pause: slabs that are too many are retired as they come free, new
 * ones are made by a child process, given to every worker and only then issued. Circuits move to
 * the ring that fits them now. Upstream: reload.c; downstream: memory.c, slab_deliveries.c.
 *
 * A ring whose SlabSize= changes, or that is not in the configuration any more, lives on until the
 * partitions that need it have moved or ended. Where pages are short it gives up one slab at a
 * time; the last one only when the new ring cannot get its first slab otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "runtime/loop.h"
#include "shm/slab.h"

struct supervisor;

enum {
    RESIZE_RETRY_MS = 500,           /* pages are short: they may have returned */
    RESIZE_REFUSED_RETRY_MS = 10000, /* a device refused a slab: the limit may have been raised */
};

struct resize_ring {
    bool is_open; /* not yet as wanted */
    uint64_t began_ns;
    uint32_t slabs_before;
};

struct resize {
    struct supervisor *supervisor;
    bool is_open; /* some ring is not as the configuration wants it */
    uint64_t revision_sent;
    struct resize_ring rings[RINGS_MAX];
    bool is_making, makes_ordinary; /* ordinary: hugepages were short under HugePages=prefer */
    struct slab_making making;
    struct loop_watch watch; /* of its child */
    uint32_t making_ring;
    uint64_t retry_at_ns;
    bool is_short;       /* the last slab could not be made, and no memory was given back since */
    bool is_refused;     /* the last one was made, and a device refused it */
    bool is_told;        /* in the log, since the goal was set or a slab was made */
    uint32_t short_ring; /* which waits, and for what */
    char waits_for[sizeof(struct slab_fault)];
};

/* Whether the rings of that configuration can be begun; else -EBUSY with the reason. */
int resize_check(const struct supervisor *supervisor, const struct config *config, char *ret_why,
                 size_t room);
/* Sets the goal; resize_tick goes there. 0, or negative errno of a table that cannot be made (the
 * rings before it are changed then). */
int resize_begin(struct supervisor *supervisor, const struct config *config);
/* Once a turn, before grants. */
void resize_tick(struct supervisor *supervisor);
uint64_t resize_deadline(const struct supervisor *supervisor);
/* Ends what is under way. */
void resize_stop(struct supervisor *supervisor);
/* What the ring waits for, in words, or NULL. */
const char *resize_waits_for(const struct supervisor *supervisor, uint32_t ring);
