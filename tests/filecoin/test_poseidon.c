/* Constants and hashes against those of neptune 11. */
#include "filecoin/poseidon.h"

#include "tests/filecoin/digests.h"

static const struct {
    unsigned arity;
    enum poseidon_use use;
    const char
        *constants;   /* SHA-256 of keys, matrix, pre-sparse matrix, sparse ones; plain values */
    const char *hash; /* of 0, 1, ..., arity - 1 */
} golden[] = {
    {2, POSEIDON_MERKLE, "fc71c797c2fd445f511fce65625312bbcfd6cd6efb8e6f81d36be0317ed44727",
     "ffe7029a363c202e9da6059d33a9fba661e1ef02d90f9e736ba5765ed7086539"},
    {4, POSEIDON_MERKLE, "cfb0245dfc2424697dc1038c47bfe6a9826e8777d380787b011ac38878110667",
     "5d076266ff149801ec2713bf05466bfb99932279653cdb008a84e5a9104ba558"},
    {8, POSEIDON_MERKLE, "4a7eacdb40d5de8deea941af668547a3b4ad261f47bc3886deba3a0ad0ae8621",
     "e6a5386df534992ad9aec49c9d2e684b777067114200011255dea5a31d619423"},
    {11, POSEIDON_MERKLE, "0ec8f8f08d5d2e4721134043c6506446ae75ab01b14bcf8b19898ec1d942b150",
     "6331692bc3bbe3cec18fb0ccd8dcf3097ae8eb32e237a56c287f22e5b2c10f0c"},
    {16, POSEIDON_MERKLE, "58946e276969e216e5719324b2f32c4e8648b9956788ee9889b4ab74d7f2c7e1",
     "376d266040c791126f0a68306dbc8d5b631e876f5afbc2c18aae813366e23a2d"},
    {2, POSEIDON_RANDOM, "fc71c797c2fd445f511fce65625312bbcfd6cd6efb8e6f81d36be0317ed44727",
     "587707bcc44ea7e5c7677339ea0b58e325fea03481c51fad4e92f0e7c4354a31"},
};

enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0], VALUES_MAX = 3000 };

static fr flat[VALUES_MAX];

static fr *append(fr *to, const fr *mont, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bls12_381_fr_to_plain(to++, &mont[i]);
    return to;
}

TEST(constants_are_neptunes)
{
    for (unsigned n = 0; n < GOLDEN_COUNT; n++) {
        const struct poseidon *poseidon = poseidon_get(golden[n].arity);
        fr *to = append(flat, poseidon->keys, poseidon->key_count);

        for (unsigned i = 0; i < poseidon->width; i++)
            to = append(to, poseidon->mds[i], poseidon->width);
        for (unsigned i = 0; i < poseidon->width; i++)
            to = append(to, poseidon->pre_sparse[i], poseidon->width);
        for (unsigned i = 0; i < poseidon->partial_rounds; i++) {
            to = append(to, poseidon->sparse[i].column, poseidon->width);
            to = append(to, poseidon->sparse[i].row, poseidon->width - 1);
        }
        ASSERT_STR(digest_of(flat, (size_t)(to - flat) * sizeof *flat).text, golden[n].constants);
    }
}

TEST(hashes_are_neptunes)
{
    for (unsigned n = 0; n < GOLDEN_COUNT; n++) {
        fr inputs[16], hash;

        for (unsigned i = 0; i < golden[n].arity; i++)
            inputs[i] = fr_word(i);
        poseidon_hash(poseidon_get(golden[n].arity), golden[n].use, inputs, &hash);
        ASSERT_STR(digest_to_text((const uint8_t *)&hash).text, golden[n].hash);
    }
}

TEST_MAIN(CASE(constants_are_neptunes), CASE(hashes_are_neptunes))
