/* Ordering elements by length and sorting them by digit (see digits.h). Both are counting sorts in
 * three steps: count in chunks on all threads, add up, place in chunks on all threads. */

#include "groth16/msm/digits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/field/limbs.h"
#include "groth16/msm/kernel.h"
#include "groth16/pool.h"

enum {
    ORDER_CHUNK_MIN = 1 << 12,
    SPLIT_MIN = 1 << 13, /* entries: below that counting N buckets costs more than it saves */
};

/* ---- the order by length ---- */

struct order_job {
    struct digits_order *order;
    const struct msm_kernel *kernel;
    const uint8_t *points;
    size_t count, chunks;
    uint16_t *code;                      /* bit length * 2 + negative; 0 to leave out */
    size_t (*at)[DIGITS_LENGTH_MAX + 1]; /* [chunk][length]: count, then position */
};

static void chunk_bounds(size_t count, size_t chunks, size_t index, size_t *begin, size_t *end)
{
    size_t size = (count + chunks - 1) / chunks;

    *begin = size * index < count ? size * index : count;
    *end = *begin + size < count ? *begin + size : count;
}

static bool is_infinity(const uint8_t *point, size_t bytes)
{
    const uint64_t *words = (const uint64_t *)point;
    uint64_t any = words[0];

    for (size_t i = 1; any == 0 && i < bytes / 8; i++)
        any |= words[i];
    return any == 0;
}

/* r = modulus - a. */
LIMBS_INLINE void negate(uint64_t *r, const uint64_t *a, const uint64_t *modulus)
{
    uint64_t borrow = 0;

    for (int i = 0; i < 4; i++)
        r[i] = limbs_sub_borrow(modulus[i], a[i], &borrow);
}

LIMBS_INLINE unsigned bit_length(const uint64_t *a)
{
    for (int i = 3; i >= 0; i--)
        if (a[i])
            return (unsigned)(64 * i + 64 - __builtin_clzll(a[i]));
    return 0;
}

static uint16_t element_code(const struct digits_order *order, const uint64_t *scalar)
{
    uint64_t negative[4];

    if (!limbs_is_less(order->half, scalar, 4))
        return (uint16_t)(2 * bit_length(scalar));
    negate(negative, scalar, order->modulus);
    return (uint16_t)(2 * bit_length(negative) + 1);
}

static void order_count(void *context, size_t index)
{
    struct order_job *job = context;
    size_t begin, end, bytes = job->kernel->point_bytes, *counts = job->at[index];

    memset(counts, 0, sizeof job->at[index]);
    chunk_bounds(job->count, job->chunks, index, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const uint64_t *scalar = job->order->scalars + 4 * i;
        uint16_t code = 0;

        if (!limbs_is_zero(scalar, 4) && !is_infinity(job->points + i * bytes, bytes))
            code = element_code(job->order, scalar);
        if (code / 2 == 0)
            code = 0; /* r itself, which a checked witness cannot hold */
        job->code[i] = code;
        counts[code / 2]++;
    }
}

static void order_place(void *context, size_t index)
{
    struct order_job *job = context;
    size_t begin, end, *at = job->at[index];

    chunk_bounds(job->count, job->chunks, index, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        unsigned code = job->code[i];

        if (code)
            job->order->order[at[code / 2]++] =
                (uint32_t)i | (code & 1 ? (uint32_t)DIGITS_NEGATIVE : 0);
    }
}

int digits_order_init(struct digits_order *order, struct pool *pool,
                      const struct msm_kernel *kernel, const void *points, const uint64_t *scalars,
                      size_t count)
{
    size_t chunks = 4 * (size_t)pool_threads(pool);
    struct order_job job = {order, kernel, points, count, chunks, NULL, NULL};

    if (job.chunks > count / ORDER_CHUNK_MIN + 1)
        job.chunks = count / ORDER_CHUNK_MIN + 1;
    *order = (struct digits_order){.scalars = scalars, .modulus = kernel->order};
    for (int i = 0; i < 4; i++)
        order->half[i] = kernel->order[i] >> 1 | (i < 3 ? kernel->order[i + 1] << 63 : 0);
    order->order = malloc((count + 1) * sizeof *order->order);
    job.code = malloc((count + 1) * sizeof *job.code);
    job.at = malloc(job.chunks * sizeof *job.at);
    if (!order->order || !job.code || !job.at) {
        digits_order_destroy(order);
        free(job.code);
        free(job.at);
        return -ENOMEM;
    }
    pool_run(pool, job.chunks, order_count, &job);
    for (unsigned length = DIGITS_LENGTH_MAX + 1; length-- > 1;) {
        for (size_t chunk = 0; chunk < job.chunks; chunk++) {
            size_t here = job.at[chunk][length];
            job.at[chunk][length] = order->count;
            order->count += here;
        }
        order->longer_count[length] = order->count;
    }
    order->longer_count[0] = order->count;
    pool_run(pool, job.chunks, order_place, &job);
    free(job.code);
    free(job.at);
    return 0;
}

void digits_order_destroy(struct digits_order *order)
{
    free(order->order);
    order->order = NULL;
}

/* ---- windows ---- */

static void add_bit(uint64_t *a, unsigned bit)
{
    uint64_t carry = (uint64_t)1 << (bit % 64);

    for (unsigned i = bit / 64; i < 4 && carry; i++) {
        a[i] += carry;
        carry = a[i] < carry;
    }
}

LIMBS_INLINE void add_offset(uint64_t *r, const uint64_t *a, const uint64_t *offset)
{
    uint64_t carry = 0;

    for (int i = 0; i < 4; i++)
        r[i] = limbs_add_carry(a[i], offset[i], &carry);
}

void digits_windows_set(struct digits_windows *windows, const struct digits_order *order,
                        unsigned bits)
{
    uint64_t largest[4];
    unsigned top;

    *windows = (struct digits_windows){.bits = bits};
    /* The top window is the first whose plain digit needs no carry out: it stays below
     * 2^(bits - 1) for the largest scalar, (r - 1) / 2, and so for all. */
    for (top = 0;; top++) {
        add_offset(largest, order->half, windows->offset);
        if (bits * (top + 1) >= 256 || bit_length(largest) <= bits * (top + 1) - 1)
            break;
        add_bit(windows->offset, bits * top + bits - 1);
    }
    windows->top = top;
    for (unsigned v = 0; v <= top; v++) {
        /* A carry out of the window below needs a scalar of at least bits v - 1 bits. */
        unsigned length = v == 0 ? 1 : bits * v - 1;

        windows->element_count[v] = length <= DIGITS_LENGTH_MAX ? order->longer_count[length] : 0;
        if (windows->element_count[v] > 0)
            windows->count = v + 1;
    }
}

/* ---- sorting a group of windows by digit ---- */

struct sort_job {
    struct digits_group *group;
    const struct digits_order *order;
    const struct digits_windows *windows;
};

static size_t cursor_stride(const struct digits_windows *windows)
{
    return digits_bucket_count(windows->bits) + 2;
}

int digits_group_init(struct digits_group *group, struct pool *pool,
                      const struct digits_windows *windows, unsigned count)
{
    size_t stride = cursor_stride(windows), elements = windows->element_count[0];
    size_t tasks = 4 * (size_t)pool_threads(pool), splits = elements / SPLIT_MIN + 1;
    size_t cursors, bytes;
    uint32_t *at;

    if (pool_threads(pool) == 1 || count >= tasks)
        splits = 1;
    else if (splits > (tasks + count - 1) / count)
        splits = (tasks + count - 1) / count;
    elements = (elements + 31) & ~(size_t)31;
    cursors = count * splits * stride;
    bytes = 4 * (count * elements + cursors + count * stride) + 2 * count * elements;
    *group = (struct digits_group){.splits = (unsigned)splits, .memory = malloc(bytes)};
    if (!group->memory)
        return -ENOMEM;
    at = group->memory;
    for (unsigned i = 0; i < count; i++, at += elements)
        group->sorted[i] = at;
    for (unsigned i = 0; i < count; i++, at += stride)
        group->begin[i] = at;
    group->cursor = at;
    at += cursors;
    for (unsigned i = 0; i < count; i++, at += elements / 2)
        group->digit[i] = (uint16_t *)at;
    return 0;
}

void digits_group_destroy(struct digits_group *group)
{
    free(group->memory);
    group->memory = NULL;
}

/* Where a window lies in a scalar. */
struct window_bits {
    unsigned limb, shift;
};

static void extract_range(void *context, size_t begin, size_t end)
{
    struct sort_job *job = context;
    struct digits_group *group = job->group;
    const struct digits_order *order = job->order;
    const struct digits_windows *windows = job->windows;
    uint64_t mask = ((uint64_t)1 << windows->bits) - 1;
    const uint64_t digit_max = digits_bucket_count(windows->bits);
    struct window_bits at[DIGITS_WINDOWS_MAX];
    unsigned live = group->count;

    for (unsigned v = 0; v < group->count; v++) {
        unsigned bit = windows->bits * (group->first + v);
        at[v] = (struct window_bits){bit / 64, bit % 64};
    }
    for (size_t i = begin; i < end; i++) {
        uint32_t element = order->order[i];
        const uint64_t *scalar = order->scalars + 4 * (size_t)(element & ~DIGITS_NEGATIVE);
        uint64_t value[5], negative[4];

        negate(negative, scalar, order->modulus);
        limbs_select(value, scalar, negative, element & DIGITS_NEGATIVE, 4);
        add_offset(value, value, windows->offset);
        value[4] = 0;
        while (live > 0 && i >= windows->element_count[group->first + live - 1])
            live--;
        for (unsigned v = 0; v < live; v++) {
            const uint64_t *limb = value + at[v].limb;
            uint64_t low = limb[0] >> at[v].shift, high = limb[1] << 1 << (63 - at[v].shift);

            uint64_t digit = (low | high) & mask;

            /* Only scalars that are not < r reach beyond; the sum is then wrong, memory is not. */
            if (group->first + v == windows->top && digit > digit_max)
                digit = digit_max;
            group->digit[v][i] = (uint16_t)digit;
        }
    }
}

/* The share of split `index` % splits of window `index` / splits. */
struct sort_share {
    unsigned window; /* in the group */
    int zero;        /* the value that stands for digit 0 */
    size_t begin, end;
    uint32_t *cursor;
};

static struct sort_share share_of(const struct sort_job *job, size_t index)
{
    const struct digits_group *group = job->group;
    struct sort_share share = {.window = (unsigned)(index / group->splits)};
    unsigned v = group->first + share.window;

    share.zero = v == job->windows->top ? 0 : 1 << (job->windows->bits - 1);
    chunk_bounds(job->windows->element_count[v], group->splits, index % group->splits, &share.begin,
                 &share.end);
    share.cursor = group->cursor + index * cursor_stride(job->windows);
    return share;
}

static void sort_count(void *context, size_t index)
{
    struct sort_job *job = context;
    struct sort_share share = share_of(job, index);
    const uint16_t *digit = job->group->digit[share.window];

    memset(share.cursor, 0, cursor_stride(job->windows) * sizeof *share.cursor);
    for (size_t i = share.begin; i < share.end; i++)
        share.cursor[abs(digit[i] - share.zero)]++;
}

static void sort_add_up(void *context, size_t window)
{
    struct sort_job *job = context;
    struct digits_group *group = job->group;
    size_t stride = cursor_stride(job->windows);
    uint32_t *cursor = group->cursor + window * group->splits * stride,
             *begin = group->begin[window];
    uint32_t at = 0;

    for (size_t j = 1; j < stride; j++) {
        begin[j] = at;
        for (unsigned split = 0; split < group->splits; split++) {
            uint32_t here = cursor[split * stride + j];
            cursor[split * stride + j] = at;
            at += here;
        }
    }
}

static void sort_place(void *context, size_t index)
{
    struct sort_job *job = context;
    struct sort_share share = share_of(job, index);
    const uint16_t *digit = job->group->digit[share.window];
    const uint32_t *order = job->order->order;
    uint32_t *sorted = job->group->sorted[share.window];

    for (size_t i = share.begin; i < share.end; i++) {
        int value = digit[i] - share.zero;

        if (value != 0)
            sorted[share.cursor[abs(value)]++] =
                order[i] ^ (value < 0 ? (uint32_t)DIGITS_NEGATIVE : 0);
    }
}

void digits_group_sort(struct digits_group *group, struct pool *pool,
                       const struct digits_order *order, const struct digits_windows *windows,
                       unsigned first, unsigned count)
{
    struct sort_job job = {.group = group, .order = order, .windows = windows};
    size_t last = cursor_stride(windows) - 1;

    group->first = first;
    group->count = count;
    pool_run_range(pool, windows->element_count[first], 1024, extract_range, &job);
    pool_run(pool, (size_t)count * group->splits, sort_count, &job);
    pool_run(pool, count, sort_add_up, &job);
    pool_run(pool, (size_t)count * group->splits, sort_place, &job);
    group->entry_count = 0;
    for (unsigned v = 0; v < count; v++)
        group->entry_count += group->begin[v][last];
}
