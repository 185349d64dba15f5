/* What protocol/reply.h promises, case by case. */
#include <errno.h>

#include "protocol/frame.h"
#include "protocol/reply.h"
#include "tests/test.h"

static struct reply reply;
static struct reply_decoded decoded;

static int finish(void)
{
    const uint8_t *bytes;
    size_t count;
    struct frame frame;
    int r = reply_finish(&reply, &bytes, &count);
    if (r == 0) {
        frame_init(&frame);
        ASSERT_INT(frame_scan(&frame, bytes, count), count);
        r = reply_decode(bytes, count, &decoded);
    }
    reply_destroy(&reply);
    return r;
}

#define DECODE(text) reply_decode((const uint8_t *)(text), sizeof(text) - 1, &decoded)

/* The result as compact JSON. */
static void result_is(const char *expected)
{
    char *text = json_dumps(decoded.result, JSON_COMPACT | JSON_ENCODE_ANY);
    ASSERT_STR(text, expected);
    free(text);
    reply_decoded_destroy(&decoded);
}

TEST(results_become_the_same_json)
{
    reply_begin(&reply, 77);
    reply_map(&reply, NULL);
    reply_integer(&reply, "job", 12);
    reply_signed(&reply, "delta", -3);
    reply_real(&reply, "share", 0.5);
    reply_bool(&reply, "admin", true);
    reply_string(&reply, "name", "caf\xc3\xa9");
    reply_string(&reply, "nothing", NULL);
    reply_array(&reply, "list");
    reply_string(&reply, NULL, "a");
    reply_map(&reply, NULL);
    reply_close(&reply);
    reply_array(&reply, NULL);
    reply_integer(&reply, NULL, UINT64_MAX);
    reply_close(&reply);
    reply_close(&reply);
    reply_close(&reply);
    ASSERT_INT(finish(), 0);
    ASSERT_INT(decoded.message_id, 77);
    ASSERT_INT(decoded.code, REPLY_OK);
    result_is("{\"job\":12,\"delta\":-3,\"share\":0.5,\"admin\":true,\"name\":\"caf\xc3\xa9\","
              "\"nothing\":null,\"list\":[\"a\",{},[\"18446744073709551615\"]]}");
}

TEST(errors_carry_code_text_and_patience)
{
    reply_error(&reply, 3, REPLY_BUSY, "no room", 250);
    ASSERT_INT(finish(), 0);
    ASSERT_INT(decoded.message_id, 3);
    ASSERT_INT(decoded.code, REPLY_BUSY);
    ASSERT_STR(decoded.text, "no room");
    ASSERT_INT(decoded.retry_after_ms, 250);
    ASSERT(!decoded.result);
    for (int code = REPLY_USAGE; code < REPLY_CODE_COUNT; code++) {
        reply_error(&reply, 3, (enum reply_code)code, "x\n\x1b", 0);
        ASSERT_INT(finish(), 0);
        ASSERT_INT(decoded.code, code);
        ASSERT_STR(decoded.text, "x??");
        ASSERT_INT(decoded.retry_after_ms, 0);
    }
}

TEST(codes_of_later_versions_count_as_failed)
{
    ASSERT_INT(DECODE("\x94\x01\x05\x82\xa4"
                      "code\xa3odd\xa7message\xa1m\xc0"),
               0);
    ASSERT_INT(decoded.code, REPLY_FAILED);
    ASSERT_INT(DECODE("\x94\x01\x05\x82\xa4"
                      "code\xa2ok\xa7message\xa1m\xc0"),
               0);
    ASSERT_INT(decoded.code, REPLY_FAILED);
}

TEST(what_is_no_reply_is_refused)
{
    static const struct {
        const char *bytes;
        size_t count;
    } bad[] = {
        {"\x90", 1},
        {"\x94\x00\x01\xc0\xc0", 5}, /* a request's type */
        {"\x93\x01\x01\xc0", 4},
        {"\x94\x01\xff\xc0\xc0", 5},  /* msgid -1 */
        {"\x94\x01\x01\xa1x\xc0", 6}, /* an error that is a string */
        {"\x94\x01\x01\x80\xc0", 5},  /* without code */
        {"\x94\x01\x01\x81\xa4"
         "code\xa1x\xc0",
         12},
        {"\x94\x01\x01\xc0\xc0\xc0", 6}, /* bytes behind it */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ASSERT_INT(reply_decode((const uint8_t *)bad[i].bytes, bad[i].count, &decoded), -EBADMSG);
}

TEST(strange_values_become_json_all_the_same)
{
    ASSERT_INT(DECODE("\x94\x01\x01\xc0\x83\x05\x06\xa1\xff\xa1\xfe\xa1n"
                      "\xcb\x7f\xf8\0\0\0\0\0\0"),
               0);
    result_is("{\"?\":\"?\",\"n\":null}");
}

TEST(replies_over_the_limits_are_refused_when_finished)
{
    reply_begin(&reply, 1);
    reply_array(&reply, NULL);
    for (int i = 0; i < FRAME_BYTES_MAX / 200; i++)
        reply_string(&reply, NULL,
                     "0123456789012345678901234567890123456789012345678901234567890123456789012345"
                     "6789012345678901234567890123456789012345678901234567890123456789012345678901"
                     "2345678901234567890123456789012345678901234567890123456789");
    reply_close(&reply);
    ASSERT_INT(finish(), -EMSGSIZE);
    reply_begin(&reply, 1);
    reply_array(&reply, NULL);
    for (int i = 0; i < FRAME_ELEMENTS_MAX; i++)
        reply_bool(&reply, NULL, true);
    reply_close(&reply);
    ASSERT_INT(finish(), -EMSGSIZE);
}

TEST(the_element_limit_of_writer_and_scanner_agree)
{
    reply_begin(&reply, 1);
    reply_array(&reply, NULL);
    for (int i = 0; i < FRAME_ELEMENTS_MAX - 5; i++)
        reply_bool(&reply, NULL, true);
    reply_close(&reply);
    ASSERT_INT(finish(), 0);
    reply_decoded_destroy(&decoded);
}

TEST(unbalanced_calls_are_found)
{
    reply_begin(&reply, 1);
    reply_map(&reply, NULL);
    ASSERT_INT(finish(), -EINVAL);
    reply_begin(&reply, 1);
    reply_map(&reply, NULL);
    reply_close(&reply);
    reply_close(&reply);
    ASSERT_INT(finish(), -EINVAL);
    reply_begin(&reply, 1);
    for (int i = 0; i < FRAME_DEPTH_MAX; i++)
        reply_array(&reply, NULL);
    for (int i = 0; i < FRAME_DEPTH_MAX; i++)
        reply_close(&reply);
    ASSERT_INT(finish(), -EINVAL);
}

TEST_MAIN(CASE(results_become_the_same_json), CASE(errors_carry_code_text_and_patience),
          CASE(codes_of_later_versions_count_as_failed), CASE(what_is_no_reply_is_refused),
          CASE(strange_values_become_json_all_the_same),
          CASE(replies_over_the_limits_are_refused_when_finished),
          CASE(the_element_limit_of_writer_and_scanner_agree), CASE(unbalanced_calls_are_found))
