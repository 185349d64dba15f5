/* Replaces workers by limits of the configuration: after so many partitions (RecycleAfter=), or
 * when so much of their heap is free but not given back (RecycleFragmentation=). As an operator's
 * restart: between partitions, one of a kind at a time, nothing lost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

struct supervisor;

enum {
    /* Below it, free memory inside a heap is not worth a restart. */
    RECYCLE_FREE_MIB_MIN = 64,
};

/* Pure: whether a process with these figures is to be replaced; why in words then. */
bool recycle_is_due(const struct config_recycle *limits, uint64_t partitions, uint64_t heap_bytes,
                    uint64_t heap_free_bytes, char *ret_why, size_t room);
/* Once a second. */
void recycle_tick(struct supervisor *supervisor);
