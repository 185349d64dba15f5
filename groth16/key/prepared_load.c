/* Reads a prepared key into memory and checks its digest on the way, in parallel. Called by the
 * disposable loading process; below: pread. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/prepared.h"
#include "groth16/key/prepared_format.h"
#include "groth16/pool.h"

enum {
    PIECES_PER_REPORT = 64,
};

/* 0 or negative errno; a file that ends early is -EBADMSG. */
static int read_all(int fd, uint64_t off, void *ret, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = pread(fd, (uint8_t *)ret + done, bytes - done, (off_t)(off + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        done += (size_t)n;
    }
    return 0;
}

static int read_header(int fd, struct prepared_header *ret, const struct curve **ret_curve,
                       struct reason *reason)
{
    struct stat st;
    int error;

    if (fstat(fd, &st) < 0)
        return reason_set(reason, -errno, "cannot stat the prepared key: %m");
    if (!S_ISREG(st.st_mode))
        return reason_set(reason, -EINVAL, "the prepared key is not a regular file");
    if (st.st_size < PREPARED_HEADER_BYTES)
        return reason_set(reason, -EBADMSG,
                          "prepared key: truncated: %" PRIdMAX " bytes, less than its header",
                          (intmax_t)st.st_size);
    error = read_all(fd, 0, ret, sizeof *ret);
    if (error)
        return reason_set(reason, error, "reading the header of the prepared key failed: %s",
                          strerror(-error));
    return prepared_format_check(ret, (uint64_t)st.st_size, ret_curve, reason);
}

int prepared_read_header(int fd, struct prepared *ret, struct reason *reason)
{
    struct prepared_header header;
    const struct curve *curve;
    int error = read_header(fd, &header, &curve, reason);

    if (error)
        return error;
    memset(ret, 0, sizeof *ret);
    ret->curve = curve;
    ret->layout = (enum prepared_layout)header.layout;
    ret->image_bytes = header.image_bytes;
    memcpy(ret->digest, header.digest, sizeof ret->digest);
    memcpy(ret->verify_key_digest, header.verify_key_digest, sizeof ret->verify_key_digest);
    ret->shape = header.shape;
    ret->has_c = header.has_c;
    return 0;
}

struct loading {
    int fd;
    uint8_t *memory;
    uint64_t image_bytes;
    size_t first_piece; /* of this round */
    uint8_t *digests;
    _Atomic int error; /* any one */
};

static void load_piece(void *context, size_t index)
{
    struct loading *loading = context;
    uint64_t number = loading->first_piece + index, off = number * PREPARED_DIGEST_PIECE_BYTES;
    uint64_t left = loading->image_bytes - off;
    size_t bytes = left < PREPARED_DIGEST_PIECE_BYTES ? (size_t)left : PREPARED_DIGEST_PIECE_BYTES;
    int error = read_all(loading->fd, off, loading->memory + off, bytes);

    if (error == 0 &&
        !prepared_format_hash_piece(loading->memory + off, bytes, number,
                                    loading->digests + number * PREPARED_DIGEST_BYTES))
        error = -ENOMEM;
    if (error)
        atomic_store_explicit(&loading->error, error, memory_order_relaxed);
}

static int load_pieces(struct loading *loading, size_t piece_count, struct pool *pool,
                       const struct prepared_progress *progress, struct reason *reason)
{
    while (loading->first_piece < piece_count) {
        size_t count = piece_count - loading->first_piece;
        int error;

        if (count > PIECES_PER_REPORT)
            count = PIECES_PER_REPORT;
        if (pool)
            pool_run(pool, count, load_piece, loading);
        else
            for (size_t i = 0; i < count; i++)
                load_piece(loading, i);
        error = atomic_load_explicit(&loading->error, memory_order_relaxed);
        if (error)
            return reason_set(
                reason, error,
                "reading the prepared key failed between bytes %" PRIu64 " and %" PRIu64 ": %s",
                (uint64_t)loading->first_piece * PREPARED_DIGEST_PIECE_BYTES,
                (uint64_t)(loading->first_piece + count) * PREPARED_DIGEST_PIECE_BYTES,
                error == -EBADMSG ? "the file became shorter" : strerror(-error));
        loading->first_piece += count;
        uint64_t done = (uint64_t)loading->first_piece * PREPARED_DIGEST_PIECE_BYTES;
        if (done > loading->image_bytes)
            done = loading->image_bytes;
        if (progress && progress->report(progress->context, done, loading->image_bytes) < 0)
            return reason_set(reason, -ECANCELED, "cancelled while the key was loaded");
    }
    return 0;
}

static int check_digest(const struct loading *loading, size_t piece_count, const uint8_t *expected,
                        struct reason *reason)
{
    const struct prepared_header *header = (const void *)loading->memory;
    uint8_t digest[PREPARED_DIGEST_BYTES];

    if (!prepared_format_hash_root(loading->image_bytes, loading->digests, piece_count, digest))
        return reason_set(reason, -ENOMEM, "no memory to hash the prepared key");
    if (memcmp(digest, header->digest, sizeof digest) != 0)
        return reason_set(reason, -EBADMSG,
                          "prepared key: its bytes do not have the digest in its header: the file "
                          "was damaged on disk, prepare the key again");
    if (expected && memcmp(digest, expected, sizeof digest) != 0)
        return reason_set(reason, -EBADMSG,
                          "prepared key: intact, but not the registered one (another digest): "
                          "the file was exchanged");
    return 0;
}

int prepared_load(int file_fd, void *memory, size_t bytes, const uint8_t *expected,
                  struct pool *pool, const struct prepared_progress *progress,
                  struct reason *reason)
{
    struct prepared_header header;
    struct loading loading = {.fd = file_fd, .memory = memory};
    const struct curve *curve;
    size_t piece_count;
    int error = read_header(file_fd, &header, &curve, reason);

    if (error)
        return error;
    if (header.image_bytes > bytes)
        return reason_set(reason, -ENOSPC,
                          "the prepared key has %" PRIu64 " bytes, the memory for it only %zu",
                          header.image_bytes, bytes);
    loading.image_bytes = header.image_bytes;
    piece_count = (size_t)((header.image_bytes + PREPARED_DIGEST_PIECE_BYTES - 1) /
                           PREPARED_DIGEST_PIECE_BYTES);
    loading.digests = malloc(piece_count * PREPARED_DIGEST_BYTES);
    if (!loading.digests)
        return reason_set(reason, -ENOMEM, "no memory for %zu piece digests", piece_count);
    error = load_pieces(&loading, piece_count, pool, progress, reason);
    if (error == 0)
        error = check_digest(&loading, piece_count, expected, reason);
    free(loading.digests);
    return error;
}
