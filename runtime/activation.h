/* Descriptors that the service manager hands over at start: listening sockets (socket activation)
 * and what an earlier process put into the descriptor store (notify_store). Each has a name. Called
 * once, by the supervisor, before it starts children. Without LISTEN_FDS there is none. */
#pragma once

#include <stdint.h>

enum {
    ACTIVATION_NAME_BYTES = 256, /* of systemd, with the end */
};

struct activation_fd {
    int fd; /* -1: taken */
    char name[ACTIVATION_NAME_BYTES];
};

struct activation {
    struct activation_fd *fds;
    uint32_t count;
};

/* Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES, makes the descriptors close-on-exec and takes
 * the variables out of the environment. Count or negative errno. */
int activation_init(struct activation *ret);
/* The next descriptor of this name, now the caller's; -ENOENT when there is none (any more). */
int activation_take(struct activation *activation, const char *name);
/* How many were handed over and not taken. */
uint32_t activation_left(const struct activation *activation);
/* Closes what was not taken. */
void activation_destroy(struct activation *activation);
