/* Takes over a prepared key from elsewhere: copied and hashed front to back, then the copy, which
 * is ours alone, is mapped and checked as thoroughly as a .zkey is. Used by the preparing process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "groth16/key/image_writer.h"
#include "groth16/key/prepared.h"
#include "groth16/key/prepared_format.h"
#include "groth16/pool.h"

enum {
    BUFFER_BYTES = PREPARED_DIGEST_PIECE_BYTES,
    CHECK_GRAIN = 256,
};

bool prepared_is(int fd)
{
    char magic[sizeof PREPARED_MAGIC - 1];

    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           memcmp(magic, PREPARED_MAGIC, sizeof magic) == 0;
}

static int copy_bytes(int in_fd, uint64_t bytes, uint8_t *buffer, struct image_writer *writer,
                      const struct prepared_progress *progress, struct reason *reason)
{
    for (uint64_t off = 0; off < bytes;) {
        size_t want = bytes - off < BUFFER_BYTES ? (size_t)(bytes - off) : (size_t)BUFFER_BYTES;
        ssize_t n = pread(in_fd, buffer, want, (off_t)off);
        int error;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return reason_set(reason, -errno,
                              "reading the prepared key failed at byte %" PRIu64 ": %m", off);
        if (n == 0)
            return reason_set(reason, -EBADMSG,
                              "prepared key: the file became shorter while it was read");
        error = image_writer_append(writer, buffer, (size_t)n);
        if (error)
            return error;
        off += (uint64_t)n;
        if (progress && progress->report(progress->context, off, bytes) < 0)
            return reason_set(reason, -ECANCELED, "cancelled while the key was copied");
    }
    return 0;
}

static int copy_image(int in_fd, const struct prepared *header, int out_fd, struct pool *pool,
                      const struct prepared_progress *progress, struct reason *reason)
{
    struct image_writer writer = {0};
    uint8_t digest[PREPARED_DIGEST_BYTES], *buffer = malloc(BUFFER_BYTES);
    int error = buffer ? 0 : reason_set(reason, -ENOMEM, "no memory to copy the prepared key");

    if (error == 0)
        error = image_writer_init(&writer, out_fd, header->image_bytes, pool, reason);
    if (error == 0)
        error = copy_bytes(in_fd, header->image_bytes, buffer, &writer, progress, reason);
    if (error == 0)
        error = image_writer_finish(&writer, digest);
    if (error == 0 && memcmp(digest, header->digest, sizeof digest) != 0)
        error = reason_set(reason, -EBADMSG,
                           "prepared key: its bytes do not have the digest in its header: the "
                           "file is damaged, copy or make it again");
    image_writer_destroy(&writer);
    free(buffer);
    return error;
}

struct point_check {
    const struct curve *curve;
    const uint8_t *points;
    bool is_g2, subgroup;
    _Atomic size_t bad_index; /* some bad point, SIZE_MAX when none */
};

static enum curve_point_fault point_fault(const struct point_check *check, size_t index)
{
    return check->is_g2 ? check->curve->g2_check(check->points + index * check->curve->g2_bytes,
                                                 check->subgroup)
                        : check->curve->g1_check(check->points + index * check->curve->g1_bytes,
                                                 check->subgroup);
}

static void check_range(void *context, size_t begin, size_t end)
{
    struct point_check *check = context;

    for (size_t i = begin; i < end; i++)
        if (point_fault(check, i) != CURVE_POINT_OK)
            atomic_store_explicit(&check->bad_index, i, memory_order_relaxed);
}

static int check_points(const struct prepared *prepared, const char *what, const void *points,
                        size_t count, bool is_g2, bool subgroup, struct pool *pool,
                        struct reason *reason)
{
    struct point_check check = {
        .curve = prepared->curve,
        .points = points,
        .is_g2 = is_g2,
        .subgroup = subgroup,
        .bad_index = SIZE_MAX,
    };
    size_t bad;

    if (pool)
        pool_run_range(pool, count, CHECK_GRAIN, check_range, &check);
    else
        check_range(&check, 0, count);
    bad = atomic_load_explicit(&check.bad_index, memory_order_relaxed);
    if (bad == SIZE_MAX)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "prepared key: %s point %zu: %s: the program that made it is at fault", what,
                      bad, curve_point_fault_to_string(point_fault(&check, bad)));
}

/* As strict as zkey_open and zkey_read_points. */
static int check_all_points(const struct prepared *p, struct pool *pool, struct reason *reason)
{
    const struct {
        const char *what;
        const void *points;
        size_t count;
        bool is_g2, subgroup, is_verify_key;
    } arrays[] = {
        {"alpha (G1)", p->alpha_g1, 1, false, true, true},
        {"beta (G1)", p->beta_g1, 1, false, true, true},
        {"delta (G1)", p->delta_g1, 1, false, true, true},
        {"beta (G2)", p->beta_g2, 1, true, true, true},
        {"gamma (G2)", p->gamma_g2, 1, true, true, true},
        {"delta (G2)", p->delta_g2, 1, true, true, true},
        {"IC", p->ic, p->ic_count, false, true, false},
        {"A", p->a, p->a_count, false, false, false},
        {"B1", p->b1, p->b_count, false, false, false},
        {"B2", p->b2, p->b_count, true, false, false},
        {"L", p->l, p->l_count, false, false, false},
        {"H", p->h, p->h_count, false, false, false},
    };
    int error = 0;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && error == 0; i++) {
        error = check_points(p, arrays[i].what, arrays[i].points, arrays[i].count, arrays[i].is_g2,
                             arrays[i].subgroup, pool, reason);
        if (error == 0 && arrays[i].is_verify_key &&
            curve_point_is_infinity(arrays[i].points,
                                    arrays[i].is_g2 ? p->curve->g2_bytes : p->curve->g1_bytes))
            error = reason_set(reason, -EBADMSG,
                               "prepared key: %s is the point at infinity: the program that made "
                               "it is at fault",
                               arrays[i].what);
    }
    return error;
}

/* Points are found by density: it has to be that of the matrix. */
static int check_density(const struct prepared *p, const struct density *density,
                         const struct matrix *matrix, char name, struct reason *reason)
{
    const size_t words = density_word_count(density->bit_count);
    uint64_t *marked = calloc(words, sizeof marked[0]);
    bool is_same;

    if (!marked)
        return reason_set(reason, -ENOMEM, "no memory to check the densities of the prepared key");
    if (name == 'A')
        density_mark_first(marked, (size_t)p->shape.public_count + 1);
    density_mark(marked, matrix);
    is_same = memcmp(marked, density->words, words * sizeof marked[0]) == 0;
    free(marked);
    if (is_same)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "prepared key: the density of %c is not that of its matrix: the program that "
                      "made it is at fault",
                      name);
}

static int check_densities(const struct prepared *p, struct reason *reason)
{
    int error = 0;

    if (p->layout == PREPARED_LAYOUT_BELLMAN)
        error = check_density(p, &p->a_density, &p->matrix_a, 'A', reason);
    if (error == 0 && p->layout == PREPARED_LAYOUT_BELLMAN)
        error = check_density(p, &p->b_density, &p->matrix_b, 'B', reason);
    return error;
}

int prepared_copy(int in_fd, int out_fd, struct pool *pool,
                  const struct prepared_progress *progress,
                  uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason)
{
    struct prepared header, prepared;
    void *memory;
    int error = prepared_read_header(in_fd, &header, reason);

    if (error == 0)
        error = copy_image(in_fd, &header, out_fd, pool, progress, reason);
    if (error)
        return error;
    memory = mmap(NULL, header.image_bytes, PROT_READ, MAP_SHARED, out_fd, 0);
    if (memory == MAP_FAILED)
        return reason_set(reason, -errno, "the prepared key cannot be mapped: %m");
    error = prepared_attach(memory, header.image_bytes, &prepared, reason);
    if (error == 0 && (prepared.image_bytes != header.image_bytes ||
                       memcmp(prepared.digest, header.digest, sizeof header.digest) != 0))
        error = reason_set(reason, -EBADMSG,
                           "prepared key: the file changed while it was read: leave it alone and "
                           "try again");
    if (error == 0)
        error = check_densities(&prepared, reason);
    if (error == 0)
        error = check_all_points(&prepared, pool, reason);
    munmap(memory, header.image_bytes);
    if (error == 0)
        memcpy(ret_digest, header.digest, sizeof header.digest);
    return error;
}
