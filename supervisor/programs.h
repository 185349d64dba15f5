/* Where the worker programs are and how they are started: paths, arguments, environment. */
#pragma once

#include <stdint.h>

#include "config/config.h"
#include "shm/channel.h"

enum {
    PROGRAMS_ARGUMENTS_MAX = 32,
    PROGRAMS_ARGUMENT_BYTES = 24,
};

/* argv points into texts and literals: the object must stay put while it is used. */
struct programs_arguments {
    char *argv[PROGRAMS_ARGUMENTS_MAX];
    char texts[6][PROGRAMS_ARGUMENT_BYTES];
};

/* Beside this executable (a build tree keeps each program in its own folder), else in libexecdir.
 * Paths are the caller's to free. Logs what is missing: -ENOENT. */
int programs_find(char *ret_paths[WORKER_KIND_COUNT]);
/* One program by name, in a build tree in build_folder, seen from this program's. NULL, logged. */
char *programs_find_one(const char *program, const char *build_folder);
/* The environment without what systemd says to the supervisor alone. One allocation, freed by the
 * caller; it borrows the strings of environ. */
char **programs_environment(void);
/* slab_count: that a GPU worker is sent before it is ready. */
void programs_worker_arguments(const struct config *config, enum worker_kind kind, uint32_t index,
                               uint32_t slab_count, enum log_level log_level,
                               struct programs_arguments *ret);
