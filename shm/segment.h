/* A small shared segment: a memfd on ordinary pages, mode 0600, its size sealed, mapped by its
 * creator. Channels and slab ring tables are segments; slabs are not (shm/slab.h). Used inside shm/
 * only. Unless said otherwise they return 0 or negative errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A new memfd, not executable, close-on-exec, sealable, mode 0600. flags: MFD_HUGETLB and its size,
 * or 0. Returns the descriptor. */
int segment_memfd(const char *name, unsigned flags);
int segment_create(const char *name, size_t bytes, int *ret_fd, void **ret_memory);
/* Maps another process's segment after checking that it has this size and cannot change it. */
int segment_map(int fd, size_t bytes, bool writable, void **ret_memory);
void segment_unmap(void *memory, size_t bytes);
