/* Descriptors of clients: see input_file.h. */
#include "supervisor/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *type_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISFIFO(mode))
        return "a pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "no file of bytes";
}

int input_file_check(int fd, uint64_t bytes_max, uint64_t *ret_bytes, char *ret_error,
                     size_t error_bytes)
{
    struct statx status;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 ||
        statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &status) < 0) {
        snprintf(ret_error, error_bytes, "the descriptor cannot be examined: %s", strerror(errno));
        return -EINVAL;
    }
    if (!S_ISREG(status.stx_mode)) {
        snprintf(ret_error, error_bytes, "it is %s; a regular file is needed",
                 type_of(status.stx_mode));
        return -EINVAL;
    }
    if (flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY) {
        snprintf(ret_error, error_bytes, "it is not open for reading");
        return -EINVAL;
    }
    if (flags & O_DIRECT) {
        snprintf(ret_error, error_bytes, "it is open with O_DIRECT; open it without");
        return -EINVAL;
    }
    if (status.stx_size == 0) {
        snprintf(ret_error, error_bytes, "it is empty");
        return -EINVAL;
    }
    if ((uint64_t)status.stx_size > bytes_max) {
        snprintf(ret_error, error_bytes, "it has %" PRIu64 " bytes; at most %" PRIu64 " make sense",
                 (uint64_t)status.stx_size, bytes_max);
        return -EINVAL;
    }
    *ret_bytes = (uint64_t)status.stx_size;
    return 0;
}
