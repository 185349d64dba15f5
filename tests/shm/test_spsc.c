/* What shm/spsc.h promises, case by case. */
#include "shm/spsc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "tests/test.h"

enum { COUNT = 16, STRESS_ENTRIES = 300000 };

struct entry {
    uint64_t number;
    uint64_t words[7];
};

struct pair {
    struct spsc ring;
    struct entry entries[COUNT];
};

static int push(struct pair *pair, const struct entry *entry)
{
    return spsc_push(&pair->ring, pair->entries, COUNT, sizeof *entry, entry, sizeof *entry);
}

static int pop(struct pair *pair, struct entry *ret)
{
    return spsc_pop(&pair->ring, pair->entries, COUNT, sizeof *ret, ret);
}

static struct entry entry_make(uint64_t number)
{
    struct entry entry = {.number = number};
    for (unsigned i = 0; i < 7; i++)
        entry.words[i] = number * 0x9e3779b97f4a7c15u + i;
    return entry;
}

static bool entry_is_whole(const struct entry *entry)
{
    struct entry wanted = entry_make(entry->number);
    return memcmp(entry, &wanted, sizeof wanted) == 0;
}

TEST(gives_entries_back_in_order_and_refuses_when_full)
{
    static struct pair pair;
    struct entry entry;

    memset(&pair, 0, sizeof pair);
    ASSERT_INT(pop(&pair, &entry), 0);
    for (uint64_t round = 0; round < 5; round++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            entry = entry_make(round * COUNT + i);
            ASSERT_INT(push(&pair, &entry), 0);
        }
        ASSERT_INT(push(&pair, &entry), -EAGAIN);
        for (uint64_t i = 0; i < COUNT; i++) {
            ASSERT_INT(pop(&pair, &entry), 1);
            ASSERT_INT(entry.number, round * COUNT + i);
            ASSERT(entry_is_whole(&entry));
        }
        ASSERT_INT(pop(&pair, &entry), 0);
    }
}

TEST(indices_wrap_at_two_to_the_32)
{
    static struct pair pair;
    struct entry entry;
    uint32_t start = UINT32_MAX - 20;

    memset(&pair, 0, sizeof pair);
    atomic_store(&pair.ring.tail, start);
    atomic_store(&pair.ring.head, start);
    pair.ring.cached_head = pair.ring.cached_tail = start;
    for (uint64_t i = 0; i < 100; i++) {
        entry = entry_make(i);
        for (unsigned fill = 0; fill < 1 + i % COUNT; fill++)
            ASSERT_INT(push(&pair, &entry), 0);
        for (unsigned fill = 0; fill < 1 + i % COUNT; fill++) {
            ASSERT_INT(pop(&pair, &entry), 1);
            ASSERT_INT(entry.number, i);
        }
        ASSERT_INT(pop(&pair, &entry), 0);
    }
}

TEST(copies_only_the_bytes_it_is_told)
{
    static struct pair pair;
    struct entry entry = entry_make(1);

    memset(&pair, 0xaa, sizeof pair);
    memset(&pair.ring, 0, sizeof pair.ring);
    ASSERT_INT(spsc_push(&pair.ring, pair.entries, COUNT, sizeof entry, &entry, 24), 0);
    ASSERT_INT(memcmp(&pair.entries[0], &entry, 24), 0);
    ASSERT_INT(((uint8_t *)&pair.entries[0])[24], 0xaa);
}

TEST(peek_leaves_the_entry_until_advance)
{
    static struct pair pair;
    struct entry entry = entry_make(7);
    const void *oldest;

    memset(&pair, 0, sizeof pair);
    ASSERT_INT(push(&pair, &entry), 0);
    for (unsigned i = 0; i < 3; i++) {
        ASSERT_INT(spsc_peek(&pair.ring, pair.entries, COUNT, sizeof entry, &oldest), 1);
        ASSERT_INT(((const struct entry *)oldest)->number, 7);
    }
    spsc_advance(&pair.ring);
    ASSERT_INT(spsc_peek(&pair.ring, pair.entries, COUNT, sizeof entry, &oldest), 0);
}

TEST(a_peer_index_that_cannot_be_is_refused)
{
    static struct pair pair;
    struct entry entry = entry_make(1);

    memset(&pair, 0, sizeof pair);
    atomic_store(&pair.ring.tail, COUNT + 1); /* more than fits was "pushed" */
    ASSERT_INT(pop(&pair, &entry), -EPROTO);
    atomic_store(&pair.ring.tail, UINT32_MAX); /* behind the head */
    ASSERT_INT(pop(&pair, &entry), -EPROTO);

    memset(&pair, 0, sizeof pair);
    for (unsigned i = 0; i < COUNT; i++)
        ASSERT_INT(push(&pair, &entry), 0);
    atomic_store(&pair.ring.head, COUNT + 5); /* more was "popped" than pushed */
    ASSERT_INT(push(&pair, &entry), -EPROTO);
}

/* Whatever all four words hold, no call goes outside the entries (the sanitizer and the guards
 * watch) or answers anything but its four results. */
TEST(no_corruption_leads_out_of_bounds)
{
    static struct {
        uint64_t guard_before[64];
        struct pair pair;
        uint64_t guard_after[64];
    } space;
    uint64_t random = test_seed();
    struct entry entry = entry_make(3);

    memset(&space, 0, sizeof space);
    for (unsigned i = 0; i < 1000000; i++) {
        uint32_t value = (uint32_t)test_random(&random);
        if (test_random(&random) % 2)
            value %= 3 * COUNT;
        switch (test_random(&random) % 8) {
        case 0:
            atomic_store_explicit(&space.pair.ring.tail, value, memory_order_relaxed);
            break;
        case 1:
            atomic_store_explicit(&space.pair.ring.head, value, memory_order_relaxed);
            break;
        case 2:
            space.pair.ring.cached_head = value;
            break;
        case 3:
            space.pair.ring.cached_tail = value;
            break;
        case 4:
        case 5: {
            int result = push(&space.pair, &entry);
            ASSERT(result == 0 || result == -EAGAIN || result == -EPROTO);
            break;
        }
        default: {
            int result = pop(&space.pair, &entry);
            ASSERT(result == 0 || result == 1 || result == -EPROTO);
        }
        }
    }
    for (unsigned i = 0; i < 64; i++)
        ASSERT(space.guard_before[i] == 0 && space.guard_after[i] == 0);
}

static struct pair shared;
static int stress_failed;

static void *produce(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < STRESS_ENTRIES;) {
        struct entry entry = entry_make(i);
        int result = push(&shared, &entry);
        if (result == 0)
            i++;
        else if (result == -EAGAIN)
            sched_yield();
        else
            return (void *)1;
    }
    return NULL;
}

/* For the thread sanitizer: the pairs [spsc.R1/A1] and [spsc.R2/A2] are all that orders this. */
TEST(two_threads_lose_and_tear_nothing)
{
    pthread_t producer;
    void *failed;

    memset(&shared, 0, sizeof shared);
    ASSERT_INT(pthread_create(&producer, NULL, produce, NULL), 0);
    for (uint64_t i = 0; i < STRESS_ENTRIES;) {
        struct entry entry;
        int result = pop(&shared, &entry);
        if (result == 0) {
            sched_yield();
            continue;
        }
        if (result != 1 || entry.number != i || !entry_is_whole(&entry))
            stress_failed = 1;
        i++;
    }
    pthread_join(producer, &failed);
    ASSERT(!failed);
    ASSERT_INT(stress_failed, 0);
}

TEST_MAIN(CASE(gives_entries_back_in_order_and_refuses_when_full),
          CASE(indices_wrap_at_two_to_the_32), CASE(copies_only_the_bytes_it_is_told),
          CASE(peek_leaves_the_entry_until_advance), CASE(a_peer_index_that_cannot_be_is_refused),
          CASE(no_corruption_leads_out_of_bounds), CASE(two_threads_lose_and_tear_nothing))
