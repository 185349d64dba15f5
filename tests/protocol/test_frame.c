/* What protocol/frame.h promises, case by case. */
#include <errno.h>
#include <stdbool.h>

#include <msgpack.h>

#include "protocol/frame.h"
#include "tests/test.h"

static int scan(const void *bytes, size_t count)
{
    struct frame frame;
    frame_init(&frame);
    return frame_scan(&frame, bytes, count);
}

#define SCAN(text) scan(text, sizeof(text) - 1)

TEST(whole_frames_give_their_length)
{
    ASSERT_INT(SCAN("\x90"), 1);
    ASSERT_INT(SCAN("\x93\x01\xc0\xc3"), 4);
    ASSERT_INT(SCAN("\x91\xa3"
                    "abc"),
               5);
    ASSERT_INT(SCAN("\xdc\x00\x01\x05"), 4);
    ASSERT_INT(SCAN("\xdd\x00\x00\x00\x01\x05"), 6);
    ASSERT_INT(SCAN("\x91\xde\x00\x01\xa1x\xc4\x02yz"), 10);
    ASSERT_INT(SCAN("\x92\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xd3\x00\x00\x00\x00\x00\x00\x00\x00"),
               19);
}

TEST(bytes_after_the_frame_are_not_counted)
{
    ASSERT_INT(SCAN("\x91\x01\x91\x02"), 2);
    ASSERT_INT(SCAN("\x90\xc1\xc1"), 1);
}

TEST(every_proper_head_of_a_frame_needs_more)
{
    static const char frame[] = "\x94\x00\xce\x00\x00\x00\x07\xa4wait\x91\x82\xa3job\xcd\x01\x02"
                                "\xc4\x03xyz\xdc\x00\x02\xd9\x01q\xca\x00\x00\x00\x00";
    size_t count = sizeof frame - 1;
    struct frame state;
    for (size_t cut = 0; cut < count; cut++)
        ASSERT_INT(scan(frame, cut), 0);
    ASSERT_INT(scan(frame, count), count);
    frame_init(&state);
    for (size_t cut = 0; cut < count; cut++)
        ASSERT_INT(frame_scan(&state, (const uint8_t *)frame, cut), 0);
    ASSERT_INT(frame_scan(&state, (const uint8_t *)frame, count), count);
}

TEST(what_is_no_array_is_refused_at_its_first_byte)
{
    for (int type = 0; type < 256; type++) {
        uint8_t byte = (uint8_t)type;
        bool is_array = (type & 0xf0) == 0x90 || type == 0xdc || type == 0xdd;
        ASSERT_INT(scan(&byte, 1), !is_array ? -EBADMSG : type == 0x90 ? 1 : 0);
    }
    ASSERT_INT(SCAN("GET / HTTP/1.1\r\n"), -EBADMSG);
}

TEST(unused_and_extension_types_are_refused)
{
    static const uint8_t types[] = {0xc1, 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8};
    for (size_t i = 0; i < sizeof types; i++) {
        uint8_t bytes[2] = {0x91, types[i]};
        ASSERT_INT(scan(bytes, 2), -EBADMSG);
    }
}

TEST(depth_is_capped)
{
    uint8_t bytes[FRAME_DEPTH_MAX + 2];
    memset(bytes, 0x91, sizeof bytes);
    bytes[FRAME_DEPTH_MAX] = 0x01;
    ASSERT_INT(scan(bytes, FRAME_DEPTH_MAX + 1), FRAME_DEPTH_MAX + 1);
    bytes[FRAME_DEPTH_MAX] = 0x91;
    ASSERT_INT(scan(bytes, FRAME_DEPTH_MAX + 2), -EBADMSG);
    bytes[FRAME_DEPTH_MAX] = 0x80;
    ASSERT_INT(scan(bytes, FRAME_DEPTH_MAX + 2), -EBADMSG);
}

TEST(containers_that_are_closed_do_not_count_as_depth)
{
    uint8_t bytes[3 + 3 * 1000] = {0xdc, 1000 >> 8, 1000 & 0xff};
    for (int i = 0; i < 1000; i++)
        memcpy(bytes + 3 + 3 * i, "\x91\x91\x90", 3);
    ASSERT_INT(scan(bytes, sizeof bytes), sizeof bytes);
}

TEST(tiny_headers_of_huge_things_are_refused_at_once)
{
    ASSERT_INT(SCAN("\xdd\xff\xff\xff\xff"), -EMSGSIZE);
    ASSERT_INT(SCAN("\x91\xdd\xff\xff\xff\xff"), -EMSGSIZE);
    ASSERT_INT(SCAN("\x91\xdf\xff\xff\xff\xff"), -EMSGSIZE);
    ASSERT_INT(SCAN("\x91\xdf\x80\x00\x00\x00"), -EMSGSIZE);
    ASSERT_INT(SCAN("\x91\xc6\xff\xff\xff\xff"), -EMSGSIZE);
    ASSERT_INT(SCAN("\x91\xdb\xff\xff\xff\xff"), -EMSGSIZE);
    ASSERT_INT(SCAN("\xdd\x00\x01\x00\x00"), -EMSGSIZE); /* 65,536 and the array itself */
}

TEST(the_byte_limit_is_exact)
{
    static uint8_t bytes[FRAME_BYTES_MAX + 1] = {0x91, 0xc6};
    size_t body = FRAME_BYTES_MAX - 6;
    for (int over = 0; over <= 1; over++) {
        size_t length = body + (size_t)over;
        bytes[2] = (uint8_t)(length >> 24);
        bytes[3] = (uint8_t)(length >> 16);
        bytes[4] = (uint8_t)(length >> 8);
        bytes[5] = (uint8_t)length;
        ASSERT_INT(scan(bytes, sizeof bytes), over ? -EMSGSIZE : FRAME_BYTES_MAX);
    }
}

TEST(the_element_limit_is_exact)
{
    static uint8_t bytes[FRAME_ELEMENTS_MAX + 5];
    uint32_t count = FRAME_ELEMENTS_MAX - 1;
    memcpy(bytes,
           (uint8_t[]){0xdd, 0, (uint8_t)(count >> 16), (uint8_t)(count >> 8), (uint8_t)count}, 5);
    ASSERT_INT(scan(bytes, sizeof bytes), 5 + count);
}

/* A random value of msgpack-c's own making. */
static void pack_random(msgpack_packer *packer, uint64_t *state, int depth)
{
    static const char text[300];
    uint64_t kind = test_random(state) % (depth > 5 ? 7 : 9), size = test_random(state) % 300;
    switch (kind) {
    case 0:
        msgpack_pack_nil(packer);
        break;
    case 1:
        msgpack_pack_true(packer);
        break;
    case 2:
        msgpack_pack_uint64(packer, test_random(state) >> (test_random(state) % 64));
        break;
    case 3:
        msgpack_pack_int64(packer, -(int64_t)(test_random(state) >> (1 + test_random(state) % 63)));
        break;
    case 4:
        msgpack_pack_double(packer, 0.5);
        break;
    case 5:
        msgpack_pack_str_with_body(packer, text, size);
        break;
    case 6:
        msgpack_pack_bin_with_body(packer, text, size);
        break;
    case 7:
        msgpack_pack_array(packer, size % 20);
        for (uint64_t i = 0; i < size % 20; i++)
            pack_random(packer, state, depth + 1);
        break;
    default:
        msgpack_pack_map(packer, size % 17);
        for (uint64_t i = 0; i < 2 * (size % 17); i++)
            pack_random(packer, state, depth + 1);
    }
}

TEST(random_frames_end_where_the_encoder_ended)
{
    uint64_t state = test_seed();
    for (int round = 0; round < 2000; round++) {
        msgpack_sbuffer buffer;
        msgpack_packer packer;
        msgpack_sbuffer_init(&buffer);
        msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
        msgpack_pack_array(&packer, 2);
        pack_random(&packer, &state, 4);
        pack_random(&packer, &state, 4);
        size_t cut = test_random(&state) % buffer.size;
        struct frame frame;
        frame_init(&frame);
        ASSERT_INT(frame_scan(&frame, (uint8_t *)buffer.data, cut), 0);
        ASSERT_INT(frame_scan(&frame, (uint8_t *)buffer.data, buffer.size), buffer.size);
        msgpack_sbuffer_destroy(&buffer);
    }
}

TEST_MAIN(CASE(whole_frames_give_their_length), CASE(bytes_after_the_frame_are_not_counted),
          CASE(every_proper_head_of_a_frame_needs_more),
          CASE(what_is_no_array_is_refused_at_its_first_byte),
          CASE(unused_and_extension_types_are_refused), CASE(depth_is_capped),
          CASE(containers_that_are_closed_do_not_count_as_depth),
          CASE(tiny_headers_of_huge_things_are_refused_at_once), CASE(the_byte_limit_is_exact),
          CASE(the_element_limit_is_exact), CASE(random_frames_end_where_the_encoder_ended))
