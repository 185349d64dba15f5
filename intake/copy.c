/* See copy.h. */
#include "intake/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/clock.h"

enum {
    COPY_BUFFER_BYTES = 1 << 20,
    /* Written back while the copy goes on, so that the last fsync is short, and so that a copy
     * holds no more dirty memory than two of these. */
    COPY_WINDOW_BYTES = 16 << 20,
    /* The supervisor gives a copy a time for so much; slower than that is given up. */
    COPY_PROGRESS_BYTES = 4 << 20,
    COPY_PROGRESS_MS = 100, /* no more often */
};

/* Who is to blame, and the errno. */
struct copy_fault {
    enum intake_fault fault;
    int error;
};

/* One copy. */
struct copy {
    struct copier *copier;
    const struct intake_packet *asked;
    struct stat before; /* of the client's file */
    int from, to;
    uint64_t done;     /* bytes copied and digested */
    uint64_t told;     /* bytes of the last PROGRESS */
    uint64_t told_ns;  /* and when */
    uint64_t flushing; /* bytes whose writing back has begun */
    struct copy_fault fault;
};

static bool take_stock(struct copy *copy);
static bool clone_file(struct copy *copy);
static bool copy_bytes(struct copy *copy, bool is_cloned);
static bool check_unchanged(struct copy *copy);
static bool make_durable(struct copy *copy, const char *part, const char *name);
static bool fail(struct copy *copy, enum intake_fault fault, int error);
static void tell(struct copy *copy, enum intake_phase phase);

int copier_init(struct copier *copier, int socket, int folder)
{
    *copier = (struct copier){.socket = socket, .folder = folder};
    void *buffer =
        mmap(NULL, COPY_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED)
        return -ENOMEM;
    copier->buffer = buffer;
    /* Witnesses pass through it. Where the limit forbids it, it may be swapped. */
    madvise(buffer, COPY_BUFFER_BYTES, MADV_DONTDUMP);
    if (mlock(buffer, COPY_BUFFER_BYTES) < 0)
        errno = 0;
    copier->digest = EVP_MD_CTX_new();
    /* The first use may read the library's configuration, which the sandbox does not let it. */
    if (!copier->digest || !EVP_DigestInit_ex(copier->digest, EVP_sha256(), NULL)) {
        copier_destroy(copier);
        return -ENOMEM;
    }
    return 0;
}

void copier_destroy(struct copier *copier)
{
    if (copier->buffer) {
        explicit_bzero(copier->buffer, COPY_BUFFER_BYTES);
        munmap(copier->buffer, COPY_BUFFER_BYTES);
    }
    EVP_MD_CTX_free(copier->digest);
    *copier = (struct copier){.socket = -1, .folder = -1};
}

void copier_run(struct copier *copier, const struct intake_packet *asked, int file,
                struct intake_packet *ret_answer)
{
    struct copy copy = {.copier = copier, .asked = asked, .from = file, .to = -1};
    char part[INTAKE_NAME_BYTES], name[INTAKE_NAME_BYTES];
    unsigned digest_bytes = INTAKE_SHA256_BYTES;
    *ret_answer = *asked;
    intake_name(asked->job, asked->partition, true, part);
    intake_name(asked->job, asked->partition, false, name);
    copy.told_ns = clock_now_ns();

    bool is_ok = take_stock(&copy);
    if (is_ok) {
        unlinkat(copier->folder, part, 0); /* of a process that died over it */
        copy.to =
            openat(copier->folder, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        is_ok = copy.to >= 0 || fail(&copy, INTAKE_FAULT_SPOOL, errno);
    }
    if (is_ok) {
        bool is_cloned = clone_file(&copy);
        is_ok = copy_bytes(&copy, is_cloned) && (is_cloned || check_unchanged(&copy)) &&
                make_durable(&copy, part, name);
    }
    if (is_ok && !EVP_DigestFinal_ex(copier->digest, ret_answer->sha256, &digest_bytes))
        is_ok = fail(&copy, INTAKE_FAULT_SPOOL, ENOMEM);
    if (copy.to >= 0)
        close(copy.to);
    if (copy.to >= 0 && !is_ok)
        unlinkat(copier->folder, part, 0);
    explicit_bzero(copier->buffer, COPY_BUFFER_BYTES);
    close(copy.from); /* may hang; the supervisor still waits for the answer */

    ret_answer->kind = is_ok ? INTAKE_COPIED : INTAKE_FAILED;
    ret_answer->fault = copy.fault.fault;
    ret_answer->error = (uint32_t)copy.fault.error;
}

static bool fail(struct copy *copy, enum intake_fault fault, int error)
{
    copy->fault = (struct copy_fault){fault, error};
    return false;
}

/* The supervisor has not asked the file's own file system, which may hang; here it may. */
static bool take_stock(struct copy *copy)
{
    if (fstat(copy->from, &copy->before) < 0)
        return fail(copy, INTAKE_FAULT_UNREADABLE, errno);
    if (!S_ISREG(copy->before.st_mode))
        return fail(copy, INTAKE_FAULT_NO_FILE, 0);
    uint64_t bytes = (uint64_t)copy->before.st_size;
    if (bytes != copy->asked->bytes)
        return fail(copy, bytes < copy->asked->bytes ? INTAKE_FAULT_SHORTER : INTAKE_FAULT_LONGER,
                    0);
    return true;
}

/* On the same file system, where that can share extents: no byte is moved. The source may have to
 * be written back first. */
static bool clone_file(struct copy *copy)
{
    struct stat after;
    tell(copy, INTAKE_SYNCING);
    bool is_cloned = ioctl(copy->to, FICLONE, copy->from) == 0 && fstat(copy->to, &after) == 0 &&
                     (uint64_t)after.st_size == copy->asked->bytes;
    if (!is_cloned) {
        if (ftruncate(copy->to, 0) == 0)
            /* Not everywhere; where it is, a full disk shows before the work. */
            fallocate(copy->to, 0, 0, (off_t)copy->asked->bytes);
    }
    tell(copy, INTAKE_COPYING);
    return is_cloned;
}

static bool write_all(int fd, const uint8_t *bytes, size_t count, uint64_t offset)
{
    while (count > 0) {
        ssize_t wrote = pwrite(fd, bytes, count, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        count -= (size_t)wrote;
        offset += (uint64_t)wrote;
    }
    return true;
}

static void tell(struct copy *copy, enum intake_phase phase)
{
    struct intake_packet packet = *copy->asked;
    packet.kind = INTAKE_PROGRESS;
    packet.phase = phase;
    packet.bytes = copy->done;
    copy->told = copy->done;
    copy->told_ns = clock_now_ns();
    /* Full: the supervisor has not read the last ones yet. */
    intake_packet_send(copy->copier->socket, &packet, -1);
}

/* Begins to write the newest window back and waits for the one before it. */
static void write_back(struct copy *copy)
{
    uint64_t begin = copy->flushing;
    sync_file_range(copy->to, (off_t)begin, COPY_WINDOW_BYTES, SYNC_FILE_RANGE_WRITE);
    copy->flushing = begin + COPY_WINDOW_BYTES;
    if (begin == 0)
        return;
    tell(copy, INTAKE_SYNCING);
    sync_file_range(copy->to, (off_t)(begin - COPY_WINDOW_BYTES), COPY_WINDOW_BYTES,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                        SYNC_FILE_RANGE_WAIT_AFTER);
    tell(copy, INTAKE_COPYING);
}

/* The digest is of the bytes that are written; of a clone, of what lies in the spool. */
static bool copy_bytes(struct copy *copy, bool is_cloned)
{
    struct copier *copier = copy->copier;
    const uint64_t bytes = copy->asked->bytes;
    const int from = is_cloned ? copy->to : copy->from;
    if (!EVP_DigestInit_ex(copier->digest, EVP_sha256(), NULL))
        return fail(copy, INTAKE_FAULT_SPOOL, ENOMEM);
    while (copy->done < bytes) {
        size_t wanted =
            bytes - copy->done < COPY_BUFFER_BYTES ? bytes - copy->done : COPY_BUFFER_BYTES;
        ssize_t got = pread(from, copier->buffer, wanted, (off_t)copy->done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(copy, is_cloned ? INTAKE_FAULT_SPOOL : INTAKE_FAULT_UNREADABLE, errno);
        if (got == 0)
            return is_cloned ? fail(copy, INTAKE_FAULT_SPOOL, EIO)
                             : fail(copy, INTAKE_FAULT_SHORTER, 0);
        if (!EVP_DigestUpdate(copier->digest, copier->buffer, (size_t)got))
            return fail(copy, INTAKE_FAULT_SPOOL, ENOMEM);
        if (!is_cloned && !write_all(copy->to, copier->buffer, (size_t)got, copy->done))
            return fail(copy, INTAKE_FAULT_SPOOL, errno ? errno : EIO);
        copy->done += (uint64_t)got;
        if (!is_cloned && copy->done - copy->flushing >= COPY_WINDOW_BYTES)
            write_back(copy);
        else if (copy->done - copy->told >= COPY_PROGRESS_BYTES &&
                 clock_now_ns() - copy->told_ns >= COPY_PROGRESS_MS * UINT64_C(1000000))
            tell(copy, INTAKE_COPYING);
    }
    return true;
}

/* A file that was written to meanwhile may have been copied half old, half new. */
static bool check_unchanged(struct copy *copy)
{
    struct stat after;
    if (fstat(copy->from, &after) < 0)
        return fail(copy, INTAKE_FAULT_UNREADABLE, errno);
    if (after.st_size > copy->before.st_size)
        return fail(copy, INTAKE_FAULT_LONGER, 0);
    if (after.st_size < copy->before.st_size)
        return fail(copy, INTAKE_FAULT_SHORTER, 0);
    if (after.st_mtim.tv_sec != copy->before.st_mtim.tv_sec ||
        after.st_mtim.tv_nsec != copy->before.st_mtim.tv_nsec)
        return fail(copy, INTAKE_FAULT_CHANGED, 0);
    return true;
}

static bool make_durable(struct copy *copy, const char *part, const char *name)
{
    int folder = copy->copier->folder;
    tell(copy, INTAKE_SYNCING);
    if (fsync(copy->to) < 0 || renameat(folder, part, folder, name) < 0)
        return fail(copy, INTAKE_FAULT_SPOOL, errno);
    if (fsync(folder) < 0) {
        fail(copy, INTAKE_FAULT_SPOOL, errno);
        unlinkat(folder, name, 0);
        return false;
    }
    return true;
}
