/* Upstream: the configuration (daemon) and libcuzk (clients), which must agree. */
#include "config/socket_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int socket_path_admin(const char *socket_path, char ret[SOCKET_PATH_BYTES])
{
    static const char suffix[] = ".sock";
    size_t bytes = strlen(socket_path), stem = bytes;
    char text[SOCKET_PATH_BYTES];

    if (bytes >= SOCKET_PATH_BYTES)
        return -ENAMETOOLONG;
    if (bytes >= strlen(suffix) && strcmp(socket_path + bytes - strlen(suffix), suffix) == 0)
        stem -= strlen(suffix);
    int length =
        snprintf(text, sizeof text, "%.*s-admin%s", (int)stem, socket_path, socket_path + stem);
    if (length >= SOCKET_PATH_BYTES)
        return -ENAMETOOLONG;
    memcpy(ret, text, (size_t)length + 1);
    return 0;
}
