/* Admission order and the heaps that keep it: see order.h. */
#include "supervisor/order.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/check.h"

uint64_t order_admit(struct order *order, enum request_priority priority, uint64_t now_ns)
{
    static const uint64_t offsets_s[REQUEST_PRIORITY_COUNT] = {
        [REQUEST_PRIORITY_LOW] = ORDER_OFFSET_LOW_S,
        [REQUEST_PRIORITY_NORMAL] = ORDER_OFFSET_NORMAL_S,
    };
    uint64_t deadline_us = now_ns / 1000 + offsets_s[priority] * 1000000;
    if (deadline_us <= order->last_deadline_us[priority])
        deadline_us = order->last_deadline_us[priority] + 1;
    order->last_deadline_us[priority] = deadline_us;

    uint64_t class = REQUEST_PRIORITY_COUNT - 1 - priority; /* more urgent first in a tie */
    uint64_t key = (deadline_us << ORDER_CLASS_BITS | class) << ORDER_PARTITION_BITS;
    key &= ~(UINT64_C(1) << 63);
    return priority == REQUEST_PRIORITY_CRITICAL ? key : key | UINT64_C(1) << 63;
}

int order_heap_init(struct order_heap *heap, uint32_t *positions)
{
    heap->entries = calloc(SLOTS_MAX, sizeof heap->entries[0]);
    heap->positions = positions;
    heap->count = 0;
    return heap->entries ? 0 : -ENOMEM;
}

void order_heap_destroy(struct order_heap *heap)
{
    free(heap->entries);
    heap->entries = NULL;
    heap->count = 0;
}

static void place(struct order_heap *heap, uint32_t at, struct order_entry entry)
{
    heap->entries[at] = entry;
    heap->positions[entry.slot] = at;
}

static void sift_up(struct order_heap *heap, uint32_t at, struct order_entry entry)
{
    while (at > 0 && heap->entries[(at - 1) / 2].key > entry.key) {
        place(heap, at, heap->entries[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, entry);
}

static void sift_down(struct order_heap *heap, uint32_t at, struct order_entry entry)
{
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->entries[child + 1].key < heap->entries[child].key)
            child++;
        if (heap->entries[child].key >= entry.key)
            break;
        place(heap, at, heap->entries[child]);
        at = child;
    }
    place(heap, at, entry);
}

void order_heap_push(struct order_heap *heap, uint32_t slot, uint64_t key)
{
    CHECK(slot < SLOTS_MAX && heap->count < SLOTS_MAX);
    sift_up(heap, heap->count++, (struct order_entry){.key = key, .slot = slot});
}

void order_heap_remove(struct order_heap *heap, uint32_t slot)
{
    uint32_t at = heap->positions[slot];
    CHECK(at < heap->count && heap->entries[at].slot == slot);
    struct order_entry last = heap->entries[--heap->count];
    if (at == heap->count)
        return;
    if (at > 0 && heap->entries[(at - 1) / 2].key > last.key)
        sift_up(heap, at, last);
    else
        sift_down(heap, at, last);
}
