/* Shapes of Filecoin's trees and inclusion proofs as read from vanilla proofs. */
#pragma once

#include "filecoin/fr.h"

enum {
    MERKLE_LEVELS_MAX = 31, /* TreeD of 64 GiB */
    MERKLE_ARITY_MAX = 8,
    MERKLE_SIBLINGS_MAX = MERKLE_LEVELS_MAX * 1 + 9 * 7 + 7 + 1,
};

/* Levels from the leaves up. In the files the base tree, the one of sub-trees and the top one are
 * paths of their own. */
struct merkle_shape {
    uint8_t level_count, base_count, part_count; /* parts: 1 to 3, as the tag says, plus 1 */
    uint8_t arity[MERKLE_LEVELS_MAX];
    uint8_t bit_count; /* of a leaf's index */
};

struct merkle_proof {
    fr root, leaf;
    uint64_t index;     /* of the leaf, from the index of each level */
    const fr *siblings; /* arity - 1 a level, all levels in order */
};

/* TreeD: a binary tree of 2^bit_count leaves. */
struct merkle_shape merkle_shape_binary(unsigned bit_count);
/* TreeR, TreeC: arity 8, then one level of `sub` and one of `top` (0: none). */
struct merkle_shape merkle_shape_octal(unsigned bit_count, unsigned sub, unsigned top);

static inline unsigned merkle_arity_bits(unsigned arity)
{
    return (unsigned)__builtin_ctz(arity);
}
