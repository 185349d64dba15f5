/* The memory plan: rings of slabs, made and touched before any worker exists, and their figures.
 * Key memfds are made the same way when a circuit is loaded. The supervisor holds descriptors; it
 * never maps a slab or a key. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "shm/slab.h"
#include "shm/slab_ring.h"

struct adoption;
struct slot;

struct memory_ring {
    char name[NAME_BYTES_MAX + 1];
    struct slab_ring ring;
    uint32_t first, count; /* its slabs among all */
    uint64_t slab_bytes;
};

struct memory {
    enum slab_pages pages;
    size_t hugepage_bytes;
    struct slab slabs[SLABS_MAX];
    uint64_t stale_bytes[SLABS_MAX]; /* from its start, what partitions may have written to each */
    uint32_t slab_count;
    struct memory_ring rings[RINGS_MAX];
    uint32_t ring_count;
    bool is_hugepage;  /* every slab and key lies on hugepages */
    size_t page_bytes; /* the smallest in use */
    uint64_t slab_bytes_total, key_bytes_total;
};

/* Logs the plan, then makes everything, but for slabs that an earlier process left (adoption; may
 * be NULL). On failure the fault says why in full. */
int memory_init(struct memory *memory, const struct config *config, struct adoption *adoption,
                struct slab_fault *ret_fault);
void memory_destroy(struct memory *memory);

/* The ring with the smallest slabs that hold `bytes`, or RINGS_MAX. */
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
