/* See arena.h. Ranges lie in one array by offset; the holes are what is between. */
#include "gpu-worker/cuda/arena.h"

#include <errno.h>
#include <string.h>

#include "runtime/check.h"

void arena_init(struct arena *arena, void *memory, uint64_t bytes)
{
    *arena = (struct arena){.memory = memory, .bytes = bytes & ~(uint64_t)(ARENA_ALIGN - 1)};
}

/* The hole in front of range `index` (behind the last one for index = count). */
static struct arena_range hole(const struct arena *arena, unsigned index)
{
    const struct arena_range *before = index ? &arena->ranges[index - 1] : NULL;
    const uint64_t begin = before ? before->off + before->bytes : 0;
    const uint64_t end = index < arena->count ? arena->ranges[index].off : arena->bytes;
    return (struct arena_range){begin, end - begin};
}

static int insert(struct arena *arena, unsigned index, uint64_t off, uint64_t bytes,
                  void **ret_memory)
{
    if (arena->count == ARENA_RANGES_MAX)
        return -ENOMEM;
    memmove(&arena->ranges[index + 1], &arena->ranges[index],
            (arena->count - index) * sizeof arena->ranges[0]);
    arena->ranges[index] = (struct arena_range){off, bytes};
    arena->count++;
    *ret_memory = arena->memory + off;
    return 0;
}

int arena_take(struct arena *arena, uint64_t bytes, void **ret_memory)
{
    bytes = arena_align(bytes ? bytes : 1);
    for (unsigned i = 0; i <= arena->count; i++) {
        const struct arena_range place = hole(arena, i);
        if (place.bytes >= bytes)
            return insert(arena, i, place.off, bytes, ret_memory);
    }
    return -ENOMEM;
}

int arena_take_high(struct arena *arena, uint64_t bytes, void **ret_memory)
{
    bytes = arena_align(bytes ? bytes : 1);
    for (unsigned i = arena->count + 1; i-- > 0;) {
        const struct arena_range place = hole(arena, i);
        if (place.bytes >= bytes)
            return insert(arena, i, place.off + place.bytes - bytes, bytes, ret_memory);
    }
    return -ENOMEM;
}

static unsigned find(const struct arena *arena, const void *memory)
{
    const uint64_t off = (uint64_t)((const uint8_t *)memory - arena->memory);
    unsigned i = 0;
    while (i < arena->count && arena->ranges[i].off != off)
        i++;
    CHECK(i < arena->count);
    return i;
}

void arena_give(struct arena *arena, void *memory)
{
    if (!memory)
        return;
    const unsigned index = find(arena, memory);
    arena->count--;
    memmove(&arena->ranges[index], &arena->ranges[index + 1],
            (arena->count - index) * sizeof arena->ranges[0]);
}

void arena_shrink(struct arena *arena, void *memory, uint64_t bytes)
{
    struct arena_range *range = &arena->ranges[find(arena, memory)];
    CHECK(arena_align(bytes) <= range->bytes);
    range->bytes = arena_align(bytes);
}

uint64_t arena_free_bytes(const struct arena *arena)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i <= arena->count; i++)
        bytes += hole(arena, i).bytes;
    return bytes;
}

uint64_t arena_largest(const struct arena *arena)
{
    uint64_t largest = 0;
    for (unsigned i = 0; i <= arena->count; i++)
        if (hole(arena, i).bytes > largest)
            largest = hole(arena, i).bytes;
    return largest;
}
