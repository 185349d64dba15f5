/* Rows of EmptySectorUpdate, in the order in which they are allocated. */
#include "filecoin/snap.h"

#include <inttypes.h>

#include "filecoin/merkle_gadget.h"
#include "filecoin/poseidon_gadget.h"
#include "filecoin/sha256_gadget.h"
#include "runtime/check.h"

enum {
    H_SELECT_BITS = SNAP_H_COUNT,
    PARTITION_BITS_MAX = 4,
};

/* What all challenges share. */
struct run {
    struct cs *cs;
    const struct snap_shape *shape;
    const struct snap_vanilla *vanilla; /* NULL: blank */
    struct boolean partition_bits[PARTITION_BITS_MAX], h_bits[H_SELECT_BITS];
    cs_var partition, comm_r_old, comm_d, comm_r_new, phi;
    cs_var root_r_old, root_r_new;
    cs_var apex[SNAP_APEX_MAX], partition_path[PARTITION_BITS_MAX];
    struct boolean challenge[SNAP_CHALLENGES_MAX][MERKLE_LEVELS_MAX];
};

static cs_var hash2(struct cs *cs, enum poseidon_use use, cs_var a, cs_var b)
{
    return poseidon_gadget(cs, 2, use, (const cs_var[]){a, b});
}

static cs_var alloc_public(struct cs *cs, const fr *value)
{
    const cs_var var = cs_alloc(cs, value);

    cs_inputize(cs, var);
    return var;
}

static void synthesize_public(struct run *run, const fr *public)
{
    struct cs *cs = run->cs;
    const unsigned partition_bits = run->shape->partition_bits;
    struct boolean bits[PARTITION_BITS_MAX + H_SELECT_BITS];
    const cs_var kh = alloc_public(cs, public);

    if (public && (public->l[1] | public->l[2] | public->l[3] ||
                   public->l[0] >> partition_bits != run->shape->h_select))
        cs_refuse(cs, "the first public input is not k + %u",
                  run->shape->h_select << partition_bits);
    if (public && cs->error == 0)
        cs->partition = (int)(public->l[0] & ((1u << partition_bits) - 1));
    boolean_bits_sum(cs, kh, bits, partition_bits + H_SELECT_BITS);
    memcpy(run->partition_bits, bits, partition_bits * sizeof bits[0]);
    memcpy(run->h_bits, bits + partition_bits, sizeof run->h_bits);
    run->partition = boolean_pack(cs, run->partition_bits, partition_bits);
    run->comm_r_old = alloc_public(cs, public ? &public[1] : NULL);
    run->comm_d = alloc_public(cs, public ? &public[2] : NULL);
    run->comm_r_new = alloc_public(cs, public ? &public[3] : NULL);
    run->phi = hash2(cs, POSEIDON_RANDOM, run->comm_d, run->comm_r_old);
}

static void synthesize_commitments(struct run *run)
{
    const struct snap_shape *shape = run->shape;
    const struct snap_vanilla *vanilla = run->vanilla;
    const struct snap_challenge *first = vanilla ? &vanilla->challenges[0] : NULL;
    const unsigned below = shape->node_bits - shape->partition_bits;
    struct cs *cs = run->cs;
    cs_var comm_c, hash;

    comm_c = cs_alloc(cs, vanilla ? &vanilla->comm_c : NULL);
    run->root_r_old = cs_alloc(cs, first ? &first->r_old.root : NULL);
    run->root_r_new = cs_alloc(cs, first ? &first->r_new.root : NULL);
    for (unsigned i = 0; i < 1u << shape->apex_bits; i++)
        run->apex[i] = cs_alloc(cs, vanilla ? &vanilla->apex[i] : NULL);
    for (unsigned i = 0; i < shape->partition_bits; i++)
        run->partition_path[i] = cs_alloc(cs, first ? &first->d_new.siblings[below + i] : NULL);
    hash = hash2(cs, POSEIDON_MERKLE, comm_c, run->root_r_old);
    cs_equal(cs, hash, run->comm_r_old,
             "CommR (old) is not the hash of CommC and the old TreeR's root");
    hash = hash2(cs, POSEIDON_MERKLE, comm_c, run->root_r_new);
    cs_equal(cs, hash, run->comm_r_new,
             "CommR (new) is not the hash of CommC and the new TreeR's root");
}

/* The partition's part of TreeD, from its apex leaves to the root of all. */
static void synthesize_apex(struct run *run)
{
    static const uint8_t binary[PARTITION_BITS_MAX] = {2, 2, 2, 2};
    unsigned count = 1u << run->shape->apex_bits;
    cs_var row[SNAP_APEX_MAX];

    memcpy(row, run->apex, count * sizeof row[0]);
    for (; count > 1; count /= 2)
        for (unsigned i = 0; i < count / 2; i++)
            row[i] = sha256_hash2(run->cs, row[2 * i], row[2 * i + 1]);
    merkle_path_known(run->cs, MERKLE_SHA256, run->partition_bits, row[0],
                      run->shape->partition_bits, binary, run->partition_path, run->comm_d,
                      "the apex leaves do not lead to CommD");
}

/* Challenges are cut from digests of comm_r_new; the partition is their top bits. */
static void synthesize_challenges(struct run *run)
{
    const struct snap_shape *shape = run->shape;
    const unsigned own_bits = shape->node_bits - shape->partition_bits;
    const unsigned per_digest = FR_CAPACITY / own_bits;
    const unsigned digest_count = (shape->challenge_count + per_digest - 1) / per_digest;
    struct cs *cs = run->cs;
    unsigned made = 0;

    for (unsigned j = 0; j < digest_count; j++) {
        struct boolean bits[FR_BITS];
        cs_var index, digest;

        if (cs_has_values(cs))
            index = cs_alloc_word(cs, cs_value(cs, run->partition)->l[0] * digest_count + j);
        else
            index = cs_alloc(cs, NULL);
        if (cs_wants_rows(cs)) {
            const fr scale = fr_word(digest_count);
            struct cs_lc lc;

            cs_lc_init(&lc);
            lc.one = fr_word(j);
            cs_lc_add(&lc, run->partition, cs_coefficient(cs, &scale));
            cs_row_sum(cs, &lc, index);
        } else {
            cs_skip_rows(cs, 1);
        }
        digest = hash2(cs, POSEIDON_RANDOM, run->comm_r_new, index);
        boolean_bits_sum(cs, digest, bits, FR_BITS);
        for (unsigned q = 0; q < per_digest && made < shape->challenge_count; q++, made++) {
            memcpy(run->challenge[made], bits + q * own_bits, own_bits * sizeof bits[0]);
            memcpy(run->challenge[made] + own_bits, run->partition_bits,
                   shape->partition_bits * sizeof bits[0]);
        }
    }
}

/* row lc | 1 | var for the sum of two variables or more. */
static cs_var alloc_sum(struct cs *cs, const cs_var *vars, unsigned count)
{
    fr sum = fr_word(0);
    cs_var result;

    for (unsigned i = 0; cs_has_values(cs) && i < count; i++)
        bls12_381_fr_add(&sum, &sum, cs_value(cs, vars[i]));
    result = cs_alloc(cs, &sum);
    if (cs_wants_rows(cs)) {
        struct cs_lc lc;

        cs_lc_init(&lc);
        for (unsigned i = 0; i < count; i++)
            cs_lc_add(&lc, vars[i], CS_PLUS);
        cs_row_sum(cs, &lc, result);
    } else {
        cs_skip_rows(cs, 1);
    }
    return result;
}

/* row a | b | product. */
static cs_var alloc_product(struct cs *cs, cs_var a, cs_var b)
{
    fr product = fr_word(0);
    cs_var result;

    if (cs_has_values(cs))
        fr_product(&product, cs_value(cs, a), cs_value(cs, b));
    result = cs_alloc(cs, &product);
    cs_row(cs, CS_TERMS({a, CS_PLUS}), CS_TERMS({b, CS_PLUS}), CS_TERMS({result, CS_PLUS}));
    return result;
}

/* rho = H(phi, the top h bits of the challenge), h being chosen by the select bits. */
static cs_var synthesize_rho(struct run *run, const struct boolean *challenge)
{
    const struct snap_shape *shape = run->shape;
    cs_var high[SNAP_H_COUNT], selected;

    for (unsigned i = 0; i < SNAP_H_COUNT; i++) {
        const cs_var top =
            boolean_pack(run->cs, challenge + shape->node_bits - shape->h[i], shape->h[i]);

        high[i] = alloc_product(run->cs, top, run->h_bits[i].var);
    }
    selected = alloc_sum(run->cs, high, SNAP_H_COUNT);
    return hash2(run->cs, POSEIDON_RANDOM, run->phi, selected);
}

/* What rows do not test: the indices and roots that the vanilla proof states itself. */
static void check_statements(struct run *run, unsigned number)
{
    const struct snap_challenge *challenge = &run->vanilla->challenges[number];
    const struct snap_challenge *first = &run->vanilla->challenges[0];
    const fr leaf = boolean_number(run->challenge[number], run->shape->node_bits);
    const struct {
        const char *name;
        const struct merkle_proof *proof;
        const fr *root;
    } trees[] = {{"old TreeR", &challenge->r_old, &first->r_old.root},
                 {"new TreeD", &challenge->d_new, cs_value(run->cs, run->comm_d)},
                 {"new TreeR", &challenge->r_new, &first->r_new.root}};

    for (unsigned i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        if (trees[i].proof->index != leaf.l[0])
            cs_refuse(run->cs,
                      "the path in the %s is of leaf %" PRIu64 ", the challenge is leaf %" PRIu64,
                      trees[i].name, trees[i].proof->index, leaf.l[0]);
        if (!bls12_381_fr_is_equal(&trees[i].proof->root, trees[i].root))
            cs_refuse(run->cs, "%s root differs from the partition's", trees[i].name);
    }
}

static void synthesize_tree_r(struct run *run, const struct merkle_proof *proof,
                              const struct boolean *bits, cs_var leaf, cs_var root,
                              const char *what)
{
    const struct merkle_shape *tree = &run->shape->tree_r;
    cs_var siblings[MERKLE_SIBLINGS_MAX];

    merkle_alloc_siblings(run->cs, tree, proof, tree->level_count, siblings);
    merkle_path_known(run->cs, MERKLE_POSEIDON, bits, leaf, tree->level_count, tree->arity,
                      siblings, root, what);
}

/* leaf_r_new = leaf_r_old + leaf_d rho, and the three leaves are where they should be. */
static void synthesize_challenge(struct run *run, unsigned number)
{
    const struct snap_shape *shape = run->shape;
    const struct snap_challenge *challenge =
        run->vanilla ? &run->vanilla->challenges[number] : NULL;
    const struct boolean *bits = run->challenge[number];
    const unsigned apex_level = shape->node_bits - shape->partition_bits - shape->apex_bits;
    struct cs *cs = run->cs;
    const cs_var rho = synthesize_rho(run, bits);
    cs_var leaf_r_old, leaf_d, leaf_r_new, product, apex[SNAP_APEX_MAX], apex_leaf;
    cs_var siblings[MERKLE_SIBLINGS_MAX];

    leaf_r_old = cs_alloc(cs, challenge ? &challenge->r_old.leaf : NULL);
    leaf_d = cs_alloc(cs, challenge ? &challenge->d_new.leaf : NULL);
    product = alloc_product(cs, leaf_d, rho);
    leaf_r_new = alloc_sum(cs, (const cs_var[]){leaf_r_old, product}, 2);
    if (challenge && !bls12_381_fr_is_equal(cs_value(cs, leaf_r_new), &challenge->r_new.leaf))
        cs_refuse(cs, "the new TreeR's leaf is not the old one plus the data times rho");
    synthesize_tree_r(run, challenge ? &challenge->r_old : NULL, bits, leaf_r_old, run->root_r_old,
                      "old TreeR root differs");
    synthesize_tree_r(run, challenge ? &challenge->r_new : NULL, bits, leaf_r_new, run->root_r_new,
                      "new TreeR root differs");
    memcpy(apex, run->apex, sizeof apex);
    apex_leaf = merkle_select(cs, apex, bits + apex_level, shape->apex_bits);
    merkle_alloc_siblings(cs, &shape->tree_d, challenge ? &challenge->d_new : NULL, apex_level,
                          siblings);
    merkle_path_known(cs, MERKLE_SHA256, bits, leaf_d, apex_level, shape->tree_d.arity, siblings,
                      apex_leaf, "TreeD root differs");
}

void snap_synthesize(struct cs *cs, const struct snap_shape *shape,
                     const struct snap_vanilla *vanilla, const fr *public)
{
    struct run run = {.cs = cs, .shape = shape, .vanilla = vanilla};

    synthesize_public(&run, public);
    synthesize_commitments(&run);
    synthesize_apex(&run);
    synthesize_challenges(&run);
    for (unsigned i = 0; i < shape->challenge_count && cs->error == 0; i++) {
        cs->challenge = (int)i;
        if (vanilla)
            check_statements(&run, i);
        synthesize_challenge(&run, i);
    }
    cs->challenge = -1;
}
