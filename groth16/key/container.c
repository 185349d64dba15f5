/* Finds the sections of a .zkey, .wtns or .r1cs file and reads from them. Below: pread or memory;
 * above: the three format readers. */
#include "groth16/key/container.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_HEADER_BYTES = 12,
    SECTION_HEADER_BYTES = 12,
};

static int read_sections(struct container *container, const char *magic, uint32_t version_max,
                         struct reason *reason);

int container_attach(int fd, const char *what, struct container *ret, struct reason *reason)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        int error = -errno;

        return reason_set(reason, error, "cannot stat the %s file: %s", what, strerror(-error));
    }
    if (S_ISDIR(st.st_mode))
        return reason_set(reason, -EISDIR, "this is a directory: a %s file is wanted", what);
    if (!S_ISREG(st.st_mode))
        return reason_set(reason, -EINVAL,
                          "not a regular file: pipes, sockets and devices are not read, write the "
                          "%s data to a file first",
                          what);
    *ret = (struct container){.fd = fd, .file_bytes = (uint64_t)st.st_size};
    return 0;
}

int container_open(int fd, const char *magic, uint32_t version_max, struct container *ret,
                   struct reason *reason)
{
    struct container container;
    int error = container_attach(fd, magic, &container, reason);

    if (error == 0)
        error = read_sections(&container, magic, version_max, reason);
    if (error == 0)
        *ret = container;
    return error;
}

int container_open_memory(const void *head, size_t head_bytes, uint64_t file_bytes,
                          const char *magic, uint32_t version_max, struct container *ret,
                          struct reason *reason)
{
    struct container container = {
        .fd = -1,
        .head = head,
        .head_bytes = head_bytes < file_bytes ? head_bytes : (size_t)file_bytes,
        .file_bytes = file_bytes,
    };
    int error = read_sections(&container, magic, version_max, reason);

    if (error == 0)
        *ret = container;
    return error;
}

static int check_magic(const uint8_t *header, const char *magic, struct reason *reason)
{
    static const char known[][5] = {"zkey", "wtns", "r1cs", "ptau"};

    if (memcmp(header, magic, 4) == 0)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (memcmp(header, known[i], 4) == 0)
            return reason_set(reason, -EBADMSG, "this is a .%s file where a .%s file is wanted",
                              known[i], magic);
    return reason_set(reason, -EBADMSG,
                      "not a .%s file: it begins with bytes %02x %02x %02x %02x instead of \"%s\"",
                      magic, header[0], header[1], header[2], header[3], magic);
}

static int read_sections(struct container *container, const char *magic, uint32_t version_max,
                         struct reason *reason)
{
    uint8_t header[FILE_HEADER_BYTES];
    uint64_t off = FILE_HEADER_BYTES;
    int error;

    if (container->file_bytes == 0)
        return reason_set(reason, -EBADMSG, "the .%s file is empty", magic);
    if (container->file_bytes < FILE_HEADER_BYTES)
        return reason_set(reason, -EBADMSG,
                          "the .%s file is truncated: %" PRIu64 " bytes, its header alone has %d",
                          magic, container->file_bytes, FILE_HEADER_BYTES);
    error = container_read(container, 0, header, sizeof header, reason);
    if (error == 0)
        error = check_magic(header, magic, reason);
    if (error)
        return error;
    container->version = container_u32(header + 4);
    if (container->version == 0 || container->version > version_max)
        return reason_set(reason, -EBADMSG,
                          "version %" PRIu32 " of .%s is not supported: versions 1 to %" PRIu32
                          " are; it may come from a newer tool",
                          container->version, magic, version_max);
    container->section_count = container_u32(header + 8);
    if (container->section_count > CONTAINER_SECTIONS_MAX)
        return reason_set(reason, -EBADMSG,
                          "the .%s file claims %" PRIu32 " sections, more than %d: it is damaged",
                          magic, container->section_count, CONTAINER_SECTIONS_MAX);

    for (uint32_t i = 0; i < container->section_count; i++) {
        struct section *section = &container->sections[i];
        uint8_t bytes[SECTION_HEADER_BYTES];

        if (container->file_bytes - off < SECTION_HEADER_BYTES)
            return reason_set(reason, -EBADMSG,
                              "the .%s file is truncated: it ends at byte %" PRIu64
                              ", in the header of section %" PRIu32 " of %" PRIu32
                              "; copy or download it again",
                              magic, container->file_bytes, i + 1, container->section_count);
        error = container_read(container, off, bytes, sizeof bytes, reason);
        if (error)
            return error;
        section->id = container_u32(bytes);
        section->bytes = container_u64(bytes + 4);
        section->off = off + SECTION_HEADER_BYTES;
        if (section->bytes > container->file_bytes - section->off)
            return reason_set(
                reason, -EBADMSG,
                "section %" PRIu32 " at byte %" PRIu64 " claims %" PRIu64
                " bytes, but the .%s file ends at byte %" PRIu64 ": it is truncated or damaged",
                section->id, section->off, section->bytes, magic, container->file_bytes);
        off = section->off + section->bytes;
    }
    return 0;
}

int container_section(const struct container *container, uint32_t id, const char *what,
                      struct section *ret, struct reason *reason)
{
    const struct section *found = NULL;

    for (uint32_t i = 0; i < container->section_count; i++) {
        const struct section *section = &container->sections[i];

        if (section->id != id)
            continue;
        if (found)
            return reason_set(reason, -EBADMSG,
                              "section %" PRIu32 " (%s) is there twice, at bytes %" PRIu64
                              " and %" PRIu64 ": it is not clear which one holds",
                              id, what, found->off, section->off);
        found = section;
    }
    if (!found)
        return reason_set(reason, -EBADMSG,
                          "section %" PRIu32 " (%s) is missing: the file is incomplete", id, what);
    *ret = *found;
    return 0;
}

int container_read(const struct container *container, uint64_t off, void *ret, size_t bytes,
                   struct reason *reason)
{
    size_t done = 0;

    if (off > container->file_bytes || bytes > container->file_bytes - off)
        return reason_set(reason, -EBADMSG,
                          "a read of %zu bytes at byte %" PRIu64 " goes beyond the end at %" PRIu64,
                          bytes, off, container->file_bytes);
    if (container->head) {
        if (off + bytes > container->head_bytes)
            return reason_set(reason, -EAGAIN, "bytes beyond the first %zu are needed",
                              container->head_bytes);
        memcpy(ret, (const uint8_t *)container->head + off, bytes);
        return 0;
    }
    while (done < bytes) {
        ssize_t n = pread(container->fd, (uint8_t *)ret + done, bytes - done, (off_t)(off + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int error = -errno;

            return reason_set(reason, error, "reading %zu bytes at byte %" PRIu64 " failed: %s",
                              bytes, off, strerror(-error));
        }
        if (n == 0)
            return reason_set(reason, -EBADMSG,
                              "the file became shorter while it was read: it ends at byte %" PRIu64
                              " instead of %" PRIu64,
                              off + done, container->file_bytes);
        done += (size_t)n;
    }
    return 0;
}
