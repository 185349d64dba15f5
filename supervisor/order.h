/* The order of all work: one static 64-bit key a slot, lowest first, and the queues sorted by it.
 * The key is fixed at admission, so that ageing needs no rewriting: a class of its own for
 * CRITICAL, then a virtual deadline (admission plus an offset by class), then the partition.
 *
 *   bit 63: not CRITICAL | 53 bits: deadline in us | 2 bits: class | 8 bits: partition
 *
 * So a job of class low is overtaken only by jobs admitted within ORDER_OFFSET_LOW after it. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/limits.h"
#include "protocol/request.h"

enum {
    ORDER_OFFSET_NORMAL_S = 2 * 60,
    ORDER_OFFSET_LOW_S = 20 * 60,
    ORDER_PARTITION_BITS = 8,
    ORDER_CLASS_BITS = 2,
};

static_assert(JOB_PARTITIONS_MAX <= 1 << ORDER_PARTITION_BITS, "a partition fits its bits");
static_assert(REQUEST_PRIORITY_COUNT <= 1 << ORDER_CLASS_BITS, "a class fits its bits");

/* Keeps the last deadline of each class, so that no two jobs share one. */
struct order {
    uint64_t last_deadline_us[REQUEST_PRIORITY_COUNT];
};

/* The key of partition 0 of a job admitted now; add the partition for the others. */
uint64_t order_admit(struct order *order, enum request_priority priority, uint64_t now_ns);

static inline bool order_is_critical(uint64_t key)
{
    return key >> 63 == 0;
}

/* A binary heap of slots. Slots know where they are: `positions` (SLOTS_MAX entries) is shared by
 * all heaps, since a slot is in one at most. */
struct order_entry {
    uint64_t key;
    uint32_t slot;
};

struct order_heap {
    struct order_entry *entries; /* SLOTS_MAX, owned */
    uint32_t *positions;         /* borrowed */
    uint32_t count;
};

int order_heap_init(struct order_heap *heap, uint32_t *positions);
void order_heap_destroy(struct order_heap *heap);
void order_heap_push(struct order_heap *heap, uint32_t slot, uint64_t key);
void order_heap_remove(struct order_heap *heap, uint32_t slot);
