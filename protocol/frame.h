/* Finds where one MessagePack object ends, before any decoder sees it: bytes come from a socket and
 * may be anything. Pure and incremental: each byte is looked at once, memory is bounded by the
 * struct, there is no recursion. Used by protocol/stream.c in the daemon and in the client.
 *
 * Every frame of the protocol is an array. Extension types are not used and are refused. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/limits.h"

struct frame {
    size_t offset;                  /* bytes of the frame looked at, or to skip */
    uint64_t pending;               /* elements announced and not yet begun, at all depths */
    uint32_t elements;              /* begun so far */
    uint32_t depth;                 /* containers open */
    uint32_t left[FRAME_DEPTH_MAX]; /* elements missing in each open container */
};

void frame_init(struct frame *frame);

/* `bytes` is what has arrived, from the first byte of the frame (memory may have moved since the
 * last call). Returns the length of the frame once it is complete, 0 when more bytes are needed,
 * -EBADMSG for what is not MessagePack, not an array or nested deeper than FRAME_DEPTH_MAX,
 * -EMSGSIZE as soon as it is certain that the frame ends beyond FRAME_BYTES_MAX or has more than
 * FRAME_ELEMENTS_MAX elements. After a result other than 0 call frame_init. */
int frame_scan(struct frame *frame, const uint8_t *bytes, size_t count);
