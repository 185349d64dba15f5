/* EmptySectorUpdate (SnapDeals): one partition's circuit. Called by tools and synthesis. Rows
 * follow storage-proofs-update 19.1 with TreeR hasher Poseidon; 81,049,499 rows at 32 GiB. */
#pragma once

#include <stddef.h>

#include "filecoin/cs.h"
#include "filecoin/sector.h"

enum {
    SNAP_PUBLIC_COUNT = 4, /* k and h, comm_r_old, comm_d_new, comm_r_new */
    SNAP_CHALLENGES_MAX = 86,
    SNAP_APEX_MAX = 128,
    SNAP_H_COUNT = 6,
};

struct snap_shape {
    unsigned node_bits, partition_bits, apex_bits, challenge_count;
    uint8_t h[SNAP_H_COUNT]; /* how many top bits of a challenge rho may be of */
    unsigned h_select;       /* one bit: which of h a network uses */
    struct merkle_shape tree_r, tree_d;
};

struct snap_challenge {
    struct merkle_proof r_old, d_new, r_new;
};

/* One partition as read. */
struct snap_vanilla {
    fr comm_c;
    fr apex[SNAP_APEX_MAX];
    struct snap_challenge *challenges;
    fr *siblings;
};

struct snap_shape snap_shape_of(const struct sector *sector);

/* bincode of a PartitionProof. -EBADMSG with reason, -ENOMEM. */
int snap_vanilla_read(struct snap_vanilla *ret, const struct snap_shape *shape, const uint8_t *data,
                      size_t size, struct reason *reason);
/* Accepts a zeroed object. */
void snap_vanilla_destroy(struct snap_vanilla *vanilla);

/* The first public input of partition k. */
static inline uint64_t snap_public_kh(const struct snap_shape *shape, unsigned k)
{
    return k | (uint64_t)shape->h_select << shape->partition_bits;
}

/* The circuit without its input rows. Blank when the cs has no values: the pointers are then NULL.
 * `public`: the four inputs, from the request. What does not agree is refused in cs->error. */
void snap_synthesize(struct cs *cs, const struct snap_shape *shape,
                     const struct snap_vanilla *vanilla, const fr *public);
