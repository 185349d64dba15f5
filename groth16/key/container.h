/* The section container of .zkey, .wtns and .r1cs files:
 *   magic[4] | u32 version | u32 section count | { u32 id | u64 bytes | data } ...
 * all little-endian. Read by the synthesis worker (witnesses), by cuzkctl and the key loader.
 *
 * The file belongs to a client who may change or truncate it at any time: it is read with pread,
 * never mapped, and no size in it is trusted. Sections come in any order; unknown ids and bytes
 * after the last section are ignored; a section that ends beyond the file is refused at open. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/key/reason.h"

enum {
    CONTAINER_SECTIONS_MAX = 64, /* snarkjs writes at most 18 (fflonk); 10 for a Groth16 key */
};

struct section {
    uint32_t id;
    uint64_t off; /* of the data, from the start of the file */
    uint64_t bytes;
};

/* Where the bytes come from: a descriptor, or the head of a file that is already in memory. */
struct container {
    int fd;           /* -1 when read from memory; borrowed */
    const void *head; /* borrowed; NULL with a descriptor */
    size_t head_bytes;
    uint64_t file_bytes;
    uint32_t version;
    uint32_t section_count;
    struct section sections[CONTAINER_SECTIONS_MAX];
};

/* Blocking. Refuses anything but a regular file (a FIFO would hang): -EISDIR, -EINVAL. Returns
 * -EBADMSG for a malformed file, -EIO and friends when reading fails. `magic` is 4 characters and
 * also names the format in messages. fd stays the caller's. */
int container_open(int fd, const char *magic, uint32_t version_max, struct container *ret,
                   struct reason *reason);

/* The part of container_open that asks for a regular file and its size and reads nothing, for
 * readers of other formats: only fd and file_bytes are filled. `what` names the format. */
int container_attach(int fd, const char *what, struct container *ret, struct reason *reason);

/* The same as container_open on the first head_bytes of a file of file_bytes. Does not block. Returns -EAGAIN, now
 * or from container_read, when bytes beyond the head are needed. */
int container_open_memory(const void *head, size_t head_bytes, uint64_t file_bytes,
                          const char *magic, uint32_t version_max, struct container *ret,
                          struct reason *reason);

/* The one section with this id; missing or present twice: -EBADMSG. `what` names its content. */
int container_section(const struct container *container, uint32_t id, const char *what,
                      struct section *ret, struct reason *reason);

/* Reads exactly `bytes` at `off` of the file, over short reads. A file that has become shorter:
 * -EBADMSG. */
int container_read(const struct container *container, uint64_t off, void *ret, size_t bytes,
                   struct reason *reason);

static inline uint32_t container_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t container_u64(const uint8_t *p)
{
    return container_u32(p) | (uint64_t)container_u32(p + 4) << 32;
}
