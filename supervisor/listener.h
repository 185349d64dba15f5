/* One listening Unix socket: its parent folder appears if it is missing, a dead daemon's socket is
 * replaced, a live one is refused. */
#pragma once

#include <sys/types.h>

/* fd (non-blocking, close-on-exec) or negative errno; logs why. -EADDRINUSE: somebody listens.
 * group: its name or number; NULL: the process's own. */
int listener_open(const char *path, mode_t mode, const char *group, ino_t *ret_inode);
/* Takes over a socket that the service manager listens on, after checking that it is one: fd, or
 * negative errno, logged. path: where the configuration wants it; elsewhere it is used all the
 * same, with a warning. */
int listener_adopt(int fd, const char *path);
/* Closes and removes the socket. */
void listener_close(int fd, const char *path, ino_t inode);
/* The next connection's fd, or -EAGAIN, or another negative errno (-EMFILE: none is taken). */
int listener_accept(int fd);
/* Of the peer, as the kernel says. */
int listener_peer_uid(int fd, uid_t *ret);
