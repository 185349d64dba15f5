/* Opening what the user named: regular files only, and never hanging on the way. */
#pragma once

#include <stdint.h>

#include "client/libcuzk.h"
#include "config/limits.h"

/* Opens for reading, close-on-exec. `what` ("the witness") goes into messages. CUZK_BAD_INPUT for
 * what is missing, unreadable, empty or not a regular file. */
int input_open(const char *path, const char *what, int *ret_fd, uint64_t *ret_bytes,
               struct cuzk_error *ret_error);

/* Copies the name of a circuit; CUZK_USAGE when it cannot be one. */
int input_name(char ret[NAME_BYTES_MAX + 1], const char *name, struct cuzk_error *ret_error);
