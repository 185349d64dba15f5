/* The output of phase 1 as JSON, bare and in base64, whole and in pieces; and what is refused. */
#include "filecoin/porep_c1.h"

#include <errno.h>
#include <openssl/evp.h>

#include "tests/filecoin/fixture.h"

enum { TEXT_MAX = 400000 };

struct text {
    char *data;
    size_t size;
};

/* Hands a text over in pieces. */
struct source {
    const struct text *text;
    size_t at, piece;
    int error; /* instead of an end */
};

static int fill(void *context, const uint8_t **ret_data, size_t *ret_size)
{
    struct source *source = context;
    const size_t left = source->text->size - source->at;
    const size_t size = left < source->piece ? left : source->piece;

    if (left == 0)
        return source->error;
    *ret_data = (const uint8_t *)source->text->data + source->at;
    *ret_size = size;
    source->at += size;
    return 0;
}

static int read_text(const struct text *text, size_t piece, struct porep_c1 *ret,
                     struct reason *reason)
{
    struct source source = {.text = text, .piece = piece};

    return porep_c1_read(ret, sector_find("2KiB"), fill, &source, reason);
}

static void append(struct text *text, const char *more)
{
    const size_t size = strlen(more);

    ASSERT(text->size + size < TEXT_MAX);
    memcpy(text->data + text->size, more, size + 1);
    text->size += size;
}

static void append_value(struct text *text, const char *name, const fr *value)
{
    const uint8_t *bytes = (const uint8_t *)value;
    char number[16];

    append(text, ",\"");
    append(text, name);
    append(text, "\":");
    for (int i = 0; i < FR_BYTES; i++) {
        snprintf(number, sizeof number, "%s%u", i ? "," : "[", bytes[i]);
        append(text, number);
    }
    append(text, "]");
}

/* The golden proofs in the object that phase 1 puts around them. */
static struct text make_output(const struct fixture *fixture, const char *registered_proof)
{
    struct text text = {.data = malloc(TEXT_MAX)};
    const fr seed = {{1, 2, 3, 4}};
    size_t size;
    char *proofs = (char *)fixture_file("porep-2KiB", "vanilla.json", &size);

    ASSERT(text.data);
    proofs[size] = '\0';
    append(&text, "{\"registered_proof\":\"");
    append(&text, registered_proof);
    append(&text, "\",\"vanilla_proofs\":{\"StackedDrg2KiBV1\":");
    append(&text, proofs);
    append(&text, "}");
    append_value(&text, "comm_r", &fixture->public[2]);
    append_value(&text, "comm_d", &fixture->public[1]);
    append_value(&text, "replica_id", &fixture->public[0]);
    append_value(&text, "seed", &seed);
    append_value(&text, "ticket", &seed);
    append(&text, "}\n");
    free(proofs);
    return text;
}

static struct text wrap(const struct text *output, const char *after)
{
    struct text text = {.data = malloc(TEXT_MAX)};

    ASSERT(text.data);
    append(&text, "{\"SectorNum\":123,\"Phase1Out\":\"");
    ASSERT(text.size + output->size * 4 / 3 + 8 < TEXT_MAX);
    text.size += (size_t)EVP_EncodeBlock((uint8_t *)text.data + text.size,
                                         (const uint8_t *)output->data, (int)output->size);
    append(&text, after);
    return text;
}

/* Against what the bincode reader makes of the same proofs. */
static void assert_golden(const struct porep_c1 *c1, const struct fixture *fixture)
{
    const struct porep_shape shape = porep_shape_of(sector_find("2KiB"));
    const struct porep_vanilla *read = &c1->partitions[0];
    struct porep_vanilla golden;

    ASSERT_INT(c1->partition_count, 1);
    ASSERT_STR(c1->registered_proof, "StackedDrg2KiBV1_1");
    ASSERT(bls12_381_fr_is_equal(&c1->replica_id, &fixture->public[0]));
    ASSERT(bls12_381_fr_is_equal(&c1->comm_d, &fixture->public[1]));
    ASSERT(bls12_381_fr_is_equal(&c1->comm_r, &fixture->public[2]));
    ASSERT_INT(c1->seed[8], 2);
    ASSERT_INT(porep_vanilla_read(&golden, &shape, fixture->data, fixture->size, NULL), 0);
    ASSERT(memcmp(read->labels, golden.labels, 2 * 15 * 2 * sizeof(fr)) == 0);
    ASSERT(memcmp(read->siblings, golden.siblings, 2 * (6 + 16 * 14) * sizeof(fr)) == 0);
    for (unsigned i = 0; i < shape.challenge_count; i++) {
        const struct porep_challenge *a = &read->challenges[i], *b = &golden.challenges[i];

        ASSERT_INT(a->node, b->node);
        ASSERT_INT(a->d.index, b->d.index);
        ASSERT_INT(a->r_last.index, b->r_last.index);
        ASSERT(bls12_381_fr_is_equal(&a->d.leaf, &b->d.leaf));
        ASSERT(bls12_381_fr_is_equal(&a->own.proof.root, &b->own.proof.root));
        for (unsigned j = 0; j < POREP_PARENTS; j++) {
            ASSERT_INT(a->parents[j].index, b->parents[j].index);
            ASSERT_INT(a->parents[j].proof.index, b->parents[j].proof.index);
            ASSERT(bls12_381_fr_is_equal(&a->parents[j].proof.leaf, &b->parents[j].proof.leaf));
        }
    }
    porep_vanilla_destroy(&golden);
}

TEST(both_forms_are_read_in_pieces_of_any_size)
{
    static const size_t pieces[] = {TEXT_MAX, 4096, 97};
    struct fixture fixture = fixture_load("porep-2KiB", "vanilla.bincode");
    const struct text output = make_output(&fixture, "StackedDrg2KiBV1_1");
    const struct text wrapped = wrap(&output, "\",\"SectorSize\":2048}");
    struct reason reason;
    struct porep_c1 c1;

    for (unsigned i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        ASSERT_INT(read_text(&output, pieces[i], &c1, &reason), 0);
        ASSERT(!c1.has_sector_number);
        assert_golden(&c1, &fixture);
        porep_c1_destroy(&c1);
        ASSERT_INT(read_text(&wrapped, pieces[i], &c1, &reason), 0);
        ASSERT(c1.has_sector_number);
        ASSERT_INT(c1.sector_number, 123);
        assert_golden(&c1, &fixture);
        porep_c1_destroy(&c1);
    }
    free(output.data);
    free(wrapped.data);
    fixture_free(&fixture);
}

TEST(cut_texts_are_refused)
{
    struct fixture fixture = fixture_load("porep-2KiB", "vanilla.bincode");
    struct text output = make_output(&fixture, "StackedDrg2KiBV1_1");
    struct text wrapped = wrap(&output, "\",\"SectorSize\":2048}");
    const size_t size = output.size - 2; /* less "}" and the end of line */
    struct reason reason;
    struct porep_c1 c1;

    for (wrapped.size -= 1; wrapped.size > 1000; wrapped.size -= wrapped.size / 40)
        ASSERT_INT(read_text(&wrapped, TEXT_MAX, &c1, &reason), -EBADMSG);
    for (output.size = 0; output.size <= size; output.size += output.size < 300 ? 1 : 1499)
        ASSERT_INT(read_text(&output, TEXT_MAX, &c1, &reason), -EBADMSG);
    free(output.data);
    free(wrapped.data);
    fixture_free(&fixture);
}

/* The first occurrence of `from` behind `after` replaced by `to` of the same length. */
static void assert_altered(const char *after, const char *from, const char *to, const char *wanted)
{
    struct fixture fixture = fixture_load("porep-2KiB", "vanilla.bincode");
    struct text output = make_output(&fixture, "StackedDrg2KiBV1_1");
    char *at = strstr(output.data, after);
    struct reason reason = {{0}};
    struct porep_c1 c1;

    ASSERT(strlen(from) == strlen(to) && at && (at = strstr(at, from)));
    memcpy(at, to, strlen(to));
    ASSERT_INT(read_text(&output, TEXT_MAX, &c1, &reason), -EBADMSG);
    if (!strstr(reason.text, wanted))
        fprintf(stderr, "\"%s\" lacks \"%s\"\n", reason.text, wanted);
    ASSERT(strstr(reason.text, wanted));
    free(output.data);
    fixture_free(&fixture);
}

TEST(altered_texts_are_refused_with_the_place)
{
    assert_altered("registered", "StackedDrg2KiBV1_1", "StackedDrg8MiBV1_1", "another sector size");
    assert_altered("vanilla_proofs", "StackedDrg2KiBV1", "StackedDrg8MiBV1", "is unknown here");
    assert_altered("comm_d_proofs", "\"Single\"", "\"Double\"", "partition 0, challenge 0, TreeD");
    assert_altered("comm_d_proofs", "[155,", "[256,", "a number above 255");
    assert_altered("comm_d_proofs", "[155,", "[-55,", "no whole number");
    assert_altered("comm_d_proofs", "[155,", "[055,", "leading zeros");
    assert_altered("comm_d_proofs", "[155,", "[1.5,", "no whole number");
    assert_altered("comm_d_proofs", "155,59]", "155,255", "an array is longer than 32");
    assert_altered("comm_d_proofs", ",59]", "]59]", "\"]\" where \",\" belongs");
    assert_altered("comm_d_proofs", "\"leaf\"", "\"root\"", "comes twice");
    assert_altered("comm_r_last_proof", "\"index\":3", "\"index\":8", "challenge 0, TreeRLast");
    assert_altered("c_x", "\"_h\":null", "\"_h\":nill", "challenge 0, own column: no null");
    assert_altered("exp_parents", "\"rows\"", "\"rocs\"", "challenge 0, parent 6");
    assert_altered("labeling_proofs", "\"layer_index\":1", "\"layer_index\":2",
                   "challenge 0, labels: layer 2 where 1 belongs");
    assert_altered("encoding_proof", "\"node\":3", "\"node\":4", "challenge 0, encoding: node 4");
    assert_altered("\"ticket\"", "}\n", "}}", "bytes are left over");
}

TEST(bad_objects_around_are_refused)
{
    static const char *const endings[] = {"\",\"SectorSize\":2049}",
                                          "=\",\"SectorSize\":2048}",
                                          "\"}",
                                          "\",\"SectorSize\":2048",
                                          "\",\"SectorSize\":2048}}",
                                          "\",\"SectorSize\":2048,\"SectorNum\":1}"};
    struct fixture fixture = fixture_load("porep-2KiB", "vanilla.bincode");
    struct text output = make_output(&fixture, "StackedDrg2KiBV1_1");
    struct reason reason;
    struct porep_c1 c1;

    for (unsigned i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct text wrapped = wrap(&output, endings[i]);

        ASSERT_INT(read_text(&wrapped, 4096, &c1, &reason), -EBADMSG);
        free(wrapped.data);
    }
    free(output.data);
    fixture_free(&fixture);
}

TEST(an_error_of_the_source_is_passed_on)
{
    struct fixture fixture = fixture_load("porep-2KiB", "vanilla.bincode");
    struct text output = make_output(&fixture, "StackedDrg2KiBV1_1");
    struct source source = {.text = &output, .piece = 1000, .error = -EIO};
    struct reason reason;
    struct porep_c1 c1;

    output.size /= 2;
    ASSERT_INT(porep_c1_read(&c1, sector_find("2KiB"), fill, &source, &reason), -EIO);
    free(output.data);
    fixture_free(&fixture);
}

TEST_MAIN(CASE(both_forms_are_read_in_pieces_of_any_size), CASE(cut_texts_are_refused),
          CASE(altered_texts_are_refused_with_the_place), CASE(bad_objects_around_are_refused),
          CASE(an_error_of_the_source_is_passed_on))
