/* A slab: one fixed-size piece of shared memory, a memfd of its own, that holds one partition's
 * witness and evaluations. The supervisor creates slabs (and key memfds, the same way) and never
 * maps or reads them; synthesis writes; backends only read, once the partition is READY.
 *
 * Creation: memfd (MFD_HUGETLB with the page size named), mode 0600; every page is touched by
 * short-lived children, in parallel, so that a shortage kills one of them here and nobody later by
 * SIGBUS; fallocate confirms; seals SHRINK, GROW, SEAL. Blocks for about 0.3 s a GiB and process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/child.h"

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
    char text[768]; /* pages wanted, free, reserved, surplus, cgroup limit, sysctl to set */
};

/* Whether `bytes` of slabs together have a chance, so that a plan that cannot work is refused at
 * once, before pages are touched for a part of it. 0 also where only trying can tell. */
int slab_check_room(size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                    struct slab_fault *ret_fault);
/* name: for /proc/PID/maps. bytes is rounded up to pages. On failure ret_fault says why in words;
 * on success it is "" unless ordinary pages had to do (SLAB_PAGES_PREFER), then it says why. */
int slab_create(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                struct slab *ret, struct slab_fault *ret_fault);

/* One that a child process is making, for a caller that must not wait. */
struct slab_making {
    struct slab slab;   /* fd: what will be it */
    struct child child; /* its pidfd is readable when it is over */
};

/* Begins what slab_create does. PREFER takes hugepages where the pool shows enough of them, else
 * ordinary ones. -ENOMEM at once, with the fault, where there is no chance. */
int slab_make_begin(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                    struct slab_making *ret, struct slab_fault *ret_fault);
/* Its child is dead: the slab, or why there is none. Under PREFER the caller may begin again with
 * ordinary pages. -EAGAIN: it is not over yet. */
int slab_make_end(struct slab_making *making, struct slab *ret, struct slab_fault *ret_fault);
/* Kills the child and waits for it. Accepts one that is over or was never begun (zeroed). */
void slab_make_abort(struct slab_making *making);

/* The same for a prepared key, but nothing here waits for memory: its pages come as its loader
 * writes them, which may find them short after all. It is sealed further once it is loaded. */
int slab_create_key(const char *name, size_t bytes, enum slab_pages pages, size_t hugepage_bytes,
                    struct slab *ret, struct slab_fault *ret_fault);
/* No new writable mapping and no write from now on; the loader must have unmapped it. */
int slab_seal_key(struct slab *key);
/* The slab behind a descriptor of an earlier process: its size, seals and pages are those that
 * slab_create gives, and every page is there. The descriptor is the slab's then; else -EBADMSG and
 * why. */
int slab_adopt(int fd, struct slab *ret, char *ret_why, size_t why_bytes);
void slab_destroy(struct slab *slab);

/* Worker: maps a slab descriptor after checking size and seals (-EPROTO). Writable or read-only. A
 * witness must not reach swap: ordinary pages are mlocked (hugepages need not be), and
 * *ret_is_locked says whether that worked. All mappings are MADV_DONTDUMP and MADV_DONTFORK. The
 * caller closes fd, before or after. */
int slab_map(int fd, size_t bytes, bool writable, void **ret_memory, bool *ret_is_locked);
/* The same for a key: read-only and never locked, for a key is no secret. */
int slab_map_key(int fd, size_t bytes, const void **ret_memory);
void slab_unmap(const void *memory, size_t bytes);
