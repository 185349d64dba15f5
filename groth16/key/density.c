/* Bit vectors with ranks. Upstream: prepared_write, prepared_attach, gpu-worker/cpu. */
#include "groth16/key/density.h"

#include <string.h>

#include "groth16/pool.h"

enum {
    GATHER_GRAIN = 64, /* words a task: 128 KiB of scalars */
};

void density_mark(uint64_t *words, const struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->entry_count; i++)
        words[matrix->column[i] / 64] |= UINT64_C(1) << matrix->column[i] % 64;
}

void density_mark_first(uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i / 64] |= UINT64_C(1) << i % 64;
}

size_t density_rank(const uint64_t *words, size_t word_count, uint32_t *ret_ranks)
{
    size_t ones = 0;

    for (size_t i = 0; i < word_count; i++) {
        ret_ranks[i] = (uint32_t)ones;
        ones += (size_t)__builtin_popcountll(words[i]);
    }
    return ones;
}

bool density_is_sound(const struct density *density)
{
    const size_t word_count = density_word_count(density->bit_count);
    size_t ones = 0;
    bool is_sound = true;

    for (size_t i = 0; i < word_count; i++) {
        is_sound &= density->ranks[i] == ones;
        ones += (size_t)__builtin_popcountll(density->words[i]);
    }
    if (density->bit_count % 64 != 0)
        is_sound &= density->words[word_count - 1] >> density->bit_count % 64 == 0;
    return is_sound && ones == density->one_count;
}

struct gathering {
    const struct density *density;
    const uint64_t *scalars;
    uint64_t *ret;
};

static void gather_range(void *context, size_t begin, size_t end)
{
    const struct gathering *g = context;

    for (size_t i = begin; i < end; i++) {
        uint64_t *to = g->ret + 4 * (size_t)g->density->ranks[i];

        for (uint64_t word = g->density->words[i]; word != 0; word &= word - 1, to += 4)
            memcpy(to, g->scalars + 4 * (64 * i + (size_t)__builtin_ctzll(word)), 32);
    }
}

void density_gather(const struct density *density, struct pool *pool, const uint64_t *scalars,
                    uint64_t *ret)
{
    struct gathering g = {density, scalars, ret};

    pool_run_range(pool, density_word_count(density->bit_count), GATHER_GRAIN, gather_range, &g);
}
