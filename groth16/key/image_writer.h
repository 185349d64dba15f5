/* Writes a prepared key front to back and hashes it on the way, a batch of digest pieces at a time:
 * memory is a few pieces, whatever the key's size. Used by prepared_write; one owner thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"

struct pool;

struct image_writer {
    int fd;
    struct pool *pool; /* NULL: the calling thread hashes */
    struct reason *reason;
    uint64_t image_bytes, off; /* off: of the batch, in the file */
    uint8_t *batch;
    size_t batch_bytes, fill;
    uint8_t *digests; /* one a piece of the whole image */
    bool hash_failed; /* set by any thread that hashes */
};

/* -ENOMEM. The object wants image_writer_destroy in any case. */
int image_writer_init(struct image_writer *writer, int fd, uint64_t image_bytes, struct pool *pool,
                      struct reason *reason);
void image_writer_destroy(struct image_writer *writer);
int image_writer_append(struct image_writer *writer, const void *bytes, size_t count);
/* Zeros up to `off` of the image. */
int image_writer_pad(struct image_writer *writer, uint64_t off);
/* Writes what is left and gives the digest; off must be image_bytes by now. */
int image_writer_finish(struct image_writer *writer, uint8_t ret_digest[PREPARED_DIGEST_BYTES]);
/* pwrite of everything, over short writes. -ENOSPC and friends. */
int image_writer_write_at(int fd, uint64_t off, const void *bytes, size_t count,
                          struct reason *reason);
