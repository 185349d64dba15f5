/* Listening sockets: see listener.h. */
#include "supervisor/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/check.h"
#include "runtime/files.h"
#include "runtime/log.h"

enum {
    LISTENER_BACKLOG = 256,
    /* The kernel closes what a killed process polled through io_uring only after the process itself
     * is gone. */
    LISTENER_GONE_MS_MAX = 1000,
    LISTENER_LOOK_MS = 20,
};

static int socket_make(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

static int try_connect(const struct sockaddr_un *address)
{
    int fd = socket_make();
    if (fd < 0)
        return fd;
    int r = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 ? -errno : 0;
    close(fd);
    return r;
}

/* Something is at the path: removes it if it is a socket that nobody listens on. */
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(status.st_mode)) {
        log_error("%s is in the way: it is no socket", address->sun_path);
        return -EEXIST;
    }
    int r = try_connect(address);
    for (int i = 0; (r == 0 || r == -EAGAIN) && i < LISTENER_GONE_MS_MAX / LISTENER_LOOK_MS; i++) {
        poll(NULL, 0, LISTENER_LOOK_MS);
        r = try_connect(address);
    }
    if (r == 0 || r == -EAGAIN) {
        log_error("another daemon listens on %s already", address->sun_path);
        return -EADDRINUSE;
    }
    if (r != -ECONNREFUSED) {
        log_error("cannot tell whether %s is in use: %s", address->sun_path, strerror(-r));
        return r;
    }
    log_info("the socket %s of a daemon that is gone is replaced", address->sun_path);
    return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

/* (gid_t)-1, which chown leaves alone, where there is none. */
static int find_group(const char *path, const char *group, gid_t *ret)
{
    *ret = (gid_t)-1;
    if (!group)
        return 0;
    char *end;
    unsigned long number = strtoul(group, &end, 10);
    errno = 0;
    const struct group *found = *end ? getgrnam(group) : NULL;
    if (*end && !found) {
        log_error("the group %s of %s is not known here: make it (groupadd), or mend SocketGroup= "
                  "or AdminSocketGroup=",
                  group, path);
        return errno ? -errno : -ENOENT;
    }
    *ret = found ? found->gr_gid : (gid_t)number;
    return 0;
}

static int set_access(const char *path, mode_t mode, gid_t group)
{
    if (group != (gid_t)-1 && chown(path, (uid_t)-1, group) < 0) {
        int r = -errno;
        log_error("%s cannot be given to the group %u: %s; the service must be in that group or "
                  "run as root",
                  path, (unsigned)group, strerror(-r));
        return r;
    }
    return chmod(path, mode) < 0 ? -errno : 0;
}

int listener_open(const char *path, mode_t mode, const char *group_name, ino_t *ret_inode)
{
    struct stat status;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gid_t group;
    CHECK(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    int r = find_group(path, group_name, &group);
    if (r < 0)
        return r;
    r = files_make_parents(path, 0755);
    if (r < 0) {
        log_error("cannot make the folder of %s: %s", path, strerror(-r));
        return r;
    }
    r = remove_stale(&address);
    if (r < 0)
        return r;
    int fd = socket_make();
    if (fd < 0)
        return fd;
    /* Nobody may connect between bind and chmod. */
    mode_t before = umask(0177);
    r = bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    umask(before);
    bool is_bound = r == 0;
    if (r == 0 && lstat(path, &status) < 0)
        r = -errno;
    if (r == 0)
        r = set_access(path, mode, group);
    if (r == 0 && listen(fd, LISTENER_BACKLOG) < 0)
        r = -errno;
    if (r < 0 && is_bound)
        unlink(path);
    if (r < 0) {
        log_error("cannot listen on %s: %s", path, strerror(-r));
        close(fd);
        return r;
    }
    *ret_inode = status.st_ino;
    return fd;
}

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) < 0 ? -errno : value;
}

int listener_adopt(int fd, const char *path)
{
    struct sockaddr_un address = {0};
    socklen_t bytes = sizeof address - 1;
    if (option_of(fd, SO_DOMAIN) != AF_UNIX || option_of(fd, SO_TYPE) != SOCK_STREAM ||
        option_of(fd, SO_ACCEPTCONN) != 1) {
        log_error("what was handed over for %s is no listening Unix stream socket; in the socket "
                  "unit, ListenStream= names it and Accept= is no",
                  path);
        return -EPROTOTYPE;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) < 0)
        return -errno;
    if (strcmp(address.sun_path, path) != 0)
        log_warn("the service manager listens on %s where the configuration says %s: clients that "
                 "go by the latter find nobody",
                 address.sun_path, path);
    return fd;
}

void listener_close(int fd, const char *path, ino_t inode)
{
    struct stat status;
    if (fd < 0)
        return;
    /* While ours is open no other file has its inode. */
    if (lstat(path, &status) == 0 && status.st_ino == inode)
        unlink(path);
    else
        log_warn("%s is not the socket that was made there, and is left alone", path);
    close(fd);
}

int listener_accept(int fd)
{
    int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return client < 0 ? -errno : client;
}

int listener_peer_uid(int fd, uid_t *ret)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return -errno;
    *ret = peer.uid;
    return 0;
}
