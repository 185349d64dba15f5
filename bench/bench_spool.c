/* cuzk-bench spool FOLDER [MIB]: how fast a client's file gets into the spool (copied, digested,
 * durable), beside a plain copy with fsync and a bare SHA-256 of the same file, in turns; the
 * median of each. */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "intake/copy.h"
#include "runtime/clock.h"

enum {
    ROUNDS = 5,
    BUFFER_BYTES = 1 << 20,
    MIB_DEFAULT = 512,
};

enum way {
    WAY_SPOOL,
    WAY_COPY,
    WAY_DIGEST,
    WAY_COUNT,
};

static uint8_t buffer[BUFFER_BYTES];

static int make_file(int folder, uint64_t bytes)
{
    uint64_t state = 1;
    int fd = openat(folder, "source", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (uint64_t at = 0; fd >= 0 && at < bytes; at += BUFFER_BYTES) {
        for (size_t i = 0; i < BUFFER_BYTES; i += 8) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            memcpy(buffer + i, &state, 8);
        }
        if (pwrite(fd, buffer, BUFFER_BYTES, (off_t)at) != BUFFER_BYTES) {
            close(fd);
            return -EIO;
        }
    }
    return fd < 0 ? -errno : fsync(fd) < 0 ? -errno : fd;
}

static int run_spool(int folder, int source, uint64_t bytes)
{
    struct copier copier;
    struct intake_packet answer,
        asked = {.abi = INTAKE_PACKET_ABI, .kind = INTAKE_COPY, .bytes = bytes};
    int ends[2], r = intake_socket_create(ends);
    if (r < 0)
        return r;
    r = copier_init(&copier, ends[0], folder);
    if (r == 0) {
        copier_run(&copier, &asked, dup(source), &answer);
        copier_destroy(&copier);
        r = answer.kind == INTAKE_COPIED ? 0 : -(int)answer.error;
    }
    close(ends[0]);
    close(ends[1]);
    return r;
}

static int run_copy(int folder, int source, uint64_t bytes)
{
    int fd = openat(folder, "copy", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : 0;
    for (uint64_t at = 0; r == 0 && at < bytes; at += BUFFER_BYTES) {
        if (pread(source, buffer, BUFFER_BYTES, (off_t)at) != BUFFER_BYTES ||
            pwrite(fd, buffer, BUFFER_BYTES, (off_t)at) != BUFFER_BYTES)
            r = -EIO;
    }
    if (r == 0 && (fsync(fd) < 0 || fsync(folder) < 0))
        r = -errno;
    if (fd >= 0)
        close(fd);
    return r;
}

static int run_digest(int source, uint64_t bytes)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned digest_bytes;
    bool is_ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    for (uint64_t at = 0; is_ok && at < bytes; at += BUFFER_BYTES)
        is_ok = pread(source, buffer, BUFFER_BYTES, (off_t)at) == BUFFER_BYTES &&
                EVP_DigestUpdate(context, buffer, BUFFER_BYTES);
    is_ok = is_ok && EVP_DigestFinal_ex(context, buffer, &digest_bytes);
    EVP_MD_CTX_free(context);
    return is_ok ? 0 : -EIO;
}

static int run(enum way way, int folder, int source, uint64_t bytes)
{
    switch (way) {
    case WAY_SPOOL:
        return run_spool(folder, source, bytes);
    case WAY_COPY:
        return run_copy(folder, source, bytes);
    default:
        return run_digest(source, bytes);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(int folder, int source, uint64_t bytes)
{
    static const char *const names[WAY_COUNT] = {"into the spool", "plain copy, fsync",
                                                 "SHA-256 alone"};
    double seconds[WAY_COUNT][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAY_COUNT; way++) {
            uint64_t begin_ns = clock_now_ns();
            int r = run((enum way)way, folder, source, bytes);
            if (r < 0)
                return r;
            seconds[way][round] = (double)(clock_now_ns() - begin_ns) / 1e9;
            unlinkat(folder, "0-0", 0);
            unlinkat(folder, "copy", 0);
        }
    }
    for (int way = 0; way < WAY_COUNT; way++) {
        qsort(seconds[way], ROUNDS, sizeof seconds[way][0], compare);
        printf("%-18s %8.0f MB/s (%.0f to %.0f)\n", names[way],
               (double)bytes / 1e6 / seconds[way][ROUNDS / 2],
               (double)bytes / 1e6 / seconds[way][ROUNDS - 1],
               (double)bytes / 1e6 / seconds[way][0]);
    }
    return 0;
}

int bench_spool(int argc, char **argv)
{
    uint64_t mib = argc > 2 ? strtoull(argv[2], NULL, 10) : MIB_DEFAULT;
    if (argc < 2 || argc > 3 || argv[1][0] == '-' || mib == 0) {
        printf("Usage: cuzk-bench spool FOLDER [MIB]\n\nMakes files in FOLDER, on the disk to be "
               "measured, and removes them.\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int source = folder < 0 ? -errno : make_file(folder, mib << 20);
    int r = source < 0 ? source : measure(folder, source, mib << 20);
    if (r < 0)
        fprintf(stderr, "spool: %s: %s\n", argv[1], strerror(-r));
    if (folder >= 0)
        unlinkat(folder, "source", 0);
    return r < 0;
}
