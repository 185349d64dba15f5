/* The whole way in one process: circuit, key from its toxic waste, vanilla proof, witness, proof;
 * keys and proofs are, byte for byte, those of the public implementation. With CUZK_LONG_TESTS=1
 * also SnapDeals of 2 KiB, which takes some minutes. */
#include "bench/filecoin_constraints.h"
#include "filecoin/proof.h"
#include "tests/filecoin/fixture.h"
#include "tests/filecoin/key_rig.h"

enum { PROOFS_MAX = 3 };

static const struct chain {
    const char *kind, *sector;
    unsigned sector_count, challenge_count; /* 0: the circuit's own */
    const char *vk, *params_digest;
    const char *proofs[PROOFS_MAX];
    bool is_long;
} chains[] = {
    {"window",
     "2KiB",
     1,
     1,
     "post-tiny",
     "0e2122b8ba352f37c8cbf8ae49158e597b2b93891ad8c3faecb67bd852a6966c",
     {"post-tiny"},
     false},
    {"winning",
     "2KiB",
     6,
     0,
     "winning-2KiB-shape-small",
     "e511ae0930244afd54f0b98bfac81afb5ea57b79514d887abe88eb7b5234c7a3",
     {"winning-2KiB-shape-small"},
     false},
    {"window",
     "2KiB",
     0,
     0,
     "window-2KiB",
     "85bba2f78dd45cd231fd692b289dcbc87638e84ff1482081a2629b36128eed5e",
     {"window-2KiB"},
     false},
    {"snap",
     "2KiB",
     0,
     0,
     "snap-2KiB-p0",
     "4481881fccf7a58aa61b353c0390d167fbba231450b010a6b1846a7e88d2da0b",
     {"snap-2KiB-p0", "snap-2KiB-s2-p0", "snap-2KiB-zero-p0"},
     true},
};

static struct pool *pool;

/* Of the inputs (ONE first), then the others. */
static uint64_t *make_witness(const struct circuit *circuit, const char *name)
{
    struct fixture fixture = fixture_load(name, "vanilla");
    struct circuit_vanilla vanilla;
    struct circuit_size size;
    struct reason reason;
    struct cs cs;
    fr *values;

    ASSERT_INT(circuit_vanilla_read(&vanilla, circuit, fixture.data, fixture.size, &reason), 0);
    ASSERT_INT(circuit_measure(circuit, &size), 0);
    values = calloc((size_t)size.input_count + size.aux_count, sizeof *values);
    ASSERT(values);
    cs_init_values(&cs, values, size.input_count, values + size.input_count, size.aux_count, NULL,
                   NULL);
    ASSERT_INT(circuit_synthesize(&cs, circuit, &vanilla, fixture.public), 0);
    cs_destroy(&cs);
    circuit_vanilla_destroy(&vanilla);
    fixture_free(&fixture);
    return (uint64_t *)values;
}

static void check_proof(const struct circuit *circuit, const struct prepared *key, const char *name)
{
    uint64_t *witness = make_witness(circuit, name), proof[CURVE_PROOF_BYTES_MAX / 8];
    uint8_t bytes[PROOF_BYTES];
    char file[64];
    struct bytes expected;

    golden_prove(witness, key, pool, bytes, proof);
    ASSERT_INT(key->curve->verify(&key->verify_key, witness + 4, key->ic_count - 1, proof),
               VERIFY_OK);
    snprintf(file, sizeof file, "%s.proof", name);
    expected = golden_read(file);
    ASSERT_INT(expected.count, PROOF_BYTES);
    ASSERT(memcmp(bytes, expected.at, PROOF_BYTES) == 0);
    bytes_free(&expected);
    free(witness);
}

static void check_chain(const struct chain *chain)
{
    const struct circuit circuit =
        fixture_circuit(chain->kind, chain->sector, chain->sector_count, chain->challenge_count);
    struct constraints constraints;
    struct params params;
    struct image image;
    struct reason reason;
    char file[64], digest[65];
    FILE *out;
    int vk;

    ASSERT_INT(filecoin_constraints(&circuit, &constraints, &reason), 0);
    out = params_make(&constraints, pool);
    file_digest(out, digest);
    ASSERT_STR(digest, chain->params_digest);
    ASSERT_INT(params_open(fileno(out), &params, &reason), 0);
    snprintf(file, sizeof file, "filecoin/%s.vk", chain->vk);
    vk = fixture_open(file);
    ASSERT_INT(params_compare_vk(&params, vk, &reason), 0);
    ASSERT_INT(image_prepare(&constraints, &params, false, pool, &image, &reason), 0);
    for (int i = 0; i < PROOFS_MAX && chain->proofs[i]; i++)
        check_proof(&circuit, &image.prepared, chain->proofs[i]);
    image_close(&image);
    params_destroy(&params);
    constraints_destroy(&constraints);
    close(vk);
    fclose(out);
}

TEST(proofs_of_recorded_circuits_are_the_golden_ones)
{
    ASSERT_INT(pool_create(2, &pool), 0);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++)
        if (!chains[i].is_long || getenv("CUZK_LONG_TESTS"))
            check_chain(&chains[i]);
    pool_free(pool);
}

TEST_MAIN(CASE(proofs_of_recorded_circuits_are_the_golden_ones))
