/* Makes a prepared key: matrices first (they decide all sizes), then one pass front to back.
 * Upstream: zkey, r1cs; downstream: image_writer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/key/image_writer.h"
#include "groth16/key/matrix_builder.h"
#include "groth16/key/prepared.h"
#include "groth16/key/prepared_format.h"
#include "groth16/key/r1cs_match.h"
#include "groth16/key/vkey_json.h"

struct writing {
    const struct zkey *zkey;
    struct pool *pool;
    struct matrix_builder builder;
    struct matrix_progress progress;
    struct prepared_header header;
    struct image_writer writer;
    uint8_t *ic;
    size_t ic_bytes;
    struct reason *reason;
};

static uint64_t input_bytes(const struct zkey *zkey, const struct r1cs *r1cs)
{
    uint64_t total = 2 * (uint64_t)zkey->coefficient_count * ZKEY_COEFFICIENT_BYTES;

    for (enum zkey_section id = ZKEY_A; id <= ZKEY_H; id++)
        total += zkey->sections[id].bytes;
    return total + (r1cs ? r1cs->constraints.bytes : 0);
}

static int keep_ic(void *context, const void *points, size_t bytes)
{
    struct writing *w = context;

    memcpy(w->ic + w->ic_bytes, points, bytes);
    w->ic_bytes += bytes;
    return 0;
}

/* IC is at most PUBLIC_INPUTS_MAX + 1 points: kept whole, for the verifying key's digest. */
static int read_ic(struct writing *w)
{
    const struct zkey *zkey = w->zkey;
    struct verify_key key = {
        .alpha_g1 = zkey->alpha_g1,
        .beta_g2 = zkey->beta_g2,
        .gamma_g2 = zkey->gamma_g2,
        .delta_g2 = zkey->delta_g2,
        .ic_count = (size_t)zkey->public_count + 1,
    };
    int error;

    w->ic = malloc(zkey->sections[ZKEY_IC].bytes);
    if (!w->ic)
        return reason_set(w->reason, -ENOMEM, "no memory for the IC points");
    error = zkey_read_points(zkey, ZKEY_IC, w->pool, keep_ic, w, w->reason);
    if (error)
        return error;
    key.ic = w->ic;
    error = vkey_json_digest(zkey->curve, &key, w->header.verify_key_digest);
    return error ? reason_set(w->reason, error, "no memory to hash the verifying key") : 0;
}

static void fill_header(struct writing *w, bool has_c)
{
    struct prepared_header *header = &w->header;
    const struct matrix_builder *builder = &w->builder;

    memcpy(header->magic, PREPARED_MAGIC, sizeof header->magic);
    header->version = PREPARED_VERSION;
    header->layout = PREPARED_LAYOUT_SNARKJS;
    header->curve_id = w->zkey->curve->id;
    header->has_c = has_c;
    header->shape = (struct prepared_shape){
        .variable_count = w->zkey->variable_count,
        .public_count = w->zkey->public_count,
        .constraint_count = builder->constraint_count,
        .domain_log2 = w->zkey->domain_log2,
        .row_count = builder->row_count,
        .dictionary_count = builder->dictionary.count,
        .a_entry_count = builder->a.entry_count,
        .b_entry_count = builder->b.entry_count,
        .c_entry_count = builder->c.entry_count,
        .slab_bytes = slab_layout_make(w->zkey->variable_count, w->zkey->domain_log2).bytes,
    };
    prepared_format_place(header, w->zkey->curve);
}

static int begin_section(struct writing *w, enum prepared_section section)
{
    return image_writer_pad(&w->writer, w->header.sections[section].off);
}

static int write_array(struct writing *w, enum prepared_section section, const void *bytes)
{
    int error = begin_section(w, section);

    if (error || w->header.sections[section].bytes == 0)
        return error;
    return image_writer_append(&w->writer, bytes, w->header.sections[section].bytes);
}

static int write_head(struct writing *w)
{
    const struct zkey *zkey = w->zkey;
    const size_t g1 = zkey->curve->g1_bytes, g2 = zkey->curve->g2_bytes;
    const struct {
        const void *point;
        size_t bytes;
    } points[] = {
        {zkey->alpha_g1, g1}, {zkey->beta_g1, g1},  {zkey->delta_g1, g1},
        {zkey->beta_g2, g2},  {zkey->gamma_g2, g2}, {zkey->delta_g2, g2},
    };
    int error = image_writer_append(&w->writer, &w->header, sizeof w->header);

    if (error == 0)
        error = begin_section(w, PREPARED_VK);
    for (size_t i = 0; i < sizeof points / sizeof points[0] && error == 0; i++)
        error = image_writer_append(&w->writer, points[i].point, points[i].bytes);
    return error ? error : write_array(w, PREPARED_IC, w->ic);
}

static int append_points(void *context, const void *points, size_t bytes)
{
    struct writing *w = context;
    int error = image_writer_append(&w->writer, points, bytes);

    return error ? error : matrix_progress_add(&w->progress, bytes);
}

static int write_points(struct writing *w)
{
    static const struct {
        enum prepared_section to;
        enum zkey_section from;
    } sections[] = {
        {PREPARED_A, ZKEY_A}, {PREPARED_B1, ZKEY_B1}, {PREPARED_B2, ZKEY_B2},
        {PREPARED_L, ZKEY_L}, {PREPARED_H, ZKEY_H},
    };
    int error = 0;

    for (size_t i = 0; i < sizeof sections / sizeof sections[0] && error == 0; i++) {
        error = begin_section(w, sections[i].to);
        if (error == 0)
            error =
                zkey_read_points(w->zkey, sections[i].from, w->pool, append_points, w, w->reason);
    }
    return error;
}

static int write_matrices(struct writing *w)
{
    const struct matrix_builder *builder = &w->builder;
    const struct {
        enum prepared_section section;
        const void *bytes;
    } arrays[] = {
        {PREPARED_A_ROWS, builder->a.row_begin},
        {PREPARED_A_COLUMNS, builder->a.column},
        {PREPARED_A_COEFFICIENTS, builder->a.coefficient},
        {PREPARED_B_ROWS, builder->b.row_begin},
        {PREPARED_B_COLUMNS, builder->b.column},
        {PREPARED_B_COEFFICIENTS, builder->b.coefficient},
        {PREPARED_C_ROWS, builder->c.row_begin},
        {PREPARED_C_COLUMNS, builder->c.column},
        {PREPARED_C_COEFFICIENTS, builder->c.coefficient},
        {PREPARED_DICTIONARY, builder->dictionary.values},
    };
    int error = 0;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && error == 0; i++)
        error = write_array(w, arrays[i].section, arrays[i].bytes);
    return error ? error : image_writer_pad(&w->writer, w->header.image_bytes);
}

static int write_image(struct writing *w, const struct r1cs *r1cs, int out_fd, uint8_t *ret_digest)
{
    int error = matrix_builder_read(&w->builder, w->zkey, &w->progress, w->reason);

    if (error == 0 && r1cs)
        error = r1cs_match(r1cs, w->zkey, &w->builder, &w->progress, w->reason);
    if (error == 0)
        error = read_ic(w);
    if (error)
        return error;
    fill_header(w, r1cs != NULL);
    error = image_writer_init(&w->writer, out_fd, w->header.image_bytes, w->pool, w->reason);
    if (error == 0)
        error = write_head(w);
    if (error == 0)
        error = write_points(w);
    if (error == 0)
        error = write_matrices(w);
    if (error == 0)
        error = image_writer_finish(&w->writer, ret_digest);
    if (error == 0)
        error = image_writer_write_at(out_fd, offsetof(struct prepared_header, digest), ret_digest,
                                      PREPARED_DIGEST_BYTES, w->reason);
    return error;
}

int prepared_write(const struct zkey *zkey, const struct r1cs *r1cs, int out_fd, struct pool *pool,
                   const struct prepared_progress *progress,
                   uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason)
{
    struct writing w = {
        .zkey = zkey,
        .pool = pool,
        .progress = {.progress = progress, .total_bytes = input_bytes(zkey, r1cs)},
        .reason = reason,
    };
    uint8_t digest[PREPARED_DIGEST_BYTES];
    int error = write_image(&w, r1cs, out_fd, digest);

    if (error == -ECANCELED)
        reason_set(reason, error, "cancelled while the key was prepared");
    if (error == 0)
        memcpy(ret_digest, digest, sizeof digest);
    image_writer_destroy(&w.writer);
    matrix_builder_destroy(&w.builder);
    free(w.ic);
    return error;
}
