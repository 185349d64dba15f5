/* The proving key's reader: every refusal, and every file of tests/fixtures/bad. */
#include "groth16/key/zkey.h"

#include <errno.h>
#include <sys/resource.h>

#include "groth16/key/r1cs.h"
#include "groth16/key/wtns.h"
#include "groth16/pool.h"
#include "tests/groth16/key_fixture.h"

static struct reason reason;

/* Header and all contents, as registering a circuit does. */
static int check_fd(int fd)
{
    struct zkey zkey;
    int error;

    memset(&reason, 0, sizeof reason);
    error = zkey_open(fd, &zkey, &reason);
    return error ? error : zkey_check(&zkey, NULL, &reason);
}

static int check(const struct bytes *bytes)
{
    int fd = bytes_fd(bytes), error = check_fd(fd);

    close(fd);
    return error;
}

TEST(good_keys_are_read)
{
    static const struct {
        const char *name;
        uint32_t variables, publics;
        unsigned domain_log2;
    } files[] = {{"good/mul.bn128/circuit.zkey", 4, 1, 2},
                 {"good/mul.bls12381/circuit.zkey", 4, 1, 2},
                 {"good/nopub.bn128/circuit.zkey", 5, 0, 2},
                 {"good/chain12.bls12381/circuit.zkey", 4005, 3, 12},
                 {"good/merkle20.bn128/circuit.zkey", 11458, 3, 14}};
    struct pool *pool;

    ASSERT_INT(pool_create(2, &pool), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int fd = fixture_open(files[i].name);
        struct zkey zkey;

        ASSERT_INT(zkey_open(fd, &zkey, &reason), 0);
        ASSERT_INT(zkey.variable_count, files[i].variables);
        ASSERT_INT(zkey.public_count, files[i].publics);
        ASSERT_INT(zkey.domain_log2, files[i].domain_log2);
        ASSERT_INT(zkey_check(&zkey, pool, &reason), 0);
        close(fd);
    }
    pool_free(pool);
}

/* One row of MANIFEST.tsv that has a file: does the reader of its kind do what the row says? */
static void check_manifest_row(const char *file, const char *should)
{
    bool wants_good = strncmp(file, "valid_", 6) == 0;
    char path[128];
    int fd, error;

    snprintf(path, sizeof path, "bad/%s", file);
    fd = fixture_open(path);
    if (strstr(file, ".zkey")) {
        error = check_fd(fd);
    } else if (strstr(file, ".wtns")) {
        struct wtns wtns = {0};

        error = wtns_open(fd, &wtns, &reason);
        if (error == 0)
            error = wtns_match(&wtns, &curve_bn254, 4, &reason);
        /* Values are for the worker that holds them. */
        if (error == 0 && strstr(file, "not_reduced")) {
            uint64_t values[16];

            ASSERT_INT(pread(fd, values, sizeof values, (off_t)wtns.data_off), sizeof values);
            ASSERT_INT(wtns.curve->scalars_check(values, 4), 2);
            error = -EBADMSG;
        } else if (strstr(file, "unsatisfied")) {
            ASSERT_INT(error, 0); /* test_prepared finds the broken constraint */
            error = -EBADMSG;
        }
    } else {
        const struct r1cs_sink sink = {0};
        struct r1cs r1cs;

        error = r1cs_open(fd, &r1cs, &reason);
        if (error == 0)
            error = r1cs_read(&r1cs, &sink, &reason);
    }
    if (error != (wants_good ? 0 : -EBADMSG))
        fprintf(stderr, "%s: %d, %s; should: %s\n", file, error, reason.text, should);
    ASSERT_INT(error, wants_good ? 0 : -EBADMSG);
    ASSERT(wants_good || strlen(reason.text) > 20 || strstr(file, "not_reduced") ||
           strstr(file, "unsatisfied"));
    close(fd);
}

TEST(every_file_of_the_manifest_is_judged_as_it_says)
{
    FILE *manifest = fopen(FIXTURES "/bad/MANIFEST.tsv", "r");
    char line[1024];
    int rows = 0;

    ASSERT(manifest && fgets(line, sizeof line, manifest));
    while (fgets(line, sizeof line, manifest)) {
        char *rest = line, *file = strsep(&rest, "\t"), *should;
        char path[256];

        strsep(&rest, "\t");
        strsep(&rest, "\t");
        should = strsep(&rest, "\t");
        snprintf(path, sizeof path, "%s/bad/%s", FIXTURES, file);
        if (access(path, F_OK) != 0)
            continue; /* the special files */
        check_manifest_row(file, should);
        rows++;
    }
    fclose(manifest);
    ASSERT_INT(rows, 42);
}

TEST(every_truncation_is_refused)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");

    /* Section 10 is not needed: without it only its header must be whole. */
    while (file.count-- > 0)
        ASSERT_INT(check(&file), -EBADMSG);
    bytes_free(&file);
}

TEST(special_files_are_refused)
{
    int fds[2], fd = open("/tmp", O_RDONLY | O_DIRECTORY);

    ASSERT_INT(check_fd(fd), -EISDIR);
    close(fd);
    ASSERT_INT(pipe(fds), 0);
    ASSERT_INT(check_fd(fds[0]), -EINVAL);
    close(fds[0]);
    close(fds[1]);
}

/* Writes a u32 into a section of a good key and expects a refusal that says `says`. */
static void refuse_u32(uint32_t section, size_t off, uint32_t value, const char *says)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");

    put_u32(bytes_section(&file, section) + off, value);
    ASSERT_INT(check(&file), -EBADMSG);
    ASSERT_SAYS(reason, says);
    bytes_free(&file);
}

enum { /* offsets in section 2 of a bn254 key */
       Q_OFF = 4,
       N8R_OFF = 36,
       R_OFF = 40,
       COUNTS_OFF = 72,
       POINTS_OFF = 84,
};

TEST(header_numbers_are_checked)
{
    refuse_u32(1, 0, 2, "PLONK");
    refuse_u32(1, 0, 10, "FFLONK");
    refuse_u32(1, 0, 0, "only Groth16");
    refuse_u32(2, 0, 48, "bytes instead of");
    refuse_u32(2, 0, 40, "n8q");
    refuse_u32(2, 0, 0, "n8q");
    refuse_u32(2, Q_OFF, 5, "different curves");
    refuse_u32(2, N8R_OFF, 48, "n8r");
    refuse_u32(2, R_OFF, 7, "neither");
    refuse_u32(2, COUNTS_OFF, 5, "section 5 (A points)");
    refuse_u32(2, COUNTS_OFF, 0, "do not fit");
    refuse_u32(2, COUNTS_OFF + 4, 4, "do not fit");
    refuse_u32(2, COUNTS_OFF + 4, 2, "section 3 (IC points)");
    refuse_u32(2, COUNTS_OFF + 8, 0, "domain size");
    refuse_u32(2, COUNTS_OFF + 8, 1, "domain size");
    refuse_u32(2, COUNTS_OFF + 8, 6, "domain size");
    refuse_u32(2, COUNTS_OFF + 8, 1u << 29, "domain size");
    refuse_u32(2, COUNTS_OFF + 8, 8, "section 9 (H points)");
    refuse_u32(4, 0, 3, "counts 3 entries");
}

TEST(too_many_public_signals_are_refused_in_words)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
    uint8_t *header = bytes_section(&file, 2);

    put_u32(header + COUNTS_OFF, 100000);
    put_u32(header + COUNTS_OFF + 4, 70000);
    ASSERT_INT(check(&file), -EBADMSG);
    ASSERT_SAYS(reason, "70000 public signals");
    bytes_free(&file);
}

TEST(coefficients_are_checked)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
    uint8_t *entry = bytes_section(&file, 4) + 4 + ZKEY_COEFFICIENT_BYTES;

    refuse_u32(4, 4, 2, "matrix is neither");
    refuse_u32(4, 8, 4, "outside the domain");
    refuse_u32(4, 12, 4, "signal is not below");
    memset(entry + 12, 0xff, 32);
    ASSERT_INT(check(&file), -EBADMSG);
    ASSERT_SAYS(reason, "entry 1 at byte");
    bytes_free(&file);
}

TEST(header_points_are_checked)
{
    for (size_t point = 0; point < 9; point++) { /* in units of 64 bytes; G2 takes two */
        struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
        uint8_t *at = bytes_section(&file, 2) + POINTS_OFF + 64 * point;

        at[3] ^= 4;
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, "not on");
        at[3] ^= 4;
        memset(at, 0xff, 32);
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, "not below");
        bytes_free(&file);
    }
}

TEST(header_points_at_infinity_are_refused)
{
    static const struct {
        size_t off, bytes;
        const char *name;
    } points[] = {{0, 64, "alpha1"},    {64, 64, "beta1"},   {128, 128, "beta2"},
                  {256, 128, "gamma2"}, {384, 64, "delta1"}, {448, 128, "delta2"}};

    for (size_t i = 0; i < 6; i++) {
        struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");

        memset(bytes_section(&file, 2) + POINTS_OFF + points[i].off, 0, points[i].bytes);
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, points[i].name);
        ASSERT_SAYS(reason, "infinity");
        bytes_free(&file);
    }
}

TEST(every_point_section_is_checked_and_the_point_named)
{
    static const struct {
        uint32_t section;
        const char *says;
    } sections[] = {{3, "section 3 (IC points): point 1 at byte"},
                    {5, "section 5 (A points): point 1 at byte"},
                    {6, "section 6 (B1 points): point 1 at byte"},
                    {7, "section 7 (B2 points): point 1 at byte"},
                    {8, "section 8 (C points): point 1 at byte"},
                    {9, "section 9 (H points): point 1 at byte"}};

    for (size_t i = 0; i < 6; i++) {
        struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
        size_t bytes = sections[i].section == 7 ? 128 : 64;
        uint8_t *at = bytes_section(&file, sections[i].section) + bytes;

        memset(at, 0, bytes);
        ASSERT_INT(check(&file), 0); /* infinity is common */
        at[bytes - 1] = 0x20;
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, sections[i].says);
        memset(at, 0xff, bytes);
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, "not below");
        bytes_free(&file);
    }
}

TEST(points_outside_the_subgroup_are_refused_where_it_matters)
{
    /* (0, 2) on y^2 = x^3 + 4 has order 3. */
    uint64_t point[12] = {0};
    const uint64_t two[6] = {2};
    struct bytes file = bytes_read("good/mul.bls12381/circuit.zkey");
    uint8_t *ic = bytes_section(&file, 3), *header = bytes_section(&file, 2);

    curve_bls12_381.fp_from_plain(point + 6, two);
    memcpy(ic, point, sizeof point);
    ASSERT_INT(check(&file), -EBADMSG);
    ASSERT_SAYS(reason, "section 3 (IC points): point 0");
    ASSERT_SAYS(reason, "subgroup");
    memcpy(header + 4 + 48 + 4 + 32 + 12, point, sizeof point);
    ASSERT_INT(check(&file), -EBADMSG);
    ASSERT_SAYS(reason, "alpha1");
    bytes_free(&file);
}

TEST(duplicate_and_missing_sections_are_named)
{
    for (uint32_t id = 1; id <= 9; id++) {
        struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
        uint8_t *section = bytes_section(&file, id);
        char says[32];

        put_u32(section - 12, 77);
        snprintf(says, sizeof says, "section %u", id);
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, says);
        ASSERT_SAYS(reason, "missing");
        put_u32(section - 12, id);
        put_u32(bytes_section(&file, 10) - 12, id);
        ASSERT_INT(check(&file), -EBADMSG);
        ASSERT_SAYS(reason, says);
        ASSERT_SAYS(reason, "twice");
        bytes_free(&file);
    }
}

static long max_rss_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A hole of 5 GiB in an unknown section before section 9. */
TEST(sections_beyond_5_gib_are_read_in_flat_memory)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
    uint8_t *h = bytes_section(&file, 9) - 12;
    size_t head = (size_t)(h - file.at);
    const uint64_t hole = UINT64_C(5) << 30;
    uint8_t section[12] = {99};
    char path[] = "/tmp/cuzk-test-XXXXXX";
    int fd = mkstemp(path);
    long before = max_rss_kib();
    struct zkey zkey;

    unlink(path);
    ASSERT(fd >= 0);
    put_u64(section + 4, hole);
    put_u32(file.at + 8, 11);
    ASSERT_INT(pwrite(fd, file.at, head, 0), head);
    ASSERT_INT(pwrite(fd, section, 12, (off_t)head), 12);
    ASSERT_INT(pwrite(fd, h, file.count - head, (off_t)(head + 12 + hole)), file.count - head);
    ASSERT_INT(zkey_open(fd, &zkey, &reason), 0);
    ASSERT(zkey.sections[ZKEY_H].off > hole);
    ASSERT_INT(zkey_check(&zkey, NULL, &reason), 0);
    ASSERT(max_rss_kib() - before < 64 << 10);
    close(fd);
    bytes_free(&file);
}

/* 4 GiB of H, all infinity, in a sparse file. */
TEST(a_section_of_4_gib_is_checked_in_flat_memory)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.zkey");
    uint8_t *h = bytes_section(&file, 9);
    size_t head = (size_t)(h - file.at);
    char path[] = "/tmp/cuzk-test-XXXXXX";
    int fd = mkstemp(path);
    long before = max_rss_kib();
    struct pool *pool;
    struct zkey zkey;

    unlink(path);
    ASSERT(fd >= 0);
    put_u32(file.at + 8, 9);
    put_u32(bytes_section(&file, 2) + COUNTS_OFF + 8, 1u << 26);
    put_u64(h - 8, UINT64_C(64) << 26);
    ASSERT_INT(pwrite(fd, file.at, head, 0), head);
    ASSERT_INT(ftruncate(fd, (off_t)(head + (UINT64_C(64) << 26))), 0);
    ASSERT_INT(pool_create(2, &pool), 0);
    ASSERT_INT(zkey_open(fd, &zkey, &reason), 0);
    ASSERT_INT(zkey_check(&zkey, pool, &reason), 0);
    ASSERT(max_rss_kib() - before < 64 << 10);
    pool_free(pool);
    close(fd);
    bytes_free(&file);
}

TEST_MAIN(CASE(good_keys_are_read), CASE(every_file_of_the_manifest_is_judged_as_it_says),
          CASE(every_truncation_is_refused), CASE(special_files_are_refused),
          CASE(header_numbers_are_checked), CASE(too_many_public_signals_are_refused_in_words),
          CASE(coefficients_are_checked), CASE(header_points_are_checked),
          CASE(header_points_at_infinity_are_refused),
          CASE(every_point_section_is_checked_and_the_point_named),
          CASE(points_outside_the_subgroup_are_refused_where_it_matters),
          CASE(duplicate_and_missing_sections_are_named),
          CASE(sections_beyond_5_gib_are_read_in_flat_memory),
          CASE(a_section_of_4_gib_is_checked_in_flat_memory))
