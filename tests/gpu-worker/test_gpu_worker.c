/* A real cuzk-gpu process with the CPU backend under a rig that plays the supervisor. */
#include <signal.h>
#include <unistd.h>

#include "shm/courier.h"
#include "shm/port.h"
#include "shm/trace.h"
#include "tests/shm/proof_rig.h"
#include "tests/shm/worker_rig.h"
#include "tests/test.h"

static const char *const cpu_two_threads[] = {"--backend", "cpu", "--threads", "2", NULL};

struct bench {
    struct rig rig;
    struct rig_key key;
};

static void load_key(struct bench *bench, uint32_t id)
{
    struct message grant = rig_message(&bench->rig, OPERATION_LOAD_KEY, 0, id, 0), answer;
    rig_send_key(&bench->rig, id, &bench->key);
    rig_grant(&bench->rig, &grant);
    ASSERT(rig_take(&bench->rig, &answer, 10000));
    ASSERT_INT(answer.operation, OPERATION_LOAD_KEY);
    if (answer.blame)
        fprintf(stderr, "%s\n", rig_text(&answer));
    ASSERT_INT(answer.blame, BLAME_NONE);
}

static void open_bench(struct bench *bench, const char *name, const char *event_loop,
                       unsigned slabs)
{
    char zkey[128], witness[128];
    snprintf(zkey, sizeof zkey, "good/%s/circuit.zkey", name);
    snprintf(witness, sizeof witness, "good/%s/w1.wtns", name);
    rig_key_make(&bench->key, CUZK_SYNTH, zkey, NULL);
    rig_start_ready(&bench->rig, WORKER_GPU, CUZK_GPU, event_loop, cpu_two_threads);
    load_key(bench, 0);
    const int fd = rig_open(witness);
    for (unsigned i = 0; i < slabs; i++) {
        rig_slab(&bench->rig, i, prepared_slab_bytes(&bench->key.prepared));
        proof_rig_fill(&bench->key.prepared, fd, bench->rig.slab_memory[i]);
    }
    close(fd);
}

static void close_bench(struct bench *bench)
{
    ASSERT_INT(rig_stop(&bench->rig), 0);
    rig_key_destroy(&bench->key);
}

/* The answer to a PROVE; counts UPLOADED on the way. */
static struct message take_proved(struct rig *rig, unsigned *uploads)
{
    struct message answer;
    do {
        ASSERT(rig_take(rig, &answer, 60000));
        if (answer.operation == OPERATION_UPLOADED)
            (*uploads)++;
    } while (answer.operation == OPERATION_UPLOADED);
    ASSERT_INT(answer.operation, OPERATION_PROVE);
    return answer;
}

static void check_proves(const char *name, const char *event_loop)
{
    struct bench bench;
    struct message answer;
    unsigned uploads = 0;
    open_bench(&bench, name, event_loop, 3);
    const struct prepared *key = &bench.key.prepared;
    for (unsigned i = 0; i < 3; i++) {
        const struct message grant = rig_message(&bench.rig, OPERATION_PROVE, i, 0, i);
        rig_grant(&bench.rig, &grant);
    }
    for (unsigned i = 0; i < 3; i++) {
        answer = take_proved(&bench.rig, &uploads);
        ASSERT_INT(answer.blame, BLAME_NONE);
        ASSERT_INT(answer.payload_bytes, 4 * key->curve->g1_bytes + key->curve->g2_bytes);
        ASSERT_INT(proof_rig_verify_sums(key, bench.rig.slab_memory[answer.slot], answer.payload),
                   VERIFY_OK);
        ASSERT(answer.phase_us[PHASE_MSM_H] > 0 && answer.phase_us[PHASE_MSM_B2] > 0);
    }
    ASSERT_INT(uploads, 3);
    ASSERT(strstr(rig_log(&bench.rig), "GPU_TIMING partition job=7 partition=1 outcome=ok"));
    ASSERT_INT(bench.rig.channel.layout->progress.partitions_done, 3);
    struct trace_event events[64];
    const uint32_t count = trace_read(&bench.rig.channel.layout->trace, events, 64);
    ASSERT(count >= 18);
    for (uint32_t i = 0; i < count; i++)
        ASSERT(events[i].job == 7 && events[i].end_ns >= events[i].begin_ns);
    close_bench(&bench);
}

TEST(partitions_are_proved_on_both_curves_and_both_loops)
{
    check_proves("mul.bn128", "auto");
    check_proves("nopub.bn128", "ppoll");
    check_proves("chain12.bn128", "auto");
    check_proves("mul.bls12381", "ppoll");
    check_proves("chain12.bls12381", "auto");
}

TEST(a_partition_in_a_slab_that_the_device_refuses_is_answered)
{
    struct bench bench;
    struct message answer;
    rig_key_make(&bench.key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", NULL);
    rig_start_ready(&bench.rig, WORKER_GPU, REFUSING_WORKER, "auto", NULL);
    load_key(&bench, 0);
    for (unsigned i = 0; i < 2; i++) {
        rig_slab(&bench.rig, i, prepared_slab_bytes(&bench.key.prepared));
        const struct message grant = rig_message(&bench.rig, OPERATION_PROVE, i, 0, i);
        rig_grant(&bench.rig, &grant);
        ASSERT(rig_take(&bench.rig, &answer, 10000));
        ASSERT_INT(answer.operation, OPERATION_PROVE);
        ASSERT_INT(answer.generation, grant.generation);
        ASSERT_INT(answer.blame, BLAME_DEVICE);
        ASSERT(strstr(rig_text(&answer), "cannot read slab"));
    }
    close_bench(&bench);
}

TEST(ready_tells_the_backend)
{
    struct rig rig;
    const struct message ready =
        rig_start_ready(&rig, WORKER_GPU, CUZK_GPU, "auto", cpu_two_threads);
    ASSERT_INT(ready.numbers[0], rig.child.pid);
    ASSERT_INT(ready.numbers[2], READY_BACKEND_CPU);
    ASSERT_INT(ready.numbers[3], 0);
    ASSERT_INT(ready.numbers[5], 2);
    struct ready_device device;
    ASSERT_INT(ready.payload_bytes, sizeof device);
    memcpy(&device, ready.payload, sizeof device);
    ASSERT_STR(device.name, "cpu");
    ASSERT_STR(device.uuid, "cpu");
    ASSERT_INT(device.memory_bytes, 0);
    ASSERT_INT(rig_stop(&rig), 0);
}

TEST(ready_waits_for_the_slabs_of_the_start)
{
    static const char *const extra[] = {"--backend", "cpu", "--threads", "1", "--slabs", "2", NULL};
    struct rig rig;
    struct message ready;
    rig_start(&rig, WORKER_GPU, CUZK_GPU, "auto", extra);
    rig_slab(&rig, 0, 4096);
    ASSERT(!rig_take(&rig, &ready, 2500));
    ASSERT(strstr(rig_log(&rig), "registered 1 of 2 slabs")); /* what takes long says so */
    rig_slab(&rig, 1, 4096);
    ASSERT(rig_take(&rig, &ready, 10000));
    ASSERT_INT(ready.operation, OPERATION_READY);
    /* Host memory needs no registration for this backend. */
    ASSERT_INT(rig.channel.layout->progress.pinned_bytes, 0);
    ASSERT_INT(rig.channel.layout->progress.slabs_pinned, 0);
    ASSERT_INT(rig_stop(&rig), 0);
}

TEST(a_slab_that_cannot_be_registered_at_start_ends_the_worker_with_one_line)
{
    static const char *const one[] = {"--slabs", "1", NULL};
    for (unsigned index = 0; index < 2; index++) {
        struct rig rig;
        struct message ready;
        rig_start(&rig, WORKER_GPU, REFUSING_WORKER, "auto", one);
        rig_slab(&rig, index, 8192);
        ASSERT_INT(rig_wait_end(&rig, 10000), WORKER_EXIT_START << 8);
        const char *why = rig.channel.layout->last_words;
        ASSERT(strstr(why, index == 0 ? "slab 0 (8K) cannot be registered with the device: "
                                      : "slab 1 (8K) cannot be registered with the device: out of "
                                        "mappings"));
        ASSERT(strstr(why, "RLIMIT_MEMLOCK"));
        ASSERT(strstr(why, "RequirePinned=no"));
        ASSERT(!rig_take(&rig, &ready, 0));
        rig_destroy(&rig);
    }
}

TEST(pinned_and_unpinned_memory_is_counted_and_let_go_of_before_it_is_unmapped)
{
    struct rig rig;
    struct rig_key key;
    struct message answer;
    static const char *const extra[] = {"--slabs", "2", NULL};
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", NULL);
    rig_start(&rig, WORKER_GPU, REFUSING_WORKER, "auto", extra);
    rig_slab(&rig, 2, 8192);
    rig_slab(&rig, 3, 4096);
    ASSERT(rig_take(&rig, &answer, 10000));
    ASSERT_INT(answer.operation, OPERATION_READY);
    const struct channel_progress *progress = &rig.channel.layout->progress;
    ASSERT_INT(progress->pinned_bytes, 8192);
    ASSERT_INT(progress->unpinned_bytes, 4096);
    ASSERT_INT(progress->slabs_pinned, 1);
    ASSERT_INT(progress->slabs_unpinned, 1);
    ASSERT(strstr(rig_log(&rig), "slab 3 is not pinned"));

    for (uint32_t id = 0; id < 2; id++) {
        struct message grant = rig_message(&rig, OPERATION_LOAD_KEY, 0, id, 0);
        memcpy(grant.payload, "mul", 3);
        grant.payload_bytes = 3;
        rig_send_key(&rig, id, &key);
        rig_grant(&rig, &grant);
        ASSERT(rig_take(&rig, &answer, 10000));
        ASSERT_INT(answer.blame, BLAME_NONE);
        ASSERT_STR(rig_text(&answer), "resident, no tables");
    }
    const char *line = strstr(rig_log(&rig), "circuit mul (key 0) is loaded in ");
    ASSERT(line && strstr(line, " ms: resident, no tables"));
    ASSERT(strstr(rig_log(&rig), "key 1 is not pinned"));
    ASSERT_INT(progress->keys, 2);
    ASSERT_INT(progress->pinned_bytes, 8192 + key.memory.bytes);
    ASSERT_INT(progress->unpinned_bytes, 4096 + key.memory.bytes);

    const struct courier_tag gone = {.kind = COURIER_SLAB, .index = 2};
    ASSERT_INT(courier_send(rig.courier, &gone, NULL, 0), 0);
    for (unsigned i = 0; i < 100 && progress->slabs_pinned > 0; i++)
        usleep(20000);
    ASSERT(strstr(rig_log(&rig), "detached slab 2"));
    ASSERT_INT(progress->slabs_pinned, 0);
    ASSERT_INT(progress->pinned_bytes, key.memory.bytes);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(cuda_in_a_build_without_it_is_refused_in_one_line)
{
    static const char *const extra[] = {"--backend", "cuda", NULL};
    struct rig rig;
    rig_start(&rig, WORKER_GPU, CUZK_GPU, "auto", extra);
    ASSERT_INT(rig_wait_end(&rig, 10000), 1 << 8);
    ASSERT(strstr(rig_log(&rig), "[GPU] Backend=cpu"));
    rig_destroy(&rig);
}

TEST(auto_falls_back_to_the_cpu_loudly)
{
    static const char *const extra[] = {"--backend", "auto", "--threads", "1", NULL};
    struct rig rig;
    const struct message ready = rig_start_ready(&rig, WORKER_GPU, CUZK_GPU, "auto", extra);
    ASSERT_INT(ready.numbers[2], READY_BACKEND_CPU);
    ASSERT_INT(ready.numbers[3], 1);
    ASSERT(strstr(rig_log(&rig), "warn"));
    ASSERT_INT(rig_stop(&rig), 0);
}

TEST(the_lowest_order_key_held_is_proved_first)
{
    struct bench bench;
    unsigned uploads = 0, places[GRANTS_HELD_MAX] = {0};
    open_bench(&bench, "chain12.bn128", "auto", 4);
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++) {
        struct message grant = rig_message(&bench.rig, OPERATION_PROVE, i, 0, i % 4);
        grant.order_key = 1000 - i;
        rig_grant(&bench.rig, &grant);
    }
    for (unsigned i = 0; i < GRANTS_HELD_MAX; i++)
        places[take_proved(&bench.rig, &uploads).slot] = i;
    for (unsigned i = 2; i + 1 < GRANTS_HELD_MAX; i++)
        ASSERT(places[i] > places[i + 1]);
    close_bench(&bench);
}

TEST(cancelled_partitions_are_answered_once)
{
    struct bench bench;
    unsigned uploads = 0, cancelled = 0;
    open_bench(&bench, "chain12.bn128", "auto", 4);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 4; i++) {
            struct message grant = rig_message(&bench.rig, OPERATION_PROVE, i, 0, i);
            rig_grant(&bench.rig, &grant);
            grant.operation = OPERATION_CANCEL;
            usleep(round * 20000);
            if (i != 1)
                rig_grant(&bench.rig, &grant);
        }
        for (unsigned i = 0; i < 4; i++) {
            const struct message answer = take_proved(&bench.rig, &uploads);
            cancelled += answer.blame == BLAME_CANCELLED;
            ASSERT(answer.blame == BLAME_NONE ||
                   (answer.blame == BLAME_CANCELLED && answer.slot != 1));
        }
    }
    ASSERT(cancelled > 0);
    ASSERT(strstr(rig_log(&bench.rig), "outcome=cancelled"));
    close_bench(&bench);
}

TEST(a_missing_key_or_slab_blames_the_device)
{
    struct bench bench;
    unsigned uploads = 0;
    open_bench(&bench, "mul.bn128", "auto", 1);
    struct message grant = rig_message(&bench.rig, OPERATION_PROVE, 0, 17, 0);
    rig_grant(&bench.rig, &grant);
    struct message answer = take_proved(&bench.rig, &uploads);
    ASSERT_INT(answer.blame, BLAME_DEVICE);
    ASSERT(strstr(rig_text(&answer), "key 17"));
    grant = rig_message(&bench.rig, OPERATION_PROVE, 0, 0, 3);
    rig_grant(&bench.rig, &grant);
    answer = take_proved(&bench.rig, &uploads);
    ASSERT_INT(answer.blame, BLAME_DEVICE);
    ASSERT(strstr(rig_text(&answer), "slab 3"));
    close_bench(&bench);
}

TEST(a_key_is_dropped_and_comes_back)
{
    struct bench bench;
    struct message answer;
    unsigned uploads = 0;
    open_bench(&bench, "mul.bn128", "auto", 1);
    for (unsigned i = 0; i < 3; i++) {
        const struct message dropping = rig_message(&bench.rig, OPERATION_DROP_KEY, 0, 0, 0);
        rig_grant(&bench.rig, &dropping);
        ASSERT(rig_take(&bench.rig, &answer, 10000));
        ASSERT_INT(answer.operation, OPERATION_DROP_KEY);
        ASSERT_INT(answer.blame, BLAME_NONE);
        load_key(&bench, 0);
        const struct message grant = rig_message(&bench.rig, OPERATION_PROVE, 0, 0, 0);
        rig_grant(&bench.rig, &grant);
        answer = take_proved(&bench.rig, &uploads);
        ASSERT_INT(answer.blame, BLAME_NONE);
    }
    close_bench(&bench);
}

TEST(stop_finishes_what_is_held)
{
    struct bench bench;
    unsigned uploads = 0;
    open_bench(&bench, "chain12.bn128", "auto", 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct message grant = rig_message(&bench.rig, OPERATION_PROVE, i, 0, i);
        rig_grant(&bench.rig, &grant);
    }
    const struct message stop = rig_message(&bench.rig, OPERATION_STOP, 0, 0, 0);
    rig_grant(&bench.rig, &stop);
    ASSERT_INT(rig_wait_end(&bench.rig, 30000), 0);
    for (unsigned i = 0; i < 2; i++)
        ASSERT_INT(take_proved(&bench.rig, &uploads).blame, BLAME_NONE);
    rig_destroy(&bench.rig);
    rig_key_destroy(&bench.key);
}

TEST(a_killed_worker_leaves_the_slab_to_its_successor)
{
    struct bench bench;
    struct message grant;
    unsigned uploads = 0;
    open_bench(&bench, "chain12.bn128", "auto", 1);
    grant = rig_message(&bench.rig, OPERATION_PROVE, 0, 0, 0);
    rig_grant(&bench.rig, &grant);
    usleep(5000);
    child_kill(&bench.rig.child, SIGKILL);
    ASSERT(rig_wait_end(&bench.rig, 5000) != -1);
    rig_destroy(&bench.rig);
    rig_key_destroy(&bench.key);
    open_bench(&bench, "chain12.bn128", "auto", 1);
    grant = rig_message(&bench.rig, OPERATION_PROVE, 0, 0, 0);
    rig_grant(&bench.rig, &grant);
    ASSERT_INT(take_proved(&bench.rig, &uploads).blame, BLAME_NONE);
    close_bench(&bench);
}

TEST_MAIN(CASE(partitions_are_proved_on_both_curves_and_both_loops),
          CASE(a_partition_in_a_slab_that_the_device_refuses_is_answered),
          CASE(ready_tells_the_backend), CASE(ready_waits_for_the_slabs_of_the_start),
          CASE(a_slab_that_cannot_be_registered_at_start_ends_the_worker_with_one_line),
          CASE(pinned_and_unpinned_memory_is_counted_and_let_go_of_before_it_is_unmapped),
          CASE(cuda_in_a_build_without_it_is_refused_in_one_line),
          CASE(auto_falls_back_to_the_cpu_loudly), CASE(the_lowest_order_key_held_is_proved_first),
          CASE(cancelled_partitions_are_answered_once),
          CASE(a_missing_key_or_slab_blames_the_device), CASE(a_key_is_dropped_and_comes_back),
          CASE(stop_finishes_what_is_held), CASE(a_killed_worker_leaves_the_slab_to_its_successor))
