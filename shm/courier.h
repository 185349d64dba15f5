/* The SOCK_SEQPACKET pair beside a channel that carries descriptors from the supervisor to its
 * worker. One packet, one tag, up to two descriptors; sent before the grant that names it. A worker
 * keeps arrived descriptors until the grant with the same tag takes them or a later generation of
 * the same slot replaces them. */
#pragma once

#include <stdint.h>

enum courier_kind {
    COURIER_SLAB,  /* index = slab index, bytes = its size; 0, without descriptor: drop it */
    COURIER_INPUT, /* index = slot, generation = the grant's */
    COURIER_KEY,   /* index = key id, generation = the grant's, bytes = its size; 0: drop it */
};

struct courier_tag {
    uint32_t kind; /* enum courier_kind */
    uint32_t index;
    uint64_t generation;
    uint64_t bytes;
};

int courier_create(int ret_fds[2]); /* [0] supervisor, [1] worker; non-blocking */
/* 0, -EAGAIN when the socket is full (the grant is delayed), negative errno. */
int courier_send(int fd, const struct courier_tag *tag, const int *fds, unsigned count);
/* 1 with up to two descriptors (owned by the caller, close-on-exec), 0 when none waits, -EPIPE when
 * the other end is closed, -EPROTO for a packet that is none, -EMFILE when no descriptor is left.
 */
int courier_receive(int fd, struct courier_tag *ret_tag, int ret_fds[2], unsigned *ret_count);
