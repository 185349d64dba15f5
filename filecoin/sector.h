/* Sector sizes of Filecoin and the shapes of their trees. Called by circuits, readers and tools. */
#pragma once

#include "filecoin/merkle.h"

struct sector {
    const char *name;  /* "32GiB" */
    uint8_t node_bits; /* log2 of the nodes of 32 bytes */
    uint8_t sub, top;  /* arities above the octal base tree; 0: none */
};

/* NULL for an unknown name. */
const struct sector *sector_find(const char *name);
/* All of them, smallest first; ends with a NULL name. */
extern const struct sector sectors[];

struct merkle_shape sector_tree_r(const struct sector *sector);
struct merkle_shape sector_tree_d(const struct sector *sector);
