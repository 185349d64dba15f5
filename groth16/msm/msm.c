/* Pippenger's bucket method with signed digits, every addition affine and batched.
 *
 *   digits.c   drops zero scalars and infinite points, orders the rest by length, and for a group
 *              of windows sorts them by digit: each bucket is a stretch of a sorted list;
 *   accumulate cuts the lists into pieces of equal size, whatever the buckets' sizes, and sums
 *              each bucket's stretch as a tree (adder.c): a bucket with a million ones is as
 *              parallel as a million buckets;
 *   merge      adds up the buckets that a cut went through;
 *   reduce     the weighted sum of a window's buckets, also as trees: neighbours are added level
 *              by level, and the odd members of level k, summed, weigh 2^k;
 *   fold       the few doublings (kernel).
 *
 * Pippenger 1976, "On the evaluation of powers and related problems"; batched inversion by
 * Montgomery's trick. */

#include "groth16/msm/msm.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/msm/adder.h"
#include "groth16/msm/digits.h"
#include "groth16/msm/kernel.h"
#include "groth16/pool.h"

enum {
    PASS_ELEMENTS_MAX = 1 << 22,  /* bounds memory; a further pass costs 2 % at that size */
    GROUP_ENTRIES_MAX = 1 << 24,  /* sorted entries (6 bytes each) of the windows in hand */
    PIECE_ENTRIES_MAX = 1 << 15,  /* a thread's tree of results stays in the last-level cache */
    PIECE_ENTRIES_MIN = 1 << 12,  /* fewer would share each inversion among too few */
    REDUCE_BUCKETS_MIN = 1 << 13, /* buckets a task, where there are windows enough */
};

static const uint64_t KEY_NONE = UINT64_MAX;

/* A thread's tools. */
struct worker {
    struct adder adder;
    struct adder_lists lists;
    uint64_t *keys; /* the bucket of each list */
};

struct msm {
    struct pool *pool;
    const struct msm_kernel *kernel;
    const uint8_t *points;
    struct digits_order order;
    struct digits_windows windows;
    struct digits_group group;
    unsigned group_windows; /* at most that many in hand */

    size_t bucket_count;    /* of a window */
    msm_reference *buckets; /* [window in group][magnitude - 1]: 0, a point of the caller, or: */
    uint8_t *bucket_points; /* a sum, copied here */
    uint8_t *sums;          /* of each window */

    size_t piece_entries, piece_count;
    uint64_t *partial_keys; /* [piece][first, last]: the bucket that the cut went through */
    msm_reference *partials;
    uint8_t *partial_points;

    unsigned reduce_windows; /* windows a task */
    struct worker *workers;  /* one a thread */
    unsigned worker_count;
    atomic_size_t next; /* task */
};

/* ---- plan ---- */

/* Additions in ns, and what goes along with them. m elements meet N buckets: about N m / (N + m)
 * buckets are hit; each costs two additions later but is one less now. */
static double window_cost(const struct msm_kernel *kernel, double elements, double buckets)
{
    const double sort_ns = 8, scan_ns = 2;
    double hit = buckets * elements / (buckets + elements);

    return (elements + hit) * kernel->add_ns + elements * sort_ns + buckets * scan_ns;
}

static unsigned plan_bits(const struct msm_kernel *kernel, const struct digits_order *order)
{
    unsigned best = DIGITS_BITS_MIN;
    double best_cost = 0;

    for (unsigned bits = DIGITS_BITS_MIN; bits <= DIGITS_BITS_MAX; bits++) {
        struct digits_windows windows;
        double cost = 0;

        digits_windows_set(&windows, order, bits);
        for (unsigned v = 0; v < windows.count; v++)
            cost += window_cost(kernel, (double)windows.element_count[v],
                                (double)digits_bucket_count(bits));
        cost += windows.count * bits * kernel->fold_ns;
        if (bits == DIGITS_BITS_MIN || cost < best_cost) {
            best = bits;
            best_cost = cost;
        }
    }
    return best;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void plan(struct msm *msm)
{
    unsigned threads = pool_threads(msm->pool);
    size_t elements = msm->order.count, entries;

    digits_windows_set(&msm->windows, &msm->order, plan_bits(msm->kernel, &msm->order));
    msm->bucket_count = digits_bucket_count(msm->windows.bits);
    msm->group_windows = (unsigned)smaller(msm->windows.count, GROUP_ENTRIES_MAX / elements + 1);
    entries = 0;
    for (unsigned v = 0; v < msm->group_windows; v++)
        entries += msm->windows.element_count[v];
    msm->piece_entries = smaller(entries / (2 * threads) + 1, PIECE_ENTRIES_MAX);
    if (msm->piece_entries < PIECE_ENTRIES_MIN)
        msm->piece_entries = PIECE_ENTRIES_MIN;
    msm->piece_count = entries / msm->piece_entries + 1;
    msm->reduce_windows = (unsigned)smaller((msm->group_windows + threads - 1) / threads,
                                            REDUCE_BUCKETS_MIN / msm->bucket_count + 1);
}

/* ---- memory ---- */

static int worker_init(struct worker *worker, const struct msm *msm)
{
    size_t buckets = msm->reduce_windows * msm->bucket_count;
    size_t items = msm->piece_entries > buckets ? msm->piece_entries : buckets;
    size_t additions = msm->piece_entries > 2 * buckets ? msm->piece_entries : 2 * buckets;

    worker->lists.items = malloc(items * sizeof *worker->lists.items);
    worker->lists.lengths = malloc(items * sizeof *worker->lists.lengths);
    worker->keys = malloc(items * sizeof *worker->keys);
    if (!worker->lists.items || !worker->lists.lengths || !worker->keys)
        return -ENOMEM;
    return adder_init(&worker->adder, msm->kernel, additions);
}

static void worker_destroy(struct worker *worker)
{
    adder_destroy(&worker->adder);
    free(worker->lists.items);
    free(worker->lists.lengths);
    free(worker->keys);
}

static void msm_destroy(struct msm *msm)
{
    for (unsigned i = 0; msm->workers && i < msm->worker_count; i++)
        worker_destroy(&msm->workers[i]);
    free(msm->workers);
    free(msm->partials);
    free(msm->partial_keys);
    free(msm->partial_points);
    free(msm->sums);
    free(msm->buckets);
    free(msm->bucket_points);
    digits_group_destroy(&msm->group);
    digits_order_destroy(&msm->order);
}

static int msm_allocate(struct msm *msm)
{
    size_t point_bytes = msm->kernel->point_bytes;
    size_t buckets = msm->group_windows * msm->bucket_count;

    msm->worker_count = pool_threads(msm->pool);
    msm->workers = calloc(msm->worker_count, sizeof *msm->workers);
    msm->buckets = malloc(buckets * sizeof *msm->buckets);
    msm->bucket_points = aligned_alloc(MSM_ALIGN, buckets * point_bytes + MSM_ALIGN -
                                                      (buckets * point_bytes) % MSM_ALIGN);
    msm->sums =
        aligned_alloc(MSM_ALIGN, (msm->windows.count * msm->kernel->sum_bytes + 63) & ~63ul);
    msm->partial_keys = malloc(2 * msm->piece_count * sizeof *msm->partial_keys);
    msm->partials = malloc(2 * msm->piece_count * sizeof *msm->partials);
    msm->partial_points = aligned_alloc(MSM_ALIGN, 2 * msm->piece_count * point_bytes);
    if (!msm->workers || !msm->buckets || !msm->bucket_points || !msm->sums || !msm->partial_keys ||
        !msm->partials || !msm->partial_points)
        return -ENOMEM;
    for (unsigned i = 0; i < msm->worker_count; i++)
        if (worker_init(&msm->workers[i], msm) < 0)
            return -ENOMEM;
    return digits_group_init(&msm->group, msm->pool, &msm->windows, msm->group_windows);
}

/* ---- accumulate ---- */

/* Where an entry lies. */
struct place {
    unsigned window; /* in the group */
    size_t bucket;   /* magnitude */
    size_t at;       /* in the window's sorted list */
};

static size_t window_entries(const struct msm *msm, unsigned window)
{
    return msm->group.begin[window][msm->bucket_count + 1];
}

static struct place place_of(const struct msm *msm, size_t entry)
{
    struct place place = {.at = entry, .bucket = 1};
    size_t beyond = msm->bucket_count + 1;

    while (place.at >= window_entries(msm, place.window))
        place.at -= window_entries(msm, place.window++);
    while (beyond - place.bucket > 1) {
        size_t middle = (place.bucket + beyond) / 2;

        if (msm->group.begin[place.window][middle] <= place.at)
            place.bucket = middle;
        else
            beyond = middle;
    }
    return place;
}

/* The point of the caller behind a sorted entry. */
static msm_reference entry_point(const struct msm *msm, uint32_t entry)
{
    size_t index = entry & ~(uint32_t)DIGITS_NEGATIVE;

    return (msm_reference)(msm->points + index * msm->kernel->point_bytes) | entry >> 31;
}

/* Opens a list with the sums of neighbours in sorted[0 .. count - 1]. */
static void push_stretch(const struct msm *msm, struct worker *worker, const uint32_t *sorted,
                         size_t count)
{
    struct adder_lists *lists = &worker->lists;
    msm_reference *to = lists->items + lists->item_count;
    size_t i;

    for (i = 0; i + 1 < count; i += 2)
        *to++ =
            adder_sum(&worker->adder, entry_point(msm, sorted[i]), entry_point(msm, sorted[i + 1]));
    if (i < count)
        *to++ = entry_point(msm, sorted[i]);
    lists->lengths[lists->count++] = (uint32_t)((count + 1) / 2);
    lists->item_count = (size_t)(to - lists->items);
}

/* Opens one list for each bucket that has entries among [begin, end) of the group. *ret_first and
 * *ret_last say whether the first and the last of them are cut. */
static void push_piece(const struct msm *msm, struct worker *worker, size_t begin, size_t end,
                       bool *ret_first, bool *ret_last)
{
    struct place place = place_of(msm, begin);
    size_t left = end - begin;

    *ret_first = place.at != msm->group.begin[place.window][place.bucket];
    *ret_last = false;
    while (left > 0) {
        const uint32_t *bounds = msm->group.begin[place.window];
        size_t stretch;

        if (place.bucket > msm->bucket_count) {
            place = (struct place){place.window + 1, 1, 0};
            continue;
        }
        stretch = bounds[place.bucket + 1] - place.at;
        if (stretch > left) {
            stretch = left;
            *ret_last = true;
        }
        if (stretch > 0) {
            worker->keys[worker->lists.count] = place.window * msm->bucket_count + place.bucket - 1;
            push_stretch(msm, worker, msm->group.sorted[place.window] + place.at, stretch);
        }
        place.at += stretch;
        place.bucket++;
        left -= stretch;
    }
}

/* Keeps a result beyond the adder's reset: sums are copied to `room`. */
static msm_reference keep(const struct msm *msm, const struct worker *worker, msm_reference item,
                          uint8_t *room)
{
    size_t point_bytes = msm->kernel->point_bytes;
    msm_reference arena = (msm_reference)worker->adder.arena;

    if (item < arena || item >= arena + worker->adder.used * point_bytes)
        return item;
    memcpy(room, (const void *)item, point_bytes);
    return (msm_reference)room;
}

static void set_bucket(struct msm *msm, const struct worker *worker, uint64_t key,
                       msm_reference item)
{
    msm->buckets[key] =
        keep(msm, worker, item, msm->bucket_points + key * msm->kernel->point_bytes);
}

static void set_partial(struct msm *msm, const struct worker *worker, size_t slot, uint64_t key,
                        msm_reference item)
{
    msm->partial_keys[slot] = key;
    msm->partials[slot] =
        keep(msm, worker, item, msm->partial_points + slot * msm->kernel->point_bytes);
}

static void sum_lists(struct worker *worker)
{
    uint32_t longest;

    do {
        adder_flush(&worker->adder);
        longest = adder_halve_lists(&worker->adder, &worker->lists);
    } while (longest > 1);
    adder_flush(&worker->adder);
}

static void worker_reset(struct worker *worker)
{
    adder_reset(&worker->adder);
    worker->lists.count = 0;
    worker->lists.item_count = 0;
}

static void accumulate_piece(struct msm *msm, struct worker *worker, size_t piece)
{
    size_t begin = piece * msm->piece_entries;
    size_t end = smaller(begin + msm->piece_entries, msm->group.entry_count);
    struct adder_lists *lists = &worker->lists;
    bool is_first_cut, is_last_cut;

    msm->partial_keys[2 * piece] = msm->partial_keys[2 * piece + 1] = KEY_NONE;
    if (begin >= end)
        return;
    worker_reset(worker);
    push_piece(msm, worker, begin, end, &is_first_cut, &is_last_cut);
    sum_lists(worker);
    for (size_t i = 0; i < lists->count; i++) {
        if (i == 0 && is_first_cut)
            set_partial(msm, worker, 2 * piece, worker->keys[i], lists->items[i]);
        else if (i + 1 == lists->count && is_last_cut)
            set_partial(msm, worker, 2 * piece + 1, worker->keys[i], lists->items[i]);
        else
            set_bucket(msm, worker, worker->keys[i], lists->items[i]);
    }
}

static void accumulate(void *context, size_t index)
{
    struct msm *msm = context;
    size_t piece;

    while ((piece = atomic_fetch_add_explicit(&msm->next, 1, memory_order_relaxed)) <
           msm->piece_count) {
        accumulate_piece(msm, &msm->workers[index], piece);
        pool_step(msm->pool);
    }
}

/* A bucket that pieces cut comes as partial sums in a row. */
static void merge(struct msm *msm)
{
    struct worker *worker = &msm->workers[0];
    struct adder_lists *lists = &worker->lists;
    uint64_t last = KEY_NONE;

    worker_reset(worker);
    for (size_t slot = 0; slot < 2 * msm->piece_count; slot++) {
        if (msm->partial_keys[slot] == KEY_NONE)
            continue;
        if (msm->partial_keys[slot] != last) {
            last = msm->partial_keys[slot];
            worker->keys[lists->count] = last;
            adder_lists_open(lists);
        }
        adder_lists_push(lists, msm->partials[slot]);
    }
    sum_lists(worker);
    for (size_t i = 0; i < lists->count; i++)
        set_bucket(msm, worker, worker->keys[i], lists->items[i]);
}

/* ---- reduce ---- */

/* One level: row[] of `size` sums becomes half as long; its odd members go to a list. */
static void reduce_level(struct worker *worker, msm_reference *row, size_t size)
{
    adder_lists_open(&worker->lists);
    for (size_t i = 0; i < size / 2; i++) {
        if (row[2 * i + 1])
            adder_lists_push(&worker->lists, row[2 * i + 1]);
        row[i] = adder_sum(&worker->adder, row[2 * i], row[2 * i + 1]);
    }
}

/* With B_j in row[j - 1]: sum of j B_j = sum of (j - 1) B_j + sum of B_j. List `level` of window w
 * is number level * windows + w. */
static void reduce_windows(struct msm *msm, struct worker *worker, unsigned first, unsigned windows)
{
    unsigned levels = msm->windows.bits - 1;
    struct adder_lists *lists = &worker->lists;
    const msm_reference *item = lists->items;
    msm_reference bits[DIGITS_WINDOWS_MAX][DIGITS_BITS_MAX];

    worker_reset(worker);
    for (unsigned level = 0; level < levels; level++) {
        adder_halve_lists(&worker->adder, lists);
        for (unsigned w = 0; w < windows; w++)
            reduce_level(worker, msm->buckets + (first + w) * msm->bucket_count,
                         msm->bucket_count >> level);
        adder_flush(&worker->adder);
    }
    sum_lists(worker);
    for (unsigned level = 0; level < levels; level++)
        for (unsigned w = 0; w < windows; w++)
            bits[w][level] = lists->lengths[level * windows + w] ? *item++ : 0;
    for (unsigned w = 0; w < windows; w++)
        msm->kernel->fold_bits(bits[w], levels, msm->buckets[(first + w) * msm->bucket_count],
                               msm->sums + (msm->group.first + first + w) * msm->kernel->sum_bytes);
}

static void reduce(void *context, size_t index)
{
    struct msm *msm = context;
    size_t task, windows = msm->group.count;

    while ((task = atomic_fetch_add_explicit(&msm->next, 1, memory_order_relaxed)) *
               msm->reduce_windows <
           windows) {
        size_t first = task * msm->reduce_windows;

        reduce_windows(msm, &msm->workers[index], (unsigned)first,
                       (unsigned)smaller(msm->reduce_windows, windows - first));
        pool_step(msm->pool);
    }
}

/* ---- the whole ---- */

/* `work` is called once a thread, with the thread's worker as index. */
static void run_workers(struct msm *msm, void (*work)(void *, size_t))
{
    atomic_store_explicit(&msm->next, 0, memory_order_relaxed);
    pool_run(msm->pool, msm->worker_count, work, msm);
}

static void run_group(struct msm *msm, unsigned first)
{
    unsigned count = (unsigned)smaller(msm->group_windows, msm->windows.count - first);

    digits_group_sort(&msm->group, msm->pool, &msm->order, &msm->windows, first, count);
    memset(msm->buckets, 0, count * msm->bucket_count * sizeof *msm->buckets);
    run_workers(msm, accumulate);
    merge(msm);
    run_workers(msm, reduce);
}

/* count <= PASS_ELEMENTS_MAX. */
static int run_pass(struct pool *pool, const struct msm_kernel *kernel, const void *points,
                    const uint64_t *scalars, size_t count, void *ret_point)
{
    struct msm msm = {.pool = pool, .kernel = kernel, .points = points};
    int rc = digits_order_init(&msm.order, pool, kernel, points, scalars, count);

    if (rc < 0)
        return rc;
    if (msm.order.count == 0) {
        memset(ret_point, 0, kernel->point_bytes);
    } else {
        plan(&msm);
        rc = msm_allocate(&msm);
        for (unsigned first = 0; rc == 0 && first < msm.windows.count; first += msm.group_windows)
            run_group(&msm, first);
        if (rc == 0)
            kernel->fold_windows(msm.sums, msm.windows.count, msm.windows.bits, ret_point);
    }
    msm_destroy(&msm);
    return rc;
}

int msm_run(struct pool *pool, const struct msm_kernel *kernel, const void *points,
            const uint64_t *scalars, size_t count, void *ret_point)
{
    size_t passes = count / PASS_ELEMENTS_MAX + 1;
    uint8_t *sums = malloc(passes * kernel->sum_bytes);
    _Alignas(MSM_ALIGN) uint8_t part[MSM_POINT_BYTES_MAX];
    int rc = sums ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < passes; i++) {
        size_t begin = i * PASS_ELEMENTS_MAX;

        rc = run_pass(pool, kernel, (const uint8_t *)points + begin * kernel->point_bytes,
                      scalars + 4 * begin, smaller(PASS_ELEMENTS_MAX, count - begin), part);
        if (rc == 0)
            kernel->fold_bits(NULL, 0, (msm_reference)part, sums + i * kernel->sum_bytes);
    }
    if (rc == 0)
        kernel->fold_windows(sums, (unsigned)passes, 0, ret_point);
    free(sums);
    return rc;
}
