/* What shm/trace.h promises, case by case. */
#include "shm/trace.h"

#include <pthread.h>
#include <stdbool.h>

#include "tests/test.h"

static struct trace_ring ring;
static struct trace_event events[TRACE_ENTRIES];

static struct trace_event event_make(uint64_t number)
{
    return (struct trace_event){
        .begin_ns = number,
        .end_ns = number * 3,
        .job = number * 5,
        .slot = (uint32_t)number,
        .partition = (uint16_t)number,
        .phase = (uint16_t)(number >> 3),
        .bytes = ~number,
    };
}

static bool event_is_whole(const struct trace_event *event)
{
    struct trace_event wanted = event_make(event->begin_ns);
    return memcmp(event, &wanted, sizeof wanted) == 0;
}

TEST(keeps_the_newest_events_oldest_first)
{
    memset(&ring, 0, sizeof ring);
    ASSERT_INT(trace_read(&ring, events, TRACE_ENTRIES), 0);
    for (uint64_t number = 1; number <= 10; number++) {
        struct trace_event event = event_make(number);
        trace_write(&ring, &event);
    }
    ASSERT_INT(trace_read(&ring, events, TRACE_ENTRIES), 10);
    for (unsigned i = 0; i < 10; i++)
        ASSERT_INT(events[i].begin_ns, i + 1);
    ASSERT_INT(trace_read(&ring, events, 3), 3);
    ASSERT_INT(events[0].begin_ns, 8);
    ASSERT_INT(events[2].begin_ns, 10);
    ASSERT_INT(trace_read(&ring, events, 0), 0);
}

TEST(a_full_ring_forgets_the_oldest)
{
    memset(&ring, 0, sizeof ring);
    for (uint64_t number = 1; number <= 3 * TRACE_ENTRIES + 7; number++) {
        struct trace_event event = event_make(number);
        trace_write(&ring, &event);
    }
    /* One fewer than the ring holds: the oldest may just be overwritten. */
    ASSERT_INT(trace_read(&ring, events, TRACE_ENTRIES), TRACE_ENTRIES - 1);
    ASSERT_INT(events[TRACE_ENTRIES - 2].begin_ns, 3 * TRACE_ENTRIES + 7);
    for (unsigned i = 0; i < TRACE_ENTRIES - 1; i++)
        ASSERT(event_is_whole(&events[i]));
}

TEST(a_corrupt_count_is_harmless)
{
    static const uint64_t counts[] = {UINT64_MAX, UINT64_MAX - 1, 1ull << 63, TRACE_ENTRIES, 1};
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        atomic_store(&ring.written, counts[i]);
        ASSERT(trace_read(&ring, events, TRACE_ENTRIES) <= TRACE_ENTRIES);
    }
}

static _Atomic int stop;

static void *write_for_ever(void *unused)
{
    (void)unused;
    for (uint64_t number = 1; !atomic_load_explicit(&stop, memory_order_relaxed); number++) {
        struct trace_event event = event_make(number);
        trace_write(&ring, &event);
    }
    return NULL;
}

TEST(a_reader_beside_the_writer_sees_no_torn_event)
{
    pthread_t writer;
    uint64_t seen = 0, torn = 0, disordered = 0;

    memset(&ring, 0, sizeof ring);
    atomic_store(&stop, 0);
    ASSERT_INT(pthread_create(&writer, NULL, write_for_ever, NULL), 0);
    for (unsigned round = 0; round < 3000 || seen < 100000; round++) {
        /* Short reads of the newest and whole ones, which the writer overtakes. */
        uint32_t count = trace_read(&ring, events, round % 4 ? 64 : TRACE_ENTRIES);
        for (uint32_t i = 0; i < count; i++) {
            torn += !event_is_whole(&events[i]);
            disordered += i && events[i].begin_ns != events[i - 1].begin_ns + 1;
        }
        seen += count;
    }
    atomic_store(&stop, 1);
    pthread_join(writer, NULL);
    printf("  %llu events read\n", (unsigned long long)seen);
    ASSERT_INT(torn, 0);
    ASSERT_INT(disordered, 0);
    ASSERT(seen > 0);
}

TEST_MAIN(CASE(keeps_the_newest_events_oldest_first), CASE(a_full_ring_forgets_the_oldest),
          CASE(a_corrupt_count_is_harmless), CASE(a_reader_beside_the_writer_sees_no_torn_event))
