/* Every call of the driver that a backend's life makes, on the stub: it fails once and it fails
 * from then on, with an error that kills the context and with one that does not. Whatever fails,
 * every call of the owner is answered, sums are right or told to be missing, the next work is done,
 * and nothing stays on the device. SWEEP_ALL=1 in the environment takes minutes; SWEEP_ONE=WORDS
 * repeats one fault. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu-worker/cuda/rig.h"

static const struct backend_ops *const ops = &cuzk_backend_plugin;

enum {
    SWEEP_PARTITIONS = 4,
    SWEEP_LOG2 = 3,
    SWEEP_TIMEOUT_MS = 8000,
    SWEEP_WORDS = 96,
    SWEEP_CHILD_S_MAX = 60,
    SWEEP_ORDERS = 1000,
    SWEEP_STRIDE = 29, /* of the calls of each function, from a random one on */
};

static const char *const functions[] = {
    "device_count",
    "device_get",
    "open",
    "check_code",
    "memory",
    "malloc",
    "malloc_host",
    "host_register",
    "host_unregister",
    "stream_create",
    "stream_wait",
    "event_create",
    "event_record",
    "event_query",
    "event_wait",
    "event_elapsed",
    "copy_to_device",
    "copy_to_host",
    "fill",
    "call_host",
    "msm_plan",
    "msm_sum",
    "msm_fill_table",
    "transform_fill_table",
    "transform_quotient",
    "evaluate_rows",
};

enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* The next event that ends something: of this kind or the other one. False: LOST. */
static bool next_end(struct rig *rig, enum backend_event_kind good, enum backend_event_kind bad)
{
    for (;;) {
        if (!rig_next(rig, SWEEP_TIMEOUT_MS))
            ASSERT(!"something happens");
        if (rig->last.kind == BACKEND_LOST) {
            ASSERT_INT(rig->last.fault, BACKEND_FAULT_STICKY);
            ASSERT(strstr(rig->last.text, "Stub GPU 0"));
            return false;
        }
        if (rig->last.kind == bad) {
            ASSERT(rig->last.fault != BACKEND_FAULT_NONE);
            ASSERT(strstr(rig->last.text, "Stub GPU 0"));
        }
        if (rig->last.kind == good || rig->last.kind == bad)
            return true;
        ASSERT(rig->last.kind == BACKEND_UPLOADED || rig->last.kind == BACKEND_PHASE_ENDED);
    }
}

/* Slabs, a key, proofs of it, and all of it given back; each refusal is an answer. */
static void work(struct rig *rig, unsigned *ret_failures)
{
    bool is_attached[SWEEP_PARTITIONS] = {false};
    unsigned ends[SWEEP_PARTITIONS] = {0}, started = 0;
    for (unsigned i = 0; i < SWEEP_PARTITIONS; i++) {
        struct partition *partition = &rig->partitions[i];
        ASSERT_INT(ops->attach_slab(rig->backend, i, partition->slab, partition->bytes), 0);
        if (!next_end(rig, BACKEND_SLAB_ATTACHED, BACKEND_SLAB_REFUSED))
            return;
        is_attached[i] = rig->last.kind == BACKEND_SLAB_ATTACHED;
        *ret_failures += !is_attached[i];
    }
    ASSERT_INT(ops->load_key(rig->backend, RIG_KEY, &rig->circuit.prepared), 0);
    if (!next_end(rig, BACKEND_KEY_LOADED, BACKEND_KEY_REFUSED))
        return;
    const bool is_loaded = rig->last.kind == BACKEND_KEY_LOADED;
    *ret_failures += !is_loaded;
    for (unsigned i = 0; i < SWEEP_PARTITIONS && is_loaded; i++) {
        if (!is_attached[i])
            continue;
        ASSERT_INT(rig_start(rig, i, i), 0);
        started++;
    }
    for (; started > 0; started--) {
        if (!next_end(rig, BACKEND_PROVED, BACKEND_FAILED))
            return;
        ASSERT(rig->last.id < SWEEP_PARTITIONS);
        ASSERT_INT(ends[rig->last.id]++, 0);
        if (rig->last.kind == BACKEND_PROVED)
            ASSERT(memcmp(rig->last.sums, rig->partitions[rig->last.id].expected,
                          rig->last.sums_bytes) == 0);
        else
            ++*ret_failures;
    }
    if (is_loaded) {
        ASSERT_INT(ops->drop_key(rig->backend, RIG_KEY), 0);
        if (!next_end(rig, BACKEND_KEY_DROPPED, BACKEND_KEY_REFUSED))
            return;
        ASSERT(rig->last.kind == BACKEND_KEY_DROPPED);
    }
    for (unsigned i = 0; i < SWEEP_PARTITIONS; i++) {
        const int error = ops->detach_slab(rig->backend, i);
        if (error == -EIO) { /* the device did not let go */
            ASSERT(!next_end(rig, BACKEND_PROVED, BACKEND_FAILED));
            return;
        }
        ASSERT_INT(error, 0);
    }
}

/* Each life runs its streams in another order. */
static unsigned lives;

/* What a life saw of its fault. */
enum outcome {
    OUTCOME_UNTOUCHED,
    OUTCOME_NO_OPEN,
    OUTCOME_LOST,
    OUTCOME_FAILURES,
    OUTCOME_COUNT,
};

static enum outcome live(const char *fault, const struct curve *curve)
{
    char words[SWEEP_WORDS];
    unsigned failures = 0;
    struct rig rig;
    snprintf(words, sizeof words, "order=%u;%s", 1 + lives % SWEEP_ORDERS, fault);
    if (rig_try_open(&rig, words, &rig_options) < 0) {
        ASSERT(strlen(rig_text) > 0);
        ASSERT_INT(stub_registered(), 0);
        return OUTCOME_NO_OPEN;
    }
    rig_make(&rig, curve, SWEEP_LOG2, SWEEP_PARTITIONS);
    work(&rig, &failures);
    if (!rig.lost) {
        const unsigned before = failures;
        stub_heal();
        work(&rig, &failures);
        ASSERT(!rig.lost);
        ASSERT_INT(failures, before);
    }
    ASSERT(rig_close(&rig));
    return rig.lost ? OUTCOME_LOST : failures ? OUTCOME_FAILURES : OUTCOME_UNTOUCHED;
}

/* A process of its own: what ends it is told with the fault, and the rest goes on. */
static enum outcome live_apart(const char *fault, const struct curve *curve)
{
    int status;
    fflush(stdout);
    lives++;
    const pid_t child = fork();
    ASSERT(child >= 0);
    if (child == 0) {
        volatile enum outcome outcome = OUTCOME_COUNT;
        alarm(SWEEP_CHILD_S_MAX);
        (void)!freopen("/dev/null", "w", stdout);
        if (setjmp(test_failed) == 0)
            outcome = live(fault, curve);
        _exit((int)outcome);
    }
    ASSERT(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) < OUTCOME_COUNT)
        return (enum outcome)WEXITSTATUS(status);
    fprintf(stderr, "with CUZK_STUB words order=%u;%s: %s %d\n", 1 + lives % SWEEP_ORDERS, fault,
            WIFEXITED(status) ? "exit" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return OUTCOME_COUNT;
}

/* How often each function is called in a life without faults; in a process of its own, since
 * threads do not pass over a fork. */
static void count_calls(const struct curve *curve, uint64_t *ret_calls)
{
    uint64_t *calls = mmap(NULL, FUNCTION_COUNT * sizeof *calls, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    ASSERT(calls != MAP_FAILED);
    const pid_t child = fork();
    ASSERT(child >= 0);
    if (child == 0) {
        if (setjmp(test_failed) != 0 || live("", curve) != OUTCOME_UNTOUCHED)
            _exit(1);
        for (size_t i = 0; i < FUNCTION_COUNT; i++)
            calls[i] = stub_calls(functions[i]) / 2 + 1; /* work was done twice */
        _exit(0);
    }
    ASSERT(waitpid(child, &status, 0) == child);
    ASSERT_INT(status, 0);
    memcpy(ret_calls, calls, FUNCTION_COUNT * sizeof *calls);
    munmap(calls, FUNCTION_COUNT * sizeof *calls);
}

static void sweep(const struct curve *curve, unsigned stride)
{
    static const int codes[] = {400, 2, 700};
    unsigned outcomes[OUTCOME_COUNT + 1] = {0};
    uint64_t calls[FUNCTION_COUNT];
    count_calls(curve, calls);
    const uint64_t seed = test_seed();
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        const uint64_t first = 1 + seed % (calls[i] < stride ? calls[i] + !calls[i] : stride);
        for (uint64_t k = first; k <= calls[i]; k += stride)
            for (unsigned j = 0; j < 2 * sizeof codes / sizeof codes[0]; j++) {
                char fault[SWEEP_WORDS];
                snprintf(fault, sizeof fault, "fail=%s:%llu%s:%d", functions[i],
                         (unsigned long long)k, j % 2 ? "+" : "", codes[j / 2]);
                outcomes[live_apart(fault, curve)]++;
            }
    }
    printf("  did not open %u, lost %u, some failed %u, unnoticed %u\n", outcomes[OUTCOME_NO_OPEN],
           outcomes[OUTCOME_LOST], outcomes[OUTCOME_FAILURES], outcomes[OUTCOME_UNTOUCHED]);
    ASSERT_INT(outcomes[OUTCOME_COUNT], 0);
}

TEST(every_call_of_the_driver_may_fail)
{
    const char *one = getenv("SWEEP_ONE"); /* this fault alone, again and again, in this process */
    for (lives = 0; one && lives < 200; lives++)
        live(one, &curve_bn254);
    if (one)
        return;
    sweep(&curve_bn254, getenv("SWEEP_ALL") ? 1 : SWEEP_STRIDE);
}

TEST_MAIN(CASE(every_call_of_the_driver_may_fail))
