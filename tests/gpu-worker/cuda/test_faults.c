/* The CUDA backend when the device fails, over the stub: what ends the process, what fails one
 * partition, what is survived, and that the owner's calls return whatever happens. */
#include <errno.h>
#include <unistd.h>

#include "gpu-worker/known_answer.h"
#include "runtime/clock.h"
#include "tests/gpu-worker/cuda/rig.h"

static const struct backend_ops *const ops = &cuzk_backend_plugin;

enum {
    /* No call of the owner waits for the device. */
    CALL_NS_MAX = 250000000,
    QUIET_MS = 150,
};

static void ready(struct rig *rig, const char *words, const struct curve *curve, unsigned log2,
                  unsigned count)
{
    if (rig_try_open(rig, words, &rig_options) < 0) {
        fprintf(stderr, "%s\n", rig_text);
        ASSERT(!"the backend opens");
    }
    rig_make(rig, curve, log2, count);
    ASSERT(rig_load(rig) && rig_attach(rig));
}

/* After LOST: told once, partitions do not prove any more, and the driver is left alone. */
static void lost_for_good(struct rig *rig, const char *words)
{
    while (rig->last.kind != BACKEND_LOST)
        ASSERT(rig_next(rig, RIG_TIMEOUT_MS));
    ASSERT_INT(rig->last.fault, BACKEND_FAULT_STICKY);
    ASSERT(strstr(rig->last.text, words) && strstr(rig->last.text, "Stub GPU 0"));
    usleep(100000); /* a call that was under way may end */
    const uint64_t calls = stub_calls(NULL);
    ops->cancel(rig->backend, 0);
    rig_start(rig, 0, 99);
    ops->load_key(rig->backend, 1, &rig->circuit.prepared);
    while (rig_next(rig, QUIET_MS)) {
        ASSERT(rig->last.kind != BACKEND_PROVED);
        ASSERT(rig->last.kind != BACKEND_KEY_LOADED);
    }
    ASSERT_INT(rig->lost, 1);
    ASSERT_INT(stub_calls(NULL), calls);
}

TEST(an_error_that_kills_the_context_is_told_once_and_nothing_is_touched_afterwards)
{
    static const struct {
        const char *fault, *name;
    } cases[] = {
        {"die=copy_to_device:1:700", "cudaErrorIllegalAddress"},
        {"die=copy_to_device:3:214", "cudaErrorECCUncorrectable"},
        {"die=msm_plan:2:719", "cudaErrorLaunchFailure"},
        {"die=msm_sum:7:700", "cudaErrorIllegalAddress"},
        {"die=transform_quotient:1:214", "cudaErrorECCUncorrectable"},
        {"die=copy_to_host:1:999", "cudaErrorUnknown"},
        {"fail=event_query:1:719", "cudaErrorLaunchFailure"},
        {"fail=event_record:5:999", "cudaErrorUnknown"},
        {"fail=stream_wait:2:999", "cudaErrorUnknown"},
        {"fail=copy_to_device:2:214", "cudaErrorECCUncorrectable"},
        {"fail=copy_to_host:1:700", "cudaErrorIllegalAddress"},
        {"fail=msm_sum:3:719", "cudaErrorLaunchFailure"},
        {"fail=evaluate_rows:1:700", "cudaErrorIllegalAddress"},
        {"fail=call_host:2:999", "cudaErrorUnknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;
        printf("  %s\n", cases[i].fault);
        ready(&rig, "", &curve_bn254, 4, 4);
        stub_add(cases[i].fault);
        for (unsigned j = 0; j < 4; j++)
            ASSERT_INT(rig_start(&rig, j, j), 0);
        lost_for_good(&rig, cases[i].name);
        ASSERT(rig_close(&rig));
    }
}

TEST(a_context_that_dies_in_a_load_or_a_registration_is_lost_too)
{
    struct rig rig;
    ready(&rig, "", &curve_bn254, 4, 1);
    stub_add("die=copy_to_device:2:700");
    ASSERT_INT(ops->load_key(rig.backend, 2, &rig.circuit.prepared), 0);
    lost_for_good(&rig, "cudaErrorIllegalAddress");
    ASSERT(rig_close(&rig));

    ready(&rig, "", &curve_bn254, 4, 1);
    ASSERT(rig_detach(&rig));
    stub_add("fail=host_register:1:999");
    ASSERT_INT(ops->attach_slab(rig.backend, 0, rig.partitions[0].slab, rig.partitions[0].bytes),
               0);
    lost_for_good(&rig, "cudaErrorUnknown");
    ASSERT(rig_close(&rig));
}

/* One call in the middle of a partition fails with an error that kills nothing. */
TEST(another_error_fails_its_partition_and_the_rest_goes_on)
{
    static const char *const faults[] = {
        "fail=copy_to_device:1:1", "fail=copy_to_device:2:1",      "fail=msm_plan:1:701",
        "fail=msm_plan:2:701",     "fail=msm_sum:1:701",           "fail=msm_sum:5:701",
        "fail=copy_to_host:1:1",   "fail=event_record:1:400",      "fail=event_record:4:400",
        "fail=stream_wait:1:400",  "fail=transform_quotient:1:701"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        unsigned proved = 0, failed = 0;
        struct rig rig;
        printf("  %s\n", faults[i]);
        ready(&rig, "order=11", &curve_bn254, 4, 5);
        stub_add(faults[i]);
        for (unsigned j = 0; j < 5; j++)
            ASSERT_INT(rig_start(&rig, j, j), 0);
        while (proved + failed < 5) {
            ASSERT(rig_next(&rig, RIG_TIMEOUT_MS));
            if (rig.last.kind == BACKEND_PROVED) {
                ASSERT(memcmp(rig.last.sums, rig.partitions[rig.last.id].expected,
                              rig.last.sums_bytes) == 0);
                proved++;
            } else if (rig.last.kind == BACKEND_FAILED) {
                ASSERT_INT(rig.last.fault, BACKEND_FAULT_DEVICE);
                ASSERT(strstr(rig.last.text, "Stub GPU 0"));
                failed++;
            }
            ASSERT(rig.last.kind != BACKEND_LOST);
        }
        ASSERT(failed >= 1 && proved >= 3);
        ASSERT(rig_prove(&rig) && rig_drop(&rig) && rig_detach(&rig));
        ASSERT(rig_close(&rig));
    }
}

TEST(a_lost_callback_costs_time_and_nothing_else)
{
    struct rig rig;
    ready(&rig, "", &curve_bn254, 3, 4);
    stub_add("lose=1+");
    ASSERT(rig_prove(&rig) && rig_prove(&rig));
    ASSERT(rig_drop(&rig) && rig_load(&rig) && rig_prove(&rig));
    ASSERT(rig_close(&rig));
}

/* How often the figure changes until the partition has ended, or in so many looks without an end.
 */
static unsigned moves_of(struct rig *rig, unsigned looks, bool *ret_has_ended)
{
    uint64_t last = ops->progress(rig->backend);
    unsigned moves = 0;
    *ret_has_ended = false;
    for (unsigned i = 0; i < looks && !*ret_has_ended; i++) {
        while (ops->poll(rig->backend, &rig->last))
            *ret_has_ended |= rig->last.kind == BACKEND_PROVED;
        usleep(10000);
        moves += ops->progress(rig->backend) != last;
        last = ops->progress(rig->backend);
    }
    return moves;
}

TEST(a_slow_card_moves_and_one_that_hangs_does_not)
{
    struct rig rig;
    bool has_ended;
    ready(&rig, "", &curve_bn254, 4, 1);
    stub_add("slow=msm_sum:150");
    ASSERT_INT(rig_start(&rig, 0, 1), 0);
    /* Each sum is seen to end, though no event tells of it before the last one. */
    ASSERT(moves_of(&rig, 6000, &has_ended) >= 5);
    ASSERT(has_ended);
    stub_heal();
    stub_add("hang=msm_sum:1");
    ASSERT_INT(rig_start(&rig, 0, 2), 0);
    moves_of(&rig, 50, &has_ended); /* until it hangs */
    ASSERT_INT(moves_of(&rig, 50, &has_ended), 0);
    ASSERT(!has_ended);
    stub_heal();
    ASSERT(rig_event(&rig, BACKEND_PROVED));
    ASSERT(rig_close(&rig));
}

TEST(a_wrong_result_reaches_the_known_answer_and_the_partition_it_belongs_to)
{
    struct rig rig;
    for (unsigned sum = 1; sum <= 10; sum++) {
        char words[32];
        ASSERT_INT(rig_try_open(&rig, "", &rig_options), 0);
        snprintf(words, sizeof words, "wrong=msm_sum:%u", sum);
        stub_add(words);
        ASSERT(known_answer_check(ops, rig.backend, rig_text) < 0);
        ASSERT(strstr(rig_text, "is wrong") && strstr(rig_text, "do not prove on it"));
        ASSERT_INT(known_answer_check(ops, rig.backend, rig_text), 0);
        ASSERT(rig_close(&rig));
    }
    unsigned wrong = 0;
    ready(&rig, "", &curve_bls12_381, 3, 4);
    stub_add("wrong=copy_to_host:2");
    for (unsigned i = 0; i < 4; i++)
        ASSERT_INT(rig_start(&rig, i, i), 0);
    for (unsigned i = 0; i < 4; i++) {
        ASSERT(rig_event(&rig, BACKEND_PROVED));
        wrong +=
            memcmp(rig.last.sums, rig.partitions[rig.last.id].expected, rig.last.sums_bytes) != 0;
    }
    ASSERT_INT(wrong, 1);
    ASSERT(rig_prove(&rig) && rig_close(&rig));
}

static uint64_t slowest_ns;

#define TIMED(call)                                                                                \
    do {                                                                                           \
        const uint64_t timed_begin_ns = clock_now_ns();                                            \
        (void)(call);                                                                              \
        const uint64_t timed_ns = clock_now_ns() - timed_begin_ns;                                 \
        slowest_ns = timed_ns > slowest_ns ? timed_ns : slowest_ns;                                \
    } while (0)

TEST(calls_return_while_the_device_hangs)
{
    static const char *const faults[] = {"hang=copy_to_device:1", "hang=msm_plan:1",
                                         "hang=msm_sum:3", "hang=copy_to_host:1",
                                         "hang=transform_quotient:2"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        unsigned ended = 0;
        struct rig rig;
        printf("  %s\n", faults[i]);
        ready(&rig, "", &curve_bn254, 3, 5);
        stub_add(faults[i]);
        slowest_ns = 0;
        for (unsigned j = 0; j < 4; j++)
            TIMED(rig_start(&rig, j, j));
        const uint64_t end_ns = clock_now_ns() + 300000000;
        while (clock_now_ns() < end_ns) {
            struct backend_event event;
            TIMED(ops->poll(rig.backend, &event));
            ended += event.kind == BACKEND_FAILED || event.kind == BACKEND_PROVED;
            event.kind = BACKEND_PHASE_BEGAN;
            usleep(5000);
        }
        TIMED(ops->cancel(rig.backend, 0));
        TIMED(ops->load_key(rig.backend, 1, &rig.circuit.prepared));
        TIMED(ops->drop_key(rig.backend, RIG_KEY));
        TIMED(ops->detach_slab(rig.backend, 0));
        TIMED(ops->detach_slab(rig.backend, 4));
        TIMED(ops->attach_slab(rig.backend, 4, rig.partitions[4].slab, rig.partitions[4].bytes));
        ASSERT(slowest_ns < CALL_NS_MAX);
        stub_heal();
        while (ended < 4) {
            ASSERT(rig_next(&rig, RIG_TIMEOUT_MS));
            ended += rig.last.kind == BACKEND_FAILED || rig.last.kind == BACKEND_PROVED;
        }
        ASSERT(rig_close(&rig));
    }
}

/* Starts three, cancels the middle one after so many kernels, and again for every number. */
TEST(a_partition_may_be_cancelled_at_every_moment)
{
    struct rig rig;
    unsigned cancelled = 0, proved = 0;
    ready(&rig, "order=17", &curve_bn254, 3, 3);
    uint64_t kernels = stub_calls("kernel");
    ASSERT(rig_prove(&rig));
    kernels = stub_calls("kernel") - kernels;
    for (uint64_t moment = 0; moment <= kernels + 1; moment++) {
        unsigned ends[3] = {0}, count = 0;
        char words[64] = "slow=kernel:0";
        if (moment) {
            snprintf(words, sizeof words, "hang=kernel:%llu", (unsigned long long)moment);
            stub_add(words);
        }
        for (unsigned i = 0; i < 3; i++)
            ASSERT_INT(rig_start(&rig, i, i), 0);
        if (moment)
            usleep(5000); /* it gets as far as the kernel that hangs */
        ops->cancel(rig.backend, 1);
        stub_heal();
        while (count < 3) {
            ASSERT(rig_next(&rig, RIG_TIMEOUT_MS));
            if (rig.last.kind != BACKEND_PROVED && rig.last.kind != BACKEND_FAILED)
                continue;
            ASSERT(rig.last.id < 3);
            ASSERT_INT(ends[rig.last.id]++, 0);
            count++;
            if (rig.last.kind == BACKEND_FAILED) {
                ASSERT_INT(rig.last.id, 1);
                ASSERT_INT(rig.last.fault, BACKEND_FAULT_CANCELLED);
                cancelled++;
            } else {
                ASSERT(memcmp(rig.last.sums, rig.partitions[rig.last.id].expected,
                              rig.last.sums_bytes) == 0);
                proved += rig.last.id == 1;
            }
        }
    }
    ASSERT(cancelled > 0);
    printf("  cancelled %u, faster %u\n", cancelled, proved);
    ASSERT(rig_prove(&rig) && rig_drop(&rig) && rig_detach(&rig) && rig_close(&rig));
}

TEST(closing_a_busy_backend_leaves_nothing)
{
    for (unsigned i = 0; i < 12; i++) {
        struct rig rig;
        ready(&rig, "order=23;slow=kernel:1", &curve_bn254, 3, 6);
        for (unsigned j = 0; j < 6; j++)
            ASSERT_INT(rig_start(&rig, j, j), 0);
        ASSERT_INT(ops->load_key(rig.backend, 1, &rig.circuit.prepared), 0);
        usleep(i * 2000);
        ASSERT(rig_close(&rig));
    }
}

TEST(random_faults_end_every_partition_once_or_the_process)
{
    static const char *const functions[] = {"copy_to_device", "msm_plan",     "msm_sum",
                                            "event_record",   "copy_to_host", "stream_wait",
                                            "event_query",    "call_host",    "evaluate_rows"};
    static const int codes[] = {1, 2, 400, 700, 701, 719, 999};
    struct rig rig;
    for (unsigned round = 0; round < 60; round++) {
        unsigned ends[RIG_PARTITIONS] = {0}, count = 0;
        char words[64];
        ready(&rig, "order=29", &curve_bn254, 2, RIG_PARTITIONS);
        const uint64_t random = test_random(&rig.random);
        snprintf(words, sizeof words, "%s=%s:%u:%d", random % 3 ? "fail" : "die",
                 functions[random / 3 % 9], (unsigned)(random / 27 % 20) + 1,
                 codes[random / 540 % 7]);
        stub_add(words);
        for (unsigned i = 0; i < RIG_PARTITIONS; i++)
            ASSERT_INT(rig_start(&rig, i, i), 0);
        while (count < RIG_PARTITIONS && !rig.lost) {
            if (!rig_next(&rig, 10000)) {
                fprintf(stderr, "nothing more happens after %s\n", words);
                ASSERT(!"every partition ends");
            }
            if (rig.last.kind != BACKEND_PROVED && rig.last.kind != BACKEND_FAILED)
                continue;
            ASSERT_INT(ends[rig.last.id]++, 0);
            count++;
            if (rig.last.kind == BACKEND_PROVED)
                ASSERT(memcmp(rig.last.sums, rig.partitions[rig.last.id].expected,
                              rig.last.sums_bytes) == 0);
        }
        if (!rig.lost) {
            stub_heal();
            ASSERT(rig_prove(&rig));
        }
        ASSERT(rig_close(&rig));
    }
}

TEST_MAIN(CASE(an_error_that_kills_the_context_is_told_once_and_nothing_is_touched_afterwards),
          CASE(a_context_that_dies_in_a_load_or_a_registration_is_lost_too),
          CASE(another_error_fails_its_partition_and_the_rest_goes_on),
          CASE(a_lost_callback_costs_time_and_nothing_else),
          CASE(a_slow_card_moves_and_one_that_hangs_does_not),
          CASE(a_wrong_result_reaches_the_known_answer_and_the_partition_it_belongs_to),
          CASE(calls_return_while_the_device_hangs),
          CASE(a_partition_may_be_cancelled_at_every_moment),
          CASE(closing_a_busy_backend_leaves_nothing),
          CASE(random_faults_end_every_partition_once_or_the_process))
