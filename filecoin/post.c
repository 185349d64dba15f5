/* Shapes and rows of FallbackPoSt. */
#include "filecoin/post.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>

#include "filecoin/merkle_gadget.h"
#include "filecoin/poseidon_gadget.h"

struct post_shape post_shape_winning(const struct sector *sector)
{
    return (struct post_shape){POST_WINNING_CHALLENGES, 1, sector_tree_r(sector)};
}

struct post_shape post_shape_window(const struct sector *sector)
{
    unsigned count = 2;

    if (sector->node_bits == 30)
        count = 2349;
    else if (sector->node_bits == 31)
        count = 2300;
    return (struct post_shape){count, POST_WINDOW_CHALLENGES, sector_tree_r(sector)};
}

static void check_index(struct cs *cs, const struct merkle_proof *proof, const fr *challenge)
{
    const fr index = fr_word(proof->index);

    if (!bls12_381_fr_is_equal(&index, challenge))
        cs_refuse(cs, "the path is of leaf %" PRIu64 ", the challenge is another one (%" PRIu64 ")",
                  proof->index, challenge->l[0]);
}

/* `public` is comm_r and the challenges of this sector. */
static void synthesize_sector(struct cs *cs, const struct post_shape *shape,
                              const struct post_sector *sector, const fr *public)
{
    const cs_var last = cs_alloc(cs, sector ? &sector->comm_r_last : NULL);
    const cs_var comm_c = cs_alloc(cs, sector ? &sector->comm_c : NULL);
    const cs_var comm_r = cs_alloc(cs, public);
    cs_var hash;

    cs_inputize(cs, comm_r);
    hash = poseidon_gadget(cs, 2, POSEIDON_MERKLE, (const cs_var[]){comm_c, last});
    cs_equal(cs, comm_r, hash, "CommR is not the hash of CommC and CommRLast");
    for (unsigned i = 0; i < shape->challenge_count && cs->error == 0; i++) {
        const struct merkle_proof *proof = sector ? &sector->proofs[i] : NULL;
        cs_var leaf;

        cs->challenge = (int)i;
        if (proof) {
            check_index(cs, proof, &public[1 + i]);
            if (!bls12_381_fr_is_equal(&proof->root, &sector->comm_r_last))
                cs_refuse(cs, "the root of the path is not CommRLast");
        }
        leaf = cs_alloc(cs, proof ? &proof->leaf : NULL);
        merkle_path_public(cs, MERKLE_POSEIDON, leaf, &shape->tree, proof, last,
                           "TreeRLast root differs");
    }
    cs->challenge = -1;
}

void post_synthesize(struct cs *cs, const struct post_shape *shape,
                     const struct post_vanilla *vanilla, const fr *public)
{
    for (unsigned i = 0; i < shape->sector_count && cs->error == 0; i++) {
        const unsigned from = vanilla && i >= vanilla->sector_count ? vanilla->sector_count - 1 : i;

        cs->sector = (int)from;
        synthesize_sector(cs, shape, vanilla ? &vanilla->sectors[from] : NULL,
                          vanilla ? public + from * (1 + shape->challenge_count) : NULL);
    }
    cs->sector = -1;
}

int post_challenge(const uint8_t randomness[32], uint64_t sector_id, uint64_t index,
                   unsigned node_bits, uint64_t *ret)
{
    uint8_t message[48], digest[32];
    uint64_t low;

    memcpy(message, randomness, 32);
    memcpy(message + 32, &sector_id, sizeof sector_id);
    memcpy(message + 40, &index, sizeof index);
    if (!EVP_Digest(message, sizeof message, digest, NULL, EVP_sha256(), NULL))
        return -EIO;
    memcpy(&low, digest, sizeof low);
    *ret = low & ((UINT64_C(1) << node_bits) - 1);
    return 0;
}
