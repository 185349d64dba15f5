/* Decimal numbers and the three JSON formats: byte-identical output, every refusal. */
#include "groth16/key/decimal.h"
#include "groth16/key/json_text.h"
#include "groth16/key/proof_json.h"
#include "groth16/key/public_json.h"
#include "groth16/key/vkey_json.h"

#include <errno.h>

#include "tests/groth16/key_fixture.h"

static struct reason reason;

static struct bytes read_text(const char *name)
{
    struct bytes bytes = bytes_read(name);

    bytes.at[bytes.count] = '\0';
    return bytes;
}

TEST(numbers_survive_the_round_trip)
{
    uint64_t state = test_seed();
    const struct curve *curves[] = {&curve_bn254, &curve_bls12_381};

    for (int c = 0; c < 2; c++) {
        const unsigned limbs = curves[c]->fp_limbs;

        for (int i = 0; i < 2000; i++) {
            uint64_t number[6] = {0}, back[6];
            char text[DECIMAL_TEXT_BYTES];
            size_t length;

            for (unsigned j = 0; j < limbs; j++)
                number[j] = test_random(&state) >> (test_random(&state) % 64);
            number[limbs - 1] %= curves[c]->fp_modulus[limbs - 1];
            length = decimal_print(number, limbs, text);
            ASSERT_INT(strlen(text), length);
            ASSERT_INT(decimal_parse(text, length, curves[c]->fp_modulus, limbs, back), 0);
            ASSERT(memcmp(number, back, limbs * 8) == 0);
        }
    }
}

TEST(decimal_borders)
{
    static const uint64_t all_ones[6] = {UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                         UINT64_MAX, UINT64_MAX, UINT64_MAX};
    uint64_t number[6] = {0};
    char text[DECIMAL_TEXT_BYTES];
    char digits[200];

    ASSERT_INT(decimal_print(number, 4, text), 1);
    ASSERT_STR(text, "0");
    ASSERT_INT(decimal_print(all_ones, 6, text), 116);
    ASSERT_INT(decimal_print(curve_bn254.fr_modulus, 4, text), 77);
    ASSERT_STR(text,
               "21888242871839275222246405745257275088548364400416034343698204186575808495617");
    ASSERT_INT(decimal_parse(text, 77, curve_bn254.fr_modulus, 4, number), -ERANGE);
    text[76]--;
    ASSERT_INT(decimal_parse(text, 77, curve_bn254.fr_modulus, 4, number), 0);
    ASSERT_INT(number[0], curve_bn254.fr_modulus[0] - 1);
    ASSERT_INT(decimal_parse("0", 1, curve_bn254.fr_modulus, 4, number), 0);
    ASSERT_INT(decimal_parse("", 0, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("00", 2, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("01", 2, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("+1", 2, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("-1", 2, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("1 ", 2, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("0x1", 3, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    ASSERT_INT(decimal_parse("1e5", 3, curve_bn254.fr_modulus, 4, number), -EBADMSG);
    memset(digits, '9', sizeof digits);
    for (size_t length = 78; length < sizeof digits; length++)
        ASSERT_INT(decimal_parse(digits, length, curve_bn254.fr_modulus, 4, number), -ERANGE);
}

TEST(snarkjs_proofs_are_reproduced_byte_by_byte)
{
    static const char *const files[] = {
        "good/mul.bn128/proof1.json", "good/mul.bls12381/proof1.json",
        "good/nopub.bn128/proof2.json", "good/nopub.bls12381/proof3.json",
        "good/chain12.bls12381/proof1.json"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct bytes file = read_text(files[i]);
        uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
        const struct curve *curve;
        char *text;
        size_t bytes;

        ASSERT_INT(proof_json_read((char *)file.at, file.count, NULL, &curve, proof, &reason), 0);
        ASSERT_INT(proof_json_write(curve, proof, &text, &bytes), 0);
        ASSERT_INT(bytes, file.count);
        ASSERT(memcmp(text, file.at, bytes) == 0);
        ASSERT_INT(curve->g1_check(proof, true), CURVE_POINT_OK);
        ASSERT_INT(curve->g2_check((uint8_t *)proof + curve->g1_bytes, true), CURVE_POINT_OK);
        free(text);
        bytes_free(&file);
    }
}

TEST(snarkjs_public_inputs_are_reproduced_byte_by_byte)
{
    static const char *const files[] = {
        "good/mul.bn128/public1.json", "good/mul.bls12381/public3.json",
        "good/nopub.bn128/public1.json", "good/chain12.bn128/public1.json"};
    static const size_t counts[] = {1, 1, 0, 3};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const struct curve *curve = strstr(files[i], "bls") ? &curve_bls12_381 : &curve_bn254;
        struct bytes file = read_text(files[i]);
        uint64_t *scalars;
        char *text;
        size_t count, bytes;

        ASSERT_INT(public_json_read((char *)file.at, file.count, curve, &scalars, &count, &reason),
                   0);
        ASSERT_INT(count, counts[i]);
        ASSERT_INT(public_json_write(scalars, count, &text, &bytes), 0);
        ASSERT_STR(text, (char *)file.at);
        free(text);
        free(scalars);
        bytes_free(&file);
    }
}

TEST(arrays_are_nested_one_level_deeper)
{
    const uint64_t scalars[8] = {7, 0, 0, 0, 8};
    uint8_t proofs[2 * CURVE_PROOF_BYTES_MAX] = {0};
    char *text;
    size_t bytes;

    ASSERT_INT(public_json_write_array(scalars, 2, 1, &text, &bytes), 0);
    ASSERT_STR(text, "[\n [\n  \"7\"\n ],\n [\n  \"8\"\n ]\n]");
    free(text);
    ASSERT_INT(public_json_write_array(scalars, 2, 0, &text, &bytes), 0);
    ASSERT_STR(text, "[\n [\n ],\n [\n ]\n]");
    free(text);
    ASSERT_INT(proof_json_write_array(&curve_bn254, proofs, 2, &text, &bytes), 0);
    ASSERT(strncmp(text, "[\n {\n  \"pi_a\": [\n   \"0\",\n   \"1\",\n   \"0\"\n  ],\n", 45) == 0);
    ASSERT_STR(text + bytes - 24, "\n  \"curve\": \"bn128\"\n }\n]");
    free(text);
}

/* Reads `text` as a proof over bn254. */
static int read_proof(const char *text)
{
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8];
    const struct curve *curve;

    return proof_json_read(text, strlen(text), &curve_bn254, &curve, proof, &reason);
}

TEST(proofs_of_other_writers_are_taken)
{
    /* Compact, without curve and protocol, other key order. */
    ASSERT_INT(read_proof("{\"pi_b\":[[\"3\",\"4\"],[\"5\",\"6\"],[\"1\",\"0\"]],"
                          "\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_c\":[\"0\",\"1\",\"0\"]}"),
               0);
    ASSERT_INT(read_proof("{\"pi_b\":[[\"0\",\"0\"],[\"1\",\"0\"],[\"0\",\"0\"]],"
                          "\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_c\":[\"0\",\"1\",\"0\"],"
                          "\"protocol\":\"groth16\"}\n"),
               0);
}

TEST(bad_proofs_are_refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "not valid JSON"},
        {"[]", "object is wanted"},
        {"{}", "pi_a"},
        {"{\"pi_a\":1}", "pi_a"},
        {"{\"pi_a\":[\"1\",\"2\"]}", "pi_a"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\",\"1\"]}", "pi_a"},
        {"{\"pi_a\":[\"1\",\"2\",\"2\"]}", "pi_a[2]"},
        {"{\"pi_a\":[\"1\",\"2\",\"0\"]}", "z = 0"},
        {"{\"pi_a\":[\"-1\",\"2\",\"1\"]}", "pi_a[0]"},
        {"{\"pi_a\":[\"1\",\"02\",\"1\"]}", "pi_a[1]"},
        {"{\"pi_a\":[\"1\",null,\"1\"]}", "pi_a[1]"},
        {"{\"pi_a\":[\"1\",1.5,\"1\"]}", "pi_a[1]"},
        {"{\"pi_a\":[\"1\",-5,\"1\"]}", "pi_a[1]"},
        {"{\"pi_a\":[\"1\",{},\"1\"]}", "pi_a[1]"},
        {"{\"pi_a\":[\"1\",99999999999999999999999999999,\"1\"]}", "not valid JSON"},
        {"{\"pi_a\":["
         "\"21888242871839275222246405745257275088696311157297823662689037894645226208583"
         "\",\"2\",\"1\"]}",
         "not below the prime"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_b\":[[\"3\"],[\"5\",\"6\"],[\"1\",\"0\"]]}",
         "pi_b[0]"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_b\":[\"3\",[\"5\",\"6\"],[\"1\",\"0\"]]}", "pi_b[0]"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_b\":[[\"3\",\"4\"],[\"5\",\"6\"],[\"1\",\"1\"]]}",
         "pi_b[2]"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_b\":[[\"3\",\"4\"],[\"5\",\"6\"],[\"0\",\"0\"]]}",
         "z = 0"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"],\"pi_a\":[\"1\",\"2\",\"1\"]}", "duplicate"},
        {"{\"protocol\":\"plonk\"}", "protocol"},
        {"{\"protocol\":7}", "protocol"},
        {"{\"curve\":\"bls12381\"}", "over bls12381"},
        {"{\"curve\":\"secp256k1\"}", "secp256k1"},
        {"{\"curve\":[]}", "curve"},
        {"[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]", "too deep"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"]", "not valid JSON"},
        {"{\"pi_a\":[\"1\",\"2\",\"1\"]}}", "not valid JSON"},
        {"{\"pi_a\":\"\\u0000\"}", "not valid JSON"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ASSERT_INT(read_proof(cases[i].text), -EBADMSG);
        ASSERT_SAYS(reason, cases[i].says);
    }
}

TEST(json_bombs_are_refused_before_they_are_parsed)
{
    size_t bytes = 8u << 20;
    char *text = malloc(bytes);
    uint64_t *scalars;
    size_t count;

    ASSERT(text);
    for (size_t i = 0; i < bytes; i += 2)
        memcpy(text + i, "0,", 2);
    text[0] = '[';
    text[bytes - 1] = ']';
    ASSERT_INT(public_json_read(text, bytes, &curve_bn254, &scalars, &count, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "too many values");
    /* Brackets in strings do not count. */
    ASSERT_INT(public_json_read("[\"\\\"[[[[[[[[[[[[[[[[[[[[[[\"]", 28, &curve_bn254, &scalars,
                                &count, &reason),
               -EBADMSG);
    ASSERT_SAYS(reason, "public input 0");
    free(text);
}

TEST(bad_public_inputs_are_refused)
{
    static const char *const texts[] = {
        "{}",
        "[[]]",
        "[\"\"]",
        "[\"a\"]",
        "[\"0x10\"]",
        "[true]",
        "\"1\"",
        "[\"21888242871839275222246405745257275088548364400416034343698204186575808495617\"]",
    };
    uint64_t *scalars;
    size_t count;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ASSERT_INT(
            public_json_read(texts[i], strlen(texts[i]), &curve_bn254, &scalars, &count, &reason),
            -EBADMSG);
    ASSERT_INT(public_json_read("[12, \"13\"]", 10, &curve_bn254, &scalars, &count, &reason), 0);
    ASSERT_INT(count, 2);
    ASSERT_INT(scalars[0], 12);
    ASSERT_INT(scalars[4], 13);
    free(scalars);
}

static int read_vkey(const char *text, size_t bytes)
{
    struct vkey_json vkey = {0};
    int error = vkey_json_read(text, bytes, &vkey, &reason);

    vkey_json_free(&vkey);
    return error;
}

TEST(verification_keys_survive_the_round_trip)
{
    static const char *const files[] = {"good/mul.bn128/vkey.json",
                                        "good/chain12.bls12381/vkey.json",
                                        "good/nopub.bn128/vkey.json"};
    static const size_t ic_counts[] = {2, 4, 1};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct bytes file = read_text(files[i]);
        struct vkey_json vkey, again;
        uint8_t digest[VKEY_DIGEST_BYTES], digest_again[VKEY_DIGEST_BYTES];
        char *text;
        size_t bytes;

        ASSERT_INT(vkey_json_read((char *)file.at, file.count, &vkey, &reason), 0);
        ASSERT_INT(vkey.key.ic_count, ic_counts[i]);
        ASSERT_INT(vkey_json_write(vkey.curve, &vkey.key, "test", &text, &bytes), 0);
        ASSERT(strncmp(text, (char *)file.at, 300) == 0);
        ASSERT_INT(vkey_json_read(text, bytes, &again, &reason), 0);
        ASSERT_INT(vkey_json_digest(vkey.curve, &vkey.key, digest), 0);
        ASSERT_INT(vkey_json_digest(again.curve, &again.key, digest_again), 0);
        ASSERT(memcmp(digest, digest_again, sizeof digest) == 0);
        free(text);
        vkey_json_free(&vkey);
        vkey_json_free(&again);
        bytes_free(&file);
    }
}

/* Replaces the first `from` after `key` in the fixture by `to`, reads, expects a refusal. */
static void refuse_changed_vkey(const char *key, const char *from, const char *to, const char *says)
{
    struct bytes file = read_text("good/mul.bls12381/vkey.json");
    char *at = strstr((char *)file.at, key), *changed = malloc(file.count + 1000);
    size_t head;

    ASSERT(at && changed);
    at = strstr(at, from);
    ASSERT(at);
    head = (size_t)(at - (char *)file.at);
    memcpy(changed, file.at, head);
    strcpy(changed + head, to);
    strcat(changed, at + strlen(from));
    ASSERT_INT(read_vkey(changed, strlen(changed)), -EBADMSG);
    ASSERT_SAYS(reason, says);
    free(changed);
    bytes_free(&file);
}

TEST(bad_verification_keys_are_refused)
{
    refuse_changed_vkey("protocol", "groth16", "plonk", "protocol");
    refuse_changed_vkey("curve", "bls12381", "bn128", "prime");
    refuse_changed_vkey("curve", "bls12381", "bls12377", "curve");
    refuse_changed_vkey("nPublic", "1", "2", "nPublic");
    refuse_changed_vkey("nPublic", "1", "-1", "nPublic");
    refuse_changed_vkey("nPublic", "1", "\"1\"", "nPublic");
    refuse_changed_vkey("vk_alpha_1", "\"3", "\"2", "vk_alpha_1");
    refuse_changed_vkey("vk_beta_2", "\"2", "\"1", "vk_beta_2");
    refuse_changed_vkey("\"IC\"", "\"2", "\"1", "IC[0]");
    refuse_changed_vkey("vk_delta_2", "vk_delta_2", "vk_delta_3", "vk_delta_2");
    refuse_changed_vkey("\"IC\"", "IC", "ic", "IC");
    refuse_changed_vkey("vk_alpha_1", "[", "[\"0\",\"1\",\"0\"],\"unused\": [", "infinity");
}

TEST(vkey_points_outside_the_subgroup_are_refused)
{
    /* (0, 2) is on y^2 = x^3 + 4 but has order 3. */
    refuse_changed_vkey("vk_alpha_1", "[", "[\"0\",\"2\",\"1\"],\"unused\": [", "vk_alpha_1");
    ASSERT_SAYS(reason, "subgroup");
}

TEST(json_files_are_read_within_bounds)
{
    struct bytes small = {(uint8_t *)"[]", 2};
    char *text;
    size_t bytes;
    int fd = bytes_fd(&small), fds[2];

    ASSERT_INT(json_text_read(fd, &text, &bytes, &reason), 0);
    ASSERT_STR(text, "[]");
    free(text);
    ASSERT_INT(ftruncate(fd, JSON_TEXT_BYTES_MAX + 1), 0);
    ASSERT_INT(json_text_read(fd, &text, &bytes, &reason), -EFBIG);
    close(fd);
    fd = open("/tmp", O_RDONLY | O_DIRECTORY);
    ASSERT_INT(json_text_read(fd, &text, &bytes, &reason), -EISDIR);
    close(fd);
    ASSERT_INT(pipe(fds), 0);
    ASSERT_INT(json_text_read(fds[0], &text, &bytes, &reason), -EINVAL);
    close(fds[0]);
    close(fds[1]);
}

TEST_MAIN(CASE(numbers_survive_the_round_trip), CASE(decimal_borders),
          CASE(snarkjs_proofs_are_reproduced_byte_by_byte),
          CASE(snarkjs_public_inputs_are_reproduced_byte_by_byte),
          CASE(arrays_are_nested_one_level_deeper), CASE(proofs_of_other_writers_are_taken),
          CASE(bad_proofs_are_refused), CASE(json_bombs_are_refused_before_they_are_parsed),
          CASE(bad_public_inputs_are_refused), CASE(verification_keys_survive_the_round_trip),
          CASE(bad_verification_keys_are_refused),
          CASE(vkey_points_outside_the_subgroup_are_refused),
          CASE(json_files_are_read_within_bounds))
