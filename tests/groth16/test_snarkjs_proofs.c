/* Proofs made by snarkjs, checked through the whole path from JSON to the pairing. */

#include "groth16/key/proof_json.h"
#include "groth16/key/public_json.h"
#include "groth16/key/vkey_json.h"
#include "groth16/verify/verify.h"
#include "tests/test.h"

enum { TEXT_BYTES_MAX = 64 * 1024 };

static const struct fixture {
    const char *name;
    int proof_count;
} fixtures[] = {
    {"mul.bn128", 3},    {"nopub.bn128", 3},    {"chain12.bn128", 1},
    {"mul.bls12381", 3}, {"nopub.bls12381", 3}, {"chain12.bls12381", 1},
};

static const int fixture_count = sizeof fixtures / sizeof fixtures[0];

/* A key and one proof with its public inputs. */
struct statement {
    struct vkey_json vkey;
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
    uint64_t *public_scalars;
    size_t public_count;
};

static size_t read_text(const char *fixture, const char *file, char *ret)
{
    char path[512];

    snprintf(path, sizeof path, "%s/good/%s/%s", FIXTURES, fixture, file);
    FILE *f = fopen(path, "rb");
    ASSERT(f != NULL);
    size_t bytes = fread(ret, 1, TEXT_BYTES_MAX, f);
    fclose(f);
    return bytes;
}

static void load_statement(struct statement *s, const char *fixture, int number)
{
    static char text[TEXT_BYTES_MAX];
    struct reason reason;
    const struct curve *named;
    char file[32];

    size_t bytes = read_text(fixture, "vkey.json", text);
    ASSERT_INT(vkey_json_read(text, bytes, &s->vkey, &reason), 0);
    snprintf(file, sizeof file, "proof%d.json", number);
    bytes = read_text(fixture, file, text);
    ASSERT_INT(proof_json_read(text, bytes, s->vkey.curve, &named, s->proof, &reason), 0);
    snprintf(file, sizeof file, "public%d.json", number);
    bytes = read_text(fixture, file, text);
    ASSERT_INT(
        public_json_read(text, bytes, s->vkey.curve, &s->public_scalars, &s->public_count, &reason),
        0);
}

static void free_statement(struct statement *s)
{
    vkey_json_free(&s->vkey);
    free(s->public_scalars);
}

static int verify_statement(const struct statement *s)
{
    return s->vkey.curve->verify(&s->vkey.key, s->public_scalars, s->public_count, s->proof);
}

TEST(every_snarkjs_proof_verifies)
{
    for (int i = 0; i < fixture_count; i++) {
        for (int number = 1; number <= fixtures[i].proof_count; number++) {
            struct statement s = {0};

            load_statement(&s, fixtures[i].name, number);
            ASSERT_INT(verify_statement(&s), VERIFY_OK);
            free_statement(&s);
        }
    }
}

TEST(a_snarkjs_proof_with_another_public_input_is_refused)
{
    for (int i = 0; i < fixture_count; i++) {
        struct statement s = {0};

        load_statement(&s, fixtures[i].name, 1);
        if (s.public_count > 0) {
            s.public_scalars[0] ^= 1;
            ASSERT_INT(verify_statement(&s), VERIFY_FAILED);
        }
        free_statement(&s);
    }
}

TEST(a_snarkjs_proof_with_exchanged_points_is_refused)
{
    for (int i = 0; i < fixture_count; i++) {
        struct statement s = {0};

        load_statement(&s, fixtures[i].name, 1);
        const struct curve *curve = s.vkey.curve;
        memcpy(s.proof, (const char *)s.proof + curve->g1_bytes + curve->g2_bytes, curve->g1_bytes);
        ASSERT_INT(verify_statement(&s), VERIFY_FAILED);
        free_statement(&s);
    }
}

TEST(a_snarkjs_proof_under_another_key_is_refused)
{
    static const char *const curves[] = {"bn128", "bls12381"};

    for (int i = 0; i < 2; i++) {
        struct statement ours = {0}, other = {0};
        char name[32];

        snprintf(name, sizeof name, "mul.%s", curves[i]);
        load_statement(&ours, name, 1);
        snprintf(name, sizeof name, "chain12.%s", curves[i]);
        load_statement(&other, name, 1);
        if (ours.public_count == other.public_count) {
            struct vkey_json key = ours.vkey;

            ours.vkey = other.vkey;
            other.vkey = key;
            ASSERT_INT(verify_statement(&ours), VERIFY_FAILED);
        }
        free_statement(&ours);
        free_statement(&other);
    }
}

TEST_MAIN(CASE(every_snarkjs_proof_verifies),
          CASE(a_snarkjs_proof_with_another_public_input_is_refused),
          CASE(a_snarkjs_proof_with_exchanged_points_is_refused),
          CASE(a_snarkjs_proof_under_another_key_is_refused))
