/* Vanilla proofs of StackedDrg in bincode. */
#include "filecoin/porep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "filecoin/bincode.h"

int porep_vanilla_alloc(struct porep_vanilla *ret, const struct porep_shape *shape)
{
    const size_t columns = (size_t)shape->challenge_count * (1 + POREP_PARENTS);
    const size_t siblings =
        (size_t)shape->challenge_count * (merkle_sibling_count(&shape->tree_d) +
                                          (2 + POREP_PARENTS) * merkle_sibling_count(&shape->tree));
    struct porep_vanilla vanilla = {.challenges =
                                        calloc(shape->challenge_count, sizeof *vanilla.challenges),
                                    .labels = calloc(columns * shape->layer_count, sizeof(fr)),
                                    .siblings = calloc(siblings, sizeof(fr))};

    if (!vanilla.challenges || !vanilla.labels || !vanilla.siblings) {
        porep_vanilla_destroy(&vanilla);
        return -ENOMEM;
    }
    *ret = vanilla;
    return 0;
}

void porep_vanilla_destroy(struct porep_vanilla *vanilla)
{
    free(vanilla->challenges);
    free(vanilla->labels);
    free(vanilla->siblings);
    *vanilla = (struct porep_vanilla){0};
}

static uint64_t label_bytes(void)
{
    return 8 + (uint64_t)FR_BYTES * POREP_LABEL_PARENTS + 4 + 8;
}

static uint64_t challenge_bytes(const struct porep_shape *shape)
{
    const uint64_t tree = bincode_merkle_bytes(&shape->tree);
    const uint64_t column = 4 + 8 + (uint64_t)FR_BYTES * shape->layer_count + tree;

    return bincode_merkle_bytes(&shape->tree_d) + tree + (1 + POREP_PARENTS) * column + 8 + 8 + 8 +
           (shape->layer_count + 1) * label_bytes();
}

static void read_column(struct bincode *in, const struct porep_shape *shape,
                        struct porep_column *ret, fr **labels, fr **siblings)
{
    ret->index = bincode_u32(in);
    ret->labels = *labels;
    bincode_count(in, "labels", shape->layer_count);
    for (unsigned i = 0; i < shape->layer_count; i++)
        bincode_fr(in, "a label", (*labels)++);
    bincode_merkle_proof(in, &shape->tree, &ret->proof, siblings);
}

/* Parents stand in their columns already; here only layer and node are of use. */
static void read_label(struct bincode *in, unsigned layer, uint64_t *node)
{
    uint32_t layer_read;
    uint64_t node_read;
    fr parent;

    bincode_count(in, "parents of a label", POREP_LABEL_PARENTS);
    for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++)
        bincode_fr(in, "a parent's label", &parent);
    layer_read = bincode_u32(in);
    if (in->error == 0 && layer_read != layer)
        bincode_refuse(in, "layer %" PRIu32 " where %u belongs", layer_read, layer);
    node_read = bincode_u64(in);
    if (in->error == 0 && *node != UINT64_MAX && node_read != *node)
        bincode_refuse(in, "node %" PRIu64 " where %" PRIu64 " belongs", node_read, *node);
    *node = node_read;
}

static void read_challenge(struct bincode *in, const struct porep_shape *shape, unsigned number,
                           struct porep_challenge *ret, fr **labels, fr **siblings)
{
    bincode_place(in, "challenge %u, TreeD", number);
    bincode_merkle_proof(in, &shape->tree_d, &ret->d, siblings);
    bincode_place(in, "challenge %u, TreeRLast", number);
    bincode_merkle_proof(in, &shape->tree, &ret->r_last, siblings);
    bincode_place(in, "challenge %u, own column", number);
    read_column(in, shape, &ret->own, labels, siblings);
    for (unsigned i = 0; i < POREP_PARENTS && in->error == 0; i++) {
        bincode_place(in, "challenge %u, parent %u", number, i);
        if (i == 0)
            bincode_count(in, "DRG parents", POREP_DRG_PARENTS);
        else if (i == POREP_DRG_PARENTS)
            bincode_count(in, "expander parents", POREP_EXPANDER_PARENTS);
        read_column(in, shape, &ret->parents[i], labels, siblings);
    }
    bincode_place(in, "challenge %u, labels", number);
    bincode_count(in, "labels", shape->layer_count);
    ret->node = UINT64_MAX;
    for (unsigned layer = 1; layer <= shape->layer_count && in->error == 0; layer++)
        read_label(in, layer, &ret->node);
    bincode_place(in, "challenge %u, encoding", number);
    read_label(in, shape->layer_count, &ret->node);
}

int porep_vanilla_read(struct porep_vanilla *ret, const struct porep_shape *shape,
                       const uint8_t *data, size_t size, struct reason *reason)
{
    struct porep_vanilla vanilla = {0};
    fr *labels, *siblings;
    struct bincode in;
    int error;

    bincode_init(&in, data, size, 8 + 8 + shape->challenge_count * challenge_bytes(shape),
                 "the vanilla proof", reason);
    if (in.error != 0)
        return in.error;
    error = porep_vanilla_alloc(&vanilla, shape);
    if (error != 0)
        return error;
    labels = vanilla.labels;
    siblings = vanilla.siblings;
    bincode_count(&in, "partitions", 1);
    bincode_count(&in, "challenges", shape->challenge_count);
    for (unsigned i = 0; i < shape->challenge_count && in.error == 0; i++)
        read_challenge(&in, shape, i, &vanilla.challenges[i], &labels, &siblings);
    error = bincode_finish(&in);
    if (error != 0) {
        porep_vanilla_destroy(&vanilla);
        return error;
    }
    *ret = vanilla;
    return 0;
}
