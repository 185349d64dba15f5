/* Slabs that outlive the supervisor. The service manager keeps a copy of each slab's descriptor and
 * of each ring's table in its descriptor store ("slab-INDEX", "ring-NAME") across `systemctl
 * restart` and a crash, and hands them to the next process. That one takes over the memory, which
 * need not be found and touched again, and, where the table says READY and the journal still has
 * the partition unfinished, the finished synthesis in it. What does not fit is dropped with a line
 * in the log, and starts over. docs/survival.md says what survives what.
 *
 * Order at start: adoption_init; adoption_add for what is made anew (preparation.c); memory_init,
 * which asks for slabs; adoption_store; the journal's loader, which asks for partitions;
 * adoption_finish. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "runtime/activation.h"
#include "shm/slab.h"
#include "shm/slab_ring.h"

struct supervisor;
struct slot;
struct memory;

struct adoption_slab {
    struct slab slab; /* fd -1: passed on */
    uint32_t ring;    /* of the configuration */
    bool is_stored;   /* the store has it, under index_store */
    uint32_t index_store;
    int index; /* among the memory's slabs; -1: not passed on */
    uint64_t stale_bytes;
    bool is_ready; /* then what follows counts */
    uint64_t job;
    uint32_t partition;
    struct slab_ring_content content;
};

struct adoption {
    struct adoption_slab *slabs; /* SLABS_MAX */
    uint32_t count, ready_count, taken_count;
    uint64_t bytes;
};

/* Sorts out what the manager handed over, and lets go of what does not fit the configuration. Never
 * fails for what it finds: that starts over. -ENOMEM. */
int adoption_init(struct adoption *adoption, struct activation *activation,
                  const struct config *config);
void adoption_destroy(struct adoption *adoption);
/* A slab made by this process takes its place among them. */
void adoption_add(struct adoption *adoption, uint32_t ring, const struct slab *slab);
/* Of this ring of the configuration. */
uint32_t adoption_count(const struct adoption *adoption, uint32_t ring);
/* Bytes of slabs that will be passed on. Accepts NULL. */
uint64_t adoption_bytes(const struct adoption *adoption);
/* For memory_init: a slab of this ring of the configuration, the READY ones first, which becomes
 * slab `index`. False: none is left, make one. Accepts NULL. */
bool adoption_pass_on(struct adoption *adoption, uint32_t ring, uint32_t index, struct slab *ret,
                      uint64_t *ret_stale_bytes);
/* Brings the store to what the memory is now. */
void adoption_store(struct supervisor *supervisor);

/* For the journal's loader: the slab, bound to the slot under its generation, that holds this
 * partition's finished synthesis for the slot's circuit as this process evaluates it. -1: there is
 * none, the partition is QUEUED. */
int adoption_take(struct supervisor *supervisor, const struct slot *slot);
/* The loader has asked for everything: what nobody asked for is free. Says what was kept. */
void adoption_finish(struct supervisor *supervisor);

/* At run time, as slabs come and go. */
void adoption_store_slab(const struct memory *memory, uint32_t index);
void adoption_store_ring(const struct memory *memory, uint32_t ring);
void adoption_forget_slab(uint32_t index);
void adoption_forget_ring(const char *name);
