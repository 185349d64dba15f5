/* The little that the supervisor itself asks of a descriptor that a client sent: never its content.
 * Parsing is for workers, which may die of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A regular file, open for reading, not empty, at most bytes_max. 0 and its size, or -EINVAL with a
 * sentence. Does not block: nothing is read, and a file's size is what the kernel remembers (of a
 * file system that must ask somebody, perhaps an older one; cuzk-intake asks). */
int input_file_check(int fd, uint64_t bytes_max, uint64_t *ret_bytes, char *ret_error,
                     size_t error_bytes);
