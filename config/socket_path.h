/* Where the sockets are: the one rule that the daemon and its clients share. */
#pragma once

#include <stddef.h>

#define SOCKET_PATH_DEFAULT "/run/cuzkd/cuzkd.sock"

enum {
    SOCKET_PATH_BYTES = 108, /* sockaddr_un.sun_path, with the NUL */
};

/* The admin socket that belongs to a submit socket: "-admin" before a final ".sock", else at the
 * end. -ENAMETOOLONG when the result does not fit. */
int socket_path_admin(const char *socket_path, char ret[SOCKET_PATH_BYTES]);
