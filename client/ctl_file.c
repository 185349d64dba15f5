/* Output files: whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ctl.h"

/* Where the bytes go in the end: the target of a symbolic link, not the link. */
struct place {
    char path[PATH_MAX];
    char folder[PATH_MAX];
    bool is_special; /* a terminal, pipe or device: written in place */
};

static int find_place(struct ctl *ctl, const char *path, struct place *ret)
{
    struct stat status;
    char *real = NULL;

    if (strlen(path) >= sizeof ret->path - 32)
        return ctl_failf(ctl, CUZK_USAGE, "the output path %.80s... is too long", path);
    ret->is_special = false;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return ctl_failf(ctl, CUZK_USAGE, "the output %s is a directory", path);
        ret->is_special = !S_ISREG(status.st_mode);
        if (!ret->is_special)
            real = realpath(path, NULL);
    }
    snprintf(ret->path, sizeof ret->path, "%s", real ? real : path);
    free(real);
    snprintf(ret->folder, sizeof ret->folder, "%s", ret->path);
    char *slash = strrchr(ret->folder, '/');
    if (!slash)
        strcpy(ret->folder, ".");
    else
        slash[slash == ret->folder ? 1 : 0] = '\0';
    return CTL_OK;
}

int ctl_file_check(struct ctl *ctl, const char *path)
{
    struct place place;
    int r = find_place(ctl, path, &place);

    if (r != CTL_OK || place.is_special)
        return r;
    if (access(place.folder, W_OK | X_OK) < 0) {
        int error = errno;
        return ctl_failf(ctl, CUZK_USAGE, "the output %s cannot be made: the folder %s: %s", path,
                         place.folder, strerror(error));
    }
    return CTL_OK;
}

static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = write(fd, text, bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        text += count;
        bytes -= (size_t)count;
    }
    return 0;
}

static int write_special(const char *path, const char *text, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, text, bytes);
    close(fd);
    return r;
}

static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fsync(fd) < 0 && errno != EINVAL ? -errno : 0; /* EINVAL: not on this file system */
    close(fd);
    return r;
}

static int write_regular(const struct place *place, const char *text, size_t bytes)
{
    char temporary[PATH_MAX + 32];
    mode_t mask = umask(0);
    int r;

    umask(mask);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", place->path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = write_all(fd, text, bytes);
    if (r == 0 && (fchmod(fd, 0666 & ~mask) < 0 || fsync(fd) < 0))
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, place->path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(temporary);
        return r;
    }
    return sync_folder(place->folder);
}

int ctl_file_write(struct ctl *ctl, const char *path, const char *text, size_t bytes)
{
    struct place place;
    int r = find_place(ctl, path, &place);

    if (r != CTL_OK)
        return r;
    r = place.is_special ? write_special(place.path, text, bytes)
                         : write_regular(&place, text, bytes);
    if (r < 0)
        return ctl_failf(ctl, CUZK_FAILED, "the output %s cannot be written: %s", path,
                         strerror(-r));
    return CTL_OK;
}
