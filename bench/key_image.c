/* The prepared key of a key, made in place: the file is mapped, points and matrices are written
 * where they belong by all threads at once, and the digest comes last. A key in bellman's form has
 * densities, by which the scalars of A, B1 and B2 are filtered. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bench/key.h"
#include "groth16/key/prepared_format.h"
#include "groth16/key/vkey_json.h"
#include "groth16/pool.h"

enum {
    COPY_GRAIN = 4 << 20,
};

struct key_image {
    const struct key *key;
    const char *path;
    int fd;
    uint8_t *memory; /* the mapped file, once it has its size */
    struct prepared_header *header;
    uint8_t *piece_digests;
    bool has_failed; /* set by any thread that hashes */
    /* Of A, and of B: bit vectors, and the scalars of their wires. NULL in snarkjs's form. */
    uint64_t *words[2];
    struct scalar *filtered;
    size_t point_count[2];
    struct reason *reason;
};

static void *section(const struct key_image *image, enum prepared_section id)
{
    return image->memory + image->header->sections[id].off;
}

static struct matrix columns_of(const struct matrix_rows *rows)
{
    return (struct matrix){.entry_count = rows->entry_count, .column = rows->column};
}

static int make_densities(struct key_image *image)
{
    const struct constraints *constraints = image->key->constraints;
    const struct matrix matrices[2] = {columns_of(&constraints->a), columns_of(&constraints->b)};
    const size_t words = density_word_count(constraints->variable_count);

    if (image->key->setup->form != SETUP_BELLMAN)
        return 0;
    for (int m = 0; m < 2; m++) {
        image->words[m] = calloc(words, sizeof image->words[m][0]);
        if (!image->words[m])
            return reason_set(image->reason, -ENOMEM, "no memory for the densities");
        density_mark(image->words[m], &matrices[m]);
        for (size_t i = 0; i < words; i++)
            image->point_count[m] += (size_t)__builtin_popcountll(image->words[m][i]);
    }
    image->filtered = malloc(constraints->variable_count * sizeof image->filtered[0]);
    return image->filtered ? 0 : reason_set(image->reason, -ENOMEM, "no memory for the scalars");
}

static void fill_header(const struct key_image *image, struct prepared_header *header)
{
    const struct key *key = image->key;
    const struct constraints *constraints = key->constraints;

    memcpy(header->magic, PREPARED_MAGIC, sizeof header->magic);
    header->version = PREPARED_VERSION;
    header->layout =
        key->setup->form == SETUP_BELLMAN ? PREPARED_LAYOUT_BELLMAN : PREPARED_LAYOUT_SNARKJS;
    header->a_point_count = (uint32_t)image->point_count[0];
    header->b_point_count = (uint32_t)image->point_count[1];
    header->curve_id = constraints->curve->id;
    header->has_c = !key->leaves_out_c;
    header->shape = (struct prepared_shape){
        .variable_count = constraints->variable_count,
        .public_count = constraints->public_count,
        .constraint_count = constraints->constraint_count,
        .domain_log2 = constraints->domain_log2,
        .row_count = constraints_row_count(constraints),
        .dictionary_count = constraints->dictionary.count,
        .a_entry_count = constraints->a.entry_count,
        .b_entry_count = constraints->b.entry_count,
        .c_entry_count = key->leaves_out_c ? 0 : constraints->c.entry_count,
        .slab_bytes = slab_layout_make(constraints->variable_count, constraints->domain_log2).bytes,
    };
    prepared_format_place(header, constraints->curve);
}

/* A mapped file that the disk has no room for kills the process with SIGBUS: asked before. */
static int make_file(struct key_image *image, uint64_t bytes)
{
    struct statvfs disk;
    uint64_t room;

    image->fd = open(image->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (image->fd < 0 || fstatvfs(image->fd, &disk) < 0)
        return reason_set(image->reason, -errno, "cannot write %s: %m", image->path);
    room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (room < bytes)
        return reason_set(image->reason, -ENOSPC,
                          "the prepared key takes %" PRIu64 " MiB, but %s has room for %" PRIu64
                          " MiB: write it elsewhere",
                          bytes >> 20, image->path, room >> 20);
    if (ftruncate(image->fd, (off_t)bytes) < 0)
        return reason_set(image->reason, -errno, "cannot write %s: %m", image->path);
    image->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, image->fd, 0);
    if (image->memory == MAP_FAILED) {
        image->memory = NULL;
        return reason_set(image->reason, -errno, "cannot map %s: %m", image->path);
    }
    image->header = (struct prepared_header *)image->memory;
    return 0;
}

/* The scalars of wires that have points, as the form wants it. */
static const struct scalar *filter(const struct key_image *image, int m,
                                   const struct scalar *scalars)
{
    struct scalar *to = image->filtered;

    if (!image->words[m])
        return scalars;
    for (size_t i = 0; i < image->key->setup->variables; i++)
        if (image->words[m][i / 64] >> i % 64 & 1)
            *to++ = scalars[i];
    return image->filtered;
}

static int write_points(struct key_image *image)
{
    const struct key *key = image->key;
    const struct setup *setup = key->setup;
    const size_t publics = setup->publics, variables = setup->variables;
    const bool is_bellman = setup->form == SETUP_BELLMAN;
    const size_t a_count = is_bellman ? image->point_count[0] : variables;
    const size_t b_count = is_bellman ? image->point_count[1] : variables;
    const struct {
        const char *what;
        enum prepared_section id;
        int filtered_by; /* words[], or none */
        const struct scalar *scalars;
        size_t count;
    } arrays[] = {
        {"IC", PREPARED_IC, -1, setup->c, publics + 1},
        {"A", PREPARED_A, 0, setup->a, a_count},
        {"B1", PREPARED_B1, 1, setup->b, b_count},
        {"B2", PREPARED_B2, 1, setup->b, b_count},
        {"L", PREPARED_L, -1, setup->c + publics + 1, variables - publics - 1},
        {"H", PREPARED_H, -1, setup->h, setup->domain - is_bellman},
    };
    int error = 0;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && error == 0; i++) {
        const struct scalar *scalars =
            arrays[i].filtered_by < 0 ? arrays[i].scalars
                                      : filter(image, arrays[i].filtered_by, arrays[i].scalars);

        error = key_multiply(key, arrays[i].what, arrays[i].id == PREPARED_B2, scalars,
                             arrays[i].count, section(image, arrays[i].id), image->reason);
    }
    return error;
}

static void write_densities(struct key_image *image)
{
    const size_t words = density_word_count(image->key->constraints->variable_count);

    for (int m = 0; m < 2 && image->words[m]; m++) {
        const enum prepared_section id = m == 0 ? PREPARED_A_DENSITY : PREPARED_B_DENSITY;

        memcpy(section(image, id), image->words[m], words * sizeof image->words[m][0]);
        (void)density_rank(image->words[m], words, section(image, id + 1));
    }
}

/* VK and what is known of the verifying key, whose IC is in place. */
static int write_verify_key(struct key_image *image)
{
    const struct curve *curve = image->key->setup->curve;
    const size_t g1 = curve->g1_bytes, g2 = curve->g2_bytes;
    uint8_t *at = section(image, PREPARED_VK);
    struct setup_points points;
    struct verify_key verify_key;
    int error;

    setup_points_make(image->key->setup, &points);
    memcpy(at, points.alpha_g1, g1);
    memcpy(at + g1, points.beta_g1, g1);
    memcpy(at + 2 * g1, points.delta_g1, g1);
    memcpy(at + 3 * g1, points.beta_g2, g2);
    memcpy(at + 3 * g1 + g2, points.gamma_g2, g2);
    memcpy(at + 3 * g1 + 2 * g2, points.delta_g2, g2);
    verify_key = (struct verify_key){
        .alpha_g1 = points.alpha_g1,
        .beta_g2 = points.beta_g2,
        .gamma_g2 = points.gamma_g2,
        .delta_g2 = points.delta_g2,
        .ic = section(image, PREPARED_IC),
        .ic_count = image->key->setup->publics + 1,
    };
    error = vkey_json_digest(curve, &verify_key, image->header->verify_key_digest);
    return error ? reason_set(image->reason, error, "no memory to hash the verifying key") : 0;
}

struct copying {
    uint8_t *to;
    const uint8_t *from;
};

static void copy_range(void *context, size_t begin, size_t end)
{
    const struct copying *copying = context;

    memcpy(copying->to + begin, copying->from + begin, end - begin);
}

static void write_matrices(struct key_image *image)
{
    const struct constraints *constraints = image->key->constraints;
    const struct {
        enum prepared_section id;
        const void *bytes;
    } arrays[] = {
        {PREPARED_A_ROWS, constraints->a.row_begin},
        {PREPARED_A_COLUMNS, constraints->a.column},
        {PREPARED_A_COEFFICIENTS, constraints->a.coefficient},
        {PREPARED_B_ROWS, constraints->b.row_begin},
        {PREPARED_B_COLUMNS, constraints->b.column},
        {PREPARED_B_COEFFICIENTS, constraints->b.coefficient},
        {PREPARED_C_ROWS, constraints->c.row_begin},
        {PREPARED_C_COLUMNS, constraints->c.column},
        {PREPARED_C_COEFFICIENTS, constraints->c.coefficient},
        {PREPARED_DICTIONARY, constraints->dictionary.values},
    };

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        struct copying copying = {section(image, arrays[i].id), arrays[i].bytes};

        pool_run_range(image->key->pool, image->header->sections[arrays[i].id].bytes, COPY_GRAIN,
                       copy_range, &copying);
    }
}

static void hash_piece(void *context, size_t index)
{
    struct key_image *image = context;
    uint64_t off = index * (uint64_t)PREPARED_DIGEST_PIECE_BYTES;
    uint64_t left = image->header->image_bytes - off;
    size_t bytes =
        left < PREPARED_DIGEST_PIECE_BYTES ? (size_t)left : (size_t)PREPARED_DIGEST_PIECE_BYTES;

    if (!prepared_format_hash_piece(image->memory + off, bytes, index,
                                    image->piece_digests + index * PREPARED_DIGEST_BYTES))
        __atomic_store_n(&image->has_failed, true, __ATOMIC_RELAXED);
}

static int write_digest(struct key_image *image)
{
    const uint64_t bytes = image->header->image_bytes;
    const size_t pieces =
        (size_t)((bytes + PREPARED_DIGEST_PIECE_BYTES - 1) / PREPARED_DIGEST_PIECE_BYTES);

    image->piece_digests = malloc(pieces * PREPARED_DIGEST_BYTES);
    if (image->piece_digests)
        pool_run(image->key->pool, pieces, hash_piece, image);
    if (!image->piece_digests || image->has_failed ||
        !prepared_format_hash_root(bytes, image->piece_digests, pieces, image->header->digest))
        return reason_set(image->reason, -ENOMEM, "no memory to hash the prepared key");
    return 0;
}

static int write_all(struct key_image *image)
{
    struct prepared_header header = {0};
    int error;

    error = make_densities(image);
    if (error)
        return error;
    fill_header(image, &header);
    error = make_file(image, header.image_bytes);
    if (error)
        return error;
    *image->header = header;
    error = write_points(image);
    if (error == 0)
        error = write_verify_key(image);
    if (error)
        return error;
    write_matrices(image);
    write_densities(image);
    return write_digest(image);
}

int key_image_write(const struct key *key, const char *path, struct reason *reason)
{
    struct key_image image = {.key = key, .path = path, .fd = -1, .reason = reason};
    int error = write_all(&image);

    if (image.memory)
        munmap(image.memory, image.header->image_bytes);
    if (image.fd >= 0 && close(image.fd) < 0 && error == 0)
        error = reason_set(reason, -errno, "writing %s failed: %m", path);
    if (error && image.fd >= 0)
        unlink(path);
    free(image.piece_digests);
    free(image.words[0]);
    free(image.words[1]);
    free(image.filtered);
    return error;
}
