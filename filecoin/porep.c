/* Rows of StackedDrg, in the order in which they are allocated. */
#include "filecoin/porep.h"

#include <inttypes.h>

#include "filecoin/merkle_gadget.h"
#include "filecoin/piece.h"
#include "filecoin/poseidon_gadget.h"
#include "filecoin/sha256_gadget.h"
#include "runtime/check.h"

enum {
    NODE_BITS = 64,
    PADDING_BITS = 160,
    HEADER_BITS = SHA256_BITS + 32 + NODE_BITS + PADDING_BITS,
    LABEL_BITS = HEADER_BITS + POREP_LABEL_PARENTS * SHA256_BITS,
};

/* Parameters of a label's piece: bits of the replica id, bits of the node, parents' labels. */
enum {
    PARAMETER_ID = 0,
    PARAMETER_NODE = FR_BITS,
    PARAMETER_PARENT = FR_BITS + NODE_BITS,
    PARAMETERS_MAX = PARAMETER_PARENT + POREP_PARENTS,
};

struct run {
    struct cs *cs;
    const struct porep_shape *shape;
    struct boolean id_bits[FR_BITS];
    cs_var comm_d, comm_r_last, comm_c;
};

struct porep_shape porep_shape_of(const struct sector *sector)
{
    const bool is_large = sector->node_bits >= 30;

    return (struct porep_shape){.layer_count = is_large ? 11 : 2,
                                .challenge_count = is_large ? 18 : 2,
                                .tree = sector_tree_r(sector),
                                .tree_d = sector_tree_d(sector)};
}

/* A bit that was allocated earlier, given as a parameter. */
static struct boolean known_bit(const struct cs *cs, cs_var var)
{
    const fr *value = cs_value(cs, var);

    return (struct boolean){BOOLEAN_IS, value ? (uint8_t)value->l[0] : 0, var};
}

/* sha256(replica id, layer, node, zeros, 37 parents), layer and node big-endian, as `layer` says.
 */
static cs_var label_body(struct cs *cs, uint64_t layer, const cs_var *parameters)
{
    const unsigned parent_count = layer == 1 ? POREP_DRG_PARENTS : POREP_PARENTS;
    struct boolean message[LABEL_BITS], digest[SHA256_BITS], *to = message;

    for (unsigned i = 0; i < FR_BITS; i++)
        to[i] = known_bit(cs, parameters[PARAMETER_ID + i]);
    to[FR_BITS] = boolean_constant(0);
    sha256_flip(to, SHA256_BITS);
    to += SHA256_BITS;
    for (unsigned i = 0; i < 32; i++)
        *to++ = boolean_constant((unsigned)(layer >> (31 - i)));
    for (unsigned i = 0; i < NODE_BITS; i++)
        *to++ = known_bit(cs, parameters[PARAMETER_NODE + NODE_BITS - 1 - i]);
    for (unsigned i = 0; i < PADDING_BITS; i++)
        *to++ = boolean_constant(0);
    for (unsigned i = 0; i < POREP_LABEL_PARENTS; i++, to += SHA256_BITS) {
        if (i >= parent_count) {
            memcpy(to, to - parent_count * SHA256_BITS, SHA256_BITS * sizeof *to);
            continue;
        }
        boolean_bits_le(cs, parameters[PARAMETER_PARENT + i], to);
        to[FR_BITS] = boolean_constant(0);
        sha256_flip(to, SHA256_BITS);
    }
    sha256_gadget(cs, message, LABEL_BITS, digest);
    sha256_flip(digest, SHA256_BITS);
    return boolean_pack(cs, digest, FR_CAPACITY);
}

static void synthesize_commitments(struct run *run, const struct porep_vanilla *vanilla,
                                   const fr *public)
{
    const struct porep_challenge *first = vanilla ? &vanilla->challenges[0] : NULL;
    struct cs *cs = run->cs;
    cs_var id, comm_r, hash;

    id = cs_alloc(cs, public ? &public[0] : NULL);
    cs_inputize(cs, id);
    boolean_bits_le(cs, id, run->id_bits);
    run->comm_d = cs_alloc(cs, public ? &public[1] : NULL);
    cs_inputize(cs, run->comm_d);
    comm_r = cs_alloc(cs, public ? &public[2] : NULL);
    cs_inputize(cs, comm_r);
    run->comm_r_last = cs_alloc(cs, first ? &first->r_last.root : NULL);
    run->comm_c = cs_alloc(cs, first ? &first->own.proof.root : NULL);
    hash = poseidon_gadget(cs, 2, POSEIDON_MERKLE, (const cs_var[]){run->comm_c, run->comm_r_last});
    cs_equal(cs, comm_r, hash, "CommR is not the hash of CommC and CommRLast");
}

/* A column's hash lies in TreeC; its labels are variables of the caller. */
static void synthesize_column(struct run *run, const cs_var *labels,
                              const struct merkle_proof *proof, const char *what)
{
    const cs_var hash = poseidon_gadget(run->cs, run->shape->layer_count, POSEIDON_MERKLE, labels);

    merkle_path_public(run->cs, MERKLE_POSEIDON, hash, &run->shape->tree, proof, run->comm_c, what);
}

static void synthesize_labels(struct run *run, cs_var parents[][POREP_LAYERS_MAX],
                              const struct boolean *node, cs_var *ret)
{
    cs_var parameters[PARAMETERS_MAX];

    for (unsigned i = 0; i < FR_BITS; i++)
        parameters[PARAMETER_ID + i] = run->id_bits[i].var;
    for (unsigned i = 0; i < NODE_BITS; i++)
        parameters[PARAMETER_NODE + i] = node[i].var;
    for (unsigned layer = 1; layer <= run->shape->layer_count; layer++) {
        const unsigned count = layer == 1 ? POREP_DRG_PARENTS : POREP_PARENTS;

        for (unsigned i = 0; i < count; i++)
            parameters[PARAMETER_PARENT + i] =
                parents[i][i < POREP_DRG_PARENTS ? layer - 1 : layer - 2];
        ret[layer - 1] =
            piece_place(run->cs, label_body, layer, parameters, PARAMETER_PARENT + count);
    }
}

static void check_statements(struct cs *cs, const struct porep_challenge *challenge)
{
    if (challenge->d.index != challenge->node || challenge->r_last.index != challenge->node ||
        challenge->own.proof.index != challenge->node)
        cs_refuse(cs, "paths of leaves %" PRIu64 ", %" PRIu64 " and %" PRIu64 " for node %" PRIu64,
                  challenge->d.index, challenge->r_last.index, challenge->own.proof.index,
                  challenge->node);
    if (challenge->own.index != challenge->node)
        cs_refuse(cs, "the column is %u, the node %" PRIu64, challenge->own.index, challenge->node);
    for (unsigned i = 0; i < POREP_PARENTS; i++)
        if (challenge->parents[i].index != challenge->parents[i].proof.index)
            cs_refuse(cs, "parent %u: the column is %u, its path is of leaf %" PRIu64, i,
                      challenge->parents[i].index, challenge->parents[i].proof.index);
}

/* row label + data | 1 | sum. */
static cs_var encode(struct cs *cs, cs_var label, cs_var data)
{
    fr sum = fr_word(0);
    cs_var result;

    if (cs_has_values(cs))
        bls12_381_fr_add(&sum, cs_value(cs, label), cs_value(cs, data));
    result = cs_alloc(cs, &sum);
    cs_row(cs, CS_TERMS({label, CS_PLUS}, {data, CS_PLUS}), CS_TERMS({CS_ONE, CS_PLUS}),
           CS_TERMS({result, CS_PLUS}));
    return result;
}

static void synthesize_challenge(struct run *run, const struct porep_challenge *challenge)
{
    const struct porep_shape *shape = run->shape;
    struct cs *cs = run->cs;
    cs_var parents[POREP_PARENTS][POREP_LAYERS_MAX], labels[POREP_LAYERS_MAX];
    struct boolean node[NODE_BITS];
    cs_var leaf, encoded;

    leaf = cs_alloc(cs, challenge ? &challenge->d.leaf : NULL);
    merkle_path_public(cs, MERKLE_SHA256, leaf, &shape->tree_d, challenge ? &challenge->d : NULL,
                       run->comm_d, "TreeD root differs");
    for (unsigned i = 0; i < POREP_PARENTS; i++) {
        const struct porep_column *column = challenge ? &challenge->parents[i] : NULL;

        for (unsigned layer = 0; layer < shape->layer_count; layer++)
            parents[i][layer] = cs_alloc(cs, column ? &column->labels[layer] : NULL);
        synthesize_column(run, parents[i], column ? &column->proof : NULL,
                          i < POREP_DRG_PARENTS ? "TreeC root of a DRG parent differs"
                                                : "TreeC root of an expander parent differs");
    }
    for (unsigned i = 0; i < NODE_BITS; i++)
        node[i] = boolean_alloc(cs, challenge ? challenge->node >> i & 1 : 0);
    boolean_pack_input(cs, node, NODE_BITS);
    synthesize_labels(run, parents, node, labels);
    encoded = encode(cs, labels[shape->layer_count - 1], leaf);
    merkle_path_public(cs, MERKLE_POSEIDON, encoded, &shape->tree,
                       challenge ? &challenge->r_last : NULL, run->comm_r_last,
                       "TreeRLast root differs");
    synthesize_column(run, labels, challenge ? &challenge->own.proof : NULL,
                      "TreeC root of the node's own column differs");
}

void porep_synthesize(struct cs *cs, const struct porep_shape *shape,
                      const struct porep_vanilla *vanilla, const fr *public)
{
    struct run run = {.cs = cs, .shape = shape};

    synthesize_commitments(&run, vanilla, public);
    for (unsigned i = 0; i < shape->challenge_count && cs->error == 0; i++) {
        cs->challenge = (int)i;
        if (vanilla)
            check_statements(cs, &vanilla->challenges[i]);
        synthesize_challenge(&run, vanilla ? &vanilla->challenges[i] : NULL);
    }
    cs->challenge = -1;
}
