/* Rows, densities and witnesses of all circuits against the public implementation's, as digests.
 * The largest shapes are left to cuzk-bench circuit-digest: tests/fixtures/filecoin/README.md. */
#include "filecoin/circuit.h"

#include "filecoin/record.h"
#include "filecoin/row_digest.h"
#include "filecoin/row_values.h"
#include "groth16/curve/curve.h"
#include "tests/filecoin/digests.h"
#include "tests/filecoin/fixture.h"

struct golden {
    const char *kind, *sector;
    unsigned sector_count, challenge_count; /* 0: the circuit's own */
    const char *fixture, *suffix;
    struct {
        const char *r1cs, *a_aux, *b_in, *b_aux;
    } rows;
    struct {
        const char *inputs, *aux, *a, *b;
    } values;
};

static const struct golden golden[] = {
    {"window", "2KiB", 1, 1, "post-tiny", "vanilla",
     .rows = {"0d3d4f3654cf0711c10b4bbf8fd78f5320515b3c0aa0095e323ecb9a79745740",
              "0a2096caeb66c752337828fc768f0fd018f43ac76ae64aa69f864053c797f092",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "329977264fd54464da2333d867bbfef0575ec693a15a06eb787d3b1ab402ef9c"},
     .values = {"ca547b65c625c43a08a04a1b53b443a83e76838b4b7dc0cdf2a19ef2256e55b8",
                "888fb7f05782b99f06d13dfd63e9c7076414bd47c5124a27607c772d5850ccc8", NULL, NULL}},
    {"window", "2KiB", 0, 0, "window-2KiB", "vanilla",
     .rows = {"b19b022a50496efd3d5f0944cb004e95b89aa265127ed6c91004b23b1ee52a72",
              "4d025827a93973fb5298fd991f735410c7a9c67be2ba6c2ab696fe3b0f39df6c",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "f4292ab508f843c766c7b77bf8a411c9168d174d31368a413a28c0f184ce94c8"},
     .values = {"8acad336f6579d42109834783d205225ed7ce4cd380c9d448ca2f461ea98d625",
                "f1fdac3d82d5d85d0e3fa782ed880cc00f389f11ada6522f27fad0c76e436c0f", NULL, NULL}},
    {"winning", "2KiB", 6, 0, "winning-2KiB-shape-small", "vanilla",
     .rows = {"06188bed4184bccef96fc7c0b7a7f61fc9486da32f154ee95ab5d0cbd1652b7a",
              "cf24b825ef963ff16493d515fd285d0be61319702f2c571766be811abfa8aa42",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "04d2519a6ba88834a30cfd692fd465f1aff097adc992888b06a36c20a022039d"},
     .values = {"473b4e46929eedd584f3b6cdb9304b9ce98940499d808679f2f8c90883687b68",
                "6c7ad147c2740b03a8196d35ae204c2a92cd57dbc5342f58a1b63b33154e21c3", NULL, NULL}},
    {"snap", "1KiB", 0, 0, "snap-1KiB-p0", "vanilla",
     .rows = {"2339c3da919f95e943ac140ad427292272d330fb37c4b49a0630954b4d348b21",
              "4a15eab2d899a5b673ea1ea9495aa2c96d83c71cf52691172005f67dde396c36",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "4e35493a3adb7c6ca60d7daff736086b3ed103a6a96cff28e22b89dab34c2829"},
     .values = {"ec5a9fe027c5930dde87b58817ad5dc88369a3d75f0b33004feec250c4f314d6",
                "b9c87a2e7639348318d04bf70e6bf155f1a2fbcc2a3c13155a5e21f6b1e3bbf4",
                "d90538c309026be3705fa51c86f0692fc088552fe1f4b9da9fa52c291667d65b",
                "80f779c214562723d2e203ac71daafc8751c0d6cf0ae6a061898cd36dd067b6d"}},
    {"snap", "2KiB", 0, 0, "snap-2KiB-p0", "vanilla",
     .rows = {"cc653cf3ceaff1abc80f7f1e33739cce12bfe6c4ca1f47b031b1010ecc32c4d6",
              "b6428736912ee8eaddb23eeab69b4837726400e5e54f4d54ddafdb2c45fce239",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "46215ac6b5a0657fec1c3e0efefa1d5fb48c861d4a5595ee68c5935773ee5123"},
     .values = {"4ff310cb19bd1bf84e5caa6ca5ee99132dc4b54f94d7525feedc25f0a19e3099",
                "6576923fcd6570b70646ffd3a0d9559e4edb6351c572e541a83dd8280166b1b5",
                "68dd1e1ffad62c1e3d95b3ad6222cf359df3b741c1542f5ffba6d956a28c3488",
                "dd53c5a7335f35a4d93eb131a15696a7bfdf72a9a1270e12be1d2c1ba99beeb6"}},
    {"snap", "2KiB", 0, 0, "snap-2KiB-s2-p0", "vanilla",
     .values = {"2d917e20009e2432d9d5ed870d46d5a24785902d59c78f127022df8adf374b5e",
                "849c8a0a727f9058d46bf9c21d51ea0b2b2fa1a02bae99fec5b33d35970b6e4a",
                "1ca59cb12396e02c4d2c37b335b02fc74aa200aa516e65283b4c6caa459b80a5",
                "498a605f7e19c1b62ee972d62ebb37e9ca5cdb68a72fe3e710275ce06592f37b"}},
    {"snap", "2KiB", 0, 0, "snap-2KiB-zero-p0", "vanilla",
     .values = {"6cd46df26bdd6fde8f7845cb673d17e0a39b3265ea2d88b2b09389067288d7e3",
                "05127d37696ba93c7b121cdaa4a303550e3d38ca6fb37c11577aac32c511c416",
                "179094b3e90763f5e9ce4f6d9cc8036bcf8929e496b6bbd70b0751029e285889",
                "f71aad980634afc3822ce86958dc136de4526b21b9fe5ec6f04aa0b84f5388c1"}},
    {"snap", "8MiB", 0, 0, "snap-8MiB-p0", "vanilla",
     .rows = {"74ebec83f41b496447fd1d1da7b86ad3a626b649d0cca598620a0881e8072708",
              "72d03a96d26ec9154e28aa2eecc488262e2bc5b641074aa199db3d8f30f4ab32",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "d40571370fc84667d1aabf97934c7713950bb750e5e351641ee52f9bb3a6542d"},
     .values = {"aa6f36a4d8a2f77e6863077a1622d569d09effa8face14ca2086f8a5a7184bcd",
                "426273efd3e9c8342ee180cbba99dda55a7c54daebf07c2c143f87c34168d18f",
                "301ac208f525c9341dd8c9bcd53aeedf0852b2d89f7d1e37b3e2b49992c87678",
                "71a3f0590a8cc3afdc9d5d667ce9ff03718fcd9c23d140dd079e1bf08b2f2be9"}},
    {"porep", "2KiB", 0, 0, "porep-2KiB", "vanilla.bincode",
     .rows = {"71c0fea6df6fd723527666f9edc811c5f57bc38886629d9dc7eda107a1610126",
              "b7b63d9cfad9e2224d0ab23c91b278b77b6c76a1a584ed64aba73726bf02c8bd",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "df71abcd52bafd6122ba73b617f73f8015eace3b5c4854e325362c0dfac364cc"},
     .values = {"197519a0f97fc43d92bb063889ab6857407bf5b984d001a7a9c58e3d5654a011",
                "c8083a82af41023b665cf931f029cfd5b951523e73e48a128c5d7198526847e7",
                "8213b13727a53d86f9af96af56a25b66b755edda95b36a1034367d4da594ce49",
                "6b5b5302fe3dd99b066cdc208d64f736b36b96b540061d4865e413f68b227619"}},
    {"winning", "2KiB", 0, 0, NULL, NULL,
     .rows = {"2ae20abc27cf1e9040714963fd1215148b1a89eae09a47a34ff9699af4ff8094",
              "183e63592f6a88c2600fe0a259795cfed09e7fe604f0a51296cc08b9ee218314",
              "32edb6022c0921d99aa347e9cda5dc2db413f5574eebaaa8592234308ffebd2b",
              "3e571bf1a8615d9042a2642f938d0600923181206840fe9cba04be8d1b105bba"}},
    {"winning", "32GiB", 0, 0, NULL, NULL,
     .rows = {"3e06cdbb8d9cdc7f1b0fb8605f71c2bf4019d25a647ea22e13343a9e0c508ae1",
              "345f51706261c868244a79cecb8630755ff5a797bde5a40092bf26ed94ea5a19",
              "32edb6022c0921d99aa347e9cda5dc2db413f5574eebaaa8592234308ffebd2b",
              "e292d32603492d8fefa86e4b82df6cb52efb8e0c168e42344f5c7164a5a4c079"}},
    {"winning", "64GiB", 0, 0, NULL, NULL,
     .rows = {"3279053a9698ed9c6af35ca4a5b47597be49c4527625ce060b08dae9c1c2c892",
              "366ca820594610529a1e0836ce04d7bb19be7489d637683916fd68c5e8f8be63",
              "32edb6022c0921d99aa347e9cda5dc2db413f5574eebaaa8592234308ffebd2b",
              "dc063e29d54caccdd8ca0d48db27f2a852151fe70aee8281bc8be2315cfaf9d8"}},
    {"window", "32GiB", 10, 0, NULL, NULL,
     .rows = {"806d283c9585ffdf5b7e2c9fd7b290f338ae79cbc07d4e85b00f00a80c93eb76",
              "070d1eef70f0b905e4acd41364236b6f2ce19dfab07d78441f971d98b5c1e27a",
              "4cbbd8ca5215b8d161aec181a74b694f4e24b001d5b081dc0030ed797a8973e0",
              "88dac7571f9fbee0785c22dc19686e0a855c6a52382c3401eb54c7e1801236b7"}},
    {"snap", "4KiB", 0, 0, NULL, NULL,
     .rows = {"62bf70290118776c6a7ee23a8d5940e9e0308bf469f0e14cb56bb4bf1fa7fcb1",
              "028abdabeb0c84d81cf01f036658360a6a566c70248ee53c1d8c4e83cd173c39",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "aee7e20d5aa48a4d12c92846e9ec2986bd27cafae0db07068dd330def724a332"}},
    {"snap", "8KiB", 0, 0, NULL, NULL,
     .rows = {"2056d1edae8b864ad0a44608951877d306259f6f94feef2343bf754bd921c517",
              "82fbfe1c2d17f9de1c496ddecf3442168fb17f6516ac254f9c7b403c24d68e4a",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "2d0526bee089c036cc82b87095dcae6d845e4f93014fb6a765642aa4815f3a73"}},
    {"porep", "8MiB", 0, 0, NULL, NULL,
     .rows = {"1ef025c7f3cff9c12a6d10274bd14816cb786cd9ed2458f6269184d90205f3ce",
              "b67edf3124fb844f0de4d3f4a17e58c5229c7af7ceaaf0e03ace2ae57a2e7332",
              "7c9fa136d4413fa6173637e883b6998d32e1d675f88cddff9dcbcf331820f4b8",
              "d775f2bfe75ed22f9fe50f44c1945e7ff53b1adcc616bd5d22f6f9705fd5bad1"}},
};

enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0] };

static struct circuit circuit_of(const struct golden *g)
{
    return fixture_circuit(g->kind, g->sector, g->sector_count, g->challenge_count);
}

static void assert_density(const struct occurrence *density, uint64_t count, const char *wanted)
{
    uint8_t bytes[ROW_DIGEST_BYTES];

    ASSERT_INT(occurrence_digest(density, count, bytes), 0);
    ASSERT_STR(digest_to_text(bytes).text, wanted);
}

TEST(rows_of_blank_circuits_are_the_public_ones)
{
    for (unsigned i = 0; i < GOLDEN_COUNT; i++) {
        const struct circuit circuit = circuit_of(&golden[i]);
        struct dictionary dictionary;
        struct row_digest digest;
        uint8_t bytes[ROW_DIGEST_BYTES];
        struct circuit_size size;
        struct cs cs;

        if (!golden[i].rows.r1cs)
            continue;
        ASSERT_INT(cs_dictionary_init(&dictionary), 0);
        ASSERT_INT(row_digest_init(&digest, &dictionary), 0);
        cs_init_blank(&cs, &digest.sink, &dictionary);
        ASSERT_INT(circuit_synthesize(&cs, &circuit, NULL, NULL), 0);
        ASSERT_INT(row_digest_finish(&digest, bytes), 0);
        ASSERT_STR(digest_to_text(bytes).text, golden[i].rows.r1cs);
        assert_density(&digest.a_aux, cs.aux_count, golden[i].rows.a_aux);
        assert_density(&digest.b_in, cs.input_count, golden[i].rows.b_in);
        assert_density(&digest.b_aux, cs.aux_count, golden[i].rows.b_aux);
        ASSERT_INT(circuit_measure(&circuit, &size), 0);
        ASSERT_INT(size.row_count, digest.row_count);
        ASSERT_INT(size.row_count, cs.row_count);
        ASSERT_INT(size.aux_count, cs.aux_count);
        ASSERT_INT(size.input_count, cs.input_count);
        ASSERT_INT(size.input_count, circuit_public_count(&circuit) + 1);
        cs_destroy(&cs);
        row_digest_destroy(&digest);
        dictionary_destroy(&dictionary);
    }
}

/* The witness, with or without rows on the way. */
static void assert_witness(const struct golden *g, bool has_rows)
{
    struct fixture fixture = fixture_load(g->fixture, g->suffix);
    const struct circuit circuit = circuit_of(g);
    struct dictionary dictionary = {0};
    struct circuit_vanilla vanilla;
    struct row_values values;
    struct circuit_size size;
    struct reason reason;
    fr *inputs, *aux, *a, *b;
    struct cs cs;

    ASSERT_INT(circuit_vanilla_read(&vanilla, &circuit, fixture.data, fixture.size, &reason), 0);
    ASSERT_INT(circuit_measure(&circuit, &size), 0);
    inputs = calloc(size.input_count, sizeof *inputs);
    aux = calloc(size.aux_count, sizeof *aux);
    a = calloc(size.row_count, sizeof *a);
    b = calloc(size.row_count, sizeof *b);
    ASSERT(inputs && aux && a && b);
    row_values_init(&values, &cs, a, b, size.row_count);
    values.is_plain = true;
    if (has_rows)
        ASSERT_INT(cs_dictionary_init(&dictionary), 0);
    cs_init_values(&cs, inputs, size.input_count, aux, size.aux_count,
                   has_rows ? &values.sink : NULL, has_rows ? &dictionary : NULL);
    ASSERT_INT(circuit_synthesize(&cs, &circuit, &vanilla, fixture.public), 0);
    ASSERT_INT(cs.row_count, size.row_count);
    ASSERT_INT(cs.aux_count, size.aux_count);
    ASSERT_STR(digest_of(inputs, cs.input_count * sizeof *inputs).text, g->values.inputs);
    ASSERT_STR(digest_of(aux, cs.aux_count * sizeof *aux).text, g->values.aux);
    if (has_rows) {
        ASSERT_INT(values.row_count, size.row_count);
        ASSERT_INT(values.broken_count, 0);
        if (g->values.a)
            ASSERT_STR(digest_of(a, size.row_count * sizeof *a).text, g->values.a);
        if (g->values.b)
            ASSERT_STR(digest_of(b, size.row_count * sizeof *b).text, g->values.b);
    }
    row_values_destroy(&values);
    cs_destroy(&cs);
    dictionary_destroy(&dictionary);
    free(inputs);
    free(aux);
    free(a);
    free(b);
    circuit_vanilla_destroy(&vanilla);
    fixture_free(&fixture);
}

TEST(witnesses_are_the_public_ones)
{
    for (unsigned i = 0; i < GOLDEN_COUNT; i++)
        if (golden[i].fixture)
            assert_witness(&golden[i], false);
}

TEST(rows_evaluated_as_they_are_made_are_the_public_ones)
{
    for (unsigned i = 0; i < GOLDEN_COUNT; i++)
        if (golden[i].fixture && strcmp(golden[i].sector, "8MiB") != 0)
            assert_witness(&golden[i], true);
}

/* What a key is made with: synthesis evaluates it to the values that the circuit itself makes, and
 * finds every row satisfied, up to one that is not. */
static void assert_record(const struct golden *g)
{
    const struct circuit circuit = circuit_of(g);
    const struct curve *curve = curve_by_fr_modulus(bls12_381_fr_modulus);
    struct fixture fixture = fixture_load(g->fixture, g->suffix);
    struct circuit_vanilla vanilla;
    struct dictionary dictionary;
    struct matrix matrices[3];
    struct matrix_check check;
    struct row_values values;
    struct record record;
    size_t rows, constraints;
    fr *witness, *a, *b, *row;
    struct cs cs;

    ASSERT_INT(record_circuit(&record, &circuit, true), 0);
    ASSERT_INT(record_matrices(&record, matrices), 0);
    ASSERT_INT(circuit_vanilla_read(&vanilla, &circuit, fixture.data, fixture.size, NULL), 0);
    rows = record.size.row_count;
    witness = calloc((size_t)record.size.input_count + record.size.aux_count, sizeof *witness);
    a = calloc(rows, sizeof *a);
    b = calloc(rows, sizeof *b);
    row = calloc(rows, sizeof *row);
    ASSERT(witness && a && b && row);
    ASSERT_INT(cs_dictionary_init(&dictionary), 0);
    row_values_init(&values, &cs, a, b, rows);
    cs_init_values(&cs, witness, record.size.input_count, witness + record.size.input_count,
                   record.size.aux_count, &values.sink, &dictionary);
    ASSERT_INT(circuit_synthesize(&cs, &circuit, &vanilla, fixture.public), 0);
    curve->evaluate(&matrices[0], witness->l, row->l, 0, rows);
    ASSERT(memcmp(a, row, rows * sizeof *a) == 0);
    curve->evaluate(&matrices[1], witness->l, row->l, 0, rows);
    ASSERT(memcmp(b, row, rows * sizeof *b) == 0);
    constraints = rows - record.size.input_count;
    check = (struct matrix_check){
        .a = &matrices[0], .b = &matrices[1], .c = &matrices[2], .witness = witness->l};
    ASSERT_INT(curve->first_broken(&check, 0, constraints), constraints);
    witness[record.size.input_count].l[0] ^= 1;
    ASSERT(curve->first_broken(&check, 0, constraints) < constraints);
    row_values_destroy(&values);
    cs_destroy(&cs);
    dictionary_destroy(&dictionary);
    record_matrices_release(matrices);
    record_destroy(&record);
    circuit_vanilla_destroy(&vanilla);
    fixture_free(&fixture);
    free(witness);
    free(a);
    free(b);
    free(row);
}

TEST(recorded_matrices_evaluate_to_the_same_rows)
{
    for (unsigned i = 0; i < GOLDEN_COUNT; i++)
        if (golden[i].fixture && strcmp(golden[i].sector, "2KiB") == 0 && golden[i].rows.r1cs)
            assert_record(&golden[i]);
}

/* The SHA-256 gadgets of a 32 GiB circuit are 1,765 copies of one; counting walks none of them. */
TEST(sizes_of_production_circuits_are_the_public_ones)
{
    static const struct {
        const char *kind, *sector;
        uint64_t rows;
        uint32_t inputs, aux;
    } sizes[] = {{"snap", "512MiB", 57450484, 5, 57401314},
                 {"snap", "32GiB", 81049504, 5, 80978488},
                 {"snap", "64GiB", 85006106, 5, 84931220},
                 {"window", "32GiB", 125279217 + 25840, 25840, 126902376},
                 {"porep", "32GiB", 130278869, 328, 130169893}};

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const struct circuit circuit = fixture_circuit(sizes[i].kind, sizes[i].sector, 0, 0);
        struct circuit_size size;

        ASSERT_INT(circuit_measure(&circuit, &size), 0);
        ASSERT_INT(size.row_count, sizes[i].rows);
        ASSERT_INT(size.input_count, sizes[i].inputs);
        ASSERT_INT(size.aux_count, sizes[i].aux);
    }
}

TEST_MAIN(CASE(rows_of_blank_circuits_are_the_public_ones), CASE(witnesses_are_the_public_ones),
          CASE(rows_evaluated_as_they_are_made_are_the_public_ones),
          CASE(recorded_matrices_evaluate_to_the_same_rows),
          CASE(sizes_of_production_circuits_are_the_public_ones))
