/* Upstream: read.c; downstream: evaluate.c (values), the READY answer (constraints). */
#include "synth-worker/check.h"

#include <errno.h>
#include <stdatomic.h>

enum {
    CHECK_VALUES_GRAIN = 1 << 14,
    CHECK_CONSTRAINTS_GRAIN = 1 << 14, /* terms and rows: some 30 us */
};

/* The lowest index that any thread has found, or SIZE_MAX. */
struct check {
    const struct curve *curve;
    const uint64_t *witness;
    const struct prepared *key;
    const uint64_t *a, *b; /* NULL: not evaluated */
    size_t begin;
    _Atomic size_t first;
};

static void check_found(struct check *check, size_t index)
{
    size_t before = atomic_load_explicit(&check->first, memory_order_relaxed);
    while (index < before &&
           !atomic_compare_exchange_weak_explicit(&check->first, &before, index,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

static void check_values_range(void *context, size_t begin, size_t end)
{
    struct check *check = context;
    const size_t from = check->begin + begin, count = end - begin;
    const size_t index = check->curve->scalars_check(check->witness + 4 * from, count);
    if (index < count)
        check_found(check, from + index);
}

int check_values(struct pool *pool, const struct wtns *wtns, const uint64_t *witness, size_t begin,
                 size_t end, struct reason *reason)
{
    struct check check = {
        .curve = wtns->curve, .witness = witness, .begin = begin, .first = SIZE_MAX};
    if (begin == 0 && (witness[0] != 1 || witness[1] || witness[2] || witness[3]))
        return reason_set(reason, -EBADMSG,
                          "witness value 0 (byte %llu of the file) is not 1: this is no witness of "
                          "a circom circuit, or it was damaged; make it again",
                          (unsigned long long)wtns->data_off);
    pool_run_range(pool, end - begin, CHECK_VALUES_GRAIN, check_values_range, &check);
    const size_t first = atomic_load_explicit(&check.first, memory_order_relaxed);
    if (first == SIZE_MAX)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "witness value %zu (byte %llu of the file) is not below the prime of %s: the "
                      "witness was made for another curve, by a faulty generator, or was damaged; "
                      "make it again",
                      first, (unsigned long long)(wtns->data_off + 32 * (uint64_t)first),
                      wtns->curve->name);
}

/* Index space: work, since a row may have one term or a hundred thousand. */
static void check_constraints_range(void *context, size_t begin, size_t end)
{
    struct check *check = context;
    const size_t from = prepared_check_row(check->key, check->begin, begin);
    const size_t to = prepared_check_row(check->key, check->begin, end);
    const size_t index =
        prepared_check_constraints(check->key, check->witness, check->a, check->b, from, to);
    if (index < to)
        check_found(check, index);
}

int check_constraints(struct pool *pool, const struct prepared *key, const uint8_t *slab,
                      bool has_evaluations, size_t begin, size_t end, struct reason *reason)
{
    const struct slab_layout layout = prepared_slab_layout(key);
    struct check check = {
        .key = key,
        .witness = (const uint64_t *)(slab + layout.witness_off),
        .a = has_evaluations ? (const uint64_t *)(slab + layout.a_off) : NULL,
        .b = has_evaluations ? (const uint64_t *)(slab + layout.b_off) : NULL,
        .begin = begin,
        .first = SIZE_MAX,
    };
    pool_run_range(pool, prepared_check_work(key, begin, end), CHECK_CONSTRAINTS_GRAIN,
                   check_constraints_range, &check);
    const size_t first = atomic_load_explicit(&check.first, memory_order_relaxed);
    if (first == SIZE_MAX)
        return 0;
    return reason_set(
        reason, -EBADMSG,
        "the witness does not satisfy constraint %zu of %u (counted from 0, as in the "
        ".r1cs): it belongs to other inputs or another version of the circuit; make "
        "it again from this circuit",
        first, key->shape.constraint_count);
}
