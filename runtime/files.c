/* See runtime/files.h. */
#include "runtime/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/limits.h"

int files_open_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

static int read_up_to(int fd, char *text, size_t room, size_t *ret_bytes)
{
    size_t at = 0;

    while (at < room) {
        ssize_t got = read(fd, text + at, room - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        at += (size_t)got;
    }
    *ret_bytes = at;
    return 0;
}

int files_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes)
{
    /* Non-blocking: opening a FIFO must not wait for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    char *text = NULL;
    size_t bytes = 0, room;
    int error;

    if (fd < 0)
        return -errno;
    error = fstat(fd, &status) < 0 ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
    if (error < 0)
        goto done;
    /* Files of /proc say 0; one byte more than allowed tells that there is more. */
    room = status.st_size > 0 && (uint64_t)status.st_size < bytes_max ? (size_t)status.st_size
                                                                      : bytes_max;
    text = malloc(room + 2);
    error = text ? read_up_to(fd, text, room + 1, &bytes) : -ENOMEM;
    if (error == 0 && bytes > room)
        error = room < bytes_max ? -EAGAIN : -EFBIG; /* it grew while it was read */
    if (error < 0)
        goto done;
    text[bytes] = '\0';
    *ret_text = text;
    *ret_bytes = bytes;
    text = NULL;
done:
    free(text);
    close(fd);
    return error;
}

int files_read_number(const char *path, uint64_t *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[64], *end;
    size_t bytes = 0;
    int error;

    if (fd < 0)
        return -errno;
    error = read_up_to(fd, text, sizeof text - 1, &bytes);
    close(fd);
    if (error < 0)
        return error;
    text[bytes] = '\0';
    if (strncmp(text, "max", 3) == 0) {
        *ret = UINT64_MAX;
        return 0;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || errno || text[0] == '-')
        return -EINVAL;
    *ret = number;
    return 0;
}

static int write_all(int fd, const char *bytes, size_t byte_count)
{
    while (byte_count) {
        ssize_t wrote = write(fd, bytes, byte_count);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        bytes += wrote;
        byte_count -= (size_t)wrote;
    }
    return 0;
}

int files_write(const char *path, const void *bytes, size_t byte_count, mode_t mode)
{
    char temporary[PATH_BYTES_MAX];
    int fd, error;

    if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary)
        return -ENAMETOOLONG;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    error = write_all(fd, bytes, byte_count);
    if (error == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
        error = -errno;
    close(fd);
    if (error == 0 && rename(temporary, path) < 0)
        error = -errno;
    if (error < 0) {
        unlink(temporary);
        return error;
    }
    return files_sync_folder_of(path);
}

/* The folder part of path, "." when it has none. */
static int folder_of(const char *path, char *ret_folder, size_t room)
{
    const char *slash = strrchr(path, '/');
    size_t bytes = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);

    if (bytes >= room)
        return -ENAMETOOLONG;
    memcpy(ret_folder, bytes ? path : ".", bytes ? bytes : 1);
    ret_folder[bytes ? bytes : 1] = '\0';
    return 0;
}

int files_make_folder(const char *path, mode_t mode)
{
    char part[PATH_BYTES_MAX];
    size_t bytes = strlen(path);
    struct stat status;

    if (bytes == 0 || bytes >= sizeof part)
        return bytes ? -ENAMETOOLONG : -EINVAL;
    memcpy(part, path, bytes + 1);
    for (size_t i = 1; i <= bytes; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return -errno;
        part[i] = path[i];
    }
    if (stat(path, &status) < 0)
        return -errno;
    return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

int files_make_parents(const char *path, mode_t mode)
{
    char folder[PATH_BYTES_MAX];
    int error = folder_of(path, folder, sizeof folder);

    return error < 0 ? error : files_make_folder(folder, mode);
}

int files_sync_folder_of(const char *path)
{
    char folder[PATH_BYTES_MAX];
    int error = folder_of(path, folder, sizeof folder);
    int fd;

    if (error < 0)
        return error;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    error = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return error;
}
