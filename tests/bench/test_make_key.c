/* make-key end to end: a key from an .r1cs, prepared, a proof by the library's own steps, verified
 * under the verification key that was written. */
#include "bench/make_key.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>

#include <openssl/evp.h>

#include "groth16/key/prepared.h"
#include "groth16/key/vkey_json.h"
#include "groth16/key/json_text.h"
#include "groth16/key/wtns.h"
#include "groth16/pool.h"
#include "groth16/verify/assemble.h"
#include "tests/groth16/key_fixture.h"

static struct reason reason;
static char folder[64];

static struct bytes bytes_read_path(const char *path)
{
    struct bytes bytes = {0};
    FILE *file = fopen(path, "rb");

    ASSERT(file);
    fseek(file, 0, SEEK_END);
    bytes.count = (size_t)ftell(file);
    rewind(file);
    bytes.at = malloc(bytes.count + 1);
    ASSERT(bytes.at && fread(bytes.at, 1, bytes.count, file) == bytes.count);
    fclose(file);
    return bytes;
}

struct circuit {
    struct prepared prepared;
    struct vkey_json vkey;
    void *memory;
    uint64_t *witness;
};

static const char *path_in(const char *name)
{
    static char path[8][128];
    static int next;

    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* make-key with these arguments, up to NULL. */
static int run(const char *first, ...)
{
    char *argv[24] = {"make-key", (char *)first};
    int argc = 1;
    va_list rest;

    va_start(rest, first);
    while (argv[argc])
        argv[++argc] = va_arg(rest, char *);
    va_end(rest);
    optind = 0;
    return make_key_main(argc, argv, &key_points_cpu);
}

static int make(const char *r1cs, const char *seed)
{
    return run("--r1cs", r1cs, "--zkey", path_in("key.zkey"), "--prepared", path_in("key.czk"),
               "--vkey", path_in("vkey.json"), "--seed", seed, "--threads", "2", NULL);
}

/* What make-key prepares is what prepared_write makes of its .zkey and the .r1cs. */
static void expect_same_bytes(int image, const char *path)
{
    struct stat a, b;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t ours[4096], theirs[4096];

    ASSERT(fd >= 0);
    ASSERT_INT(fstat(image, &a), 0);
    ASSERT_INT(fstat(fd, &b), 0);
    ASSERT_INT(a.st_size, b.st_size);
    for (off_t off = 0; off < a.st_size; off += 4096) {
        ASSERT_INT(pread(image, theirs, 4096, off), 4096);
        ASSERT_INT(pread(fd, ours, 4096, off), 4096);
        ASSERT(memcmp(ours, theirs, 4096) == 0);
    }
    close(fd);
}

static void load_key(struct circuit *circuit, const char *r1cs_path, struct pool *pool)
{
    int zkey_fd = open(path_in("key.zkey"), O_RDONLY | O_CLOEXEC);
    int r1cs_fd = open(r1cs_path, O_RDONLY | O_CLOEXEC);
    int image = memfd_create("image", MFD_CLOEXEC);
    uint8_t digest[PREPARED_DIGEST_BYTES];
    struct zkey zkey;
    struct r1cs r1cs;
    struct stat st;

    ASSERT_INT(zkey_open(zkey_fd, &zkey, &reason), 0);
    ASSERT_INT(r1cs_open(r1cs_fd, &r1cs, &reason), 0);
    ASSERT_INT(prepared_write(&zkey, &r1cs, image, pool, NULL, digest, &reason), 0);
    ASSERT_INT(fstat(image, &st), 0);
    expect_same_bytes(image, path_in("key.czk"));
    circuit->memory = aligned_alloc(4096, (size_t)st.st_size);
    ASSERT_INT(
        prepared_load(image, circuit->memory, (size_t)st.st_size, digest, pool, NULL, &reason), 0);
    ASSERT_INT(prepared_attach(circuit->memory, (size_t)st.st_size, &circuit->prepared, &reason),
               0);
    close(zkey_fd);
    close(r1cs_fd);
    close(image);
}

static void load_rest(struct circuit *circuit, const char *wtns_path)
{
    int fd = open(path_in("vkey.json"), O_RDONLY | O_CLOEXEC);
    struct wtns wtns;
    size_t bytes;
    char *text;

    ASSERT_INT(json_text_read(fd, &text, &bytes, &reason), 0);
    ASSERT_INT(vkey_json_read(text, bytes, &circuit->vkey, &reason), 0);
    ASSERT(strstr(text, "\"unsafe\""));
    free(text);
    close(fd);
    fd = open(wtns_path, O_RDONLY | O_CLOEXEC);
    ASSERT_INT(wtns_open(fd, &wtns, &reason), 0);
    ASSERT_INT(
        wtns_match(&wtns, circuit->prepared.curve, circuit->prepared.shape.variable_count, &reason),
        0);
    circuit->witness = malloc(wtns.data_bytes);
    ASSERT_INT(pread(fd, circuit->witness, wtns.data_bytes, (off_t)wtns.data_off), wtns.data_bytes);
    close(fd);
}

/* The steps of a proof under a snarkjs key, blinded by r = 5 and s = 7. */
static void prove(const struct circuit *circuit, struct pool *pool, void *ret_proof)
{
    const struct prepared *p = &circuit->prepared;
    const struct curve *curve = p->curve;
    const size_t rows = (size_t)1 << p->shape.domain_log2;
    const uint64_t r[4] = {5}, s[4] = {7}, *w = circuit->witness;
    uint64_t *a = malloc(rows * 32), *b = malloc(rows * 32), *h = malloc(rows * 32);
    uint64_t *scratch = malloc(2 * rows * 32);
    uint64_t sums[4][CURVE_G1_BYTES_MAX / 8], sum_b2[CURVE_G2_BYTES_MAX / 8];
    const struct assemble_input input = {
        .sum_a = sums[0],
        .sum_b1 = sums[1],
        .sum_b2 = sum_b2,
        .sum_l = sums[2],
        .sum_h = sums[3],
        .alpha_g1 = p->alpha_g1,
        .beta_g1 = p->beta_g1,
        .beta_g2 = p->beta_g2,
        .delta_g1 = p->delta_g1,
        .delta_g2 = p->delta_g2,
        .r = r,
        .s = s,
    };

    curve->evaluate(&p->matrix_a, w, a, 0, rows);
    curve->evaluate(&p->matrix_b, w, b, 0, rows);
    ASSERT_INT(prepared_check_constraints(p, w, a, b, 0, rows), rows);
    curve->quotient(pool, a, b, p->shape.domain_log2, h, scratch);
    ASSERT_INT(curve->msm_g1(pool, p->a, w, p->shape.variable_count, sums[0]), 0);
    ASSERT_INT(curve->msm_g1(pool, p->b1, w, p->shape.variable_count, sums[1]), 0);
    ASSERT_INT(curve->msm_g2(pool, p->b2, w, p->shape.variable_count, sum_b2), 0);
    ASSERT_INT(curve->msm_g1(pool, p->l, w + 4 * (p->shape.public_count + 1), p->l_count, sums[2]),
               0);
    ASSERT_INT(curve->msm_g1(pool, p->h, h, p->h_count, sums[3]), 0);
    curve->assemble(&input, ret_proof);
    free(a);
    free(b);
    free(h);
    free(scratch);
}

/* The files of make-key are there: a proof of the witness under them is accepted, and no other. */
static void prove_under_the_key(const char *r1cs, const char *wtns)
{
    struct circuit circuit = {0};
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
    uint8_t digest[VKEY_DIGEST_BYTES];
    struct pool *pool;

    ASSERT_INT(pool_create(2, &pool), 0);
    load_key(&circuit, r1cs, pool);
    load_rest(&circuit, wtns);
    prove(&circuit, pool, proof);
    const struct prepared_shape *shape = &circuit.prepared.shape;
    const struct curve *curve = circuit.prepared.curve;
    ASSERT_INT(curve->verify(&circuit.vkey.key, circuit.witness + 4, shape->public_count, proof),
               VERIFY_OK);
    ASSERT_INT(curve->verify(&circuit.prepared.verify_key, circuit.witness + 4, shape->public_count,
                             proof),
               VERIFY_OK);
    ASSERT_INT(vkey_json_digest(curve, &circuit.vkey.key, digest), 0);
    ASSERT(memcmp(digest, circuit.prepared.verify_key_digest, sizeof digest) == 0);
    proof[0] ^= 1;
    ASSERT(curve->verify(&circuit.vkey.key, circuit.witness + 4, shape->public_count, proof) !=
           VERIFY_OK);
    free(circuit.witness);
    free(circuit.memory);
    vkey_json_free(&circuit.vkey);
    pool_free(pool);
}

static void prove_under_a_made_key(const char *name)
{
    char r1cs[512], wtns[512];

    snprintf(r1cs, sizeof r1cs, "%s/good/%s/circuit.r1cs", FIXTURES, name);
    snprintf(wtns, sizeof wtns, "%s/good/%s/w1.wtns", FIXTURES, name);
    ASSERT_INT(make(r1cs, "42"), 0);
    prove_under_the_key(r1cs, wtns);
}

TEST(proofs_under_made_keys_verify)
{
    prove_under_a_made_key("mul.bn128");
    prove_under_a_made_key("mul.bls12381");
    prove_under_a_made_key("nopub.bn128");
    prove_under_a_made_key("nopub.bls12381");
    prove_under_a_made_key("chain12.bn128");
    prove_under_a_made_key("merkle20.bn128");
}

/* A made circuit, its key by way of the .r1cs and directly, and two witnesses. */
static void prove_a_made_circuit(const char *circuit, const char *curve)
{
    struct bytes direct, w[2];

    ASSERT_INT(run("--circuit", circuit, "--curve", curve, "--write-r1cs", path_in("made.r1cs"),
                   "--prepared", path_in("direct.czk"), "--witness-folder", folder, "--witnesses",
                   "2", "--seed", "9", "--threads", "3", NULL),
               0);
    ASSERT_INT(make(path_in("made.r1cs"), "9"), 0);
    direct = bytes_read_path(path_in("direct.czk"));
    w[0] = bytes_read_path(path_in("key.czk"));
    ASSERT_INT(direct.count, w[0].count);
    ASSERT(memcmp(direct.at, w[0].at, direct.count) == 0);
    bytes_free(&w[0]);
    for (int i = 0; i < 2; i++) {
        const char *path = path_in(i == 0 ? "w1.wtns" : "w2.wtns");

        w[i] = bytes_read_path(path);
        prove_under_the_key(path_in("made.r1cs"), path);
    }
    ASSERT_INT(w[0].count, w[1].count);
    ASSERT(memcmp(w[0].at, w[1].at, w[0].count) != 0);
    bytes_free(&direct);
    bytes_free(&w[0]);
    bytes_free(&w[1]);
}

TEST(proofs_of_made_circuits_verify)
{
    prove_a_made_circuit("chain:8", "bn254");
    prove_a_made_circuit("chain:13", "bls12-381");
    prove_a_made_circuit("sha:8", "bls12-381");
    prove_a_made_circuit("sha:13", "bn254");
}

/* Sections that do not depend on secrets are byte for byte those of snarkjs. */
TEST(protocol_and_coefficients_are_those_of_snarkjs)
{
    struct bytes theirs = bytes_read("good/chain12.bls12381/circuit.zkey"), ours = {0};
    FILE *file;

    ASSERT_INT(make(FIXTURES "/good/chain12.bls12381/circuit.r1cs", "1"), 0);
    file = fopen(path_in("key.zkey"), "rb");
    ours.at = malloc(theirs.count);
    ours.count = fread(ours.at, 1, theirs.count, file);
    fclose(file);
    for (uint32_t id = 1; id <= 10; id++) {
        const uint8_t *a = bytes_section(&theirs, id), *b = bytes_section(&ours, id);

        if (id != 10)
            ASSERT(memcmp(a - 12, b - 12, 12) == 0);
        if (id == 1 || id == 4)
            ASSERT(memcmp(a, b, get_u32(a - 8)) == 0);
    }
    ASSERT(strncmp((char *)bytes_section(&ours, 10), "UNSAFE", 6) == 0);
    bytes_free(&theirs);
    bytes_free(&ours);
}

TEST(a_seed_gives_one_key)
{
    const char *r1cs = FIXTURES "/good/mul.bn128/circuit.r1cs";
    struct bytes keys[3];

    for (int i = 0; i < 3; i++) {
        ASSERT_INT(make(r1cs, i < 2 ? "7" : "8"), 0);
        keys[i] = bytes_read_path(path_in("key.zkey"));
    }
    ASSERT_INT(keys[0].count, keys[1].count);
    ASSERT_INT(keys[0].count, keys[2].count);
    ASSERT(memcmp(keys[0].at, keys[1].at, keys[0].count) == 0);
    ASSERT(memcmp(keys[0].at, keys[2].at, keys[0].count) != 0);
    for (int i = 0; i < 3; i++)
        bytes_free(&keys[i]);
}

/* What the revision before prepared keys could be written gave for this seed. */
TEST(keys_stay_as_they_were)
{
    static const char *const digests[2] = {
        "aa84791a167ea2f4ed41fd5f123f7c36b5ef6d52afe9b7fb4f411796dae51fdb",
        "a4eb6b125a45d57cfce42d7865ac4208bb53056dd8d61d792b04e5022fd08d24",
    };
    static const char *const files[2] = {FIXTURES "/good/mul.bn128/circuit.r1cs",
                                         FIXTURES "/good/nopub.bls12381/circuit.r1cs"};

    for (int i = 0; i < 2; i++) {
        struct bytes key;
        uint8_t digest[32];
        char text[65];

        ASSERT_INT(make(files[i], "42"), 0);
        key = bytes_read_path(path_in("key.zkey"));
        ASSERT(EVP_Digest(key.at, key.count, digest, NULL, EVP_sha256(), NULL));
        for (int j = 0; j < 32; j++)
            snprintf(text + 2 * j, 3, "%02x", digest[j]);
        ASSERT_STR(text, digests[i]);
        bytes_free(&key);
    }
}

TEST(bad_arguments_and_files_are_refused)
{
    const char *r1cs = FIXTURES "/good/mul.bn128/circuit.r1cs";

    ASSERT_INT(run(NULL), 2);
    ASSERT_INT(run("--r1cs", r1cs, NULL), 2);
    ASSERT_INT(run("--r1cs", r1cs, "--circuit", "sha:8", "--zkey", "/tmp/x", NULL), 2);
    ASSERT_INT(run("--r1cs", r1cs, "--witness-folder", folder, NULL), 2);
    ASSERT_INT(run("--circuit", "sha:8", "--witnesses", "2", NULL), 2);
    ASSERT_INT(run("--circuit", "sha:7", "--witness-folder", folder, NULL), 2);
    ASSERT_INT(run("--circuit", "sha", "--witness-folder", folder, NULL), 2);
    ASSERT_INT(run("--circuit", "md5:8", "--witness-folder", folder, NULL), 2);
    ASSERT_INT(run("--circuit", "sha:8", "--curve", "p256", "--witness-folder", folder, NULL), 2);
    ASSERT_INT(run("--circuit", "sha:8", "--prepared", "/nonexistent/key.czk", NULL), 1);
    ASSERT_INT(run("--circuit", "sha:29", "--prepared", path_in("key.czk"), NULL), 1);
    ASSERT_INT(make("/nonexistent", "1"), 1);
    ASSERT_INT(make("/tmp", "1"), 1);
    ASSERT_INT(make(FIXTURES "/bad/r1cs_trunc.r1cs", "1"), 1);
    ASSERT_INT(make(FIXTURES "/good/mul.bn128/circuit.r1cs", "-1"), 2);
    ASSERT_INT(make(FIXTURES "/good/mul.bn128/circuit.r1cs", "1x"), 2);
}

TEST(tidy_up)
{
    static const char *const names[] = {"key.zkey",   "key.czk", "vkey.json", "made.r1cs",
                                        "direct.czk", "w1.wtns", "w2.wtns"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_in(names[i]));
    ASSERT_INT(rmdir(folder), 0);
}

TEST(set_up)
{
    strcpy(folder, "/tmp/cuzk-make-key-XXXXXX");
    ASSERT(mkdtemp(folder));
}

TEST_MAIN(CASE(set_up), CASE(proofs_under_made_keys_verify), CASE(proofs_of_made_circuits_verify),
          CASE(keys_stay_as_they_were), CASE(protocol_and_coefficients_are_those_of_snarkjs),
          CASE(a_seed_gives_one_key), CASE(bad_arguments_and_files_are_refused), CASE(tidy_up))
