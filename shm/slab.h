/* A slab: one fixed-size piece of shared memory, a memfd of its own, that holds one partition's
 * witness and evaluations. The supervisor creates slabs (and key memfds, the same way) and never
 * maps or reads them; synthesis writes; backends only read, once the partition is READY.
 *
 * Creation: memfd (MFD_HUGETLB with the page size named), fallocate, fchmod 0600, seals SHRINK,
 * GROW, SEAL; then every page is touched by a short-lived child, so that a shortage is found here
 * and not as a SIGBUS later. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slab_pages {
    SLAB_PAGES_REQUIRE, /* hugepages or fail */
    SLAB_PAGES_PREFER,  /* hugepages, ordinary pages when they are short */
    SLAB_PAGES_OFF,
};

struct slab {
    int fd;
    size_t bytes;      /* multiple of page_bytes */
    size_t page_bytes; /* what it really lies on */
    bool is_hugepage;
};

struct slab_fault {
    char text[512]; /* pages wanted, free, reserved, cgroup limit, sysctl to set */
};

/* name: for /proc/PID/maps. bytes is rounded up to pages. */
int slab_create(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                struct slab *ret, struct slab_fault *ret_fault);
void slab_destroy(struct slab *slab);

/* Worker: maps a slab descriptor after checking size and seals. Writable or read-only. Ordinary
 * pages are mlocked (hugepages need not be); *ret_is_locked says whether that worked. All mappings
 * are MADV_DONTDUMP and MADV_DONTFORK. */
int slab_map(int fd, size_t bytes, bool writable, void **ret_memory, bool *ret_is_locked);
void slab_unmap(void *memory, size_t bytes);
