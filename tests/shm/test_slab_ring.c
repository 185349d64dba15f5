/* What shm/slab_ring.h promises, case by case. */
#include "shm/slab_ring.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/test.h"

static struct slab_ring make(uint32_t entries)
{
    struct slab_ring ring;
    ASSERT_INT(slab_ring_create("test", entries, 1 << 20, &ring), 0);
    return ring;
}

static uint64_t head(const struct slab_ring *ring)
{
    return atomic_load(&ring->table->head);
}

static uint64_t tail(const struct slab_ring *ring)
{
    return atomic_load(&ring->table->tail);
}

TEST(slabs_are_issued_in_turn)
{
    struct slab_ring ring = make(3);
    uint64_t ticket;

    for (uint64_t i = 0; i < 10; i++) {
        ASSERT_INT(slab_ring_issue(&ring, 5, 1, 100 + i, &ticket), i % 3);
        ASSERT_INT(ticket, i);
        ASSERT_INT(head(&ring), i + 1);
        ASSERT_INT(tail(&ring), i);
        ASSERT_INT(atomic_load(&ring.table->occupancy), 1);
        slab_ring_release(&ring, (uint32_t)(i % 3));
        ASSERT_INT(tail(&ring), head(&ring));
    }
    ASSERT_INT(atomic_load(&ring.table->tickets_spent), 0);
    slab_ring_destroy(&ring);
    slab_ring_destroy(&ring);
}

TEST(a_held_slab_is_passed_over_and_its_ticket_spent)
{
    struct slab_ring ring = make(3);
    uint64_t ticket;

    ASSERT_INT(slab_ring_issue(&ring, 1, 0, 1, &ticket), 0);
    ASSERT_INT(slab_ring_issue(&ring, 1, 1, 2, &ticket), 1);
    slab_ring_release(&ring, 1);
    ASSERT_INT(slab_ring_issue(&ring, 1, 2, 3, &ticket), 2);
    slab_ring_release(&ring, 2);
    /* Ticket 3 is offered slab 0, which is held; ticket 4 gets slab 1. */
    ASSERT_INT(slab_ring_issue(&ring, 1, 3, 4, &ticket), 1);
    ASSERT_INT(ticket, 4);
    ASSERT_INT(atomic_load(&ring.table->tickets_spent), 1);
    ASSERT_INT(tail(&ring), 0);
    slab_ring_release(&ring, 0);
    ASSERT_INT(tail(&ring), 4);
    slab_ring_destroy(&ring);
}

TEST(a_full_ring_refuses_without_spending_tickets)
{
    struct slab_ring ring = make(2);
    uint64_t ticket = 77;

    ASSERT_INT(slab_ring_issue(&ring, 1, 0, 1, &ticket), 0);
    ASSERT_INT(slab_ring_issue(&ring, 1, 1, 2, &ticket), 1);
    ticket = 77;
    for (unsigned i = 0; i < 5; i++)
        ASSERT_INT(slab_ring_issue(&ring, 1, 2, 3, &ticket), -EAGAIN);
    ASSERT_INT(ticket, 77);
    ASSERT_INT(head(&ring), 2);
    ASSERT_INT(atomic_load(&ring.table->tickets_spent), 0);
    slab_ring_destroy(&ring);
}

TEST(an_entry_tells_its_holder)
{
    struct slab_ring ring = make(4);
    uint64_t ticket;
    int entry = slab_ring_issue(&ring, 42, 7, 1000, &ticket);

    ASSERT_INT(atomic_load(&ring.table->entries[entry].job), 42);
    ASSERT_INT(atomic_load(&ring.table->entries[entry].partition), 7);
    ASSERT_INT(atomic_load(&ring.table->entries[entry].generation), 1000);
    slab_ring_rebind(&ring, (uint32_t)entry, 1001);
    ASSERT_INT(atomic_load(&ring.table->entries[entry].generation), 1001);
    ASSERT_INT(atomic_load(&ring.table->entries[entry].state), SLAB_HELD);
    slab_ring_release(&ring, (uint32_t)entry);
    ASSERT_INT(atomic_load(&ring.table->entries[entry].state), SLAB_FREE);
    slab_ring_destroy(&ring);
}

TEST(sizes_that_cannot_be_are_refused)
{
    struct slab_ring ring;

    ASSERT_INT(slab_ring_create("test", SLABS_MAX + 1, 1, &ring), -EINVAL);
}

TEST(head_tail_and_occupancy_hold_under_random_issue_and_release)
{
    uint64_t random = test_seed();

    for (uint32_t entries = 1; entries <= 9; entries++) {
        struct slab_ring ring = make(entries);
        bool is_held[16] = {false};
        uint64_t ticket_of[16] = {0}, last_ticket = 0, issued = 0;
        for (unsigned step = 0; step < 5000; step++) {
            uint32_t held = 0;
            if (test_random(&random) % 2) {
                uint64_t ticket;
                int entry = slab_ring_issue(&ring, 1, 1, step, &ticket);
                for (uint32_t i = 0; i < entries; i++)
                    held += is_held[i];
                ASSERT(held == entries ? entry == -EAGAIN : entry >= 0);
                if (entry >= 0) {
                    ASSERT(!is_held[entry]);
                    ASSERT_INT(ticket % entries, entry);
                    ASSERT(issued == 0 || ticket > last_ticket);
                    ASSERT(ticket - last_ticket <= entries);
                    last_ticket = ticket;
                    issued++;
                    is_held[entry] = true;
                    ticket_of[entry] = ticket;
                }
            } else {
                uint32_t entry = (uint32_t)(test_random(&random) % entries);
                if (is_held[entry])
                    slab_ring_release(&ring, entry);
                is_held[entry] = false;
            }
            uint64_t oldest = head(&ring);
            held = 0;
            for (uint32_t i = 0; i < entries; i++) {
                held += is_held[i];
                if (is_held[i] && ticket_of[i] < oldest)
                    oldest = ticket_of[i];
            }
            ASSERT_INT(tail(&ring), oldest);
            ASSERT_INT(atomic_load(&ring.table->occupancy), held);
            ASSERT_INT(atomic_load(&ring.table->tickets_spent) + issued, head(&ring));
        }
        slab_ring_destroy(&ring);
    }
}

static const struct slab_ring_content content = {
    .bytes = 4096,
    .has_evaluations = 1,
    .key_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
};

static uint32_t state(const struct slab_ring *ring, uint32_t entry)
{
    return atomic_load(&ring->table->entries[entry].state);
}

TEST(an_entry_leaves_ready_before_its_slab_is_issued_anew)
{
    struct slab_ring ring = make(1);
    uint64_t ticket;

    ASSERT_INT(slab_ring_issue(&ring, 5, 1, 100, &ticket), 0);
    ASSERT_INT(state(&ring, 0), SLAB_HELD);
    slab_ring_mark_ready(&ring, 0, &content);
    ASSERT_INT(state(&ring, 0), SLAB_READY);
    slab_ring_rebind(&ring, 0, 101);
    ASSERT_INT(state(&ring, 0), SLAB_READY);
    ASSERT_INT(slab_ring_issue(&ring, 6, 0, 102, &ticket), -EAGAIN);
    slab_ring_release(&ring, 0);
    ASSERT_INT(state(&ring, 0), SLAB_FREE);
    ASSERT_INT(slab_ring_issue(&ring, 6, 0, 102, &ticket), 0);
    ASSERT_INT(state(&ring, 0), SLAB_HELD);
    slab_ring_destroy(&ring);
}

TEST(a_certain_entry_can_be_held)
{
    struct slab_ring ring = make(4);
    uint64_t ticket;

    slab_ring_hold(&ring, 2, 5, 0, 100);
    slab_ring_hold(&ring, 1, 5, 1, 101);
    ASSERT_INT(atomic_load(&ring.table->occupancy), 2);
    ASSERT_INT(tail(&ring), atomic_load(&ring.table->entries[2].ticket));
    for (uint32_t i = 0; i < 4; i++) {
        if (state(&ring, i) == SLAB_HELD)
            ASSERT_INT(atomic_load(&ring.table->entries[i].ticket) % 4, i);
    }
    ASSERT_INT(slab_ring_issue(&ring, 6, 0, 102, &ticket), 3);
    ASSERT_INT(slab_ring_issue(&ring, 6, 1, 103, &ticket), 0);
    ASSERT_INT(slab_ring_issue(&ring, 6, 2, 104, &ticket), -EAGAIN);
    slab_ring_release(&ring, 2);
    ASSERT_INT(tail(&ring), atomic_load(&ring.table->entries[1].ticket));
    slab_ring_destroy(&ring);
}

TEST(a_table_of_another_process_is_believed_only_if_it_is_one)
{
    static struct slab_ring_table copy;
    struct slab_ring ring = make(2);
    char why[128];
    uint64_t ticket;

    ASSERT_INT(slab_ring_issue(&ring, 5, 1, 100, &ticket), 0);
    slab_ring_mark_ready(&ring, 0, &content);
    ASSERT_INT(slab_ring_inspect(ring.fd, &copy, why, sizeof why), 0);
    ASSERT_INT(atomic_load(&copy.entries[0].state), SLAB_READY);
    ASSERT_INT(copy.entries[0].content.bytes, 4096);

    ring.table->header.boot_id[0] ^= 1;
    ASSERT_INT(slab_ring_inspect(ring.fd, &copy, why, sizeof why), -EBADMSG);
    ASSERT_STR(why, "it is of another boot");
    ring.table->header.boot_id[0] ^= 1;
    ring.table->header.channel_abi++;
    ASSERT_INT(slab_ring_inspect(ring.fd, &copy, why, sizeof why), -EBADMSG);
    ASSERT_STR(why, "another version wrote it");
    ring.table->header.channel_abi--;
    ASSERT_INT(slab_ring_retract(ring.fd), 0); /* its slabs have another table now */
    ASSERT_INT(slab_ring_inspect(ring.fd, &copy, why, sizeof why), 0);
    ASSERT_INT(atomic_load(&copy.entry_count), 0);
    ASSERT(slab_ring_retract(STDERR_FILENO) < 0);
    atomic_store(&ring.table->entry_count, SLABS_MAX + 1);
    ASSERT_INT(slab_ring_inspect(ring.fd, &copy, why, sizeof why), -EBADMSG);
    ASSERT_INT(slab_ring_inspect(STDERR_FILENO, &copy, why, sizeof why), -EBADMSG);
    ASSERT_STR(why, "it is no table of this version");
    slab_ring_destroy(&ring);
}

TEST(slabs_come_and_go_and_holes_are_passed_over)
{
    struct slab_ring ring = make(0);
    uint64_t ticket;

    ASSERT_INT(slab_ring_issue(&ring, 1, 0, 1, &ticket), -EAGAIN);
    for (int i = 0; i < 4; i++)
        ASSERT_INT(slab_ring_add(&ring), i);
    ASSERT_INT(atomic_load(&ring.table->slab_count), 4);
    ASSERT_INT(slab_ring_issue(&ring, 1, 0, 1, &ticket), 0);
    ASSERT_INT(slab_ring_remove(&ring, 0), -EBUSY);
    ASSERT_INT(slab_ring_remove(&ring, 1), 0);
    ASSERT_INT(slab_ring_issue(&ring, 1, 1, 2, &ticket), 2); /* 1 is not there */
    ASSERT_INT(atomic_load(&ring.table->tickets_spent), 0);
    ASSERT_INT(slab_ring_issue(&ring, 1, 2, 3, &ticket), 3);
    ASSERT_INT(slab_ring_issue(&ring, 1, 3, 4, &ticket), -EAGAIN);
    slab_ring_release(&ring, 3);
    ASSERT_INT(slab_ring_remove(&ring, 3), 0);
    ASSERT_INT(atomic_load(&ring.table->entry_count), 3);
    ASSERT_INT(slab_ring_add(&ring), 1); /* the hole first */
    ASSERT_INT(slab_ring_issue(&ring, 1, 4, 5, &ticket), 1);
    slab_ring_release(&ring, 0);
    slab_ring_release(&ring, 1);
    slab_ring_release(&ring, 2);
    for (uint32_t i = 0; i < 3; i++)
        ASSERT_INT(slab_ring_remove(&ring, i), 0);
    ASSERT_INT(atomic_load(&ring.table->entry_count), 0);
    ASSERT_INT(slab_ring_issue(&ring, 1, 0, 1, &ticket), -EAGAIN);
    ASSERT_INT(atomic_load(&ring.table->occupancy), 0);
    slab_ring_destroy(&ring);
}

TEST(any_order_of_coming_going_and_issuing_keeps_the_counts)
{
    uint64_t random = test_seed();
    struct slab_ring ring = make(0);
    enum { NONE, FREE, HELD } model[SLABS_MAX] = {NONE};

    for (unsigned step = 0; step < 20000; step++) {
        uint32_t entry = (uint32_t)(test_random(&random) % 12), there = 0, held = 0;
        uint64_t ticket;
        for (uint32_t i = 0; i < SLABS_MAX; i++) {
            there += model[i] != NONE;
            held += model[i] == HELD;
        }
        ASSERT_INT(atomic_load(&ring.table->slab_count), there);
        ASSERT_INT(atomic_load(&ring.table->occupancy), held);
        switch (test_random(&random) % 4) {
        case 0:
            if (there < 12) {
                int added = slab_ring_add(&ring);
                ASSERT(added >= 0 && model[added] == NONE);
                model[added] = FREE;
            }
            break;
        case 1:
            if (model[entry] == NONE)
                break;
            ASSERT_INT(slab_ring_remove(&ring, entry), model[entry] == HELD ? -EBUSY : 0);
            model[entry] = model[entry] == HELD ? HELD : NONE;
            break;
        case 2: {
            int issued = slab_ring_issue(&ring, 1, 0, step, &ticket);
            ASSERT(there == held ? issued == -EAGAIN : issued >= 0 && model[issued] == FREE);
            if (issued >= 0)
                model[issued] = HELD;
            break;
        }
        default:
            if (model[entry] == HELD) {
                slab_ring_release(&ring, entry);
                model[entry] = FREE;
            }
        }
    }
    slab_ring_destroy(&ring);
}

TEST_MAIN(CASE(slabs_are_issued_in_turn), CASE(a_held_slab_is_passed_over_and_its_ticket_spent),
          CASE(a_full_ring_refuses_without_spending_tickets), CASE(an_entry_tells_its_holder),
          CASE(sizes_that_cannot_be_are_refused),
          CASE(an_entry_leaves_ready_before_its_slab_is_issued_anew),
          CASE(a_certain_entry_can_be_held),
          CASE(a_table_of_another_process_is_believed_only_if_it_is_one),
          CASE(head_tail_and_occupancy_hold_under_random_issue_and_release),
          CASE(slabs_come_and_go_and_holes_are_passed_over),
          CASE(any_order_of_coming_going_and_issuing_keeps_the_counts))
