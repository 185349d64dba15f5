/* The disposable jobs of cuzk-synth, as real processes, on good and hostile keys. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/prepared_format.h"
#include "tests/shm/worker_rig.h"
#include "tests/test.h"

static const char *line;

static bool prepare(const char *zkey, const char *r1cs, int *ret_out_fd)
{
    const int zkey_fd = rig_open(zkey), r1cs_fd = r1cs ? rig_open(r1cs) : -1;
    const int out_fd = memfd_create("prepared", MFD_CLOEXEC);
    bool ok;
    const int status =
        rig_helper(CUZK_SYNTH, "--prepare", zkey_fd, out_fd, r1cs_fd, NULL, &ok, &line);
    close(zkey_fd);
    if (r1cs_fd >= 0)
        close(r1cs_fd);
    ASSERT_INT(status, ok ? 0 : 1 << 8);
    if (ret_out_fd)
        *ret_out_fd = out_fd;
    else
        close(out_fd);
    return ok;
}

TEST(a_good_key_is_prepared_and_described)
{
    int fd;
    struct stat status;
    char text[64];
    ASSERT(prepare("good/chain12.bn128/circuit.zkey", "good/chain12.bn128/circuit.r1cs", &fd));
    ASSERT(strstr(line, "\"curve\":\"bn254\""));
    ASSERT(strstr(line, "\"variables\":4005"));
    ASSERT(strstr(line, "\"public\":3,"));
    ASSERT(strstr(line, "\"constraints\":4001"));
    ASSERT(strstr(line, "\"domain_log2\":12"));
    ASSERT(strstr(line, "\"has_c\":true"));
    ASSERT_INT(fstat(fd, &status), 0);
    snprintf(text, sizeof text, "\"file_bytes\":%lld", (long long)status.st_size);
    ASSERT(strstr(line, text));
    close(fd);
    ASSERT(prepare("good/chain12.bls12381/circuit.zkey", NULL, NULL));
    ASSERT(strstr(line, "\"curve\":\"bls12-381\""));
    ASSERT(strstr(line, "\"has_c\":false"));
}

TEST(a_foreign_or_truncated_r1cs_is_refused)
{
    ASSERT(!prepare("good/mul.bn128/circuit.zkey", "good/nopub.bn128/circuit.r1cs", NULL));
    ASSERT(!prepare("good/mul.bn128/circuit.zkey", "bad/r1cs_trunc.r1cs", NULL));
    ASSERT(strstr(line, ".r1cs"));
    ASSERT(prepare("good/mul.bn128/circuit.zkey", "bad/valid_r1cs_reordered.r1cs", NULL));
}

/* Every key of the manifest: valid_* is taken, the rest refused with a reason. */
TEST(every_key_of_the_manifest_is_judged)
{
    char path[4096], text[512];
    unsigned refused = 0, taken = 0;
    snprintf(path, sizeof path, "%s/bad/MANIFEST.tsv", FIXTURES);
    FILE *manifest = fopen(path, "r");
    ASSERT(manifest);
    while (fgets(text, sizeof text, manifest)) {
        char *end = strchr(text, '\t');
        if (!end || end - text < 5 || strncmp(end - 5, ".zkey", 5) != 0)
            continue;
        *end = 0;
        snprintf(path, sizeof path, "%s/bad/%s", FIXTURES, text);
        if (access(path, R_OK) < 0)
            continue; /* the special files */
        snprintf(path, sizeof path, "bad/%s", text);
        const bool ok = prepare(path, NULL, NULL);
        if (ok != (strncmp(text, "valid_", 6) == 0))
            fprintf(stderr, "%s: %s\n", text, line);
        ASSERT_INT(ok, strncmp(text, "valid_", 6) == 0);
        if (ok) {
            taken++;
        } else {
            refused++;
            ASSERT(strstr(line, "\"error\":\"the proving key (.zkey): ") ||
                   strstr(line, "\"error\":\"preparing the key: "));
        }
    }
    fclose(manifest);
    printf("  refused %u, took %u\n", refused, taken);
    ASSERT(refused >= 25 && taken >= 4);
}

TEST(a_directory_or_pipe_as_key_is_refused)
{
    int fds[2];
    bool ok;
    ASSERT(!prepare("bad", NULL, NULL));
    ASSERT_INT(pipe(fds), 0);
    const int out_fd = memfd_create("prepared", MFD_CLOEXEC);
    ASSERT_INT(rig_helper(CUZK_SYNTH, "--prepare", fds[0], out_fd, -1, NULL, &ok, &line), 1 << 8);
    ASSERT(!ok);
    close(out_fd);
    close(fds[0]);
    close(fds[1]);
}

TEST(a_prepared_key_is_loaded_only_with_its_digest)
{
    int fd;
    struct slab memory;
    struct slab_fault fault;
    struct stat status;
    bool ok;
    char hex[65];
    ASSERT(prepare("good/mul.bls12381/circuit.zkey", NULL, &fd));
    snprintf(hex, sizeof hex, "%s", strstr(line, "\"key_digest\":\"") + 14);
    ASSERT_INT(fstat(fd, &status), 0);
    ASSERT_INT(slab_create_key("key", (size_t)status.st_size, SLAB_PAGES_OFF, 0, &memory, &fault),
               0);
    ASSERT_INT(rig_helper(CUZK_SYNTH, "--load", fd, memory.fd, -1, hex, &ok, &line), 0);
    ASSERT(ok && strstr(line, hex));
    struct stat taken;
    ASSERT_INT(fstat(memory.fd, &taken), 0);
    ASSERT_INT(taken.st_blocks * 512, taken.st_size); /* every page is there */

    ASSERT_INT(rig_helper(CUZK_SYNTH, "--load", fd, memory.fd, -1, NULL, &ok, &line), 1 << 8);
    ASSERT(!ok);
    const char first = hex[0];
    hex[0] = first == '0' ? '1' : '0';
    ASSERT_INT(rig_helper(CUZK_SYNTH, "--load", fd, memory.fd, -1, hex, &ok, &line), 1 << 8);
    ASSERT(!ok);
    hex[0] = first;
    ASSERT_INT(rig_helper(CUZK_SYNTH, "--load", fd, memory.fd, -1, "zz", &ok, &line), 1 << 8);
    ASSERT(!ok);

    /* One flipped bit in the middle of the file. */
    uint8_t byte;
    ASSERT_INT(pread(fd, &byte, 1, status.st_size / 2), 1);
    byte ^= 1;
    ASSERT_INT(pwrite(fd, &byte, 1, status.st_size / 2), 1);
    ASSERT_INT(rig_helper(CUZK_SYNTH, "--load", fd, memory.fd, -1, hex, &ok, &line), 1 << 8);
    ASSERT(!ok);
    slab_destroy(&memory);
    close(fd);
}

static int prepare_fd(int in_fd, int r1cs_fd, int *ret_out_fd)
{
    bool ok;

    *ret_out_fd = memfd_create("prepared", MFD_CLOEXEC);
    return rig_helper(CUZK_SYNTH, "--prepare", in_fd, *ret_out_fd, r1cs_fd, NULL, &ok, &line);
}

/* A key that was prepared elsewhere is taken as it is, and described as the first time. */
TEST(a_prepared_key_is_taken_over)
{
    struct stat a, b;
    int fd, copy_fd;
    char first[2048];
    uint8_t ours[4096], theirs[4096];

    ASSERT(prepare("good/mul.bn128/circuit.zkey", "good/mul.bn128/circuit.r1cs", &fd));
    snprintf(first, sizeof first, "%s", strstr(line, "\"curve\""));
    ASSERT_INT(prepare_fd(fd, -1, &copy_fd), 0);
    ASSERT_STR(strstr(line, "\"curve\""), first);
    ASSERT_INT(fstat(fd, &a), 0);
    ASSERT_INT(fstat(copy_fd, &b), 0);
    ASSERT_INT(a.st_size, b.st_size);
    for (off_t off = 0; off < a.st_size; off += 4096) {
        ASSERT_INT(pread(fd, ours, 4096, off), 4096);
        ASSERT_INT(pread(copy_fd, theirs, 4096, off), 4096);
        ASSERT(memcmp(ours, theirs, 4096) == 0);
    }
    close(copy_fd);
    /* Its constraints are in it. */
    int r1cs_fd = rig_open("good/mul.bn128/circuit.r1cs");
    ASSERT_INT(prepare_fd(fd, r1cs_fd, &copy_fd), 1 << 8);
    ASSERT(strstr(line, "leave the .r1cs out"));
    close(copy_fd);
    close(r1cs_fd);
    close(fd);
}

static void put_digest(int fd)
{
    uint8_t image[1 << 20], digest[32], piece[32];
    uint64_t bytes = (uint64_t)pread(fd, image, sizeof image, 0);

    ASSERT(bytes < sizeof image);
    ASSERT(prepared_format_hash_piece(image, bytes, 0, piece));
    ASSERT(prepared_format_hash_root(bytes, piece, 1, digest));
    ASSERT_INT(pwrite(fd, digest, 32, offsetof(struct prepared_header, digest)), 32);
}

/* Bits flipped here and there are found by the digest; with a digest to match, by the checks. */
TEST(a_damaged_prepared_key_is_not_taken_over)
{
    static const struct {
        enum prepared_section section;
        const char *text;
    } places[] = {
        {PREPARED_VK, "verifying key"},
        {PREPARED_IC, "verifying key"},
        {PREPARED_A, "A point 0"},
        {PREPARED_B1, "B1 point"},
        {PREPARED_B2, "B2 point"},
        {PREPARED_L, "L point"},
        {PREPARED_H, "H point"},
        {PREPARED_A_COLUMNS, "matrix A"},
        {PREPARED_C_COEFFICIENTS, "matrix C"},
        {PREPARED_DICTIONARY, "dictionary"},
    };
    struct prepared_header header;
    int fd, copy_fd;

    ASSERT(prepare("good/mul.bls12381/circuit.zkey", "good/mul.bls12381/circuit.r1cs", &fd));
    ASSERT_INT(pread(fd, &header, sizeof header, 0), sizeof header);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        off_t at = (off_t)header.sections[places[i].section].off + 3;
        uint8_t byte, good;

        ASSERT_INT(pread(fd, &good, 1, at), 1);
        byte = good ^ 0x40;
        ASSERT_INT(pwrite(fd, &byte, 1, at), 1);
        ASSERT_INT(prepare_fd(fd, -1, &copy_fd), 1 << 8);
        ASSERT(strstr(line, "digest"));
        close(copy_fd);
        put_digest(fd);
        ASSERT_INT(prepare_fd(fd, -1, &copy_fd), 1 << 8);
        if (!strstr(line, places[i].text))
            fprintf(stderr, "%s\n", line);
        ASSERT(strstr(line, places[i].text));
        close(copy_fd);
        ASSERT_INT(pwrite(fd, &good, 1, at), 1);
        put_digest(fd);
    }
    ASSERT_INT(ftruncate(fd, (off_t)header.image_bytes - 1), 0);
    ASSERT_INT(prepare_fd(fd, -1, &copy_fd), 1 << 8);
    ASSERT(strstr(line, "truncated"));
    close(copy_fd);
    close(fd);
}

TEST_MAIN(CASE(a_good_key_is_prepared_and_described), CASE(a_foreign_or_truncated_r1cs_is_refused),
          CASE(every_key_of_the_manifest_is_judged), CASE(a_directory_or_pipe_as_key_is_refused),
          CASE(a_prepared_key_is_loaded_only_with_its_digest), CASE(a_prepared_key_is_taken_over),
          CASE(a_damaged_prepared_key_is_not_taken_over))
