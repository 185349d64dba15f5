/* Names of keys and the list of their digests. */
#include <errno.h>

#include "filecoin/cache_id.h"
#include "filecoin/parameters_json.h"
#include "tests/groth16/key_fixture.h"

TEST(cache_ids_are_those_of_the_network)
{
    static const struct {
        const char *kind, *sector, *begins;
    } ids[] = {
        {"snap", "32GiB", "v28-empty-sector-update-merkletree-poseidon_hasher-8-8-0-3b7f44a9"},
        {"snap", "2KiB", "v28-empty-sector-update-merkletree-poseidon_hasher-8-0-0-fb9e095b"},
        {"winning", "32GiB",
         "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-559e581f"},
        {"window", "32GiB",
         "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-0377ded6"},
        {"porep", "32GiB",
         "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-"
         "82a357d2"},
    };
    struct circuit circuit;
    struct reason reason;
    char id[CACHE_ID_BYTES_MAX];

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        ASSERT_INT(circuit_find(ids[i].kind, ids[i].sector, &circuit, &reason), 0);
        ASSERT_INT(cache_id_make(&circuit, id), 0);
        ASSERT_INT(strlen(id), strlen(ids[i].begins) + 56);
        id[strlen(ids[i].begins)] = '\0';
        ASSERT_STR(id, ids[i].begins);
    }
}

static int find(const char *text, const char *name, struct parameters_json_entry *ret,
                struct reason *reason)
{
    return parameters_json_find(text, strlen(text), name, ret, reason);
}

TEST(a_digest_is_found_in_the_list)
{
    static const char list[] =
        "{\"a.params\": {\"cid\": \"Qm\", \"digest\": \"5974cc154432faca80333c41a88136c7\", "
        "\"sector_size\": 2048}, \"a.vk\": {\"cid\": \"Qm\", \"digest\": "
        "\"af4d2f265c2689327d14ce7b6b07b57f\", \"sector_size\": 2048}}";
    struct parameters_json_entry entry;
    struct params params;
    struct reason reason;
    int fd = fixture_open("filecoin/post-tiny.params");

    ASSERT_INT(params_open(fd, &params, &reason), 0);
    ASSERT_INT(find(list, "a.params", &entry, &reason), 0);
    ASSERT_INT(entry.sector_bytes, 2048);
    ASSERT_INT(parameters_json_check(&entry, &params, NULL, &reason), 0);
    ASSERT_INT(find(list, "a.vk", &entry, &reason), 0);
    ASSERT_INT(parameters_json_check(&entry, &params, NULL, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "5974cc154432faca80333c41a88136c7");
    ASSERT_SAYS(reason, "af4d2f265c2689327d14ce7b6b07b57f");
    ASSERT_INT(find(list, "b.params", &entry, &reason), -ENOENT);
    params_destroy(&params);
    close(fd);
}

TEST(malformed_lists_are_refused)
{
    static const char *const lists[] = {
        "",
        "[]",
        "{\"a\": 1}",
        "{\"a\": {}}",
        "{\"a\": {\"digest\": \"5974cc154432faca80333c41a88136c\", \"sector_size\": 1}}",
        "{\"a\": {\"digest\": \"5974cc154432faca80333c41a88136cg\", \"sector_size\": 1}}",
        "{\"a\": {\"digest\": \"5974CC154432FACA80333C41A88136C7\", \"sector_size\": 1}}",
        "{\"a\": {\"digest\": \"5974cc154432faca80333c41a88136c7\"}}",
        "{\"a\": {\"digest\": \"5974cc154432faca80333c41a88136c7\", \"sector_size\": -1}}",
        "{\"a\": {\"digest\": \"5974cc154432faca80333c41a88136c7\", \"sector_size\": \"1\"}}",
        /* The name comes twice. */
        ("{\"a\": {\"digest\": \"5974cc154432faca80333c41a88136c7\", \"sector_size\": 1}, "
         "\"a\": {}}"),
    };
    struct parameters_json_entry entry;
    struct reason reason;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ASSERT_INT(find(lists[i], "a", &entry, &reason), -EBADMSG);
}

TEST_MAIN(CASE(cache_ids_are_those_of_the_network), CASE(a_digest_is_found_in_the_list),
          CASE(malformed_lists_are_refused))
