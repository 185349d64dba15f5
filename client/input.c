/* Upstream: submit.c, calls.c, `cuzkctl verify`; downstream: the descriptors that go to the daemon.
 */
#include "client/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/failure.h"
#include "config/name.h"

/* What to do about it; "" when there is nothing to say. */
static const char *advice(int error)
{
    switch (error) {
    case ENOENT:
        return "; check the path (a dangling symbolic link looks the same)";
    case EACCES:
    case EPERM:
        return "; the files are opened as the user who runs this program";
    default:
        return "";
    }
}

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a directory";
    if (S_ISFIFO(mode))
        return "a named pipe (FIFO)";
    if (S_ISSOCK(mode))
        return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return "a device";
    return "no regular file";
}

int input_open(const char *path, const char *what, int *ret_fd, uint64_t *ret_bytes,
               struct cuzk_error *ret_error)
{
    struct stat status;
    /* Without O_NONBLOCK, opening a FIFO waits for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

    /* ENXIO: a socket, or a device that is not there. */
    if (fd < 0 && errno == ENXIO)
        return failure(ret_error, CUZK_BAD_INPUT, "%s %s is not a regular file", what, path);
    if (fd < 0) {
        int error = errno;
        return failure(ret_error, CUZK_BAD_INPUT, "%s %s cannot be opened: %s%s", what, path,
                       strerror(error), advice(error));
    }
    if (fstat(fd, &status) < 0)
        r = failure(ret_error, CUZK_BAD_INPUT, "%s %s cannot be examined: %s", what, path,
                    strerror(errno));
    else if (!S_ISREG(status.st_mode))
        r = failure(ret_error, CUZK_BAD_INPUT, "%s %s is %s; a regular file is needed", what, path,
                    kind_of(status.st_mode));
    else if (status.st_size == 0)
        r = failure(ret_error, CUZK_BAD_INPUT,
                    "%s %s is empty; did the program that was to write it fail?", what, path);
    else /* The flag is shared with the daemon, whose reads of files are to wait for the disk. */
        r = fcntl(fd, F_SETFL, 0) < 0
                ? failure(ret_error, CUZK_BAD_INPUT, "%s %s: %s", what, path, strerror(errno))
                : CUZK_OK;
    if (r != CUZK_OK) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    *ret_bytes = (uint64_t)status.st_size;
    return CUZK_OK;
}

int input_name(char ret[NAME_BYTES_MAX + 1], const char *name, struct cuzk_error *ret_error)
{
    if (!name || !name_is_valid(name, strlen(name)))
        return failure(ret_error, CUZK_USAGE,
                       "\"%.80s\" cannot be the name of a circuit; allowed: 1 to %d of A-Z a-z 0-9 "
                       ". _ -",
                       name ? name : "", NAME_BYTES_MAX);
    strcpy(ret, name);
    return CUZK_OK;
}
