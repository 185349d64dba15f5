/* gpu-worker/cuda/arena.h: ranges never overlap, and what is given back can be taken again. */
#include "gpu-worker/cuda/arena.h"

#include <errno.h>

#include "tests/test.h"

enum {
    ARENA_BYTES = 1 << 20,
    TAKEN_MAX = 64,
};

static struct arena arena;
static uint8_t *const memory = (uint8_t *)0x700000000000;

TEST(ranges_are_taken_from_either_end)
{
    void *low, *high, *next;
    arena_init(&arena, memory, ARENA_BYTES);
    ASSERT_INT(arena_take(&arena, 1000, &low), 0);
    ASSERT_INT(arena_take_high(&arena, 1000, &high), 0);
    ASSERT_INT(arena_take(&arena, 1, &next), 0);
    ASSERT((uint8_t *)low == memory);
    ASSERT((uint8_t *)high == memory + ARENA_BYTES - 1024);
    ASSERT((uint8_t *)next == memory + 1024);
    ASSERT_INT(arena_free_bytes(&arena), ARENA_BYTES - 1024 - 1024 - 256);
}

TEST(what_does_not_fit_in_one_piece_is_refused)
{
    void *first, *second, *third, *again;
    arena_init(&arena, memory, ARENA_BYTES);
    ASSERT_INT(arena_take(&arena, ARENA_BYTES / 4, &first), 0);
    ASSERT_INT(arena_take(&arena, ARENA_BYTES / 2, &second), 0);
    ASSERT_INT(arena_take(&arena, ARENA_BYTES / 4, &third), 0);
    arena_give(&arena, first);
    arena_give(&arena, third);
    arena_give(&arena, NULL);
    ASSERT_INT(arena_free_bytes(&arena), ARENA_BYTES / 2);
    ASSERT_INT(arena_largest(&arena), ARENA_BYTES / 4);
    ASSERT_INT(arena_take(&arena, ARENA_BYTES / 4 + 1, &again), -ENOMEM);
    arena_shrink(&arena, second, ARENA_BYTES / 4);
    ASSERT_INT(arena_take(&arena, ARENA_BYTES / 2, &again), 0);
    ASSERT((uint8_t *)again == memory + ARENA_BYTES / 2);
}

struct taken {
    uint8_t *memory;
    uint64_t bytes;
};

TEST(random_ranges_never_overlap_and_nothing_is_lost)
{
    struct taken taken[TAKEN_MAX] = {0};
    uint64_t random = test_seed(), held = 0;
    unsigned refused = 0;
    arena_init(&arena, memory, ARENA_BYTES);
    for (unsigned round = 0; round < 20000; round++) {
        struct taken *one = &taken[test_random(&random) % TAKEN_MAX];
        if (one->memory) {
            arena_give(&arena, one->memory);
            held -= one->bytes;
            one->memory = NULL;
        } else {
            void *place;
            const uint64_t bytes = arena_align(1 + test_random(&random) % (ARENA_BYTES / 16));
            const uint64_t largest = arena_largest(&arena);
            const int error =
                (test_random(&random) % 2 ? arena_take : arena_take_high)(&arena, bytes, &place);
            ASSERT_INT(error, bytes <= largest ? 0 : -ENOMEM);
            refused += error < 0;
            if (error < 0)
                continue;
            *one = (struct taken){place, bytes};
            held += bytes;
            ASSERT(one->memory >= memory && one->memory + bytes <= memory + ARENA_BYTES);
            for (unsigned i = 0; i < TAKEN_MAX; i++)
                ASSERT(&taken[i] == one || !taken[i].memory ||
                       taken[i].memory + taken[i].bytes <= one->memory ||
                       one->memory + bytes <= taken[i].memory);
        }
        ASSERT_INT(arena_free_bytes(&arena), ARENA_BYTES - held);
    }
    ASSERT(refused > 0);
    for (unsigned i = 0; i < TAKEN_MAX; i++)
        arena_give(&arena, taken[i].memory);
    ASSERT_INT(arena_largest(&arena), ARENA_BYTES);
}

TEST_MAIN(CASE(ranges_are_taken_from_either_end), CASE(what_does_not_fit_in_one_piece_is_refused),
          CASE(random_ranges_never_overlap_and_nothing_is_lost))
