/* Merkle paths as rows: selection, insertion of a node among its siblings, and paths of trees whose
 * nodes are SHA-256 (binary, TreeD) or Poseidon (arity 2, 4 and 8). Called by the circuits. */
#pragma once

#include "filecoin/boolean.h"
#include "filecoin/merkle.h"

enum merkle_hash {
    MERKLE_SHA256,
    MERKLE_POSEIDON,
};

/* bit ? a : b. */
cs_var merkle_pick(struct cs *cs, struct boolean bit, cs_var a, cs_var b);

/* One of 2^bit_count variables by its index, low bit first. Destroys `from`. */
cs_var merkle_select(struct cs *cs, cs_var *from, const struct boolean *bits, unsigned bit_count);

/* One level up: node `current` at the place that the bits say among its siblings. */
cs_var merkle_step(struct cs *cs, enum merkle_hash hash, cs_var current, const struct boolean *bits,
                   unsigned arity, const cs_var *siblings);

/* A path whose index is private or known already: as many bits as the levels use. `what` is told
 * where the root differs. */
void merkle_path_known(struct cs *cs, enum merkle_hash hash, const struct boolean *bits,
                       cs_var leaf, unsigned level_count, const uint8_t *arities,
                       const cs_var *siblings, cs_var root, const char *what);

/* Allocates siblings of the lowest levels: all of them before the path, in order. proof is NULL in
 * a blank circuit. Returns how many. */
unsigned merkle_alloc_siblings(struct cs *cs, const struct merkle_shape *shape,
                               const struct merkle_proof *proof, unsigned level_count, cs_var *ret);

/* A path whose index bits are allocated level by level and packed into an input (PoRCircuit). */
void merkle_path_public(struct cs *cs, enum merkle_hash hash, cs_var leaf,
                        const struct merkle_shape *shape, const struct merkle_proof *proof,
                        cs_var root, const char *what);
