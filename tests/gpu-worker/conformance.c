/* See conformance.h. */
#include "tests/gpu-worker/conformance.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu-worker/known_answer.h"
#include "tests/gpu-worker/circuit.h"
#include "tests/test.h"

enum {
    EVENT_TIMEOUT_MS = 120000,
};

struct conformance {
    const struct backend_ops *ops;
    struct backend *backend;
    uint64_t random; /* state of test_random */
};

static struct backend_event next_event(struct conformance *run)
{
    struct backend_event event;
    for (;;) {
        if (run->ops->poll(run->backend, &event))
            return event;
        struct pollfd bell = {.fd = run->ops->event_fd(run->backend), .events = POLLIN};
        uint64_t count;
        ASSERT_INT(poll(&bell, 1, EVENT_TIMEOUT_MS), 1);
        ASSERT_INT(read(bell.fd, &count, sizeof count), sizeof count);
    }
}

static void load(struct conformance *run, uint32_t key, const struct circuit *circuit)
{
    ASSERT_INT(run->ops->load_key(run->backend, key, &circuit->prepared), 0);
    const struct backend_event event = next_event(run);
    ASSERT_INT(event.kind, BACKEND_KEY_LOADED);
    ASSERT_INT(event.id, key);
}

static void drop(struct conformance *run, uint32_t key)
{
    ASSERT_INT(run->ops->drop_key(run->backend, key), 0);
    const struct backend_event event = next_event(run);
    ASSERT_INT(event.kind, BACKEND_KEY_DROPPED);
    ASSERT_INT(event.id, key);
}

static int start(struct conformance *run, uint32_t key, const struct partition *partition,
                 uint64_t id, uint64_t order_key)
{
    const struct backend_partition given = {
        .id = id,
        .order_key = order_key,
        .key = key,
        .slab_index = (uint32_t)id % SLABS_MAX,
        .slab = partition->slab,
        .slab_bytes = partition->bytes,
        .has_evaluations = partition->has_evaluations,
    };
    return run->ops->start(run->backend, &given);
}

static void attach(struct conformance *run, const struct partition *partition, uint64_t id)
{
    if (!run->ops->attach_slab)
        return;
    ASSERT_INT(run->ops->attach_slab(run->backend, (uint32_t)id % SLABS_MAX, partition->slab,
                                     partition->bytes),
               0);
    ASSERT_INT(next_event(run).kind, BACKEND_SLAB_ATTACHED);
}

static void detach(struct conformance *run, uint64_t id)
{
    if (run->ops->detach_slab)
        ASSERT_INT(run->ops->detach_slab(run->backend, (uint32_t)id % SLABS_MAX), 0);
}

/* Takes events until `count` of the partitions (ids 0 ...) have ended. */
static void finish(struct conformance *run, struct partition *partitions, unsigned total,
                   unsigned count)
{
    unsigned place = 0;
    while (count) {
        const struct backend_event event = next_event(run);
        ASSERT(event.id < total);
        struct partition *partition = &partitions[event.id];
        ASSERT_INT(partition->ends, 0); /* nothing follows the end */
        switch (event.kind) {
        case BACKEND_PHASE_BEGAN:
            break;
        case BACKEND_PHASE_ENDED:
            ASSERT(event.phase < BACKEND_PHASE_COUNT && event.end_ns >= event.begin_ns);
            break;
        case BACKEND_UPLOADED:
            partition->uploads++;
            break;
        case BACKEND_PROVED:
            ASSERT_INT(partition->uploads, 1);
            ASSERT(memcmp(event.sums, partition->expected, event.sums_bytes) == 0);
            ASSERT(memcmp(partition->slab, partition->copy, partition->bytes) == 0);
            partition->place = place++;
            partition->ends++;
            count--;
            break;
        case BACKEND_FAILED:
            if (event.fault != BACKEND_FAULT_CANCELLED)
                fprintf(stderr, "%s\n", event.text);
            ASSERT_INT(event.fault, BACKEND_FAULT_CANCELLED);
            ASSERT(partition->is_cancelled);
            partition->ends++;
            count--;
            break;
        default:
            ASSERT(!"an event that belongs to no partition");
        }
    }
}

static void conformance_known_answer(struct conformance *run)
{
    char text[BACKEND_TEXT_BYTES] = "";
    const int error = known_answer_check(run->ops, run->backend, text);
    if (error < 0)
        fprintf(stderr, "%s\n", text);
    ASSERT_INT(error, 0);
}

/* The first `stripped` partitions hold no evaluations. */
static void conformance_prove(struct conformance *run, const struct curve *curve,
                              unsigned domain_log2, unsigned count, unsigned stripped)
{
    struct circuit circuit;
    struct partition *partitions = calloc(count, sizeof *partitions);
    circuit_make(&run->random, &circuit, curve, domain_log2);
    load(run, 3, &circuit);
    for (unsigned i = 0; i < count; i++) {
        partition_make(&run->random, &circuit, &partitions[i]);
        if (i < stripped)
            partition_strip(&circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    for (unsigned begin = 0; begin < count; begin += BACKEND_PARTITIONS_MAX) {
        const unsigned end =
            begin + BACKEND_PARTITIONS_MAX < count ? begin + BACKEND_PARTITIONS_MAX : count;
        for (unsigned i = begin; i < end; i++)
            ASSERT_INT(start(run, 3, &partitions[i], i, i), 0);
        finish(run, partitions, count, end - begin);
    }
    for (unsigned i = 0; i < count; i++) {
        ASSERT_INT(partitions[i].ends, 1);
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 3);
    circuit_free(&circuit);
    free(partitions);
}

static void conformance_order(struct conformance *run)
{
    struct circuit circuit;
    struct partition partitions[BACKEND_PARTITIONS_MAX];
    circuit_make(&run->random, &circuit, &curve_bn254, 8);
    load(run, 0, &circuit);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        partition_make(&run->random, &circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    /* Highest key first; all are held before the first few can be done. */
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        ASSERT_INT(start(run, 0, &partitions[i], i, 100 - i), 0);
    finish(run, partitions, BACKEND_PARTITIONS_MAX, BACKEND_PARTITIONS_MAX);
    /* The first ones may have begun before the others came; the last half shows the order. */
    struct backend_device device;
    run->ops->describe(run->backend, &device);
    for (unsigned i = device.partitions_useful; i + 1 < BACKEND_PARTITIONS_MAX; i++)
        ASSERT(partitions[i].place > partitions[i + 1].place);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 0);
    circuit_free(&circuit);
}

static void conformance_cancel(struct conformance *run)
{
    struct circuit circuit;
    struct partition partitions[BACKEND_PARTITIONS_MAX];
    unsigned cancelled = 0;
    circuit_make(&run->random, &circuit, &curve_bls12_381, 6);
    load(run, 0, &circuit);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        partition_make(&run->random, &circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
            partitions[i].ends = partitions[i].uploads = 0;
            partitions[i].is_cancelled = false;
            ASSERT_INT(start(run, 0, &partitions[i], i, i), 0);
        }
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i += 1 + round % 3) {
            usleep((useconds_t)(test_random(&run->random) % 2000));
            partitions[i].is_cancelled = true;
            run->ops->cancel(run->backend, i);
        }
        run->ops->cancel(run->backend, 12345); /* unknown: ignored */
        finish(run, partitions, BACKEND_PARTITIONS_MAX, BACKEND_PARTITIONS_MAX);
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
            cancelled += partitions[i].ends == 1 && partitions[i].is_cancelled;
    }
    ASSERT(cancelled > 0);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 0);
    circuit_free(&circuit);
}

static void conformance_refusals(struct conformance *run)
{
    struct circuit circuit;
    struct partition partitions[BACKEND_PARTITIONS_MAX];
    circuit_make(&run->random, &circuit, &curve_bn254, 8);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        partition_make(&run->random, &circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    ASSERT_INT(start(run, 5, &partitions[0], 0, 0), -ENOENT);
    ASSERT_INT(start(run, BACKEND_KEYS_MAX, &partitions[0], 0, 0), -ENOENT);
    ASSERT_INT(run->ops->drop_key(run->backend, 5), -ENOENT);
    load(run, 5, &circuit);
    ASSERT_INT(run->ops->load_key(run->backend, 5, &circuit.prepared), -EEXIST);
    struct partition small = partitions[0];
    small.bytes = prepared_slab_bytes(&circuit.prepared) - 1;
    ASSERT_INT(start(run, 5, &small, 0, 0), -EINVAL);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        ASSERT_INT(start(run, 5, &partitions[i], i, i), 0);
    ASSERT_INT(start(run, 5, &partitions[0], 99, 0), -EAGAIN);
    ASSERT_INT(start(run, 5, &partitions[0], 0, 0), -EEXIST);
    ASSERT_INT(run->ops->drop_key(run->backend, 5), -EBUSY);
    finish(run, partitions, BACKEND_PARTITIONS_MAX, BACKEND_PARTITIONS_MAX);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 5);
    circuit_free(&circuit);
}

static void conformance_two_keys(struct conformance *run)
{
    struct circuit circuits[2];
    struct partition partitions[6];
    circuit_make(&run->random, &circuits[0], &curve_bn254, 3);
    circuit_make(&run->random, &circuits[1], &curve_bls12_381, 7);
    load(run, 0, &circuits[0]);
    load(run, BACKEND_KEYS_MAX - 2, &circuits[1]);
    for (unsigned i = 0; i < 6; i++) {
        partition_make(&run->random, &circuits[i % 2], &partitions[i]);
        attach(run, &partitions[i], i);
    }
    for (unsigned i = 0; i < 6; i++)
        ASSERT_INT(start(run, i % 2 ? BACKEND_KEYS_MAX - 2 : 0, &partitions[i], i, i), 0);
    finish(run, partitions, 6, 6);
    for (unsigned i = 0; i < 6; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 0);
    drop(run, BACKEND_KEYS_MAX - 2);
    circuit_free(&circuits[0]);
    circuit_free(&circuits[1]);
}

/* Cases: each on a freshly opened backend. */

static void with_backend(void (*check)(struct conformance *run))
{
    struct conformance run = {.ops = conformance_ops, .random = test_seed()};
    char text[BACKEND_TEXT_BYTES] = "";
    if (run.ops->open(&conformance_options, &run.backend, text) < 0) {
        fprintf(stderr, "%s\n", text);
        ASSERT(!"the backend opens");
    }
    check(&run);
    struct backend_event event;
    ASSERT_INT(run.ops->poll(run.backend, &event), 0);
    run.ops->close(run.backend);
}

static void prove_all_sizes(struct conformance *run)
{
    for (unsigned log2 = 1; log2 <= 9; log2++) {
        conformance_prove(run, &curve_bn254, log2, 3, 0);
        conformance_prove(run, &curve_bls12_381, log2, 2, 0);
    }
    conformance_prove(run, &curve_bn254, 5, 20, 0);
}

/* A backend evaluates a and b itself, or says at once that it does not. */
static void prove_from_the_witness(struct conformance *run)
{
    struct circuit circuit;
    struct partition partition;
    circuit_make(&run->random, &circuit, &curve_bn254, 6);
    partition_make(&run->random, &circuit, &partition);
    partition_strip(&circuit, &partition);
    attach(run, &partition, 0);
    load(run, 0, &circuit);
    struct partition small = partition;
    small.bytes--;
    const int error = start(run, 0, &partition, 0, 0);
    if (error == 0)
        finish(run, &partition, 1, 1);
    else
        ASSERT_INT(error, -ENOTSUP);
    ASSERT_INT(start(run, 0, &small, 1, 0), error == 0 ? -EINVAL : -ENOTSUP);
    detach(run, 0);
    partition_free(&partition);
    drop(run, 0);
    circuit_free(&circuit);
    if (error < 0)
        return;
    for (unsigned log2 = 1; log2 <= 9; log2++) {
        conformance_prove(run, &curve_bn254, log2, 3, 2);
        conformance_prove(run, &curve_bls12_381, log2, 2, 1);
    }
}

static void close_in_flight(struct conformance *run)
{
    struct circuit circuit;
    struct partition partition;
    char text[BACKEND_TEXT_BYTES];
    circuit_make(&run->random, &circuit, &curve_bn254, 8);
    partition_make(&run->random, &circuit, &partition);
    attach(run, &partition, 0);
    load(run, 0, &circuit);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        ASSERT_INT(start(run, 0, &partition, i, i), 0);
    run->ops->close(run->backend);
    partition_free(&partition);
    circuit_free(&circuit);
    ASSERT_INT(run->ops->open(&conformance_options, &run->backend, text), 0);
}

TEST(the_known_answer_is_computed)
{
    with_backend(conformance_known_answer);
}

TEST(sums_equal_the_naive_ones_at_every_size_on_both_curves)
{
    with_backend(prove_all_sizes);
}

TEST(witnesses_alone_give_the_same_sums_where_the_backend_evaluates)
{
    with_backend(prove_from_the_witness);
}

TEST(the_lowest_order_key_is_proved_first)
{
    with_backend(conformance_order);
}

TEST(every_cancelled_partition_ends_once)
{
    with_backend(conformance_cancel);
}

TEST(impossible_calls_are_refused)
{
    with_backend(conformance_refusals);
}

TEST(two_keys_of_different_curves_are_served_in_turn)
{
    with_backend(conformance_two_keys);
}

TEST(closing_ends_what_is_in_flight)
{
    with_backend(close_in_flight);
}

TEST_MAIN(CASE(the_known_answer_is_computed),
          CASE(sums_equal_the_naive_ones_at_every_size_on_both_curves),
          CASE(witnesses_alone_give_the_same_sums_where_the_backend_evaluates),
          CASE(the_lowest_order_key_is_proved_first), CASE(every_cancelled_partition_ends_once),
          CASE(impossible_calls_are_refused), CASE(two_keys_of_different_curves_are_served_in_turn),
          CASE(closing_ends_what_is_in_flight))
