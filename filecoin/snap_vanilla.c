/* Shapes and vanilla proofs of EmptySectorUpdate. */
#include "filecoin/snap.h"

#include <errno.h>
#include <stdlib.h>

#include "filecoin/bincode.h"

struct snap_shape snap_shape_of(const struct sector *sector)
{
    static const uint8_t small_h[] = {1, 1, 1, 1, 1, 1}, large_h[] = {7, 8, 9, 10, 11, 12};
    const unsigned bits = sector->node_bits;
    const bool is_small = bits <= 10; /* 32 KiB */
    struct snap_shape shape = {.node_bits = bits,
                               .apex_bits = bits <= 8 ? 3 : 7,
                               .challenge_count = bits <= 19 ? 10 : 86,
                               .h_select = is_small ? 1 : 1 << 3,
                               .tree_r = sector_tree_r(sector),
                               .tree_d = sector_tree_d(sector)};

    if (bits <= 8)
        shape.partition_bits = 0;
    else if (is_small)
        shape.partition_bits = 1;
    else
        shape.partition_bits = bits <= 19 ? 2 : 4;
    memcpy(shape.h, is_small ? small_h : large_h, sizeof shape.h);
    return shape;
}

static void read_challenge(struct bincode *in, const struct snap_shape *shape, unsigned number,
                           struct snap_challenge *ret, fr **siblings)
{
    bincode_place(in, "challenge %u, old TreeR", number);
    bincode_merkle_proof(in, &shape->tree_r, &ret->r_old, siblings);
    bincode_place(in, "challenge %u, new TreeD", number);
    bincode_merkle_proof(in, &shape->tree_d, &ret->d_new, siblings);
    bincode_place(in, "challenge %u, new TreeR", number);
    bincode_merkle_proof(in, &shape->tree_r, &ret->r_new, siblings);
}

int snap_vanilla_read(struct snap_vanilla *ret, const struct snap_shape *shape, const uint8_t *data,
                      size_t size, struct reason *reason)
{
    const unsigned apex_count = 1u << shape->apex_bits;
    const uint64_t challenge_bytes =
        2 * bincode_merkle_bytes(&shape->tree_r) + bincode_merkle_bytes(&shape->tree_d);
    const size_t sibling_count =
        2 * merkle_sibling_count(&shape->tree_r) + merkle_sibling_count(&shape->tree_d);
    struct snap_vanilla vanilla = {0};
    struct bincode in;
    int error = -ENOMEM;
    fr *siblings;

    bincode_init(&in, data, size,
                 FR_BYTES + 8 + (uint64_t)FR_BYTES * apex_count + 8 +
                     shape->challenge_count * challenge_bytes,
                 "the vanilla proof", reason);
    if (in.error != 0)
        return in.error;
    vanilla.challenges = calloc(shape->challenge_count, sizeof *vanilla.challenges);
    vanilla.siblings = calloc(shape->challenge_count * sibling_count, sizeof(fr));
    if (!vanilla.challenges || !vanilla.siblings)
        goto fail;
    siblings = vanilla.siblings;
    bincode_fr(&in, "CommC", &vanilla.comm_c);
    bincode_count(&in, "apex leaves", apex_count);
    for (unsigned i = 0; i < apex_count; i++)
        bincode_fr(&in, "an apex leaf", &vanilla.apex[i]);
    bincode_count(&in, "challenges", shape->challenge_count);
    for (unsigned i = 0; i < shape->challenge_count && in.error == 0; i++)
        read_challenge(&in, shape, i, &vanilla.challenges[i], &siblings);
    error = bincode_finish(&in);
    if (error != 0)
        goto fail;
    *ret = vanilla;
    return 0;
fail:
    snap_vanilla_destroy(&vanilla);
    return error;
}

void snap_vanilla_destroy(struct snap_vanilla *vanilla)
{
    free(vanilla->challenges);
    free(vanilla->siblings);
    *vanilla = (struct snap_vanilla){0};
}
