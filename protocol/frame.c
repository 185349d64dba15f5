/* Upstream: stream.c feeds what recvmsg gave. Downstream: request.c and reply.c decode whole
 * frames with msgpack-c. Format: the MessagePack specification, "Formats". */
#include "protocol/frame.h"

#include <errno.h>
#include <stdbool.h>

/* A value's first bytes, read. */
struct head {
    uint32_t bytes;    /* of the head itself: type byte and length */
    uint64_t body;     /* bytes that follow it, not values */
    uint64_t children; /* values that follow it */
    bool is_container;
};

static int read_head(const uint8_t *at, size_t count, struct head *ret);

void frame_init(struct frame *frame)
{
    *frame = (struct frame){.pending = 1};
}

/* Leaves every container whose last element has been read. */
static void leave_finished(struct frame *frame)
{
    while (frame->depth > 0 && frame->left[frame->depth - 1] == 0)
        frame->depth--;
}

int frame_scan(struct frame *frame, const uint8_t *bytes, size_t count)
{
    while (frame->pending > 0) {
        struct head head;
        if (frame->offset >= count)
            return 0;
        if (frame->offset == 0 && !((bytes[0] & 0xf0) == 0x90 || (bytes[0] & 0xfe) == 0xdc))
            return -EBADMSG;
        int r = read_head(bytes + frame->offset, count - frame->offset, &head);
        if (r <= 0)
            return r;

        frame->offset += head.bytes + head.body;
        frame->pending += head.children - 1;
        frame->elements++;
        /* Each announced value takes a byte at least. Sums stay small: lengths are 32 bits and
         * nothing is added once a limit is passed. */
        if (frame->offset + frame->pending > FRAME_BYTES_MAX ||
            frame->elements + frame->pending > FRAME_ELEMENTS_MAX)
            return -EMSGSIZE;
        if (frame->depth > 0)
            frame->left[frame->depth - 1]--;
        if (head.is_container) {
            if (frame->depth == FRAME_DEPTH_MAX)
                return -EBADMSG;
            frame->left[frame->depth++] = (uint32_t)head.children;
        }
        leave_finished(frame);
    }
    /* All values are begun; the last one's body may still be on its way. */
    return frame->offset <= count ? (int)frame->offset : 0;
}

static uint64_t big_endian(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

/* How the bytes after the type byte are meant, for types 0xc0 to 0xdf. */
enum shape {
    SHAPE_FIXED,    /* `width` bytes of value */
    SHAPE_BLOB,     /* a length of `width` bytes, then so many bytes */
    SHAPE_ARRAY,    /* a count of `width` bytes, then so many values */
    SHAPE_MAP,      /* a count of `width` bytes, then twice as many values */
    SHAPE_FORBIDDEN /* never used by MessagePack (0xc1), or an extension type */
};

static const struct {
    uint8_t shape, width;
} types[32] = {
    [0x00] = {SHAPE_FIXED, 0},                                /* nil */
    [0x01] = {SHAPE_FORBIDDEN, 0}, [0x02] = {SHAPE_FIXED, 0}, /* false, true */
    [0x03] = {SHAPE_FIXED, 0},     [0x04] = {SHAPE_BLOB, 1},  /* bin 8, 16, 32 */
    [0x05] = {SHAPE_BLOB, 2},      [0x06] = {SHAPE_BLOB, 4},
    [0x07] = {SHAPE_FORBIDDEN, 0}, /* ext 8, 16, 32 */
    [0x08] = {SHAPE_FORBIDDEN, 0}, [0x09] = {SHAPE_FORBIDDEN, 0},
    [0x0a] = {SHAPE_FIXED, 4},                                /* float 32, 64 */
    [0x0b] = {SHAPE_FIXED, 8},     [0x0c] = {SHAPE_FIXED, 1}, /* uint 8 to 64 */
    [0x0d] = {SHAPE_FIXED, 2},     [0x0e] = {SHAPE_FIXED, 4},
    [0x0f] = {SHAPE_FIXED, 8},     [0x10] = {SHAPE_FIXED, 1}, /* int 8 to 64 */
    [0x11] = {SHAPE_FIXED, 2},     [0x12] = {SHAPE_FIXED, 4},
    [0x13] = {SHAPE_FIXED, 8},     [0x14] = {SHAPE_FORBIDDEN, 0}, /* fixext 1 to 16 */
    [0x15] = {SHAPE_FORBIDDEN, 0}, [0x16] = {SHAPE_FORBIDDEN, 0},
    [0x17] = {SHAPE_FORBIDDEN, 0}, [0x18] = {SHAPE_FORBIDDEN, 0},
    [0x19] = {SHAPE_BLOB, 1}, /* str 8, 16, 32 */
    [0x1a] = {SHAPE_BLOB, 2},      [0x1b] = {SHAPE_BLOB, 4},
    [0x1c] = {SHAPE_ARRAY, 2},     [0x1d] = {SHAPE_ARRAY, 4},
    [0x1e] = {SHAPE_MAP, 2},       [0x1f] = {SHAPE_MAP, 4},
};

/* 1, 0 when the head is not complete, -EBADMSG. count >= 1. */
static int read_head(const uint8_t *at, size_t count, struct head *ret)
{
    uint8_t type = at[0];

    *ret = (struct head){.bytes = 1};
    if (type < 0x80 || type >= 0xe0) /* fixint */
        return 1;
    if (type < 0xa0) { /* fixmap, fixarray */
        ret->is_container = true;
        ret->children = type < 0x90 ? 2 * (type & 0x0fu) : type & 0x0fu;
        return 1;
    }
    if (type < 0xc0) { /* fixstr */
        ret->body = type & 0x1fu;
        return 1;
    }
    uint8_t shape = types[type - 0xc0].shape, width = types[type - 0xc0].width;
    if (shape == SHAPE_FORBIDDEN)
        return -EBADMSG;
    if (shape == SHAPE_FIXED) {
        ret->body = width;
        return 1;
    }
    if (count < 1u + width)
        return 0;
    uint64_t length = big_endian(at + 1, width);
    ret->bytes += width;
    ret->is_container = shape != SHAPE_BLOB;
    if (shape == SHAPE_BLOB)
        ret->body = length;
    else
        ret->children = shape == SHAPE_MAP ? 2 * length : length;
    return 1;
}
