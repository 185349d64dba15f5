/* The texts are those that the public implementation formats; a letter changed is another key. */
#include "filecoin/cache_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <openssl/evp.h>

enum {
    NODE_BYTES_LOG2 = 5,
};

/* "8-8-0": arities of the base tree, of sub-trees and of the top. */
static void print_tree(const struct sector *sector, char ret[16])
{
    snprintf(ret, 16, "8-%u-%u", sector->sub, sector->top);
}

void cache_id_text(const struct circuit *circuit, char ret[CACHE_ID_TEXT_BYTES_MAX])
{
    const struct sector *sector = circuit->sector;
    const uint64_t nodes = UINT64_C(1) << sector->node_bits;
    char tree[16];

    print_tree(sector, tree);
    switch (circuit->kind) {
    case CIRCUIT_SNAP:
        snprintf(ret, CACHE_ID_TEXT_BYTES_MAX,
                 "empty_sector_update::PublicParams{ sector_nodes: %" PRIu64 " }", nodes);
        break;
    case CIRCUIT_POREP:
        snprintf(ret, CACHE_ID_TEXT_BYTES_MAX,
                 "layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{"
                 "expansion_degree: %d base_graph: drgraph::BucketGraph{size: %" PRIu64
                 "; degree: %d; hasher: poseidon_hasher} }, challenges: LayerChallenges { layers: "
                 "%u, max_count: %u }, tree: merkletree-poseidon_hasher-%s }",
                 POREP_EXPANDER_PARENTS, nodes, POREP_DRG_PARENTS, circuit->porep.layer_count,
                 circuit->porep.challenge_count, tree);
        break;
    default:
        snprintf(ret, CACHE_ID_TEXT_BYTES_MAX,
                 "FallbackPoSt::PublicParams{sector_size: %" PRIu64
                 ", challenge_count: %u, sector_count: %u}",
                 nodes << NODE_BYTES_LOG2, circuit->post.challenge_count,
                 circuit->post.sector_count);
    }
}

int cache_id_make(const struct circuit *circuit, char ret[CACHE_ID_BYTES_MAX])
{
    static const char *const prefixes[CIRCUIT_KIND_COUNT] = {
        [CIRCUIT_SNAP] = "empty-sector-update",
        [CIRCUIT_WINNING] = "proof-of-spacetime-fallback",
        [CIRCUIT_WINDOW] = "proof-of-spacetime-fallback",
        [CIRCUIT_POREP] = "stacked-proof-of-replication",
    };
    char text[CACHE_ID_TEXT_BYTES_MAX], tree[16], hex[65];
    uint8_t digest[32];

    cache_id_text(circuit, text);
    print_tree(circuit->sector, tree);
    if (!EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL))
        return -EIO;
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    snprintf(ret, CACHE_ID_BYTES_MAX, "v28-%s-merkletree-poseidon_hasher-%s%s-%s",
             prefixes[circuit->kind], tree, circuit->kind == CIRCUIT_POREP ? "-sha256_hasher" : "",
             hex);
    return 0;
}
