/* The order key and the heaps sorted by it. */
#include "supervisor/order.h"

#include "tests/test.h"

#define SECOND UINT64_C(1000000000)

TEST(critical_comes_first_whenever_it_came)
{
    struct order order = {0};
    uint64_t old_high = order_admit(&order, REQUEST_PRIORITY_HIGH, SECOND);
    uint64_t critical = order_admit(&order, REQUEST_PRIORITY_CRITICAL, 86400 * SECOND);
    ASSERT(critical < old_high);
    ASSERT(order_is_critical(critical));
    ASSERT(!order_is_critical(old_high));
}

TEST(classes_order_what_came_together)
{
    struct order order = {0};
    uint64_t low = order_admit(&order, REQUEST_PRIORITY_LOW, SECOND);
    uint64_t normal = order_admit(&order, REQUEST_PRIORITY_NORMAL, SECOND);
    uint64_t high = order_admit(&order, REQUEST_PRIORITY_HIGH, SECOND);
    ASSERT(high < normal);
    ASSERT(normal < low);
}

TEST(low_is_overtaken_for_a_bounded_time)
{
    struct order order = {0};
    uint64_t low = order_admit(&order, REQUEST_PRIORITY_LOW, SECOND);
    uint64_t before = order_admit(&order, REQUEST_PRIORITY_HIGH, (ORDER_OFFSET_LOW_S - 1) * SECOND);
    uint64_t after = order_admit(&order, REQUEST_PRIORITY_HIGH, (ORDER_OFFSET_LOW_S + 2) * SECOND);
    ASSERT(before < low);
    ASSERT(low < after);
}

TEST(jobs_of_one_moment_do_not_share_keys_and_partitions_stay_together)
{
    struct order order = {0};
    uint64_t first = order_admit(&order, REQUEST_PRIORITY_NORMAL, SECOND);
    uint64_t second = order_admit(&order, REQUEST_PRIORITY_NORMAL, SECOND);
    ASSERT(first + JOB_PARTITIONS_MAX - 1 < second);
}

TEST(heap_gives_the_lowest_key_whatever_is_removed)
{
    enum { COUNT = 2000 };
    static uint64_t keys[SLOTS_MAX];
    static uint32_t positions[SLOTS_MAX];
    static uint8_t present[SLOTS_MAX];
    struct order_heap heap;
    uint64_t seed = test_seed();
    memset(present, 0, sizeof present);
    ASSERT_INT(order_heap_init(&heap, positions), 0);
    for (int step = 0; step < 20000; step++) {
        uint32_t slot = (uint32_t)(test_random(&seed) % COUNT);
        if (present[slot]) {
            order_heap_remove(&heap, slot);
        } else {
            keys[slot] = test_random(&seed) >> 1;
            order_heap_push(&heap, slot, keys[slot]);
        }
        present[slot] = !present[slot];
        if (step % 97 == 0 && heap.count > 0) {
            uint64_t lowest = UINT64_MAX;
            for (uint32_t i = 0; i < COUNT; i++)
                lowest = present[i] && keys[i] < lowest ? keys[i] : lowest;
            ASSERT(heap.entries[0].key == lowest);
            ASSERT(keys[heap.entries[0].slot] == lowest);
        }
    }
    uint64_t last = 0;
    while (heap.count > 0) {
        ASSERT(heap.entries[0].key >= last);
        last = heap.entries[0].key;
        order_heap_remove(&heap, heap.entries[0].slot);
    }
    order_heap_destroy(&heap);
}

TEST_MAIN(CASE(critical_comes_first_whenever_it_came), CASE(classes_order_what_came_together),
          CASE(low_is_overtaken_for_a_bounded_time),
          CASE(jobs_of_one_moment_do_not_share_keys_and_partitions_stay_together),
          CASE(heap_gives_the_lowest_key_whatever_is_removed))
