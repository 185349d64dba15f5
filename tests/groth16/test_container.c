/* The section container, the witness header and the constraint stream: every refusal. */
#include "groth16/key/container.h"
#include "groth16/key/r1cs.h"
#include "groth16/key/wtns.h"

#include <errno.h>

#include "groth16/curve/curve.h"
#include "tests/groth16/key_fixture.h"

static struct reason reason;

static int open_wtns(const struct bytes *bytes, struct wtns *ret)
{
    int fd = bytes_fd(bytes), error;

    memset(&reason, 0, sizeof reason);
    error = wtns_open(fd, ret, &reason);
    close(fd);
    return error;
}

TEST(witness_is_found)
{
    struct wtns wtns;
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");

    ASSERT_INT(open_wtns(&file, &wtns), 0);
    ASSERT_INT(wtns.value_count, 4);
    ASSERT_INT(wtns.data_off, 76);
    ASSERT_INT(wtns.data_bytes, 128);
    ASSERT(wtns.curve == &curve_bn254);
    memset(&wtns, 0, sizeof wtns);
    ASSERT_INT(wtns_parse(file.at, file.count, file.count, &wtns, &reason), 0);
    ASSERT_INT(wtns.data_off, 76);
    /* The head alone is enough. */
    ASSERT_INT(wtns_parse(file.at, 76, file.count, &wtns, &reason), 0);
    ASSERT_INT(wtns_parse(file.at, 60, file.count, &wtns, &reason), -EAGAIN);
    ASSERT_INT(wtns_match(&wtns, &curve_bn254, 4, &reason), 0);
    ASSERT_INT(wtns_match(&wtns, &curve_bls12_381, 4, &reason), -EBADMSG);
    ASSERT_INT(wtns_match(&wtns, &curve_bn254, 5, &reason), -EBADMSG);
    bytes_free(&file);
    file = bytes_read("good/mul.bls12381/w1.wtns");
    ASSERT_INT(open_wtns(&file, &wtns), 0);
    ASSERT(wtns.curve == &curve_bls12_381);
    bytes_free(&file);
}

TEST(witness_sections_may_be_swapped)
{
    struct wtns wtns;
    struct bytes file = bytes_read("bad/valid_wtns_sections_swapped.wtns");

    ASSERT_INT(open_wtns(&file, &wtns), 0);
    ASSERT_INT(wtns.data_off, 24);
    ASSERT_INT(wtns_parse(file.at, 100, file.count, &wtns, &reason), -EAGAIN);
    bytes_free(&file);
}

TEST(every_truncation_of_a_witness_is_refused)
{
    struct wtns wtns;
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");

    while (file.count-- > 0)
        ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    bytes_free(&file);
}

TEST(witness_header_is_checked)
{
    struct wtns wtns;
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");
    uint8_t *header = bytes_section(&file, 1);

    header[4] ^= 1;
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "prime");
    header[4] ^= 1;
    put_u32(header, 48);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "values of 48 bytes");
    put_u32(header, 32);
    put_u32(header + 36, 3);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "counts 3 values");
    put_u32(header + 36, UINT32_MAX);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    put_u32(header + 36, 0);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    bytes_free(&file);
}

TEST(special_files_are_refused_without_hanging)
{
    struct wtns wtns;
    int fds[2], fd = open("/tmp", O_RDONLY | O_DIRECTORY);

    ASSERT_INT(wtns_open(fd, &wtns, &reason), -EISDIR);
    close(fd);
    ASSERT_INT(pipe(fds), 0);
    ASSERT_INT(wtns_open(fds[0], &wtns, &reason), -EINVAL);
    ASSERT_SAYS(reason, "not a regular file");
    close(fds[0]);
    close(fds[1]);
    ASSERT_INT(wtns_open(-1, &wtns, &reason), -EBADF);
}

TEST(section_sizes_that_wrap_are_refused)
{
    struct wtns wtns;
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");

    put_u64(bytes_section(&file, 1) - 8, UINT64_MAX - 11);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "claims");
    put_u64(file.at + 12 + 4, INT64_MAX);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    bytes_free(&file);
}

TEST(section_count_is_bounded)
{
    struct wtns wtns;
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");

    put_u32(file.at + 8, UINT32_MAX);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "sections");
    put_u32(file.at + 8, 3);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "in the header of section 3");
    bytes_free(&file);
}

TEST(versions_are_checked)
{
    struct wtns wtns;
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");

    for (uint32_t version = 1; version <= 2; version++) {
        put_u32(file.at + 4, version);
        ASSERT_INT(open_wtns(&file, &wtns), 0);
    }
    put_u32(file.at + 4, 3);
    ASSERT_INT(open_wtns(&file, &wtns), -EBADMSG);
    ASSERT_SAYS(reason, "version 3");
    bytes_free(&file);
}

TEST(a_file_that_shrinks_while_read_is_noticed)
{
    struct bytes file = bytes_read("good/mul.bn128/w1.wtns");
    struct container container;
    uint8_t buffer[64];
    int fd = bytes_fd(&file);

    ASSERT_INT(container_open(fd, "wtns", 2, &container, &reason), 0);
    ASSERT_INT(ftruncate(fd, 100), 0);
    ASSERT_INT(container_read(&container, 76, buffer, sizeof buffer, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "shorter");
    ASSERT_INT(container_read(&container, file.count - 1, buffer, 2, &reason), -EBADMSG);
    ASSERT_INT(container_read(&container, UINT64_MAX, buffer, 2, &reason), -EBADMSG);
    close(fd);
    bytes_free(&file);
}

TEST(reason_texts_are_cut_and_printable)
{
    char long_text[1000];

    memset(long_text, 'x', sizeof long_text);
    long_text[0] = '\n';
    long_text[999] = '\0';
    ASSERT_INT(reason_set(&reason, -5, "%s", long_text), -5);
    ASSERT_INT(strlen(reason.text), 511);
    ASSERT_INT(reason.text[0], '?');
    ASSERT_INT(reason_set(NULL, -7, "%s", long_text), -7);
}

struct counts {
    uint32_t terms[3], ends;
    int answer;
};

static int count_term(void *context, uint32_t constraint, enum r1cs_matrix matrix, uint32_t wire,
                      const uint64_t *value)
{
    struct counts *counts = context;

    (void)constraint, (void)wire, (void)value;
    counts->terms[matrix]++;
    return counts->answer;
}

static int count_end(void *context, uint32_t constraint)
{
    struct counts *counts = context;

    ASSERT_INT(constraint, counts->ends);
    counts->ends++;
    return 0;
}

static int read_r1cs(const struct bytes *bytes, struct r1cs *r1cs, struct counts *counts)
{
    const struct r1cs_sink sink = {counts, count_term, count_end};
    int fd = bytes_fd(bytes), error = r1cs_open(fd, r1cs, &reason);

    counts->ends = 0;
    if (error == 0)
        error = r1cs_read(r1cs, &sink, &reason);
    close(fd);
    return error;
}

TEST(constraints_are_streamed)
{
    static const struct {
        const char *name;
        uint32_t wires, publics, constraints;
    } files[] = {{"good/mul.bn128/circuit.r1cs", 4, 1, 1},
                 {"good/nopub.bls12381/circuit.r1cs", 5, 0, 2},
                 {"good/merkle20.bn128/circuit.r1cs", 11458, 3, 11434},
                 {"good/chain12.bls12381/circuit.r1cs", 4005, 3, 4001},
                 {"bad/valid_r1cs_reordered.r1cs", 4, 1, 1}};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct bytes file = bytes_read(files[i].name);
        struct counts counts = {0};
        struct r1cs r1cs;

        ASSERT_INT(read_r1cs(&file, &r1cs, &counts), 0);
        ASSERT_INT(r1cs.wire_count, files[i].wires);
        ASSERT_INT(r1cs.public_output_count + r1cs.public_input_count, files[i].publics);
        ASSERT_INT(r1cs.constraint_count, files[i].constraints);
        ASSERT_INT(counts.ends, files[i].constraints);
        ASSERT(counts.terms[0] > 0 && counts.terms[1] > 0 && counts.terms[2] > 0);
        bytes_free(&file);
    }
}

TEST(bad_constraints_are_refused)
{
    struct bytes file = bytes_read("good/mul.bn128/circuit.r1cs");
    uint8_t *rows = bytes_section(&file, 2), *header = bytes_section(&file, 1);
    struct counts counts = {0};
    struct r1cs r1cs;
    uint32_t old = get_u32(rows);

    put_u32(rows, UINT32_MAX);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    ASSERT_SAYS(reason, "terms in A");
    put_u32(rows, old);

    old = get_u32(rows + 4);
    put_u32(rows + 4, 4);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    ASSERT_SAYS(reason, "wire 4 of 4");
    put_u32(rows + 4, old);

    memset(rows + 8, 0xff, 32);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    ASSERT_SAYS(reason, "not below the prime");
    bytes_free(&file);

    file = bytes_read("good/mul.bn128/circuit.r1cs");
    header = bytes_section(&file, 1);
    put_u32(header + 60, 2);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    put_u32(header + 60, 0);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    ASSERT_SAYS(reason, "goes on");
    put_u32(header + 60, UINT32_MAX);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    put_u32(header + 60, 1);
    put_u32(header + 36, 2);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    ASSERT_SAYS(reason, "cannot hold");
    put_u32(header + 36, 4);
    put_u32(file.at + 4, 2);
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    ASSERT_SAYS(reason, "version");
    put_u32(file.at + 4, 1);
    counts.answer = -ECANCELED;
    ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -ECANCELED);
    bytes_free(&file);
}

TEST(every_truncation_of_constraints_is_refused)
{
    struct bytes file = bytes_read("good/mul.bls12381/circuit.r1cs");
    struct counts counts = {0};
    struct r1cs r1cs;

    while (file.count-- > 0)
        ASSERT_INT(read_r1cs(&file, &r1cs, &counts), -EBADMSG);
    bytes_free(&file);
}

TEST_MAIN(CASE(witness_is_found), CASE(witness_sections_may_be_swapped),
          CASE(every_truncation_of_a_witness_is_refused), CASE(witness_header_is_checked),
          CASE(special_files_are_refused_without_hanging),
          CASE(section_sizes_that_wrap_are_refused), CASE(section_count_is_bounded),
          CASE(versions_are_checked), CASE(a_file_that_shrinks_while_read_is_noticed),
          CASE(reason_texts_are_cut_and_printable), CASE(constraints_are_streamed),
          CASE(bad_constraints_are_refused), CASE(every_truncation_of_constraints_is_refused))
