/* FallbackPoSt: WinningPoSt and WindowPoSt, one circuit in two shapes. Called by tools and
 * synthesis. Rows follow storage-proofs-post 19.1; model: 53,333 rows a sector of 32 GiB with 10
 * challenges. */
#pragma once

#include <stddef.h>

#include "filecoin/cs.h"
#include "filecoin/sector.h"

enum {
    POST_WINNING_CHALLENGES = 66, /* each in a "sector" of its own */
    POST_WINDOW_CHALLENGES = 10,
    POST_SECTORS_MAX = 2349,
    POST_CHALLENGES_MAX = 66,
};

struct post_shape {
    unsigned sector_count, challenge_count; /* of the circuit */
    struct merkle_shape tree;
};

struct post_sector {
    fr comm_c, comm_r_last;
    const struct merkle_proof *proofs; /* challenge_count */
};

/* One partition as read; fewer sectors than the circuit has are padded by repeating the last. */
struct post_vanilla {
    struct post_sector *sectors;
    unsigned sector_count;
    struct merkle_proof *proofs;
    fr *siblings;
};

struct post_shape post_shape_winning(const struct sector *sector);
struct post_shape post_shape_window(const struct sector *sector);

/* bincode of the partition's Vec<SectorProof>. The data is not needed afterwards. -EBADMSG with
 * reason, -ENOMEM. */
int post_vanilla_read(struct post_vanilla *ret, const struct post_shape *shape, const uint8_t *data,
                      size_t size, struct reason *reason);
/* Accepts a zeroed object. */
void post_vanilla_destroy(struct post_vanilla *vanilla);

/* Public inputs of a shape, ONE not counted. */
static inline uint32_t post_public_count(const struct post_shape *shape)
{
    return shape->sector_count * (1 + shape->challenge_count);
}

/* The circuit without its input rows. Blank when the cs has no values: the pointers are then NULL.
 * `public`: comm_r and the challenges of each of vanilla->sector_count sectors, from the request.
 * What does not agree is refused in cs->error. */
void post_synthesize(struct cs *cs, const struct post_shape *shape,
                     const struct post_vanilla *vanilla, const fr *public);

/* Challenge `index` of a sector, as the network derives it: a leaf. The caller has cleared the two
 * top bits of the randomness. -EIO when the library of SHA-256 fails. */
int post_challenge(const uint8_t randomness[32], uint64_t sector_id, uint64_t index,
                   unsigned node_bits, uint64_t *ret);
