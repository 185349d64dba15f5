/* The first part of the start: the slabs that no earlier process left are made and touched by child
 * processes while the main loop turns, so that `status` answers and systemd hears of each slab. It
 * may take minutes. Requests that need more than that wait meanwhile (control.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "runtime/loop.h"
#include "shm/slab.h"

struct supervisor;

struct preparation {
    struct slab_making making;
    struct loop_watch watch; /* on_ready NULL: nothing is being made */
    uint32_t missing[RINGS_MAX];
    uint32_t ring; /* whose slab is being made */
    uint32_t made, wanted;
    bool on_ordinary_pages; /* hugepages ran out in the making (HugePages=prefer) */
};

/* What is missing beside the slabs of an earlier process. Logs why there is no room for it. */
int preparation_begin(struct supervisor *supervisor);
/* Once a turn: 1 when every slab is made, 0 while some are not, or negative errno, logged. */
int preparation_turn(struct supervisor *supervisor);
/* Ends what is being made. */
void preparation_destroy(struct supervisor *supervisor);
/* "making slabs: 3 of 8" */
void preparation_describe(const struct supervisor *supervisor, char *ret, size_t room);
