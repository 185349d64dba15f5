/* From .params and rows to proofs that are, byte for byte, those of the public implementation for
 * the same r and s. */
#include <errno.h>

#include "bench/filecoin_constraints.h"
#include "bench/params_write.h"
#include "filecoin/proof.h"
#include "groth16/key/prepared_format.h"
#include "tests/filecoin/key_rig.h"

static struct pool *pool;

static void set_up(void)
{
    if (!pool)
        ASSERT_INT(pool_create(2, &pool), 0);
}

static void check_proof(const struct golden *golden, const struct prepared *key)
{
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
    uint8_t bytes[PROOF_BYTES];
    char file[64];
    struct bytes expected, publics;

    golden_prove(golden->witness, key, pool, bytes, proof);
    ASSERT_INT(key->curve->verify(&key->verify_key, golden->witness + 4, golden->inputs - 1, proof),
               VERIFY_OK);
    snprintf(file, sizeof file, "%s.proof", golden->name);
    expected = golden_read(file);
    ASSERT_INT(expected.count, PROOF_BYTES);
    ASSERT(memcmp(bytes, expected.at, PROOF_BYTES) == 0);
    snprintf(file, sizeof file, "%s.pub", golden->name);
    publics = golden_read(file);
    ASSERT_INT(publics.count, 32 * (golden->inputs - 1));
    ASSERT(memcmp(publics.at, golden->witness + 4, publics.count) == 0);
    bytes_free(&expected);
    bytes_free(&publics);
}

TEST(a_golden_key_gives_the_golden_proof)
{
    struct golden golden;
    struct params params;
    struct image image;
    struct reason reason;
    int fd = fixture_open("filecoin/post-tiny.params");

    set_up();
    golden_open(&golden, "post-tiny");
    ASSERT_INT(params_open(fd, &params, &reason), 0);
    for (int has_c = 0; has_c < 2; has_c++) {
        ASSERT_INT(image_prepare(&golden.constraints, &params, has_c, pool, &image, &reason), 0);
        ASSERT_INT(image.prepared.layout, PREPARED_LAYOUT_BELLMAN);
        ASSERT_INT(image.prepared.has_c, has_c);
        ASSERT_INT(image.prepared.a_count, 1053);
        ASSERT_INT(image.prepared.b_count, 1013);
        ASSERT_INT(image.prepared.h_count, 2047);
        ASSERT_INT(image.prepared.l_count, 1389);
        if (has_c)
            ASSERT_INT(
                prepared_check_constraints(&image.prepared, golden.witness, NULL, NULL, 0, 1375),
                1375);
        check_proof(&golden, &image.prepared);
        image_close(&image);
    }
    params_destroy(&params);
    golden_close(&golden);
    close(fd);
}

static void check_made_key(const char *name, const char *params_digest)
{
    struct golden golden;
    struct params params;
    struct image image;
    struct reason reason;
    char file[64], digest[65];
    FILE *out;
    int vk;

    set_up();
    golden_open(&golden, name);
    out = params_make(&golden.constraints, pool);
    file_digest(out, digest);
    ASSERT_STR(digest, params_digest);
    ASSERT_INT(params_open(fileno(out), &params, &reason), 0);
    snprintf(file, sizeof file, "filecoin/%s.vk", name);
    vk = fixture_open(file);
    ASSERT_INT(params_compare_vk(&params, vk, &reason), 0);
    ASSERT_INT(image_prepare(&golden.constraints, &params, false, pool, &image, &reason), 0);
    check_proof(&golden, &image.prepared);
    image_close(&image);
    params_destroy(&params);
    golden_close(&golden);
    close(vk);
    fclose(out);
}

TEST(a_made_key_is_the_golden_one)
{
    check_made_key("post-tiny", "0e2122b8ba352f37c8cbf8ae49158e597b2b93891ad8c3faecb67bd852a6966c");
}

/* make-key writes a prepared key without the detour over a file of params. */
TEST(a_prepared_key_made_at_once_is_the_same)
{
    const struct setup_secrets secrets = params_secrets();
    char path[] = "/tmp/cuzk-test-key-XXXXXX";
    struct golden golden;
    struct params params;
    struct image image;
    struct setup setup;
    struct prepared made;
    struct reason reason;
    int fd = fixture_open("filecoin/post-tiny.params"), out = mkstemp(path);

    set_up();
    ASSERT(out >= 0);
    golden_open(&golden, "post-tiny");
    ASSERT_INT(params_open(fd, &params, &reason), 0);
    for (int has_c = 0; has_c < 2; has_c++) {
        struct key key = {.constraints = &golden.constraints,
                          .setup = &setup,
                          .maker = &key_points_cpu,
                          .pool = pool,
                          .leaves_out_c = !has_c};

        ASSERT_INT(image_prepare(&golden.constraints, &params, has_c, pool, &image, &reason), 0);
        ASSERT_INT(setup_make(&golden.constraints, &secrets, SETUP_BELLMAN, pool, &setup, &reason),
                   0);
        ASSERT_INT(key_points_cpu.create(&curve_bls12_381, setup.variables, setup.variables, pool,
                                         &key.maker_state, &reason),
                   0);
        ASSERT_INT(key_image_write(&key, path, &reason), 0);
        ASSERT_INT(prepared_read_header(out, &made, &reason), 0);
        ASSERT_INT(made.layout, PREPARED_LAYOUT_BELLMAN);
        ASSERT(memcmp(made.digest, image.prepared.digest, sizeof made.digest) == 0);
        key_points_cpu.destroy(key.maker_state);
        setup_destroy(&setup);
        image_close(&image);
    }
    params_destroy(&params);
    golden_close(&golden);
    unlink(path);
    close(out), close(fd);
}

TEST(a_key_of_another_circuit_is_refused_by_its_counts)
{
    struct golden golden;
    struct params params;
    struct image image;
    struct reason reason;
    int fd = fixture_open("filecoin/post-tiny.params");

    set_up();
    struct circuit circuit;
    struct constraints other;

    ASSERT_INT(circuit_find("winning", "2KiB", &circuit, &reason), 0);
    circuit.post.sector_count = 2;
    ASSERT_INT(filecoin_constraints(&circuit, &other, &reason), 0);
    ASSERT_INT(params_open(fd, &params, &reason), 0);
    ASSERT_INT(image_prepare(&other, &params, false, pool, &image, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "3 points of ic (byte 864), the circuit wants 5");
    params_destroy(&params);
    constraints_destroy(&other);

    /* One wire fewer in B. */
    golden_open(&golden, "post-tiny");
    ASSERT_INT(params_open(fd, &params, &reason), 0);
    uint32_t wire = 0;
    for (uint64_t i = 0; wire == 0; i++)
        wire = golden.constraints.b.column[i];
    for (uint64_t i = 0; i < golden.constraints.b.entry_count; i++)
        if (golden.constraints.b.column[i] == wire)
            golden.constraints.b.column[i] = 0;
    ASSERT_INT(image_prepare(&golden.constraints, &params, false, pool, &image, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "1013 points of b_g1");
    ASSERT_SAYS(reason, "the circuit wants 1012");
    params_destroy(&params);
    golden_close(&golden);
    close(fd);
}

#define REFUSED(change, restore, words)                                                            \
    do {                                                                                           \
        change;                                                                                    \
        ASSERT_INT(prepared_attach(image.memory, image.bytes, &again, &reason), -EBADMSG);         \
        ASSERT_SAYS(reason, words);                                                                \
        restore;                                                                                   \
    } while (0)

TEST(a_damaged_bellman_image_is_refused)
{
    struct golden golden;
    struct params params;
    struct image image;
    struct prepared again;
    struct reason reason;
    int fd = fixture_open("filecoin/post-tiny.params"), copy;
    uint8_t digest[PREPARED_DIGEST_BYTES];

    set_up();
    golden_open(&golden, "post-tiny");
    ASSERT_INT(params_open(fd, &params, &reason), 0);
    ASSERT_INT(image_prepare(&golden.constraints, &params, true, pool, &image, &reason), 0);

    struct prepared_header *header = image.memory, good = *header;
    uint64_t *words = (uint64_t *)((uint8_t *)image.memory + good.sections[PREPARED_A_DENSITY].off);
    uint32_t *ranks = (uint32_t *)((uint8_t *)image.memory + good.sections[PREPARED_B_RANKS].off);
    const size_t last = density_word_count(1392) - 1;

    REFUSED(header->layout = 3, *header = good, "layout 3");
    REFUSED(header->layout = PREPARED_LAYOUT_SNARKJS, *header = good, "contradict");
    REFUSED(header->a_point_count++, *header = good, "section table");
    REFUSED(header->b_point_count = 5000, *header = good, "contradict");
    REFUSED(header->a_point_count = 2, *header = good, "contradict");
    REFUSED(words[3] ^= 4, words[3] ^= 4, "densities");
    REFUSED(words[last] ^= UINT64_C(1) << 63, words[last] ^= UINT64_C(1) << 63, "densities");
    REFUSED(ranks[5]++, ranks[5]--, "densities");
    ASSERT_INT(prepared_attach(image.memory, image.bytes, &again, &reason), 0);

    /* Copied as one that was made elsewhere. */
    copy = memfd_create("copy", MFD_CLOEXEC);
    ASSERT(copy >= 0);
    ASSERT_INT(prepared_copy(image.fd, copy, pool, NULL, digest, &reason), 0);
    ASSERT(memcmp(digest, good.digest, sizeof digest) == 0);

    /* With a right digest, but another wire dense: two neighbours change places. */
    uint64_t *b = (uint64_t *)((uint8_t *)image.memory + good.sections[PREPARED_B_DENSITY].off);
    int at = 0;

    while ((b[2] >> at & 3) != 1)
        at++;
    b[2] ^= UINT64_C(3) << at;
    ASSERT_INT(prepared_attach(image.memory, image.bytes, &again, &reason), 0);
    ASSERT(image.bytes <= PREPARED_DIGEST_PIECE_BYTES);
    ASSERT(prepared_format_hash_piece(image.memory, image.bytes, 0, digest) &&
           prepared_format_hash_root(image.bytes, digest, 1, header->digest));
    ASSERT_INT(pwrite(image.fd, image.memory, image.bytes, 0), image.bytes);
    ASSERT_INT(ftruncate(copy, 0), 0);
    ASSERT_INT(prepared_copy(image.fd, copy, pool, NULL, digest, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "the density of B");
    close(copy);
    image_close(&image);
    params_destroy(&params);
    golden_close(&golden);
    close(fd);
}

TEST_MAIN(CASE(a_golden_key_gives_the_golden_proof), CASE(a_made_key_is_the_golden_one),
          CASE(a_prepared_key_made_at_once_is_the_same),
          CASE(a_key_of_another_circuit_is_refused_by_its_counts),
          CASE(a_damaged_bellman_image_is_refused))
