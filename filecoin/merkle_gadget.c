/* Picks are ternaries of allocated numbers; insertions are the fixed networks of
 * storage-proofs-core. */
#include "filecoin/merkle_gadget.h"

#include "filecoin/poseidon_gadget.h"
#include "filecoin/sha256_gadget.h"
#include "runtime/check.h"

/* Row b' - a' | bit | b' - x for bit ? a' : b'. */
cs_var merkle_pick(struct cs *cs, struct boolean bit, cs_var a, cs_var b)
{
    const cs_var x = cs_alloc(cs, cs_value(cs, bit.value ? a : b));

    if (cs_wants_rows(cs)) {
        struct cs_lc left, right, out;

        cs_lc_init(&left);
        cs_lc_init(&right);
        cs_lc_init(&out);
        cs_lc_add(&left, b, CS_PLUS);
        cs_lc_add(&left, a, CS_MINUS);
        boolean_add(cs, &right, bit, 0);
        cs_lc_add(&out, b, CS_PLUS);
        cs_lc_add(&out, x, CS_MINUS);
        cs_row_lc(cs, &left, &right, &out);
    } else {
        cs_skip_rows(cs, 1);
    }
    return x;
}

cs_var merkle_select(struct cs *cs, cs_var *from, const struct boolean *bits, unsigned bit_count)
{
    for (unsigned bit = bit_count; bit-- > 0;)
        for (unsigned j = 0; j < 1u << bit; j++)
            from[j] = merkle_pick(cs, bits[bit], from[(1u << bit) + j], from[j]);
    return from[0];
}

static void insert2(struct cs *cs, const struct boolean *bits, cs_var x, const cs_var *e,
                    cs_var *ret)
{
    ret[0] = merkle_pick(cs, bits[0], e[0], x);
    ret[1] = merkle_pick(cs, bits[0], x, e[0]);
}

static void insert4(struct cs *cs, const struct boolean *bits, cs_var a, const cs_var *e,
                    cs_var *ret)
{
    const struct boolean b0 = bits[0], b1 = bits[1];
    const cs_var b = e[0], c = e[1], d = e[2];
    cs_var t;

    t = merkle_pick(cs, b0, b, a);
    ret[0] = merkle_pick(cs, b1, b, t);
    t = merkle_pick(cs, b0, a, b);
    ret[1] = merkle_pick(cs, b1, c, t);
    t = merkle_pick(cs, b0, d, a);
    ret[2] = merkle_pick(cs, b1, t, c);
    t = merkle_pick(cs, b0, a, d);
    ret[3] = merkle_pick(cs, b1, t, d);
}

static void insert8(struct cs *cs, const struct boolean *bits, cs_var a, const cs_var *siblings,
                    cs_var *ret)
{
    const struct boolean b0 = bits[0], b1 = bits[1], b2 = bits[2];
    const cs_var b = siblings[0], c = siblings[1], d = siblings[2], e = siblings[3],
                 f = siblings[4], g = siblings[5], h = siblings[6];
    const struct boolean nor = boolean_and(cs, boolean_not(b0), boolean_not(b1));
    const struct boolean both = boolean_and(cs, b0, b1);
    cs_var t;

    t = merkle_pick(cs, nor, a, b);
    ret[0] = merkle_pick(cs, b2, b, t);
    t = merkle_pick(cs, b0, a, b);
    t = merkle_pick(cs, b1, c, t);
    ret[1] = merkle_pick(cs, b2, c, t);
    t = merkle_pick(cs, b0, d, a);
    t = merkle_pick(cs, b1, t, c);
    ret[2] = merkle_pick(cs, b2, d, t);
    t = merkle_pick(cs, both, a, d);
    ret[3] = merkle_pick(cs, b2, e, t);
    t = merkle_pick(cs, nor, a, f);
    ret[4] = merkle_pick(cs, b2, t, e);
    t = merkle_pick(cs, b0, a, f);
    t = merkle_pick(cs, b1, g, t);
    ret[5] = merkle_pick(cs, b2, t, f);
    t = merkle_pick(cs, b0, h, a);
    t = merkle_pick(cs, b1, t, g);
    ret[6] = merkle_pick(cs, b2, t, g);
    t = merkle_pick(cs, both, a, h);
    ret[7] = merkle_pick(cs, b2, t, h);
}

cs_var merkle_step(struct cs *cs, enum merkle_hash hash, cs_var current, const struct boolean *bits,
                   unsigned arity, const cs_var *siblings)
{
    cs_var children[MERKLE_ARITY_MAX];

    if (arity == 2)
        insert2(cs, bits, current, siblings, children);
    else if (arity == 4)
        insert4(cs, bits, current, siblings, children);
    else
        insert8(cs, bits, current, siblings, children);
    CHECK(arity == 2 || (hash == MERKLE_POSEIDON && (arity == 4 || arity == 8)));
    return hash == MERKLE_SHA256 ? sha256_hash2(cs, children[0], children[1])
                                 : poseidon_gadget(cs, arity, POSEIDON_MERKLE, children);
}

void merkle_path_known(struct cs *cs, enum merkle_hash hash, const struct boolean *bits,
                       cs_var leaf, unsigned level_count, const uint8_t *arities,
                       const cs_var *siblings, cs_var root, const char *what)
{
    for (unsigned level = 0; level < level_count; level++) {
        const unsigned arity = arities[level];

        leaf = merkle_step(cs, hash, leaf, bits, arity, siblings);
        bits += merkle_arity_bits(arity);
        siblings += arity - 1;
    }
    cs_equal(cs, leaf, root, what);
}

unsigned merkle_alloc_siblings(struct cs *cs, const struct merkle_shape *shape,
                               const struct merkle_proof *proof, unsigned level_count, cs_var *ret)
{
    unsigned count = 0;

    for (unsigned level = 0; level < level_count; level++)
        for (unsigned i = 1; i < shape->arity[level]; i++, count++)
            ret[count] = cs_alloc(cs, proof ? &proof->siblings[count] : NULL);
    return count;
}

void merkle_path_public(struct cs *cs, enum merkle_hash hash, cs_var leaf,
                        const struct merkle_shape *shape, const struct merkle_proof *proof,
                        cs_var root, const char *what)
{
    const fr *from = proof ? proof->siblings : NULL;
    struct boolean bits[MERKLE_LEVELS_MAX];
    unsigned bit_count = 0;

    for (unsigned level = 0; level < shape->level_count; level++) {
        const unsigned arity = shape->arity[level], first = bit_count;
        cs_var siblings[MERKLE_ARITY_MAX - 1];

        for (unsigned i = 0; i < merkle_arity_bits(arity); i++, bit_count++)
            bits[bit_count] = boolean_alloc(cs, proof ? proof->index >> bit_count & 1 : 0);
        for (unsigned i = 0; i + 1 < arity; i++)
            siblings[i] = cs_alloc(cs, from ? from++ : NULL);
        leaf = merkle_step(cs, hash, leaf, bits + first, arity, siblings);
    }
    boolean_pack_input(cs, bits, bit_count);
    cs_equal(cs, leaf, root, what);
}
