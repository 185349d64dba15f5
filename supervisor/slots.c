/* The slot table: see slots.h. */
#include "supervisor/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/close_later.h"
#include "supervisor/circuits.h"

static int queue_init(struct slots_queue *queue, uint32_t *positions)
{
    int r = order_heap_init(&queue->ordinary, positions);
    return r < 0 ? r : order_heap_init(&queue->suspect, positions);
}

static void queue_destroy(struct slots_queue *queue)
{
    order_heap_destroy(&queue->ordinary);
    order_heap_destroy(&queue->suspect);
}

int slots_init(struct slots *slots)
{
    *slots = (struct slots){0};
    slots->entries = calloc(SLOTS_MAX, sizeof slots->entries[0]);
    slots->positions = calloc(SLOTS_MAX, sizeof slots->positions[0]);
    slots->free = calloc(SLOTS_MAX, sizeof slots->free[0]);
    if (!slots->entries || !slots->positions || !slots->free ||
        order_heap_init(&slots->parked, slots->positions) < 0 ||
        queue_init(&slots->ready, slots->positions) < 0 ||
        queue_init(&slots->proved, slots->positions) < 0)
        goto fail;
    for (uint32_t i = 0; i < RINGS_MAX; i++) {
        if (queue_init(&slots->queued[i], slots->positions) < 0)
            goto fail;
        slots->reclaim_first[i] = slots->reclaim_last[i] = SLOT_NONE;
    }
    for (uint32_t i = SLOTS_MAX; i-- > 0;)
        slots->free[slots->free_count++] = i;
    slots->state_counts[SLOT_FREE] = SLOTS_MAX;
    return 0;

fail:
    slots_destroy(slots);
    return -ENOMEM;
}

static void input_close(struct slot *slot)
{
    close_later(slot->input.fd); /* it may be a client's file, on any file system */
    if (slot->input.inline_bytes) {
        explicit_bzero(slot->input.inline_bytes, slot->input.inline_count); /* a witness */
        free(slot->input.inline_bytes);
    }
    if (slot->public_fd >= 0)
        close(slot->public_fd);
    slot->input = (struct slot_input){.fd = -1};
    slot->public_fd = -1;
}

void slots_destroy(struct slots *slots)
{
    for (uint32_t i = 0; slots->entries && i < SLOTS_MAX; i++) {
        if (slots->entries[i].state != SLOT_FREE)
            input_close(&slots->entries[i]);
    }
    order_heap_destroy(&slots->parked);
    queue_destroy(&slots->ready);
    queue_destroy(&slots->proved);
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        queue_destroy(&slots->queued[i]);
    free(slots->entries);
    free(slots->positions);
    free(slots->free);
    *slots = (struct slots){0};
}

struct slot *slots_take(struct slots *slots)
{
    if (slots->free_count == 0)
        return NULL;
    uint32_t index = slots->free[--slots->free_count];
    struct slot *slot = &slots->entries[index];
    *slot = (struct slot){
        .state = SLOT_FREE,
        .index = index,
        .slab = -1,
        .input.fd = -1,
        .public_fd = -1,
        .reclaim_next = SLOT_NONE,
        .reclaim_previous = SLOT_NONE,
    };
    return slot;
}

void slots_put_back(struct slots *slots, struct slot *slot)
{
    CHECK(slot->state == SLOT_FREE && slot->slab < 0 && !slot->owner && !slot->is_reclaimable);
    input_close(slot);
    slot->is_reserved = false;
    slots->free[slots->free_count++] = slot->index;
}

void slots_set_state(struct slots *slots, struct slot *slot, enum slot_state state)
{
    CHECK(slots->state_counts[slot->state] > 0);
    slots->state_counts[slot->state]--;
    slots->state_counts[state]++;
    slot->state = state;
}

uint64_t slots_next_generation(struct slots *slots)
{
    return ++slots->last_generation;
}

static struct order_heap *heap_of(struct slots *slots, const struct slot *slot)
{
    struct slots_queue *queue = NULL;
    /* READY ahead of its key: synthesized in an earlier life. */
    bool wants_key = slot->state == SLOT_QUEUED || slot->state == SLOT_READY;
    if (wants_key && !circuit_is_loaded(slot->circuit))
        return &slots->parked;
    if (slot->state == SLOT_QUEUED) {
        queue = &slots->queued[slot->circuit->ring];
    } else if (slot->state == SLOT_READY) {
        queue = &slots->ready;
    } else if (slot->state == SLOT_PROVED) {
        queue = &slots->proved;
    }
    CHECK(queue);
    return slot->is_suspect ? &queue->suspect : &queue->ordinary;
}

void slots_enqueue(struct slots *slots, struct slot *slot)
{
    order_heap_push(heap_of(slots, slot), slot->index, slot->order_key);
}

void slots_dequeue(struct slots *slots, struct slot *slot)
{
    order_heap_remove(heap_of(slots, slot), slot->index);
}

void slots_unpark(struct slots *slots, const struct circuit *circuit)
{
    struct order_heap *parked = &slots->parked;
    uint32_t kept = 0, count = parked->count;
    /* Taken apart and put together again: once a load, at most SLOTS_MAX entries. */
    struct order_entry *entries = parked->entries;
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = &slots->entries[entries[i].slot];
        if (slot->circuit == circuit)
            slots_enqueue(slots, slot);
        else
            entries[kept++] = entries[i];
    }
    parked->count = 0;
    for (uint32_t i = 0; i < kept; i++)
        order_heap_push(parked, entries[i].slot, entries[i].key);
}

/* Takes the circuit's slots out of a queue and puts them into another. */
static void move_queued(struct slots *slots, struct order_heap *heap, struct circuit *circuit,
                        uint32_t ring)
{
    struct order_entry *entries = heap->entries;
    const uint32_t before = circuit->ring, count = heap->count;
    uint32_t kept = 0;
    circuit->ring = ring;
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = &slots->entries[entries[i].slot];
        if (slot->circuit == circuit)
            slots_enqueue(slots, slot);
        else
            entries[kept++] = entries[i];
    }
    circuit->ring = before;
    heap->count = 0;
    for (uint32_t i = 0; i < kept; i++)
        order_heap_push(heap, entries[i].slot, entries[i].key);
}

void slots_move(struct slots *slots, struct circuit *circuit, uint32_t ring)
{
    if (circuit_is_loaded(circuit) && circuit->ring != ring) {
        move_queued(slots, &slots->queued[circuit->ring].ordinary, circuit, ring);
        move_queued(slots, &slots->queued[circuit->ring].suspect, circuit, ring);
    }
    circuit->ring = ring;
}

void slots_reclaimable_add(struct slots *slots, struct slot *slot)
{
    if (slot->is_reclaimable || slot->slab < 0)
        return;
    uint32_t ring = slot->ring;
    slot->is_reclaimable = true;
    slot->reclaim_next = SLOT_NONE;
    slot->reclaim_previous = slots->reclaim_last[ring];
    if (slot->reclaim_previous == SLOT_NONE)
        slots->reclaim_first[ring] = slot->index;
    else
        slots->entries[slot->reclaim_previous].reclaim_next = slot->index;
    slots->reclaim_last[ring] = slot->index;
}

void slots_reclaimable_remove(struct slots *slots, struct slot *slot)
{
    if (!slot->is_reclaimable)
        return;
    uint32_t ring = slot->ring;
    if (slot->reclaim_previous == SLOT_NONE)
        slots->reclaim_first[ring] = slot->reclaim_next;
    else
        slots->entries[slot->reclaim_previous].reclaim_next = slot->reclaim_next;
    if (slot->reclaim_next == SLOT_NONE)
        slots->reclaim_last[ring] = slot->reclaim_previous;
    else
        slots->entries[slot->reclaim_next].reclaim_previous = slot->reclaim_previous;
    slot->is_reclaimable = false;
}

static struct dispatch_head head_of(const struct order_heap *heap)
{
    if (heap->count == 0)
        return (struct dispatch_head){0};
    return (struct dispatch_head){
        .is_present = true,
        .slot = heap->entries[0].slot,
        .order_key = heap->entries[0].key,
    };
}

struct dispatch_queue slots_heads(const struct slots_queue *queue)
{
    return (struct dispatch_queue){
        .ordinary = head_of(&queue->ordinary),
        .suspect = head_of(&queue->suspect),
    };
}
