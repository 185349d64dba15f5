/* The reader of .params: head, counts, streams of points, digest. Below: container (pread), point,
 * vk; above: params_prepare. */
#include "filecoin/params.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "filecoin/big_endian.h"
#include "filecoin/point.h"
#include "groth16/pool.h"

enum {
    PIECE_BYTES = 4 << 20,
    CHECK_GRAIN = 64, /* points a task: some milliseconds with the subgroup test */
    COUNT_BYTES = 4,
};

const char *params_section_to_string(enum params_section section)
{
    static const char *const names[PARAMS_SECTION_COUNT] = {"h", "l", "a", "b_g1", "b_g2"};

    return section < PARAMS_SECTION_COUNT ? names[section] : "unknown";
}

static size_t point_bytes(enum params_section section)
{
    return section == PARAMS_B_G2 ? POINT_G2_BYTES : POINT_G1_BYTES;
}

uint64_t params_counts_bytes(const struct params_counts *counts)
{
    uint64_t bytes = vk_bytes(counts->ic);

    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++)
        bytes += COUNT_BYTES + (uint64_t)counts->points[i] * point_bytes(i);
    return bytes;
}

/* ---- head and counts ---- */

static int read_counts(struct params *params, struct reason *reason)
{
    const uint64_t end = params->file.file_bytes;
    uint64_t off = vk_bytes(params->vk.ic_count);

    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++) {
        const char *name = params_section_to_string(i);
        uint8_t bytes[COUNT_BYTES];
        uint32_t count;
        int error;

        if (end - off < COUNT_BYTES)
            return reason_set(reason, -EBADMSG,
                              "params: truncated: it ends at byte %" PRIu64
                              ", before the count of %s; copy or download it again",
                              end, name);
        error = container_read(&params->file, off, bytes, sizeof bytes, reason);
        if (error)
            return error;
        count = big_endian_u32(bytes);
        if (count > (end - off - COUNT_BYTES) / point_bytes(i))
            return reason_set(reason, -EBADMSG,
                              "params: %" PRIu32 " points of %s, counted at byte %" PRIu64
                              ", do not fit: the file ends at byte %" PRIu64
                              "; it is truncated or damaged",
                              count, name, off, end);
        params->sections[i].count = count;
        params->sections[i].off = off + COUNT_BYTES;
        off += COUNT_BYTES + (uint64_t)count * point_bytes(i);
    }
    if (off != end)
        return reason_set(reason, -EBADMSG,
                          "params: its points end at byte %" PRIu64
                          ", but the file at byte %" PRIu64
                          ": it is damaged, or something was appended",
                          off, end);
    return 0;
}

/* What holds for every circuit. */
static int check_counts(const struct params *params, struct reason *reason)
{
    const uint32_t h = params->sections[PARAMS_H].count;
    const uint32_t b_g1 = params->sections[PARAMS_B_G1].count;
    const uint32_t b_g2 = params->sections[PARAMS_B_G2].count;

    if (h == 0 || (h & (h + UINT64_C(1))) != 0)
        return reason_set(reason, -EBADMSG,
                          "params: %" PRIu32 " points of h, counted at byte %" PRIu64
                          ": one less than a power of two is wanted; the file is damaged",
                          h, params->sections[PARAMS_H].off - COUNT_BYTES);
    if (b_g1 != b_g2)
        return reason_set(reason, -EBADMSG,
                          "params: %" PRIu32 " points of b_g1 but %" PRIu32
                          " of b_g2 (counted at byte %" PRIu64 "): the file is damaged",
                          b_g1, b_g2, params->sections[PARAMS_B_G2].off - COUNT_BYTES);
    if (params->sections[PARAMS_A].count < params->vk.ic_count)
        return reason_set(reason, -EBADMSG,
                          "params: %" PRIu32 " points of a, counted at byte %" PRIu64
                          ", are fewer than the %" PRIu32 " inputs: the file is damaged",
                          params->sections[PARAMS_A].count,
                          params->sections[PARAMS_A].off - COUNT_BYTES, params->vk.ic_count);
    return 0;
}

static int read_head(struct params *params, struct reason *reason)
{
    int error = vk_read(&params->file, "params", &params->vk, reason);

    if (error == 0)
        error = read_counts(params, reason);
    if (error == 0)
        error = check_counts(params, reason);
    return error;
}

int params_open(int fd, struct params *ret, struct reason *reason)
{
    struct params params = {0};
    int error = container_attach(fd, "params", &params.file, reason);

    if (error == 0)
        error = read_head(&params, reason);
    if (error == 0)
        *ret = params;
    else
        params_destroy(&params);
    return error;
}

int params_open_memory(const void *bytes, size_t count, struct params *ret, struct reason *reason)
{
    struct params params = {
        .file = {.fd = -1, .head = bytes, .head_bytes = count, .file_bytes = count},
    };
    int error = read_head(&params, reason);

    if (error == 0)
        *ret = params;
    else
        params_destroy(&params);
    return error;
}

void params_destroy(struct params *params)
{
    vk_destroy(&params->vk);
    memset(params, 0, sizeof *params);
}

int params_compare_vk(const struct params *params, int vk_fd, struct reason *reason)
{
    uint8_t ours[4096], theirs[4096];
    const uint64_t bytes = vk_bytes(params->vk.ic_count);
    struct container file;
    int error = container_attach(vk_fd, "vk", &file, reason);

    if (error == 0 && file.file_bytes != bytes)
        error = reason_set(reason, -EBADMSG,
                           "vk: %" PRIu64 " bytes, but the params begin with a verifying key of "
                           "%" PRIu64 ": the two files do not belong together",
                           file.file_bytes, bytes);
    for (uint64_t off = 0; off < bytes && error == 0; off += sizeof ours) {
        const size_t count = bytes - off < sizeof ours ? (size_t)(bytes - off) : sizeof ours;
        size_t same = 0;

        error = container_read(&params->file, off, ours, count, reason);
        if (error == 0)
            error = container_read(&file, off, theirs, count, reason);
        while (error == 0 && same < count && ours[same] == theirs[same])
            same++;
        if (error == 0 && same < count)
            error = reason_set(reason, -EBADMSG,
                               "vk: differs at byte %" PRIu64 " from the verifying key that the "
                               "params begin with: the two files do not belong together",
                               off + same);
    }
    return error;
}

int params_compare_counts(const struct params *params, const struct params_counts *expected,
                          struct reason *reason)
{
    if (params->vk.ic_count != expected->ic)
        return reason_set(reason, -EBADMSG,
                          "params: %" PRIu32 " points of ic (byte %d), the circuit wants %" PRIu32
                          ": this is the key of another circuit or sector size",
                          params->vk.ic_count, VK_IC_COUNT_OFF, expected->ic);
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++)
        if (params->sections[i].count != expected->points[i])
            return reason_set(reason, -EBADMSG,
                              "params: %" PRIu32 " points of %s (byte %" PRIu64
                              "), the circuit wants %" PRIu32
                              ": this is the key of another circuit or sector size",
                              params->sections[i].count, params_section_to_string(i),
                              params->sections[i].off - COUNT_BYTES, expected->points[i]);
    return 0;
}

/* ---- points ---- */

/* One piece: decoded in place, since both encodings of a point are of one size. */
struct decoding {
    uint8_t *points;
    size_t point_bytes;
    bool subgroup;
    _Atomic uint64_t bad; /* the first bad point: its index * 16 + fault; UINT64_MAX when none */
};

static void decode_range(void *context, size_t begin, size_t end)
{
    struct decoding *d = context;

    for (size_t i = begin; i < end; i++) {
        uint8_t *at = d->points + i * d->point_bytes, bytes[POINT_G2_BYTES];
        enum point_fault fault;
        uint64_t bad, ours;

        memcpy(bytes, at, d->point_bytes);
        fault = d->point_bytes == POINT_G2_BYTES ? point_g2_read(bytes, d->subgroup, at)
                                                 : point_g1_read(bytes, d->subgroup, at);
        if (fault == POINT_OK)
            continue;
        ours = (uint64_t)i * 16 + (uint64_t)fault;
        bad = atomic_load_explicit(&d->bad, memory_order_relaxed);
        while (ours < bad && !atomic_compare_exchange_weak_explicit(
                                 &d->bad, &bad, ours, memory_order_relaxed, memory_order_relaxed))
            continue;
        return;
    }
}

static int decode_piece(uint8_t *points, size_t count, enum params_section section, bool subgroup,
                        struct pool *pool, uint64_t first, uint64_t off, struct reason *reason)
{
    struct decoding d = {
        .points = points,
        .point_bytes = point_bytes(section),
        .subgroup = subgroup,
        .bad = UINT64_MAX,
    };
    uint64_t bad;

    if (pool)
        pool_run_range(pool, count, CHECK_GRAIN, decode_range, &d);
    else
        decode_range(&d, 0, count);
    bad = atomic_load_explicit(&d.bad, memory_order_relaxed);
    if (bad == UINT64_MAX)
        return 0;
    return reason_set(
        reason, -EBADMSG, "params: %s[%" PRIu64 "] at byte %" PRIu64 ": %s: the file is damaged",
        params_section_to_string(section), first + bad / 16, off + bad / 16 * d.point_bytes,
        point_fault_to_string((enum point_fault)(bad % 16)));
}

int params_read_points(const struct params *params, enum params_section section, bool subgroup,
                       struct pool *pool, prepared_sink *sink, void *context, struct reason *reason)
{
    const size_t each = point_bytes(section);
    const uint64_t total = (uint64_t)params->sections[section].count * each;
    const size_t piece_bytes = PIECE_BYTES / each * each;
    uint8_t *piece = malloc(total < piece_bytes ? total + 1 : piece_bytes);
    int error = 0;

    if (!piece)
        return reason_set(reason, -ENOMEM, "no memory to read the points of %s",
                          params_section_to_string(section));
    for (uint64_t done = 0; done < total && error >= 0;) {
        const uint64_t off = params->sections[section].off + done, left = total - done;
        const size_t bytes = left < piece_bytes ? (size_t)left : piece_bytes;

        error = container_read(&params->file, off, piece, bytes, reason);
        if (error == 0)
            error = decode_piece(piece, bytes / each, section, subgroup, pool, done / each, off,
                                 reason);
        if (error == 0 && sink)
            error = sink(context, piece, bytes);
        done += bytes;
    }
    free(piece);
    return error < 0 ? error : 0;
}

/* ---- digest ---- */

static int hash_file(const struct params *params, EVP_MD_CTX *hash, uint8_t *piece,
                     const struct prepared_progress *progress, struct reason *reason)
{
    const uint64_t total = params->file.file_bytes;

    for (uint64_t off = 0; off < total;) {
        const size_t bytes = total - off < PIECE_BYTES ? (size_t)(total - off) : PIECE_BYTES;
        int error = container_read(&params->file, off, piece, bytes, reason);

        if (error)
            return error;
        if (!EVP_DigestUpdate(hash, piece, bytes))
            return reason_set(reason, -ENOMEM, "no memory to hash the params");
        off += bytes;
        if (progress && progress->report(progress->context, off, total) < 0)
            return reason_set(reason, -ECANCELED, "cancelled while the params were hashed");
    }
    return 0;
}

int params_digest(const struct params *params, const struct prepared_progress *progress,
                  uint8_t ret[PARAMS_DIGEST_BYTES], struct reason *reason)
{
    uint8_t *piece = malloc(PIECE_BYTES), digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    int error = 0;

    if (!piece || !hash || !EVP_DigestInit_ex(hash, EVP_blake2b512(), NULL))
        error = reason_set(reason, -ENOMEM, "no memory to hash the params");
    if (error == 0)
        error = hash_file(params, hash, piece, progress, reason);
    if (error == 0 && !EVP_DigestFinal_ex(hash, digest, NULL))
        error = reason_set(reason, -ENOMEM, "no memory to hash the params");
    if (error == 0)
        memcpy(ret, digest, PARAMS_DIGEST_BYTES);
    EVP_MD_CTX_free(hash);
    free(piece);
    return error;
}
