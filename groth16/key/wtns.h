/* A witness file (.wtns): where its values are. Called by the synthesis worker, which then reads
 * the values straight into a slab, and by cuzkctl. The values are not looked at here:
 * curve->scalars_check() does that once they are in place.
 *
 * Values are plain little-endian scalars of 32 bytes: w[0] = 1, outputs, public inputs, rest. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/key/reason.h"

struct curve;

struct wtns {
    const struct curve *curve;
    uint64_t value_count;
    uint64_t data_off;   /* from the start of the file */
    uint64_t data_bytes; /* value_count * 32, all inside the file */
};

enum {
    WTNS_HEAD_BYTES = 4096, /* enough for wtns_parse in every file with the header section first */
};

/* Blocking: a few small preads. -EBADMSG malformed, -EISDIR or -EINVAL not a regular file. */
int wtns_open(int fd, struct wtns *ret, struct reason *reason);

/* The same from the first head_bytes of a file of file_bytes (fstat), for callers that read
 * through io_uring. Does not block. -EAGAIN: the header lies beyond the head; use wtns_open. */
int wtns_parse(const void *head, size_t head_bytes, uint64_t file_bytes, struct wtns *ret,
               struct reason *reason);

/* Whether this witness can go with a key: same curve and as many values as the circuit has wires.
 * 0 or -EBADMSG. */
int wtns_match(const struct wtns *wtns, const struct curve *curve, uint64_t variable_count,
               struct reason *reason);
