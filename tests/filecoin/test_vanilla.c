/* Vanilla proofs that were altered, cut or mixed up are refused, and the reason says where. */
#include <errno.h>

#include "tests/filecoin/fixture.h"

struct subject {
    const char *kind, *sector, *fixture, *suffix;
    unsigned sector_count, challenge_count;
};

static const struct subject snap = {"snap", "1KiB", "snap-1KiB-p0", "vanilla", 0, 0};
static const struct subject window = {"window", "2KiB", "window-2KiB", "vanilla", 0, 0};
static const struct subject porep = {"porep", "2KiB", "porep-2KiB", "vanilla.bincode", 0, 0};

/* Reads and, if that succeeds, makes the witness. The first refusal, or "". */
static struct reason refusal(const struct subject *subject, const struct fixture *fixture)
{
    const struct circuit circuit = fixture_circuit(subject->kind, subject->sector,
                                                   subject->sector_count, subject->challenge_count);
    struct reason reason = {{0}};
    struct circuit_vanilla vanilla;
    struct circuit_size size;
    fr *inputs, *aux;
    struct cs cs;
    int error = circuit_vanilla_read(&vanilla, &circuit, fixture->data, fixture->size, &reason);

    if (error != 0) {
        ASSERT_INT(error, -EBADMSG);
        return reason;
    }
    ASSERT_INT(circuit_measure(&circuit, &size), 0);
    inputs = calloc(size.input_count, sizeof *inputs);
    aux = calloc(size.aux_count, sizeof *aux);
    ASSERT(inputs && aux);
    cs_init_values(&cs, inputs, size.input_count, aux, size.aux_count, NULL, NULL);
    error = circuit_synthesize(&cs, &circuit, &vanilla, fixture->public);
    if (error != 0) {
        ASSERT_INT(error, -EBADMSG);
        reason = cs.reason;
    }
    cs_destroy(&cs);
    circuit_vanilla_destroy(&vanilla);
    free(inputs);
    free(aux);
    return reason;
}

/* One byte changed at `at` (from the end if negative): the reason has to hold `wanted`. */
static void assert_altered(const struct subject *subject, long at, uint8_t flip, const char *wanted)
{
    struct fixture fixture = fixture_load(subject->fixture, subject->suffix);
    struct reason reason;

    fixture.data[at < 0 ? (long)fixture.size + at : at] ^= flip;
    reason = refusal(subject, &fixture);
    if (!strstr(reason.text, wanted))
        fprintf(stderr, "byte %ld: \"%s\" lacks \"%s\"\n", at, reason.text, wanted);
    ASSERT(strstr(reason.text, wanted));
    fixture_free(&fixture);
}

static void assert_cut(const struct subject *subject)
{
    struct fixture fixture = fixture_load(subject->fixture, subject->suffix);
    const size_t size = fixture.size;

    ASSERT_STR(refusal(subject, &fixture).text, "");
    for (fixture.size = 0; fixture.size < size; fixture.size += fixture.size < 200 ? 1 : 37)
        ASSERT(refusal(subject, &fixture).text[0]);
    fixture.size = size + 1;
    ASSERT(refusal(subject, &fixture).text[0]);
    fixture.size = size;
    fixture_free(&fixture);
}

TEST(cut_and_lengthened_files_are_refused)
{
    assert_cut(&snap);
    assert_cut(&window);
    assert_cut(&porep);
}

/* snap-1KiB: comm_c 32, apex 8 + 8 32, count 8 = 304; a challenge is 2 TreeR proofs of 432 and a
 * TreeD proof of 316 = 1,180: tag 4, then the paths (8 + 8 + 7 32 + 8, 8 + 8 + 3 32 + 8), root,
 * leaf. */
enum { SNAP_HEADER = 304, SNAP_TREE_R = 4 + 248 + 120 + 64, SNAP_TREE_D = 4 + 64 + 8 + 5 * 48 };
enum { SNAP_CHALLENGE = 2 * SNAP_TREE_R + SNAP_TREE_D };

TEST(altered_snap_proofs_are_refused_with_the_place)
{
    const long third = SNAP_HEADER + 3 * SNAP_CHALLENGE;

    assert_altered(&snap, 0, 1, "partition 0: CommR (old) is not the hash");
    assert_altered(&snap, 31, 0x80, "CommC is not below the modulus");
    assert_altered(&snap, 32, 1, "apex leaves where 8 belong");
    assert_altered(&snap, 40, 1, "partition 0: the apex leaves do not lead to CommD");
    assert_altered(&snap, SNAP_HEADER - 8, 1, "challenges where 10 belong");
    assert_altered(&snap, third, 1, "challenge 3, old TreeR: tree kind");
    assert_altered(&snap, third + 4, 1, "challenge 3, old TreeR: 0 levels where 1 belong");
    assert_altered(&snap, third + 12, 1, "challenge 3, old TreeR: 6 siblings where 7 belong");
    assert_altered(&snap, third + 20, 1, "partition 0, challenge 3: old TreeR root differs");
    assert_altered(&snap, third + 20 + 31, 0x80, "challenge 3, old TreeR: a sibling is not below");
    assert_altered(&snap, third + 4 + 248 - 8, 8, "challenge 3, old TreeR: index");
    assert_altered(&snap, third + 4 + 248 - 8, 1,
                   "challenge 3: the path in the old TreeR is of leaf");
    assert_altered(&snap, third + SNAP_TREE_R - 64, 1, "challenge 3: old TreeR root differs from");
    assert_altered(&snap, third + SNAP_TREE_R - 32, 1, "challenge 3: the new TreeR's leaf is not");
    assert_altered(&snap, third + SNAP_TREE_R + 4, 1, "challenge 3: new TreeD root differs from");
    assert_altered(&snap, third + SNAP_TREE_R + 36, 1, "challenge 3: the new TreeR's leaf is not");
    assert_altered(&snap, third + SNAP_TREE_R + 68 + 16, 1, "challenge 3: TreeD root differs");
    assert_altered(&snap, -1 - 64 - 120, 1, "challenge 9, new TreeR: index");
    assert_altered(&snap, -64 - 120 + 16, 1, "challenge 9: new TreeR root differs");
    assert_altered(&snap, -32, 1, "challenge 9: the new TreeR's leaf is not");
}

/* window-2KiB: count 8; a sector is 8 + 10 556 + 64: a proof has tag 4, root, leaf, count 8,
 * levels. */
TEST(altered_post_proofs_are_refused_with_the_place)
{
    const long sector = 8 + 10 * 556 + 64, second = 8 + sector + 8 + 5 * 556;

    assert_altered(&window, 0, 4, "6 sectors in the vanilla proof");
    assert_altered(&window, 0, 2, "0 sectors in the vanilla proof");
    assert_altered(&window, 8, 1, "sector 0: 11 inclusion proofs where 10 belong");
    assert_altered(&window, second, 1, "sector 1, challenge 5: tree kind");
    assert_altered(&window, second + 4, 1, "sector 1, challenge 5: the root of the path");
    assert_altered(&window, second + 36, 1, "sector 1, challenge 5: TreeRLast root differs");
    assert_altered(&window, second + 68 + 8 + 8, 1,
                   "sector 1, challenge 5: TreeRLast root differs");
    assert_altered(&window, second + 556 - 8, 1, "sector 1, challenge 5: the path is of leaf");
    assert_altered(&window, -64, 1, "sector 1: CommR is not the hash");
    assert_altered(&window, -32, 1, "sector 1: CommR is not the hash");
}

/* porep-2KiB: counts 16; a challenge is TreeD 364, TreeRLast 556, own column 632, ... */
TEST(altered_porep_proofs_are_refused_with_the_place)
{
    const long second = 16 + (28088 - 16) / 2;

    assert_altered(&porep, 0, 1, "partitions where 1 belong");
    assert_altered(&porep, 8, 1, "challenges where 2 belong");
    assert_altered(&porep, second + 36, 1, "challenge 1: TreeD root differs");
    assert_altered(&porep, second + 364 + 84, 1, "challenge 1: TreeRLast root differs");
    assert_altered(&porep, second + 364 + 556, 1, "challenge 1: the column is");
    assert_altered(&porep, second + 364 + 556 + 12 + 64 + 84, 1, "TreeC root of the node's own");
    assert_altered(&porep, second + 920 + 632 + 8 + 12, 1, "TreeC root of a DRG parent differs");
    assert_altered(&porep, second + 920 + 7 * 632 + 16 + 12, 1, "TreeC root of an expander parent");
    assert_altered(&porep, second + 920 + 15 * 632 + 16, 1, "challenge 1, labels: 3 labels");
    assert_altered(&porep, -8, 1, "challenge 1, encoding: node");
}

TEST(public_inputs_of_another_request_are_refused)
{
    static const struct subject *const subjects[] = {&snap, &window, &porep};

    for (unsigned n = 0; n < 3; n++) {
        struct fixture fixture = fixture_load(subjects[n]->fixture, subjects[n]->suffix);

        for (uint32_t i = 0; i < fixture.public_count; i++) {
            fixture.public[i].l[0] ^= 1;
            ASSERT(refusal(subjects[n], &fixture).text[0]);
            fixture.public[i].l[0] ^= 1;
        }
        fixture_free(&fixture);
    }
}

/* One sector given to a circuit of two: the second is the first again, values and inputs. */
TEST(short_post_partitions_are_padded_with_their_last_sector)
{
    struct fixture fixture = fixture_load("post-tiny", "vanilla");
    const struct circuit circuit = fixture_circuit("window", "2KiB", 3, 1);
    struct circuit_vanilla vanilla;
    struct circuit_size size;
    fr *inputs, *aux;
    struct cs cs;

    ASSERT_INT(circuit_vanilla_read(&vanilla, &circuit, fixture.data, fixture.size, NULL), 0);
    ASSERT_INT(circuit_measure(&circuit, &size), 0);
    inputs = calloc(size.input_count, sizeof *inputs);
    aux = calloc(size.aux_count, sizeof *aux);
    ASSERT(inputs && aux);
    cs_init_values(&cs, inputs, size.input_count, aux, size.aux_count, NULL, NULL);
    ASSERT_INT(circuit_synthesize(&cs, &circuit, &vanilla, fixture.public), 0);
    for (unsigned i = 0; i < size.input_count - 1; i++)
        ASSERT(bls12_381_fr_is_equal(&inputs[1 + i], &fixture.public[i % 2]));
    ASSERT(memcmp(aux, aux + size.aux_count / 3, size.aux_count / 3 * sizeof *aux) == 0);
    cs_destroy(&cs);
    circuit_vanilla_destroy(&vanilla);
    free(inputs);
    free(aux);
    fixture_free(&fixture);
}

TEST(post_challenges_are_derived_as_the_network_does)
{
    static const uint8_t leaves[] = {34, 56, 31, 54, 56, 21, 45, 24, 35, 39};
    uint8_t randomness[32];

    for (int i = 0; i < 32; i++)
        sscanf(&"101cbe4b9c42604f04c703c396f788c6cb2d6d7d58f45430b12eb2edd640076c"[2 * i], "%2hhx",
               &randomness[i]);
    for (unsigned i = 0; i < sizeof leaves; i++) {
        uint64_t leaf;

        ASSERT_INT(post_challenge(randomness, 0, i, 6, &leaf), 0);
        ASSERT_INT(leaf, leaves[i]);
    }
}

TEST_MAIN(CASE(cut_and_lengthened_files_are_refused),
          CASE(altered_snap_proofs_are_refused_with_the_place),
          CASE(altered_post_proofs_are_refused_with_the_place),
          CASE(altered_porep_proofs_are_refused_with_the_place),
          CASE(public_inputs_of_another_request_are_refused),
          CASE(short_post_partitions_are_padded_with_their_last_sector),
          CASE(post_challenges_are_derived_as_the_network_does))
