/* The kernel's pool of hugepages, in figures and in words. Used by shm/slab.c, and by the
 * supervisor to check its whole plan before it makes the first slab. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shm/slab.h"

struct hugepages {
    uint64_t total, free, reserved, surplus; /* pages; reserved are promised out of the free ones */
    uint64_t overcommit;                     /* so many the kernel may add, where it finds them */
    uint64_t cgroup_limit_bytes;             /* UINT64_MAX: none. Lowest on the way to the root */
    char cgroup_limit_path[256];             /* the file that says so, "" when there is none */
};

/* page_bytes: 2 MiB or 1 GiB. -ENOENT when the kernel has no pages of that size. */
int hugepages_read(size_t page_bytes, struct hugepages *ret);
/* Pages that can be had now: 0 when the pool cannot be read. */
uint64_t hugepages_available(const struct hugepages *pool);
/* Why `bytes` on pages of page_bytes cannot be had, and what to set. `cause` opens the text. */
void hugepages_explain(const char *cause, size_t bytes, size_t page_bytes, struct slab_fault *ret);
