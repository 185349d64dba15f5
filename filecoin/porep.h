/* StackedDrg (PoRep): one partition's circuit. Called by tools and synthesis. Rows follow
 * storage-proofs-porep 19.1; 130,278,541 rows at 32 GiB. What the network derives (challenges,
 * parents in the graph) comes from the vanilla proof and is compared with the request's public
 * inputs. */
#pragma once

#include <stddef.h>

#include "filecoin/cs.h"
#include "filecoin/sector.h"

enum {
    POREP_DRG_PARENTS = 6,
    POREP_EXPANDER_PARENTS = 8,
    POREP_PARENTS = POREP_DRG_PARENTS + POREP_EXPANDER_PARENTS,
    POREP_LABEL_PARENTS = 37, /* parents are repeated up to this many */
    POREP_LAYERS_MAX = 11,
};

struct porep_shape {
    unsigned layer_count, challenge_count; /* of one partition */
    struct merkle_shape tree, tree_d;
};

/* One node's labels in all layers, and where their hash lies in TreeC. */
struct porep_column {
    uint32_t index;
    const fr *labels; /* layer_count */
    struct merkle_proof proof;
};

struct porep_challenge {
    struct merkle_proof d, r_last;
    struct porep_column own, parents[POREP_PARENTS]; /* the six of the DRG first */
    uint64_t node;
};

struct porep_vanilla {
    struct porep_challenge *challenges;
    fr *labels, *siblings;
};

struct porep_shape porep_shape_of(const struct sector *sector);

/* bincode of the proofs of one partition in a vector of one partition. -EBADMSG, -ENOMEM. */
int porep_vanilla_read(struct porep_vanilla *ret, const struct porep_shape *shape,
                       const uint8_t *data, size_t size, struct reason *reason);
/* Room for the proofs of a partition, all zero. -ENOMEM. */
int porep_vanilla_alloc(struct porep_vanilla *ret, const struct porep_shape *shape);
/* Accepts a zeroed object. */
void porep_vanilla_destroy(struct porep_vanilla *vanilla);

/* Public inputs of a shape, ONE not counted: replica id, CommD, CommR; a challenge has 18 more. */
static inline uint32_t porep_public_count(const struct porep_shape *shape)
{
    return 3 + shape->challenge_count * (POREP_PARENTS + 4);
}

/* The circuit without its input rows. Blank when the cs has no values: the pointers are then NULL.
 * Of `public` the first three values are taken; the rest is compared by circuit_synthesize. */
void porep_synthesize(struct cs *cs, const struct porep_shape *shape,
                      const struct porep_vanilla *vanilla, const fr *public);
