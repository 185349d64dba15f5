/* The frame scanner against msgpack-c: what it lets through decodes to exactly its length; fed in
 * pieces it says the same as in one. */
#include <msgpack.h>

#include "protocol/frame.h"
#include "protocol/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct frame whole, pieces;
    struct reply_decoded decoded;
    int in_one, in_pieces = 0;

    frame_init(&whole);
    in_one = frame_scan(&whole, bytes, count);
    frame_init(&pieces);
    for (size_t step = 0; step <= count && in_pieces == 0; step++)
        in_pieces = frame_scan(&pieces, bytes, step);
    if (in_one != in_pieces)
        __builtin_trap();
    if (in_one > 0) {
        msgpack_unpacked unpacked;
        size_t off = 0;
        msgpack_unpacked_init(&unpacked);
        if (msgpack_unpack_next(&unpacked, (const char *)bytes, (size_t)in_one, &off) !=
                MSGPACK_UNPACK_SUCCESS ||
            off != (size_t)in_one)
            __builtin_trap();
        msgpack_unpacked_destroy(&unpacked);
        if (reply_decode(bytes, (size_t)in_one, &decoded) == 0)
            reply_decoded_destroy(&decoded);
    }
    return 0;
}
