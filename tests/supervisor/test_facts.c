/* The result document of a helper that has read a client's file. */
#include "supervisor/facts.h"

#include <errno.h>

#include "groth16/key/slab_layout.h"
#include "tests/test.h"

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const char *document(const char *curve, long long variables, long long publics,
                            long long slab, const char *digest)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "{\"ok\":true,\"curve\":\"%s\",\"variables\":%lld,\"public\":%lld,"
             "\"constraints\":3,\"domain_log2\":3,\"slab_bytes\":%lld,\"file_bytes\":8192,"
             "\"key_digest\":\"%s\",\"vk_digest\":\"" DIGEST "\",\"has_c\":false}",
             curve, variables, publics, slab, digest);
    return text;
}

static int parse(const char *line, struct facts *ret, char error[256])
{
    error[0] = '\0';
    return facts_from_result(line, ret, error, 256);
}

TEST(a_good_document_is_taken_and_survives_the_state_folder)
{
    char error[256];
    struct facts facts, again;
    long long slab = (long long)slab_layout_make(7, 3).bytes;
    ASSERT_INT(parse(document("bn254", 7, 1, slab, DIGEST), &facts, error), 0);
    ASSERT_INT(facts.variable_count, 7);
    ASSERT(facts.curve == &curve_bn254);
    json_t *object = facts_to_json(&facts);
    ASSERT_INT(facts_from_json(object, &again, error, sizeof error), 0);
    json_decref(object);
    ASSERT(memcmp(&facts, &again, sizeof facts) == 0);
    uint8_t digest[FACTS_DIGEST_BYTES];
    facts_vk_digest(&facts, digest);
    ASSERT_INT(digest[1], 0x11);
    ASSERT_INT(digest[31], 0xff);
}

TEST(every_field_is_checked)
{
    char error[256];
    struct facts facts;
    long long slab = (long long)slab_layout_make(7, 3).bytes;
    ASSERT(parse(document("bn255", 7, 1, slab, DIGEST), &facts, error) < 0);
    ASSERT(strstr(error, "curve"));
    ASSERT(parse(document("bn254", 0, 0, slab, DIGEST), &facts, error) < 0);
    ASSERT(parse(document("bn254", -7, 1, slab, DIGEST), &facts, error) < 0);
    ASSERT(parse(document("bn254", 7, 7, slab, DIGEST), &facts, error) < 0);
    ASSERT(parse(document("bn254", 7, 65537, slab, DIGEST), &facts, error) < 0);
    ASSERT(parse(document("bn254", 7, 1, slab + 1, DIGEST), &facts, error) < 0);
    ASSERT(parse(document("bn254", 7, 1, slab, "../../etc/passwd"), &facts, error) < 0);
    ASSERT(strstr(error, "key_digest"));
}

TEST(what_is_no_document_is_refused)
{
    char error[256];
    struct facts facts;
    const char *const lines[] = {
        "",        "{", "[]", "null", "{\"ok\":true}", "{\"ok\":1}", "{\"ok\":true,\"ok\":true}",
        "\xff\xfe"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        ASSERT(parse(lines[i], &facts, error) < 0);
        ASSERT(error[0]);
    }
}

TEST(the_helpers_own_reason_is_passed_on_in_print)
{
    char error[256];
    struct facts facts;
    ASSERT(parse("{\"ok\":false,\"error\":\"section 4 \\u0007 ends early\"}", &facts, error) < 0);
    ASSERT_STR(error, "section 4 ? ends early");
}

TEST(a_helper_says_whether_the_file_or_the_host_is_at_fault)
{
    char error[256];
    struct facts facts;
    ASSERT_INT(parse("{\"ok\":false,\"host\":false,\"error\":\"no points\"}", &facts, error),
               -EBADMSG);
    ASSERT_INT(parse("{\"ok\":false,\"host\":true,\"error\":\"no space\"}", &facts, error), -EIO);
    ASSERT_STR(error, "no space");
}

TEST_MAIN(CASE(a_good_document_is_taken_and_survives_the_state_folder),
          CASE(every_field_is_checked), CASE(what_is_no_document_is_refused),
          CASE(the_helpers_own_reason_is_passed_on_in_print),
          CASE(a_helper_says_whether_the_file_or_the_host_is_at_fault))
