/* A real cuzk-synth process under a rig that plays the supervisor. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/wtns.h"
#include "runtime/clock.h"
#include "tests/shm/worker_rig.h"
#include "tests/test.h"

static const char *const two_threads[] = {"--threads", "2", NULL};

/* One partition of `witness_fd` on key 0, slab 0; returns the answer. */
static struct message synthesize(struct rig *rig, int witness_fd, uint32_t slot)
{
    struct message grant = rig_message(rig, OPERATION_SYNTHESIZE, slot, 0, 0), answer;
    rig_input(rig, &grant, &witness_fd, 1);
    rig_grant(rig, &grant);
    ASSERT(rig_take(rig, &answer, 60000));
    ASSERT_INT(answer.operation, OPERATION_SYNTHESIZE);
    ASSERT_INT(answer.slot, slot);
    ASSERT_INT(answer.generation, grant.generation);
    return answer;
}

/* The slab holds the file's values, rows that satisfy A w * B w = C w, and zeroes elsewhere. */
static void assert_slab(const struct rig *rig, const struct prepared *key, int witness_fd)
{
    const struct slab_layout layout = prepared_slab_layout(key);
    const uint8_t *slab = rig->slab_memory[0];
    struct wtns wtns;
    struct reason reason;
    ASSERT_INT(wtns_open(witness_fd, &wtns, &reason), 0);
    uint8_t *values = malloc(wtns.data_bytes);
    ASSERT_INT(pread(witness_fd, values, wtns.data_bytes, (off_t)wtns.data_off), wtns.data_bytes);
    ASSERT(memcmp(slab + layout.witness_off, values, wtns.data_bytes) == 0);

    const size_t domain = (size_t)1 << key->shape.domain_log2;
    uint64_t *rows = malloc(layout.evaluation_bytes);
    key->curve->evaluate(&key->matrix_a, (const uint64_t *)values, rows, 0, domain);
    ASSERT(memcmp(slab + layout.a_off, rows, layout.evaluation_bytes) == 0);
    key->curve->evaluate(&key->matrix_b, (const uint64_t *)values, rows, 0, domain);
    ASSERT(memcmp(slab + layout.b_off, rows, layout.evaluation_bytes) == 0);
    for (uint64_t i = layout.witness_bytes; i < layout.a_off; i++)
        ASSERT_INT(slab[i], 0);
    for (uint64_t i = layout.b_off + layout.evaluation_bytes; i < layout.bytes; i++)
        ASSERT_INT(slab[i], 0);
    free(rows);
    free(values);
}

static void check_good(const char *name, const char *event_loop, bool with_r1cs)
{
    char zkey[128], r1cs[128], witness[128];
    struct rig rig;
    struct rig_key key;
    snprintf(zkey, sizeof zkey, "good/%s/circuit.zkey", name);
    snprintf(r1cs, sizeof r1cs, "good/%s/circuit.r1cs", name);
    snprintf(witness, sizeof witness, "good/%s/w1.wtns", name);
    rig_key_make(&key, CUZK_SYNTH, zkey, with_r1cs ? r1cs : NULL);
    ASSERT_INT(key.prepared.has_c, with_r1cs);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, event_loop, two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    const int fd = rig_open(witness);
    for (unsigned i = 0; i < 3; i++) {
        const struct message answer = synthesize(&rig, fd, i);
        if (answer.blame)
            fprintf(stderr, "%s\n", rig_text(&answer));
        ASSERT_INT(answer.blame, BLAME_NONE);
        ASSERT_INT(answer.result, 0);
        ASSERT(answer.phase_us[PHASE_TOTAL] >= answer.phase_us[PHASE_EVALUATE]);
        assert_slab(&rig, &key.prepared, fd);
    }
    close(fd);
    ASSERT(strstr(rig_log(&rig), "SYN_TIMING partition job=7 partition=1 outcome=ok"));
    ASSERT_INT(rig.channel.layout->progress.partitions_done, 3);
    ASSERT(rig.channel.layout->progress.steps > 9);
    ASSERT_INT(rig.channel.layout->progress.busy_since_ns, 0);
    ASSERT(rig.channel.layout->progress.busy_ns > 0);
    ASSERT_INT(rig.channel.layout->progress.malloc_trims, 3);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(good_witnesses_are_read_checked_and_evaluated_on_io_uring)
{
    check_good("mul.bn128", "auto", false);
    check_good("nopub.bn128", "auto", true);
    check_good("chain12.bn128", "auto", true);
    check_good("mul.bls12381", "auto", true);
    check_good("chain12.bls12381", "auto", false);
}

TEST(good_witnesses_are_read_checked_and_evaluated_on_ppoll)
{
    check_good("mul.bn128", "ppoll", true);
    check_good("merkle20.bn128", "ppoll", true);
}

static void check_bad(struct rig *rig, const char *path, const char *text)
{
    const int fd = rig_open(path);
    const struct message answer = synthesize(rig, fd, 5);
    close(fd);
    if (answer.blame != BLAME_INPUT || !strstr(rig_text(&answer), text))
        fprintf(stderr, "%s: blame %d: %s\n", path, answer.blame, rig_text(&answer));
    ASSERT_INT(answer.blame, BLAME_INPUT);
    ASSERT(strstr(rig_text(&answer), text));
}

TEST(bad_witnesses_are_refused_with_their_reason_and_the_next_good_one_is_taken)
{
    struct rig rig;
    struct rig_key key;
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", "good/mul.bn128/circuit.r1cs");
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    check_bad(&rig, "bad/wtns_trunc_0_empty.wtns", "empty");
    check_bad(&rig, "bad/wtns_trunc_1_in_header.wtns", "ends at byte 30");
    check_bad(&rig, "bad/wtns_bad_magic.wtns", "not a .wtns file");
    check_bad(&rig, "bad/wtns_bls_prime_for_bn_zkey.wtns", "the witness is over bls12-381");
    check_bad(&rig, "bad/wtns_too_short.wtns", "3 values but the circuit has 4");
    check_bad(&rig, "bad/wtns_count_huge.wtns", "counts 4294967295 values");
    check_bad(&rig, "bad/wtns_version9.wtns", "version");
    check_bad(&rig, "bad/wtns_not_reduced.wtns", "witness value 2 (byte 140 of the file)");
    check_bad(&rig, "bad/wtns_unsatisfied.wtns", "does not satisfy constraint 0 of 1");
    check_bad(&rig, "bad", "directory");
    const int fd = rig_open("bad/valid_wtns_sections_swapped.wtns");
    const struct message answer = synthesize(&rig, fd, 6);
    ASSERT_INT(answer.blame, BLAME_NONE);
    assert_slab(&rig, &key.prepared, fd);
    close(fd);
    ASSERT(strstr(rig_log(&rig), "outcome=failed"));
    ASSERT_INT(rig.channel.layout->progress.partitions_failed, 10);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

/* An earlier, larger partition left its bytes: those the supervisor names are zeroed, with a
 * checked circuit and without, and nothing else of the slab is touched. */
static void check_stale(const char *r1cs, uint64_t stale_pages)
{
    struct rig rig;
    struct rig_key key;
    struct message grant, answer;
    const uint64_t slab_pages = 40000; /* more than one piece of wiping */
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", r1cs);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, slab_pages * 4096);
    rig_send_key(&rig, 0, &key);
    const int fd = rig_open("good/mul.bn128/w1.wtns");
    grant = rig_message(&rig, OPERATION_SYNTHESIZE, 0, 0, 0);
    grant.numbers[GRANT_STALE] = stale_pages * 4096;
    rig_input(&rig, &grant, &fd, 1);
    rig_grant(&rig, &grant);
    ASSERT(rig_take(&rig, &answer, 60000));
    ASSERT_INT(answer.blame, BLAME_NONE);
    assert_slab(&rig, &key.prepared, fd);

    const uint8_t *slab = rig.slab_memory[0];
    const uint64_t own = prepared_slab_bytes(&key.prepared);
    uint64_t stale = stale_pages > slab_pages ? slab_pages * 4096 : stale_pages * 4096;
    stale = stale > own ? stale : own;
    for (uint64_t i = own; i < stale; i++)
        ASSERT_INT(slab[i], 0);
    for (uint64_t i = stale; i < slab_pages * 4096; i++)
        ASSERT_INT(slab[i], 0xa5);
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(what_an_earlier_partition_left_behind_the_new_one_is_zeroed)
{
    check_stale(NULL, 39999);
    check_stale("good/mul.bn128/circuit.r1cs", 39999);
    check_stale(NULL, 1);
    check_stale(NULL, 50000); /* more than the slab: all of it */
}

/* The device evaluates: the slab holds the witness, zeroes up to what is stale, and nothing else is
 * touched; it need be no larger than the witness. */
static void check_witness_alone(const char *r1cs, uint64_t slab_pages, uint64_t stale_pages)
{
    struct rig rig;
    struct rig_key key;
    struct message grant, answer;
    rig_key_make(&key, CUZK_SYNTH, "good/chain12.bn128/circuit.zkey", r1cs);
    const struct slab_layout layout = prepared_slab_layout(&key.prepared);
    const uint64_t bytes = layout.a_off + slab_pages * 4096;
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, bytes);
    rig_send_key(&rig, 0, &key);
    const int fd = rig_open("good/chain12.bn128/w1.wtns");
    grant = rig_message(&rig, OPERATION_SYNTHESIZE, 0, 0, 0);
    grant.flags = 0;
    grant.numbers[GRANT_STALE] = stale_pages * 4096;
    rig_input(&rig, &grant, &fd, 1);
    rig_grant(&rig, &grant);
    ASSERT(rig_take(&rig, &answer, 60000));
    if (answer.blame)
        fprintf(stderr, "%s\n", rig_text(&answer));
    ASSERT_INT(answer.blame, BLAME_NONE);

    const uint8_t *slab = rig.slab_memory[0];
    const uint64_t stale = stale_pages * 4096 > layout.a_off ? stale_pages * 4096 : layout.a_off;
    struct wtns wtns;
    struct reason reason;
    ASSERT_INT(wtns_open(fd, &wtns, &reason), 0);
    ASSERT_INT(wtns.data_bytes, layout.witness_bytes);
    uint8_t *values = malloc(wtns.data_bytes);
    ASSERT_INT(pread(fd, values, wtns.data_bytes, (off_t)wtns.data_off), wtns.data_bytes);
    ASSERT(memcmp(slab, values, wtns.data_bytes) == 0);
    free(values);
    for (uint64_t i = layout.witness_bytes; i < stale; i++)
        ASSERT_INT(slab[i], 0);
    for (uint64_t i = stale; i < bytes; i++)
        ASSERT_INT(slab[i], 0xa5);
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(only_the_witness_is_written_where_the_device_evaluates)
{
    check_witness_alone(NULL, 0, 0);
    check_witness_alone("good/chain12.bn128/circuit.r1cs", 0, 0);
    check_witness_alone(NULL, 300, 0);
    check_witness_alone("good/chain12.bn128/circuit.r1cs", 300, 290);
}

TEST(a_broken_constraint_is_found_without_evaluations)
{
    struct rig rig;
    struct rig_key key;
    struct message grant, answer;
    const int fd = rig_open("bad/wtns_unsatisfied.wtns");
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", "good/mul.bn128/circuit.r1cs");
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, 4096);
    rig_send_key(&rig, 0, &key);
    grant = rig_message(&rig, OPERATION_SYNTHESIZE, 0, 0, 0);
    grant.flags = 0;
    rig_input(&rig, &grant, &fd, 1);
    rig_grant(&rig, &grant);
    ASSERT(rig_take(&rig, &answer, 60000));
    ASSERT_INT(answer.blame, BLAME_INPUT);
    ASSERT(strstr(rig_text(&answer), "does not satisfy constraint 0 of 1"));
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(a_pipe_is_refused_without_hanging)
{
    struct rig rig;
    struct rig_key key;
    int fds[2];
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    ASSERT_INT(pipe(fds), 0);
    const struct message answer = synthesize(&rig, fds[0], 0);
    ASSERT_INT(answer.blame, BLAME_INPUT);
    ASSERT(strstr(rig_text(&answer), "pipe"));
    close(fds[0]);
    close(fds[1]);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

/* The disk would write into the slab by itself, even after this worker's death. */
TEST(a_file_open_for_direct_reads_is_refused)
{
    struct rig rig;
    struct rig_key key;
    const int fd = rig_open("good/mul.bn128/w1.wtns");
    if (fcntl(fd, F_SETFL, O_DIRECT) < 0) { /* not on this file system */
        close(fd);
        return;
    }
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    const struct message answer = synthesize(&rig, fd, 0);
    ASSERT_INT(answer.blame, BLAME_INPUT);
    if (!strstr(rig_text(&answer), "O_DIRECT"))
        fprintf(stderr, "%s\n", rig_text(&answer));
    ASSERT(strstr(rig_text(&answer), "O_DIRECT"));
    ASSERT_INT(fcntl(fd, F_SETFL, 0), 0);
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

/* The first value is not 1: the byte position is that of the file. */
TEST(a_first_value_other_than_one_is_refused)
{
    struct rig rig;
    struct rig_key key;
    uint8_t bytes[204];
    const int good = rig_open("good/mul.bn128/w1.wtns"), fd = memfd_create("w", MFD_CLOEXEC);
    ASSERT_INT(pread(good, bytes, sizeof bytes, 0), 204);
    bytes[76] = 2;
    ASSERT_INT(write(fd, bytes, sizeof bytes), 204);
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    const struct message answer = synthesize(&rig, fd, 0);
    ASSERT_INT(answer.blame, BLAME_INPUT);
    ASSERT(strstr(rig_text(&answer), "value 0 (byte 76 of the file) is not 1"));
    close(good);
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(a_grant_without_key_slab_or_descriptor_blames_the_device)
{
    struct rig rig;
    struct rig_key key;
    struct message grant, answer;
    const int fd = rig_open("good/mul.bn128/w1.wtns");
    rig_key_make(&key, CUZK_SYNTH, "good/mul.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    answer = synthesize(&rig, fd, 0);
    ASSERT_INT(answer.blame, BLAME_DEVICE);
    ASSERT(strstr(rig_text(&answer), "key 0 did not arrive"));
    rig_send_key(&rig, 0, &key);
    answer = synthesize(&rig, fd, 0);
    ASSERT_INT(answer.blame, BLAME_DEVICE);
    ASSERT(strstr(rig_text(&answer), "slab 0 did not arrive"));
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    grant = rig_message(&rig, OPERATION_SYNTHESIZE, 0, 0, 0);
    rig_grant(&rig, &grant);
    ASSERT(rig_take(&rig, &answer, 10000));
    ASSERT_INT(answer.blame, BLAME_DEVICE);
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(every_grant_of_a_full_house_is_answered_once_whether_cancelled_or_not)
{
    struct rig rig;
    struct rig_key key;
    struct message grants[GRANTS_HELD_MAX], answer;
    bool seen[GRANTS_HELD_MAX] = {false};
    unsigned cancelled = 0;
    const int fd = rig_open("good/chain12.bn128/w1.wtns");
    rig_key_make(&key, CUZK_SYNTH, "good/chain12.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    for (unsigned i = 0; i < 4; i++)
        rig_slab(&rig, i, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    for (unsigned round = 0; round < 10; round++) {
        memset(seen, 0, sizeof seen);
        for (unsigned i = 0; i < 4; i++) {
            grants[i] = rig_message(&rig, OPERATION_SYNTHESIZE, i, 0, i);
            rig_input(&rig, &grants[i], &fd, 1);
            rig_grant(&rig, &grants[i]);
        }
        for (unsigned i = 0; i < 4; i += 2) {
            struct message cancel = grants[i];
            cancel.operation = OPERATION_CANCEL;
            rig_grant(&rig, &cancel);
        }
        for (unsigned i = 0; i < 4; i++) {
            ASSERT(rig_take(&rig, &answer, 20000));
            ASSERT(answer.slot < 4 && !seen[answer.slot]);
            seen[answer.slot] = true;
            ASSERT(answer.blame == BLAME_NONE ||
                   (answer.blame == BLAME_CANCELLED && answer.slot % 2 == 0));
            cancelled += answer.blame == BLAME_CANCELLED;
        }
        ASSERT(!rig_take(&rig, &answer, 20));
    }
    ASSERT(cancelled > 0);
    ASSERT(strstr(rig_log(&rig), "outcome=cancelled"));
    close(fd);
    ASSERT_INT(rig_stop(&rig), 0);
    rig_key_destroy(&key);
}

TEST(stop_finishes_what_is_held)
{
    struct rig rig;
    struct rig_key key;
    struct message grant, stop, answer;
    const int fd = rig_open("good/chain12.bn128/w1.wtns");
    rig_key_make(&key, CUZK_SYNTH, "good/chain12.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    grant = rig_message(&rig, OPERATION_SYNTHESIZE, 0, 0, 0);
    rig_input(&rig, &grant, &fd, 1);
    rig_grant(&rig, &grant);
    stop = rig_message(&rig, OPERATION_STOP, 0, 0, 0);
    rig_grant(&rig, &stop);
    ASSERT_INT(rig_wait_end(&rig, 20000), 0);
    ASSERT(rig_take(&rig, &answer, 100));
    ASSERT_INT(answer.blame, BLAME_NONE);
    close(fd);
    rig_destroy(&rig);
    rig_key_destroy(&key);
}

TEST(a_killed_worker_leaves_a_slab_that_its_successor_can_use)
{
    struct rig rig, next;
    struct rig_key key;
    struct message grant;
    const int fd = rig_open("good/merkle20.bn128/w1.wtns");
    rig_key_make(&key, CUZK_SYNTH, "good/merkle20.bn128/circuit.zkey", NULL);
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    rig_slab(&rig, 0, prepared_slab_bytes(&key.prepared));
    rig_send_key(&rig, 0, &key);
    grant = rig_message(&rig, OPERATION_SYNTHESIZE, 0, 0, 0);
    rig_input(&rig, &grant, &fd, 1);
    rig_grant(&rig, &grant);
    usleep(2000);
    child_kill(&rig.child, SIGKILL);
    ASSERT(rig_wait_end(&rig, 5000) != -1);

    rig_start_ready(&next, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    const struct slab slab = rig.slabs[0];
    void *memory = rig.slab_memory[0];
    rig.slab_memory[0] = NULL; /* moves to the next rig */
    rig_slab(&next, 0, prepared_slab_bytes(&key.prepared));
    munmap(memory, slab.bytes);
    close(slab.fd);
    rig_send_key(&next, 0, &key);
    const struct message answer = synthesize(&next, fd, 0);
    ASSERT_INT(answer.blame, BLAME_NONE);
    assert_slab(&next, &key.prepared, fd);
    close(fd);
    rig_destroy(&rig);
    ASSERT_INT(rig_stop(&next), 0);
    rig_key_destroy(&key);
}

TEST(a_message_that_no_supervisor_sends_ends_the_worker_with_its_own_status)
{
    struct rig rig;
    struct message grant;
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    grant = rig_message(&rig, OPERATION_PROVE, 0, 0, 0);
    rig_grant(&rig, &grant);
    ASSERT_INT(rig_wait_end(&rig, 5000), 3 << 8);
    rig_destroy(&rig);
}

TEST(figures_of_heap_and_memory_are_published)
{
    struct rig rig;
    rig_start_ready(&rig, WORKER_SYNTH, CUZK_SYNTH, "auto", two_threads);
    for (unsigned i = 0; i < 300 && rig.channel.layout->progress.pss_bytes == 0; i++)
        usleep(10000);
    ASSERT(rig.channel.layout->progress.pss_bytes > 100000);
    /* An allocator of a sanitizer tells no figures. */
    if (mallinfo2().uordblks)
        ASSERT(rig.channel.layout->progress.heap_bytes > 1000);
    ASSERT_INT(rig_stop(&rig), 0);
}

TEST_MAIN(CASE(good_witnesses_are_read_checked_and_evaluated_on_io_uring),
          CASE(good_witnesses_are_read_checked_and_evaluated_on_ppoll),
          CASE(bad_witnesses_are_refused_with_their_reason_and_the_next_good_one_is_taken),
          CASE(what_an_earlier_partition_left_behind_the_new_one_is_zeroed),
          CASE(only_the_witness_is_written_where_the_device_evaluates),
          CASE(a_broken_constraint_is_found_without_evaluations),
          CASE(a_pipe_is_refused_without_hanging), CASE(a_file_open_for_direct_reads_is_refused),
          CASE(a_first_value_other_than_one_is_refused),
          CASE(a_grant_without_key_slab_or_descriptor_blames_the_device),
          CASE(every_grant_of_a_full_house_is_answered_once_whether_cancelled_or_not),
          CASE(stop_finishes_what_is_held),
          CASE(a_killed_worker_leaves_a_slab_that_its_successor_can_use),
          CASE(a_message_that_no_supervisor_sends_ends_the_worker_with_its_own_status),
          CASE(figures_of_heap_and_memory_are_published))
