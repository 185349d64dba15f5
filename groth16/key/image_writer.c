/* Batches, parallel hashing, pwrite. */
#include "groth16/key/image_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groth16/key/prepared_format.h"
#include "groth16/pool.h"

enum {
    PIECES_PER_BATCH_MAX = 16,
};

int image_writer_init(struct image_writer *writer, int fd, uint64_t image_bytes, struct pool *pool,
                      struct reason *reason)
{
    unsigned pieces = pool ? pool_threads(pool) : 1;
    uint64_t piece_count =
        (image_bytes + PREPARED_DIGEST_PIECE_BYTES - 1) / PREPARED_DIGEST_PIECE_BYTES;

    memset(writer, 0, sizeof *writer);
    if (pieces > PIECES_PER_BATCH_MAX)
        pieces = PIECES_PER_BATCH_MAX;
    if (pieces > piece_count)
        pieces = (unsigned)piece_count;
    writer->fd = fd;
    writer->pool = pool;
    writer->reason = reason;
    writer->image_bytes = image_bytes;
    writer->batch_bytes = (size_t)pieces * PREPARED_DIGEST_PIECE_BYTES;
    writer->batch = malloc(writer->batch_bytes);
    writer->digests = malloc(piece_count * PREPARED_DIGEST_BYTES);
    if (!writer->batch || !writer->digests)
        return reason_set(reason, -ENOMEM, "no memory to write %" PRIu64 " bytes of key",
                          image_bytes);
    return 0;
}

void image_writer_destroy(struct image_writer *writer)
{
    free(writer->batch);
    free(writer->digests);
    memset(writer, 0, sizeof *writer);
}

int image_writer_write_at(int fd, uint64_t off, const void *bytes, size_t count,
                          struct reason *reason)
{
    size_t done = 0;

    while (done < count) {
        ssize_t n = pwrite(fd, (const uint8_t *)bytes + done, count - done, (off_t)(off + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int error = n < 0 ? -errno : -EIO;

            return reason_set(reason, error,
                              "writing the prepared key failed at byte %" PRIu64 ": %s", off + done,
                              strerror(-error));
        }
        done += (size_t)n;
    }
    return 0;
}

static void hash_piece(void *context, size_t index)
{
    struct image_writer *writer = context;
    size_t begin = index * PREPARED_DIGEST_PIECE_BYTES, bytes = writer->fill - begin;
    uint64_t number = writer->off / PREPARED_DIGEST_PIECE_BYTES + index;

    if (bytes > PREPARED_DIGEST_PIECE_BYTES)
        bytes = PREPARED_DIGEST_PIECE_BYTES;
    if (!prepared_format_hash_piece(writer->batch + begin, bytes, number,
                                    writer->digests + number * PREPARED_DIGEST_BYTES))
        __atomic_store_n(&writer->hash_failed, true, __ATOMIC_RELAXED);
}

static int flush(struct image_writer *writer)
{
    size_t pieces = (writer->fill + PREPARED_DIGEST_PIECE_BYTES - 1) / PREPARED_DIGEST_PIECE_BYTES;
    int error;

    if (writer->pool)
        pool_run(writer->pool, pieces, hash_piece, writer);
    else
        for (size_t i = 0; i < pieces; i++)
            hash_piece(writer, i);
    if (writer->hash_failed)
        return reason_set(writer->reason, -ENOMEM, "no memory to hash the prepared key");
    error =
        image_writer_write_at(writer->fd, writer->off, writer->batch, writer->fill, writer->reason);
    if (error)
        return error;
    writer->off += writer->fill;
    writer->fill = 0;
    return 0;
}

int image_writer_append(struct image_writer *writer, const void *bytes, size_t count)
{
    const uint8_t *p = bytes;

    while (count > 0) {
        size_t room = writer->batch_bytes - writer->fill, part = count < room ? count : room;

        if (p) {
            memcpy(writer->batch + writer->fill, p, part);
            p += part;
        } else {
            memset(writer->batch + writer->fill, 0, part);
        }
        writer->fill += part;
        count -= part;
        if (writer->fill == writer->batch_bytes) {
            int error = flush(writer);

            if (error)
                return error;
        }
    }
    return 0;
}

int image_writer_pad(struct image_writer *writer, uint64_t off)
{
    return image_writer_append(writer, NULL, (size_t)(off - writer->off - writer->fill));
}

int image_writer_finish(struct image_writer *writer, uint8_t ret_digest[PREPARED_DIGEST_BYTES])
{
    size_t piece_count = (size_t)((writer->image_bytes + PREPARED_DIGEST_PIECE_BYTES - 1) /
                                  PREPARED_DIGEST_PIECE_BYTES);
    int error = flush(writer);

    if (error)
        return error;
    if (!prepared_format_hash_root(writer->image_bytes, writer->digests, piece_count, ret_digest))
        return reason_set(writer->reason, -ENOMEM, "no memory to hash the prepared key");
    return 0;
}
