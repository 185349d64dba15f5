/* The memory plan: rings of slabs and their figures. The slabs of the start are made and touched
 * before any worker exists; resize.c adds and retires others at run time. Key memfds are made the
 * same way when a circuit is loaded. The supervisor holds descriptors; it never maps a slab or a
 * key.
 *
 *            made            every worker has it          free, and one too many
 *   (NONE) ------> SHARING ----------------------> RINGED ----------------------> LEAVING --+
 *      ^              +------- a device refuses it, or one too many ----------------^       |
 *      +-------------------------- no worker has it any more -------------------------------+
 *
 * A slab keeps its index among all from NONE to NONE, so indices have holes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "shm/slab.h"
#include "shm/slab_ring.h"

struct adoption;
struct slot;

enum memory_slab_state {
    MEMORY_SLAB_NONE,    /* the index is free */
    MEMORY_SLAB_SHARING, /* workers are being given it */
    MEMORY_SLAB_RINGED,  /* an entry of its ring: may be issued */
    MEMORY_SLAB_LEAVING, /* never issued again; workers are letting go of it */
};

/* Where a slab belongs. */
struct memory_place {
    enum memory_slab_state state;
    uint32_t ring, entry; /* the entry counts while it is RINGED */
};

/* One size class. A ring whose size changes is two for a while: the old one, which is removed, and
 * the new one under the same name. */
struct memory_ring {
    struct slab_ring ring; /* table NULL: this place is unused */
    char name[NAME_BYTES_MAX + 1];
    uint64_t slab_bytes, plan_bytes; /* of a slab; plan: as configured, before rounding to pages */
    uint32_t wanted;                 /* slabs, by the configuration */
    uint32_t target;                 /* slabs beyond it are retired as they come free */
    uint32_t count;                  /* SHARING and RINGED */
    uint32_t leaving;                /* LEAVING */
    uint32_t entries[SLABS_MAX];     /* slab index by entry of the table */
    bool is_removed; /* not in the configuration any more; lives until nobody needs it */
};

struct memory {
    enum slab_pages pages;
    size_t hugepage_bytes;
    struct slab slabs[SLABS_MAX]; /* fd -1: a hole */
    struct memory_place places[SLABS_MAX];
    uint64_t stale_bytes[SLABS_MAX]; /* from its start, what partitions may have written to each */
    uint32_t slab_count;             /* one more than the last index in use */
    uint64_t revision;               /* rises with every change of a slab's state */
    struct memory_ring rings[RINGS_MAX];
    uint32_t ring_count;     /* one more than the last place in use */
    uint32_t ordinary_count; /* slabs and keys on ordinary pages */
    bool is_hugepage;        /* every slab and key lies on hugepages */
    size_t page_bytes;       /* the smallest in use */
    uint64_t slab_bytes_total, key_bytes_total;
};

/* Whether so many bytes of slabs have a chance. The fault says why not, and what to do. */
int memory_check_room(const struct config *config, uint64_t bytes, struct slab_fault *ret_fault);
/* Logs the plan, then makes everything, but for slabs that an earlier process left (adoption; may
 * be NULL). On failure the fault says why in full. */
int memory_init(struct memory *memory, const struct config *config, struct adoption *adoption,
                struct slab_fault *ret_fault);
void memory_destroy(struct memory *memory);

/* A place for a ring, empty and without slabs; RINGS_MAX when all are taken. -errno: its table
 * cannot be made. */
int memory_ring_add(struct memory *memory, const char *name, uint64_t slab_bytes,
                    uint32_t *ret_ring);
/* Nothing of it is left: its place is free. */
void memory_ring_free(struct memory *memory, uint32_t ring);
/* Takes a new slab over: its index, SHARING. -ENOSPC when no index is free. */
int memory_slab_add(struct memory *memory, uint32_t ring, const struct slab *slab);
/* Every worker has it: from now on it is issued. */
void memory_slab_enter(struct memory *memory, uint32_t slab);
/* SHARING, or RINGED and free: it is LEAVING from now on. -EBUSY: it is held. */
int memory_slab_retire(struct memory *memory, uint32_t slab);
/* LEAVING, and no worker has it: its memory is given back. */
void memory_slab_free(struct memory *memory, uint32_t slab);
/* Retires slabs beyond the ring's target, as far as they are free. True: there are still more. */
bool memory_ring_trim(struct memory *memory, uint32_t ring);
/* Slabs that exist, and those of them that may be issued. */
uint32_t memory_slabs_there(const struct memory *memory);
uint32_t memory_slabs_ringed(const struct memory *memory, uint32_t ring);

/* The ring of the configuration with the smallest slabs that hold `bytes`, or RINGS_MAX. */
uint32_t memory_ring_for(const struct memory *memory, uint64_t bytes);
uint64_t memory_slab_bytes_max(const struct memory *memory);
uint32_t memory_slabs_free(const struct memory *memory, uint32_t ring);
/* Binds a slab of the ring to the slot under this generation: its index among all, or -EAGAIN. */
int memory_bind(struct memory *memory, uint32_t ring, const struct slot *slot, uint64_t generation);
void memory_rebind(struct memory *memory, uint32_t slab, uint64_t generation);
/* As memory_bind, of a certain slab that is free and was another process's, under the slot's
 * generation. */
void memory_hold(struct memory *memory, uint32_t slab, const struct slot *slot);
/* It holds its partition's finished synthesis: the ring's table says so, for a later process. */
void memory_mark_ready(struct memory *memory, uint32_t slab,
                       const struct slab_ring_content *content);
/* It is free, or retired where its ring has too many. */
void memory_release(struct memory *memory, uint32_t slab);
/* How far earlier partitions have written: the next writer zeroes what it does not overwrite. */
uint64_t memory_stale_bytes(const struct memory *memory, uint32_t slab);
/* A partition of `bytes` is given the slab; it may die at any time, so the furthest reach counts.
 */
void memory_mark_begun(struct memory *memory, uint32_t slab, uint64_t bytes);
/* It is written and has zeroed what lay behind it. */
void memory_mark_written(struct memory *memory, uint32_t slab, uint64_t bytes);

/* pages: as in the plan, or ordinary ones when hugepages turned out short. Does not wait: the
 * loader's writing brings the pages. */
int memory_key_create(struct memory *memory, const char *name, size_t bytes, enum slab_pages pages,
                      struct slab *ret, struct slab_fault *ret_fault);
/* Once its loader is gone: nobody can write it any more. */
int memory_key_seal(struct slab *key);
void memory_key_destroy(struct memory *memory, struct slab *key);
