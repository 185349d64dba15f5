/* See runtime/activation.h. */
#include "runtime/activation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

int activation_init(struct activation *ret)
{
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);
    *ret = (struct activation){0};
    if (count <= 0)
        return count;
    ret->fds = calloc((size_t)count, sizeof ret->fds[0]);
    for (int i = 0; i < count; i++) {
        if (ret->fds) {
            ret->fds[i].fd = SD_LISTEN_FDS_START + i;
            snprintf(ret->fds[i].name, sizeof ret->fds[i].name, "%s", names[i]);
        } else {
            close(SD_LISTEN_FDS_START + i);
        }
        free(names[i]);
    }
    free(names);
    if (!ret->fds)
        return -ENOMEM;
    ret->count = (uint32_t)count;
    return count;
}

int activation_take(struct activation *activation, const char *name)
{
    for (uint32_t i = 0; i < activation->count; i++) {
        struct activation_fd *entry = &activation->fds[i];
        if (entry->fd < 0 || strcmp(entry->name, name) != 0)
            continue;
        int fd = entry->fd;
        entry->fd = -1;
        return fd;
    }
    return -ENOENT;
}

uint32_t activation_left(const struct activation *activation)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < activation->count; i++)
        left += activation->fds[i].fd >= 0;
    return left;
}

void activation_destroy(struct activation *activation)
{
    for (uint32_t i = 0; i < activation->count; i++) {
        if (activation->fds[i].fd >= 0)
            close(activation->fds[i].fd);
    }
    free(activation->fds);
    *activation = (struct activation){0};
}
