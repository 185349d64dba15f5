/* A real cuzk-finalizer process under a rig that plays the supervisor. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "finalizer/finalize.h"
#include "tests/shm/proof_rig.h"
#include "tests/shm/worker_rig.h"
#include "tests/test.h"

struct bench {
    struct rig rig;
    struct rig_key key;
    uint8_t *slab;
    uint8_t sums[SUMS_BYTES_MAX];
    int witness_fd, public_fd;
};

static void open_bench(struct bench *bench, const char *name, const char *event_loop)
{
    char zkey[128], witness[128];
    snprintf(zkey, sizeof zkey, "good/%s/circuit.zkey", name);
    snprintf(witness, sizeof witness, "good/%s/w1.wtns", name);
    rig_key_make(&bench->key, CUZK_SYNTH, zkey, NULL);
    const struct prepared *key = &bench->key.prepared;
    bench->witness_fd = rig_open(witness);
    bench->slab = aligned_alloc(4096, prepared_slab_bytes(key));
    proof_rig_fill(key, bench->witness_fd, bench->slab);
    proof_rig_sums(key, bench->slab, bench->sums);
    bench->public_fd = memfd_create("public", MFD_CLOEXEC);
    ASSERT_INT(ftruncate(bench->public_fd, (off_t)key->shape.public_count * 32), 0);
    rig_start_ready(&bench->rig, WORKER_FINALIZER, CUZK_FINALIZER, event_loop, NULL);
    rig_send_key(&bench->rig, 0, &bench->key);
}

static void close_bench(struct bench *bench)
{
    ASSERT_INT(rig_stop(&bench->rig), 0);
    close(bench->witness_fd);
    close(bench->public_fd);
    free(bench->slab);
    rig_key_destroy(&bench->key);
}

static struct message make_grant(struct bench *bench, uint32_t slot)
{
    const struct prepared *key = &bench->key.prepared;
    const size_t digest_off = sums_bytes(key->curve);
    struct message grant =
        rig_message(&bench->rig, OPERATION_FINALIZE, slot, 0, (uint64_t)key->curve->id);
    memcpy(grant.payload, bench->sums, digest_off);
    memcpy(grant.payload + digest_off, key->verify_key_digest, sizeof key->verify_key_digest);
    grant.payload_bytes = (uint16_t)(digest_off + sizeof key->verify_key_digest);
    return grant;
}

static struct message finalize(struct bench *bench, const struct message *grant, int witness_fd)
{
    const int fds[2] = {witness_fd, bench->public_fd};
    struct message answer;
    rig_input(&bench->rig, grant, fds, 2);
    rig_grant(&bench->rig, grant);
    ASSERT(rig_take(&bench->rig, &answer, 20000));
    ASSERT_INT(answer.operation, OPERATION_FINALIZE);
    ASSERT_INT(answer.generation, grant->generation);
    return answer;
}

static void check_good(const char *name, const char *event_loop)
{
    struct bench bench;
    uint8_t first[CURVE_PROOF_BYTES_MAX];
    open_bench(&bench, name, event_loop);
    const struct prepared *key = &bench.key.prepared;
    const struct curve *curve = key->curve;
    const size_t public_bytes = (size_t)key->shape.public_count * 32;
    for (unsigned i = 0; i < 2; i++) {
        const struct message grant = make_grant(&bench, i);
        const struct message answer = finalize(&bench, &grant, bench.witness_fd);
        if (answer.blame)
            fprintf(stderr, "%s\n", rig_text(&answer));
        ASSERT_INT(answer.blame, BLAME_NONE);
        ASSERT_INT(answer.payload_bytes, curve->proof_bytes);
        uint64_t *public_scalars = calloc(1, public_bytes + 1);
        ASSERT_INT(pread(bench.public_fd, public_scalars, public_bytes, 0), public_bytes);
        ASSERT(memcmp(public_scalars, bench.slab + 32, public_bytes) == 0);
        ASSERT_INT(curve->verify(&key->verify_key, public_scalars, key->shape.public_count,
                                 answer.payload),
                   VERIFY_OK);
        free(public_scalars);
        if (i == 1) /* blinded: never the same twice */
            ASSERT(memcmp(first, answer.payload, curve->proof_bytes) != 0);
        memcpy(first, answer.payload, curve->proof_bytes);
        ASSERT(answer.phase_us[PHASE_VERIFY] > 0 && answer.phase_us[PHASE_ASSEMBLE] > 0);
    }
    ASSERT(strstr(rig_log(&bench.rig), "FIN_TIMING partition job=7 partition=1 outcome=ok"));
    ASSERT_INT(bench.rig.channel.layout->progress.malloc_trims, 2);
    close_bench(&bench);
}

TEST(sums_become_verified_proofs_on_both_curves_and_both_loops)
{
    check_good("mul.bn128", "auto");
    check_good("nopub.bn128", "ppoll");
    check_good("chain12.bn128", "auto");
    check_good("mul.bls12381", "ppoll");
    check_good("nopub.bls12381", "auto");
}

static void check_fails(struct bench *bench, const struct message *grant, int witness_fd,
                        enum blame blame, const char *text)
{
    const struct message answer = finalize(bench, grant, witness_fd);
    if (answer.blame != blame || !strstr(rig_text(&answer), text))
        fprintf(stderr, "blame %d: %s\n", answer.blame, rig_text(&answer));
    ASSERT_INT(answer.blame, blame);
    ASSERT(strstr(rig_text(&answer), text));
}

TEST(wrong_sums_never_become_a_proof)
{
    struct bench bench;
    struct message grant;
    open_bench(&bench, "mul.bn128", "auto");
    const struct curve *curve = bench.key.prepared.curve;
    grant = make_grant(&bench, 0);
    grant.payload[0] ^= 1; /* off the curve */
    check_fails(&bench, &grant, bench.witness_fd, BLAME_CHECK, "the sum A");
    grant = make_grant(&bench, 0);
    memset(grant.payload + 2 * curve->g1_bytes, 0xff, 32); /* B2 not reduced */
    check_fails(&bench, &grant, bench.witness_fd, BLAME_CHECK, "the sum B2");
    for (unsigned i = 0; i < 5; i++) { /* on the curve, but another point */
        const size_t off = i * curve->g1_bytes + (i > 2 ? curve->g2_bytes - curve->g1_bytes : 0);
        grant = make_grant(&bench, 0);
        if (i == 2)
            memcpy(grant.payload + off, curve->g2_generator, curve->g2_bytes);
        else
            memcpy(grant.payload + off, curve->g1_generator, curve->g1_bytes);
        if (i == 1)
            continue; /* B1 counts only through s and r: below */
        check_fails(&bench, &grant, bench.witness_fd, BLAME_CHECK, "pairing check fails");
    }
    grant = make_grant(&bench, 0);
    memcpy(grant.payload + curve->g1_bytes, curve->g1_generator, curve->g1_bytes);
    check_fails(&bench, &grant, bench.witness_fd, BLAME_CHECK, "pairing check fails");
    grant = make_grant(&bench, 0);
    const struct message answer = finalize(&bench, &grant, bench.witness_fd);
    ASSERT_INT(answer.blame, BLAME_NONE);
    close_bench(&bench);
}

TEST(public_inputs_come_from_the_file_and_nothing_else)
{
    struct bench bench;
    uint8_t bytes[204];
    open_bench(&bench, "mul.bn128", "auto");
    struct message grant = make_grant(&bench, 0);
    ASSERT_INT(pread(bench.witness_fd, bytes, 204, 0), 204);

    /* Another statement: the sums do not prove it. */
    int fd = memfd_create("w", MFD_CLOEXEC);
    bytes[76 + 32] ^= 1;
    ASSERT_INT(write(fd, bytes, 204), 204);
    check_fails(&bench, &grant, fd, BLAME_CHECK, "pairing check fails");
    /* Not reduced. */
    memset(bytes + 76 + 32, 0xff, 32);
    ASSERT_INT(pwrite(fd, bytes, 204, 0), 204);
    grant = make_grant(&bench, 1);
    check_fails(&bench, &grant, fd, BLAME_INPUT, "public input 0 (byte 108");
    /* Shorter than it was. */
    ASSERT_INT(ftruncate(fd, 100), 0);
    grant = make_grant(&bench, 2);
    check_fails(&bench, &grant, fd, BLAME_INPUT, "ends at byte 100");
    close(fd);
    /* No file at all. */
    int fds[2];
    ASSERT_INT(pipe(fds), 0);
    grant = make_grant(&bench, 3);
    check_fails(&bench, &grant, fds[0], BLAME_INPUT, "not a regular file");
    close(fds[0]);
    close(fds[1]);
    close_bench(&bench);
}

TEST(a_grant_that_does_not_fit_its_key_is_refused)
{
    struct bench bench;
    open_bench(&bench, "mul.bn128", "auto");
    struct message grant = make_grant(&bench, 0);
    grant.payload[grant.payload_bytes - 1] ^= 1;
    check_fails(&bench, &grant, bench.witness_fd, BLAME_DEVICE, "another verifying key");
    grant = make_grant(&bench, 0); /* no digest: nothing says which statement is to be proved */
    grant.payload_bytes -= 32;
    check_fails(&bench, &grant, bench.witness_fd, BLAME_DEVICE, "bytes");
    grant = make_grant(&bench, 0);
    grant.payload_bytes -= 1;
    check_fails(&bench, &grant, bench.witness_fd, BLAME_DEVICE, "bytes");
    grant = make_grant(&bench, 0);
    grant.numbers[1] = CURVE_BLS12_381;
    check_fails(&bench, &grant, bench.witness_fd, BLAME_DEVICE, "another curve");
    grant = make_grant(&bench, 0);
    grant.numbers[0] = 9;
    check_fails(&bench, &grant, bench.witness_fd, BLAME_DEVICE, "key 9 did not arrive");
    close_bench(&bench);
}

TEST(every_grant_is_answered_once_whether_cancelled_or_not)
{
    struct bench bench;
    struct message answer;
    unsigned cancelled = 0;
    open_bench(&bench, "mul.bls12381", "auto");
    const int fds[2] = {bench.witness_fd, bench.public_fd};
    for (unsigned i = 0; i < 6; i++) {
        struct message grant = make_grant(&bench, i);
        rig_input(&bench.rig, &grant, fds, 2);
        rig_grant(&bench.rig, &grant);
        grant.operation = OPERATION_CANCEL;
        if (i % 2)
            rig_grant(&bench.rig, &grant);
    }
    for (unsigned i = 0; i < 6; i++) {
        ASSERT(rig_take(&bench.rig, &answer, 10000));
        cancelled += answer.blame == BLAME_CANCELLED;
        ASSERT(answer.blame == BLAME_NONE ||
               (answer.blame == BLAME_CANCELLED && answer.slot % 2 == 1));
    }
    ASSERT(cancelled > 0);
    ASSERT(!rig_take(&bench.rig, &answer, 20));
    close_bench(&bench);
}

TEST(a_killed_finalizer_is_replaced_by_one_that_answers)
{
    struct bench bench;
    open_bench(&bench, "mul.bn128", "auto");
    struct message grant = make_grant(&bench, 0);
    const int fds[2] = {bench.witness_fd, bench.public_fd};
    rig_input(&bench.rig, &grant, fds, 2);
    rig_grant(&bench.rig, &grant);
    child_kill(&bench.rig.child, SIGKILL);
    ASSERT(rig_wait_end(&bench.rig, 5000) != -1);
    rig_destroy(&bench.rig);
    rig_start_ready(&bench.rig, WORKER_FINALIZER, CUZK_FINALIZER, "auto", NULL);
    rig_send_key(&bench.rig, 0, &bench.key);
    grant = make_grant(&bench, 0);
    const struct message answer = finalize(&bench, &grant, bench.witness_fd);
    ASSERT_INT(answer.blame, BLAME_NONE);
    close_bench(&bench);
}

TEST_MAIN(CASE(sums_become_verified_proofs_on_both_curves_and_both_loops),
          CASE(wrong_sums_never_become_a_proof),
          CASE(public_inputs_come_from_the_file_and_nothing_else),
          CASE(a_grant_that_does_not_fit_its_key_is_refused),
          CASE(every_grant_is_answered_once_whether_cancelled_or_not),
          CASE(a_killed_finalizer_is_replaced_by_one_that_answers))
