/* The prepared key: made from real keys, loaded, attached, used; damaged in every way. */
#include "groth16/key/prepared.h"

#include <errno.h>

#include "groth16/key/prepared_format.h"
#include "groth16/key/vkey_json.h"
#include "groth16/key/wtns.h"
#include "groth16/pool.h"
#include "tests/groth16/key_fixture.h"

static struct reason reason;

struct image {
    int fd;
    uint8_t *memory;
    size_t bytes;
    uint8_t digest[PREPARED_DIGEST_BYTES];
    struct prepared prepared;
};

static int prepare_fds(int zkey_fd, int r1cs_fd, struct pool *pool, int out_fd, uint8_t *digest)
{
    struct zkey zkey;
    struct r1cs r1cs;
    int error = zkey_open(zkey_fd, &zkey, &reason);

    if (error == 0 && r1cs_fd >= 0)
        error = r1cs_open(r1cs_fd, &r1cs, &reason);
    if (error == 0)
        error =
            prepared_write(&zkey, r1cs_fd >= 0 ? &r1cs : NULL, out_fd, pool, NULL, digest, &reason);
    return error;
}

static int prepare_bytes(const struct bytes *zkey, const struct bytes *r1cs)
{
    uint8_t digest[PREPARED_DIGEST_BYTES];
    int zkey_fd = bytes_fd(zkey), r1cs_fd = r1cs ? bytes_fd(r1cs) : -1;
    int out = memfd_create("out", MFD_CLOEXEC);
    int error = prepare_fds(zkey_fd, r1cs_fd, NULL, out, digest);

    close(zkey_fd);
    close(out);
    if (r1cs)
        close(r1cs_fd);
    return error;
}

/* good/NAME, with its .r1cs, loaded and attached. */
static struct image image_make(const char *name, bool with_r1cs, struct pool *pool)
{
    struct image image = {.fd = memfd_create("image", MFD_CLOEXEC)};
    char path[128];
    int zkey_fd, r1cs_fd = -1;
    struct stat st;

    snprintf(path, sizeof path, "good/%s/circuit.zkey", name);
    zkey_fd = fixture_open(path);
    if (with_r1cs) {
        snprintf(path, sizeof path, "good/%s/circuit.r1cs", name);
        r1cs_fd = fixture_open(path);
    }
    ASSERT_INT(prepare_fds(zkey_fd, r1cs_fd, pool, image.fd, image.digest), 0);
    close(zkey_fd);
    if (with_r1cs)
        close(r1cs_fd);
    ASSERT_INT(fstat(image.fd, &st), 0);
    image.bytes = (size_t)st.st_size;
    image.memory = aligned_alloc(4096, image.bytes);
    ASSERT(image.memory);
    memset(image.memory, 0xee, image.bytes);
    ASSERT_INT(
        prepared_load(image.fd, image.memory, image.bytes, image.digest, pool, NULL, &reason), 0);
    ASSERT_INT(prepared_attach(image.memory, image.bytes, &image.prepared, &reason), 0);
    return image;
}

static void image_free(struct image *image)
{
    close(image->fd);
    free(image->memory);
}

/* Witness values of good/NAME/w1.wtns or a bad file; caller frees. */
static uint64_t *read_witness(const char *path, size_t count)
{
    struct wtns wtns;
    uint64_t *values = malloc(count * 32);
    int fd = fixture_open(path);

    ASSERT_INT(wtns_open(fd, &wtns, &reason), 0);
    ASSERT_INT(wtns.value_count, count);
    ASSERT_INT(pread(fd, values, wtns.data_bytes, (off_t)wtns.data_off), wtns.data_bytes);
    close(fd);
    return values;
}

static size_t first_broken(const struct prepared *prepared, const uint64_t *witness)
{
    size_t rows = (size_t)1 << prepared->shape.domain_log2, broken;
    uint64_t *a = malloc(rows * 32), *b = malloc(rows * 32);

    prepared->curve->evaluate(&prepared->matrix_a, witness, a, 0, rows);
    prepared->curve->evaluate(&prepared->matrix_b, witness, b, 0, rows);
    broken = prepared_check_constraints(prepared, witness, a, b, 0, rows);
    /* Without the rows the answer is the same, from any place on. */
    ASSERT_INT(prepared_check_constraints(prepared, witness, NULL, NULL, 0, rows), broken);
    if (broken < rows) {
        ASSERT_INT(prepared_check_constraints(prepared, witness, NULL, NULL, 0, broken), broken);
        ASSERT_INT(prepared_check_constraints(prepared, witness, NULL, NULL, broken, rows), broken);
    }
    free(a);
    free(b);
    return broken == rows ? SIZE_MAX : broken;
}

TEST(real_keys_are_prepared_and_their_witnesses_hold)
{
    static const char *const names[] = {"mul.bn128",      "mul.bls12381",  "nopub.bn128",
                                        "nopub.bls12381", "chain12.bn128", "chain12.bls12381",
                                        "merkle20.bn128"};
    struct pool *pool;

    ASSERT_INT(pool_create(3, &pool), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct image image = image_make(names[i], true, pool);
        const struct prepared_shape *shape = &image.prepared.shape;
        char path[128];
        uint64_t *witness;

        snprintf(path, sizeof path, "good/%s/w1.wtns", names[i]);
        witness = read_witness(path, shape->variable_count);
        ASSERT(image.prepared.has_c);
        ASSERT_INT(shape->row_count, shape->constraint_count + shape->public_count + 1);
        ASSERT(first_broken(&image.prepared, witness) == SIZE_MAX);
        /* A wrong value in the middle breaks something. */
        witness[4 * (shape->variable_count / 2)] ^= 1;
        ASSERT(first_broken(&image.prepared, witness) < shape->constraint_count);
        free(witness);
        image_free(&image);
    }
    pool_free(pool);
}

TEST(the_first_broken_constraint_is_named)
{
    struct image image = image_make("mul.bn128", true, NULL);
    uint64_t *witness = read_witness("bad/wtns_unsatisfied.wtns", 4);

    ASSERT_INT(first_broken(&image.prepared, witness), 0);
    free(witness);
    image_free(&image);

    /* chain12: w[4..] are intermediate values in order; breaking late leaves the early ones. */
    image = image_make("chain12.bn128", true, NULL);
    witness = read_witness("good/chain12.bn128/w1.wtns", 4005);
    witness[4 * 4000]++;
    size_t broken = first_broken(&image.prepared, witness);
    ASSERT(broken > 3000 && broken < 4001);
    free(witness);
    image_free(&image);
}

TEST(numbers_points_and_digests_are_those_of_the_key)
{
    struct image image = image_make("mul.bls12381", true, NULL), without, header;
    struct bytes zkey = bytes_read("good/mul.bls12381/circuit.zkey");
    struct bytes vkey_text = bytes_read("good/mul.bls12381/vkey.json");
    const struct prepared *p = &image.prepared;
    struct vkey_json vkey;
    uint8_t digest[VKEY_DIGEST_BYTES];

    ASSERT(p->curve == &curve_bls12_381);
    ASSERT_INT(p->shape.variable_count, 4);
    ASSERT_INT(p->shape.public_count, 1);
    ASSERT_INT(p->shape.constraint_count, 1);
    ASSERT_INT(p->shape.domain_log2, 2);
    ASSERT_INT(p->shape.c_entry_count, 1);
    ASSERT_INT(p->shape.slab_bytes, 3 * 4096);
    ASSERT_INT(p->shape.slab_bytes, prepared_slab_bytes(p));
    ASSERT_INT(p->l_count, 2);
    ASSERT_INT(p->h_count, 4);
    ASSERT(memcmp(p->a, bytes_section(&zkey, 5), 4 * 96) == 0);
    ASSERT(memcmp(p->b1, bytes_section(&zkey, 6), 4 * 96) == 0);
    ASSERT(memcmp(p->b2, bytes_section(&zkey, 7), 4 * 192) == 0);
    ASSERT(memcmp(p->l, bytes_section(&zkey, 8), 2 * 96) == 0);
    ASSERT(memcmp(p->h, bytes_section(&zkey, 9), 4 * 96) == 0);
    ASSERT_INT(vkey_json_read((char *)vkey_text.at, vkey_text.count, &vkey, &reason), 0);
    ASSERT_INT(vkey_json_digest(vkey.curve, &vkey.key, digest), 0);
    ASSERT(memcmp(digest, p->verify_key_digest, sizeof digest) == 0);
    ASSERT(memcmp(p->digest, image.digest, sizeof p->digest) == 0);

    without = image_make("mul.bls12381", false, NULL);
    ASSERT(!without.prepared.has_c);
    ASSERT_INT(without.prepared.shape.constraint_count, 1);
    ASSERT(memcmp(without.digest, image.digest, sizeof image.digest) != 0);
    ASSERT_INT(prepared_read_header(image.fd, &header.prepared, &reason), 0);
    ASSERT_INT(header.prepared.shape.a_entry_count, p->shape.a_entry_count);
    ASSERT_INT(header.prepared.image_bytes, image.bytes);
    vkey_json_free(&vkey);
    bytes_free(&zkey);
    bytes_free(&vkey_text);
    image_free(&image);
    image_free(&without);
}

TEST(the_digest_does_not_depend_on_threads)
{
    struct pool *pool;
    struct image one = image_make("merkle20.bn128", true, NULL), many;

    ASSERT_INT(pool_create(5, &pool), 0);
    many = image_make("merkle20.bn128", true, pool);
    ASSERT(memcmp(one.digest, many.digest, sizeof one.digest) == 0);
    image_free(&one);
    image_free(&many);
    pool_free(pool);
}

/* Swaps the entries of section 4 end for end. */
static void reverse_coefficients(struct bytes *zkey)
{
    uint8_t *first = bytes_section(zkey, 4) + 4, *last, swap[ZKEY_COEFFICIENT_BYTES];

    last = first + (get_u32(first - 4) - 1) * ZKEY_COEFFICIENT_BYTES;
    for (; first < last; first += ZKEY_COEFFICIENT_BYTES, last -= ZKEY_COEFFICIENT_BYTES) {
        memcpy(swap, first, sizeof swap);
        memcpy(first, last, sizeof swap);
        memcpy(last, swap, sizeof swap);
    }
}

TEST(coefficients_come_in_any_order)
{
    struct bytes zkey = bytes_read("good/chain12.bn128/circuit.zkey");
    struct bytes r1cs = bytes_read("good/chain12.bn128/circuit.r1cs");

    reverse_coefficients(&zkey);
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), 0);
    bytes_free(&zkey);
    bytes_free(&r1cs);
}

TEST(an_r1cs_of_another_circuit_is_refused)
{
    struct bytes zkey = bytes_read("good/mul.bn128/circuit.zkey");
    struct bytes r1cs = bytes_read("good/nopub.bn128/circuit.r1cs");

    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, "wires");
    bytes_free(&r1cs);
    r1cs = bytes_read("good/mul.bls12381/circuit.r1cs");
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, "over bls12-381");
    bytes_free(&r1cs);
    bytes_free(&zkey);
}

TEST(the_first_differing_constraint_is_named)
{
    struct bytes zkey = bytes_read("good/chain12.bn128/circuit.zkey");
    struct bytes r1cs = bytes_read("good/chain12.bn128/circuit.r1cs");
    uint8_t *entry = bytes_section(&zkey, 4) + 4;
    uint32_t count = get_u32(entry - 4), i = 0;
    char says[32];

    while (get_u32(entry + i * ZKEY_COEFFICIENT_BYTES + 4) != 1234)
        i++;
    ASSERT(i < count);
    entry += i * ZKEY_COEFFICIENT_BYTES;
    snprintf(says, sizeof says, "constraint 1234, %c", get_u32(entry) ? 'B' : 'A');
    entry[12] ^= 1; /* another coefficient */
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, says);
    entry[12] ^= 1;
    put_u32(entry + 8, get_u32(entry + 8) ^ 1); /* another signal */
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, "constraint 1234");
    put_u32(entry + 8, get_u32(entry + 8) ^ 1);
    put_u32(entry, 1 - get_u32(entry)); /* in the other matrix */
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, "constraint 1234");
    put_u32(entry, 1 - get_u32(entry));
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), 0);

    /* The last entry is of an input-consistency row. */
    entry = bytes_section(&zkey, 4) + 4 + (count - 1) * (size_t)ZKEY_COEFFICIENT_BYTES;
    put_u32(entry + 8, 0);
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, "input-consistency");
    put_u32(entry + 4, 4050); /* a row more */
    ASSERT_INT(prepare_bytes(&zkey, &r1cs), -EBADMSG);
    ASSERT_SAYS(reason, "constraints");
    bytes_free(&zkey);
    bytes_free(&r1cs);
}

TEST(repeated_signals_in_a_row_are_sums)
{
    /* The first coefficient x becomes (x - 1) + 1. */
    struct bytes zkey = bytes_read("good/mul.bn128/circuit.zkey");
    struct bytes r1cs = bytes_read("good/mul.bn128/circuit.r1cs"), longer;
    uint8_t *rows = bytes_section(&r1cs, 2), *tail;
    size_t head = (size_t)(rows - r1cs.at);
    uint64_t size;

    ASSERT_INT(get_u32(rows), 1);
    longer.at = calloc(1, r1cs.count + 36);
    longer.count = r1cs.count + 36;
    memcpy(longer.at, r1cs.at, head + 40);
    tail = longer.at + head + 40;
    memcpy(tail, rows + 4, 4); /* the same wire, coefficient 1 */
    tail[4] = 1;
    memcpy(tail + 36, rows + 40, r1cs.count - head - 40);
    put_u32(longer.at + head, 2);
    memcpy(&size, longer.at + head - 8, 8);
    put_u64(longer.at + head - 8, size + 36);
    for (size_t i = 8; longer.at[head + i]-- == 0; i++) /* minus 1, with borrow */
        continue;
    ASSERT_INT(prepare_bytes(&zkey, &longer), 0);
    tail[4] = 2;
    ASSERT_INT(prepare_bytes(&zkey, &longer), -EBADMSG);
    bytes_free(&longer);
    bytes_free(&r1cs);
    bytes_free(&zkey);
}

TEST(damage_anywhere_is_noticed_at_load)
{
    struct image image = image_make("nopub.bn128", true, NULL);
    uint64_t state = test_seed();

    for (int i = 0; i < 300; i++) {
        size_t at = test_random(&state) % image.bytes;
        uint8_t was, now;

        if (i < 40)
            at = (size_t)i; /* magic, numbers, the digest */
        ASSERT_INT(pread(image.fd, &was, 1, (off_t)at), 1);
        now = was ^ (uint8_t)(1 + test_random(&state) % 255);
        ASSERT_INT(pwrite(image.fd, &now, 1, (off_t)at), 1);
        ASSERT_INT(
            prepared_load(image.fd, image.memory, image.bytes, image.digest, NULL, NULL, &reason),
            -EBADMSG);
        ASSERT_INT(pwrite(image.fd, &was, 1, (off_t)at), 1);
    }
    ASSERT_INT(prepared_load(image.fd, image.memory, image.bytes, NULL, NULL, NULL, &reason), 0);
    image.digest[0] ^= 1;
    ASSERT_INT(
        prepared_load(image.fd, image.memory, image.bytes, image.digest, NULL, NULL, &reason),
        -EBADMSG);
    ASSERT_SAYS(reason, "exchanged");
    ASSERT_INT(prepared_load(image.fd, image.memory, image.bytes - 1, NULL, NULL, NULL, &reason),
               -ENOSPC);
    ASSERT_INT(ftruncate(image.fd, (off_t)image.bytes - 1), 0);
    ASSERT_INT(prepared_load(image.fd, image.memory, image.bytes, NULL, NULL, NULL, &reason),
               -EBADMSG);
    ASSERT_SAYS(reason, "truncated");
    image_free(&image);
}

TEST(attach_refuses_bad_headers_and_indices)
{
    struct image image = image_make("mul.bn128", true, NULL);
    struct prepared_header *header = (void *)image.memory;
    const struct prepared_header good = *header;
    struct prepared p;
    uint32_t *columns = (void *)(image.memory + good.sections[PREPARED_A_COLUMNS].off);
    uint32_t *numbers = (void *)(image.memory + good.sections[PREPARED_C_COEFFICIENTS].off);
    uint64_t *rows = (void *)(image.memory + good.sections[PREPARED_B_ROWS].off);
    uint64_t *values = (void *)(image.memory + good.sections[PREPARED_DICTIONARY].off);

#define REFUSED(change, undo)                                                                      \
    do {                                                                                           \
        change;                                                                                    \
        ASSERT_INT(prepared_attach(image.memory, image.bytes, &p, &reason), -EBADMSG);             \
        undo;                                                                                      \
    } while (0)
    REFUSED(header->version++, *header = good);
    REFUSED(header->layout++, *header = good);
    REFUSED(header->curve_id = 9, *header = good);
    REFUSED(header->curve_id = CURVE_BLS12_381, *header = good);
    REFUSED(header->has_c = 0, *header = good);
    REFUSED(header->has_c = 2, *header = good);
    REFUSED(header->image_bytes++, *header = good);
    REFUSED(header->image_bytes = UINT64_MAX, *header = good);
    REFUSED(header->shape.variable_count++, *header = good);
    REFUSED(header->shape.variable_count = 0, *header = good);
    REFUSED(header->shape.public_count = UINT32_MAX, *header = good);
    REFUSED(header->shape.domain_log2 = 200, *header = good);
    REFUSED(header->shape.domain_log2 = 0, *header = good);
    REFUSED(header->shape.row_count = 100, *header = good);
    REFUSED(header->shape.constraint_count = 5, *header = good);
    REFUSED(header->shape.dictionary_count = 1, *header = good);
    REFUSED(header->shape.dictionary_count = UINT32_MAX, *header = good);
    REFUSED(header->shape.a_entry_count = UINT64_MAX, *header = good);
    REFUSED(header->shape.b_entry_count = UINT64_C(1) << 62, *header = good);
    REFUSED(header->shape.slab_bytes++, *header = good);
    REFUSED(header->sections[PREPARED_H].off = 0, *header = good);
    REFUSED(header->sections[PREPARED_VK].bytes++, *header = good);
    REFUSED(header->verify_key_digest[3] ^= 1, *header = good);
    REFUSED(columns[0] = 4, columns[0] = 1);
    columns[0] = 0; /* any wire will do here */
    REFUSED(numbers[0] = good.shape.dictionary_count, numbers[0] = 0);
    REFUSED(rows[1] = 1000, rows[1] = 1);
    REFUSED(rows[0] = 1, rows[0] = 0);
    REFUSED(values[0] ^= 1, values[0] ^= 1);
    REFUSED(values[4] ^= 1, values[4] ^= 1);
    for (size_t bytes = 0; bytes < image.bytes; bytes += 509)
        ASSERT_INT(prepared_attach(image.memory, bytes, &p, &reason), -EBADMSG);
    ASSERT_INT(prepared_attach(image.memory, image.bytes, &p, &reason), 0);
    image_free(&image);
}

static int cancel(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    return done > 0 && done <= total ? -1 : 0;
}

static int count_reports(void *context, uint64_t done, uint64_t total)
{
    uint64_t *last = context;

    ASSERT(done >= *last && done <= total);
    *last = done;
    return 0;
}

TEST(progress_is_told_and_can_cancel)
{
    struct image image = image_make("merkle20.bn128", true, NULL);
    const struct prepared_progress canceller = {NULL, cancel};
    uint64_t last = 0;
    const struct prepared_progress counter = {&last, count_reports};

    ASSERT_INT(prepared_load(image.fd, image.memory, image.bytes, NULL, NULL, &canceller, &reason),
               -ECANCELED);
    ASSERT_INT(prepared_load(image.fd, image.memory, image.bytes, NULL, NULL, &counter, &reason),
               0);
    ASSERT_INT(last, image.bytes);
    image_free(&image);
}

TEST(a_full_disk_is_reported)
{
    int zkey_fd = fixture_open("good/mul.bn128/circuit.zkey"), full = open("/dev/full", O_WRONLY);
    uint8_t digest[PREPARED_DIGEST_BYTES];

    ASSERT(full >= 0);
    ASSERT_INT(prepare_fds(zkey_fd, -1, NULL, full, digest), -ENOSPC);
    ASSERT_SAYS(reason, "writing the prepared key failed");
    close(full);
    close(zkey_fd);
}

TEST_MAIN(CASE(real_keys_are_prepared_and_their_witnesses_hold),
          CASE(the_first_broken_constraint_is_named),
          CASE(numbers_points_and_digests_are_those_of_the_key),
          CASE(the_digest_does_not_depend_on_threads), CASE(coefficients_come_in_any_order),
          CASE(an_r1cs_of_another_circuit_is_refused),
          CASE(the_first_differing_constraint_is_named), CASE(repeated_signals_in_a_row_are_sums),
          CASE(damage_anywhere_is_noticed_at_load), CASE(attach_refuses_bad_headers_and_indices),
          CASE(progress_is_told_and_can_cancel), CASE(a_full_disk_is_reported))
