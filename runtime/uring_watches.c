/* Watches of the io_uring loop: slots, one POLL_ADD each, in the lists of their states.
 *
 *   TO_ARM ─POLL_ADD→ ARMED ─completion→ READY ─callback→ TO_ARM
 *
 * A removed watch leaves its slot at once, except that an ARMED slot is free only when the
 * completion of its POLL_ADD has come. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "runtime/check.h"
#include "runtime/loop_uring.h"

static void slot_append(struct uring_loop *loop, struct uring_slot_list *list, int32_t index)
{
    struct uring_slot *slot = &loop->slots[index];

    slot->next = URING_NONE;
    slot->previous = list->last;
    if (list->last != URING_NONE)
        loop->slots[list->last].next = index;
    else
        list->first = index;
    list->last = index;
    list->count++;
}

static void slot_unlink(struct uring_loop *loop, struct uring_slot_list *list, int32_t index)
{
    struct uring_slot *slot = &loop->slots[index];

    if (slot->previous != URING_NONE)
        loop->slots[slot->previous].next = slot->next;
    else
        list->first = slot->next;
    if (slot->next != URING_NONE)
        loop->slots[slot->next].previous = slot->previous;
    else
        list->last = slot->previous;
    list->count--;
}

static void slot_to_arm(struct uring_loop *loop, int32_t index)
{
    loop->slots[index].state = URING_SLOT_TO_ARM;
    slot_append(loop, &loop->to_arm, index);
}

static void slot_release(struct uring_loop *loop, int32_t index)
{
    loop->slots[index] = (struct uring_slot){.state = URING_SLOT_FREE, .next = loop->slot_free};
    loop->slot_free = index;
}

void uring_on_poll(struct uring_loop *loop, int32_t index, int32_t result)
{
    struct uring_slot *slot = &loop->slots[index];

    CHECK(index < loop->slot_count && slot->state == URING_SLOT_ARMED);
    if (!slot->watch) {
        slot_release(loop, index);
        return;
    }
    if (result == -ECANCELED || result == -ENOMEM || result == -EAGAIN) {
        slot_to_arm(loop, index); /* its events changed, or the kernel was short of memory */
        return;
    }
    slot->ready_events = result >= 0 ? (uint32_t)result : result == -EBADF ? POLLNVAL : POLLERR;
    slot->state = URING_SLOT_READY;
    slot_append(loop, &loop->ready, index);
}

int uring_add(struct loop *base, struct loop_watch *watch)
{
    struct uring_loop *loop = uring_self(base);
    int32_t index;

    if (loop->slot_free == URING_NONE) {
        int32_t count = loop->slot_count ? 2 * loop->slot_count : 64;
        struct uring_slot *slots = realloc(loop->slots, (size_t)count * sizeof *slots);
        if (!slots)
            return -ENOMEM;
        loop->slots = slots;
        for (int32_t i = count - 1; i >= loop->slot_count; i--)
            slot_release(loop, i);
        loop->slot_count = count;
    }
    index = loop->slot_free;
    loop->slot_free = loop->slots[index].next;
    loop->slots[index].watch = watch;
    watch->private_state[0] = (uint64_t)index + 1;
    slot_to_arm(loop, index);
    return 0;
}

static struct uring_slot *slot_of(struct uring_loop *loop, const struct loop_watch *watch)
{
    uint64_t index = watch->private_state[0] - 1;

    CHECK(index < (uint64_t)loop->slot_count && loop->slots[index].watch == watch);
    return &loop->slots[index];
}

/* Ends the POLL_ADD of an armed slot and waits for its completion: the kernel then holds no
 * reference to the file. Otherwise the peer of a socket that the caller closes next would see its
 * end only on some later turn. 0, or negative errno when the kernel is out of memory; then the slot
 * lingers until the completion comes.
 *
 * A POLL_REMOVE finds the poll busy (EALREADY) while a wake-up of it waits to be looked at. If what
 * woke it is gone by then, a bell that was rung and read, the poll sleeps on as if nobody had asked
 * for its end. So the removal is sent again until the poll has answered. */
static int poll_end(struct uring_loop *loop, int32_t index)
{
    int error = 0;

    while (error == 0 && loop->slots[index].state == URING_SLOT_ARMED) {
        struct io_uring_sqe *sqe = uring_take_sqe(loop);
        if (!sqe)
            return -EAGAIN;
        io_uring_prep_poll_remove(sqe, uring_user_data(URING_TAG_WATCH, (uint64_t)index));
        io_uring_sqe_set_data64(sqe, uring_user_data(URING_TAG_REMOVAL, 0));
        loop->is_removal_out = true;
        while (error == 0 && loop->is_removal_out && loop->slots[index].state == URING_SLOT_ARMED)
            error = uring_enter(loop, UINT64_MAX);
    }
    return error;
}

int uring_modify(struct loop *base, struct loop_watch *watch, uint32_t events)
{
    struct uring_loop *loop = uring_self(base);
    struct uring_slot *slot = slot_of(loop, watch);
    int error = 0;

    if (watch->events != events && slot->state == URING_SLOT_ARMED)
        error = poll_end(loop, (int32_t)(slot - loop->slots));
    if (error == 0)
        watch->events = events;
    return error;
}

void uring_remove(struct loop *base, struct loop_watch *watch)
{
    struct uring_loop *loop = uring_self(base);
    struct uring_slot *slot;
    int32_t index;

    if (watch->private_state[0] == 0)
        return;
    slot = slot_of(loop, watch);
    index = (int32_t)(slot - loop->slots);
    watch->private_state[0] = 0;
    slot->watch = NULL;
    if (slot->state == URING_SLOT_ARMED) {
        poll_end(loop, index); /* on_poll frees the slot */
        return;
    }
    slot_unlink(loop, slot->state == URING_SLOT_TO_ARM ? &loop->to_arm : &loop->ready, index);
    slot_release(loop, index);
}

void uring_arm(struct uring_loop *loop)
{
    while (loop->to_arm.first != URING_NONE) {
        int32_t index = loop->to_arm.first;
        struct io_uring_sqe *sqe = uring_take_sqe(loop);
        if (!sqe)
            return;
        struct uring_slot *slot = &loop->slots[index];
        slot_unlink(loop, &loop->to_arm, index);
        slot->state = URING_SLOT_ARMED;
        io_uring_prep_poll_add(sqe, slot->watch->fd, slot->watch->events);
        io_uring_sqe_set_data64(sqe, uring_user_data(URING_TAG_WATCH, (uint64_t)index));
    }
}

int uring_dispatch_watches(struct uring_loop *loop)
{
    int called = 0;

    for (uint32_t left = loop->ready.count; left && loop->ready.first != URING_NONE; left--) {
        int32_t index = loop->ready.first;
        struct uring_slot *slot = &loop->slots[index];
        struct loop_watch *watch = slot->watch;
        uint32_t ready = slot->ready_events & (watch->events | POLLERR | POLLHUP | POLLNVAL);
        slot_unlink(loop, &loop->ready, index);
        slot_to_arm(loop, index); /* before the callback, which may remove the watch */
        if (ready) {
            watch->on_ready(watch, ready);
            called++;
        }
    }
    return called;
}
