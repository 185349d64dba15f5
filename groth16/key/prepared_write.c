/* Makes a prepared key in one pass front to back. The matrices are there by then: they decide all
 * sizes. Upstream: zkey with r1cs (below), or another reader through prepared_source.h; downstream:
 * image_writer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/key/image_writer.h"
#include "groth16/key/matrix_builder.h"
#include "groth16/key/prepared.h"
#include "groth16/key/prepared_format.h"
#include "groth16/key/prepared_source.h"
#include "groth16/key/r1cs_match.h"
#include "groth16/key/vkey_json.h"

struct writing {
    const struct prepared_source *source;
    struct pool *pool;
    struct matrix_progress progress;
    struct prepared_header header;
    struct image_writer writer;
    uint64_t section_bytes; /* of points, written so far */
    struct reason *reason;
};

static int fill_header(struct writing *w)
{
    const struct prepared_source *source = w->source;
    const struct prepared_circuit *circuit = source->circuit;
    const struct verify_key key = {
        .alpha_g1 = source->alpha_g1,
        .beta_g2 = source->beta_g2,
        .gamma_g2 = source->gamma_g2,
        .delta_g2 = source->delta_g2,
        .ic = source->ic,
        .ic_count = (size_t)circuit->public_count + 1,
    };
    struct prepared_header *header = &w->header;
    int error;

    memcpy(header->magic, PREPARED_MAGIC, sizeof header->magic);
    header->version = PREPARED_VERSION;
    header->layout = source->layout;
    header->curve_id = circuit->curve->id;
    header->has_c = circuit->has_c;
    header->shape = (struct prepared_shape){
        .variable_count = circuit->variable_count,
        .public_count = circuit->public_count,
        .constraint_count = circuit->constraint_count,
        .domain_log2 = circuit->domain_log2,
        .row_count = (uint32_t)circuit->a.row_count,
        .dictionary_count = (uint32_t)circuit->a.dictionary_count,
        .a_entry_count = circuit->a.entry_count,
        .b_entry_count = circuit->b.entry_count,
        .c_entry_count = circuit->has_c ? circuit->c.entry_count : 0,
        .slab_bytes = slab_layout_make(circuit->variable_count, circuit->domain_log2).bytes,
    };
    if (source->layout == PREPARED_LAYOUT_BELLMAN) {
        header->a_point_count = (uint32_t)source->a_density.one_count;
        header->b_point_count = (uint32_t)source->b_density.one_count;
    }
    prepared_format_place(header, circuit->curve);
    error = vkey_json_digest(circuit->curve, &key, header->verify_key_digest);
    return error ? reason_set(w->reason, error, "no memory to hash the verifying key") : 0;
}

static int begin_section(struct writing *w, enum prepared_section section)
{
    return image_writer_pad(&w->writer, w->header.sections[section].off);
}

static int write_array(struct writing *w, enum prepared_section section, const void *bytes)
{
    int error;

    if (w->header.sections[section].bytes == 0)
        return 0;
    error = begin_section(w, section);
    return error ? error
                 : image_writer_append(&w->writer, bytes, w->header.sections[section].bytes);
}

static int write_head(struct writing *w)
{
    const struct prepared_source *source = w->source;
    const size_t g1 = source->circuit->curve->g1_bytes, g2 = source->circuit->curve->g2_bytes;
    const struct {
        const void *point;
        size_t bytes;
    } points[] = {
        {source->alpha_g1, g1}, {source->beta_g1, g1},  {source->delta_g1, g1},
        {source->beta_g2, g2},  {source->gamma_g2, g2}, {source->delta_g2, g2},
    };
    int error = image_writer_append(&w->writer, &w->header, sizeof w->header);

    if (error == 0)
        error = begin_section(w, PREPARED_VK);
    for (size_t i = 0; i < sizeof points / sizeof points[0] && error == 0; i++)
        error = image_writer_append(&w->writer, points[i].point, points[i].bytes);
    return error ? error : write_array(w, PREPARED_IC, source->ic);
}

static int append_points(void *context, const void *points, size_t bytes)
{
    struct writing *w = context;
    int error = image_writer_append(&w->writer, points, bytes);

    w->section_bytes += bytes;
    return error ? error : matrix_progress_add(&w->progress, bytes);
}

static int write_points(struct writing *w)
{
    static const enum prepared_section sections[] = {PREPARED_A, PREPARED_B1, PREPARED_B2,
                                                     PREPARED_L, PREPARED_H};
    int error = 0;

    for (size_t i = 0; i < sizeof sections / sizeof sections[0] && error == 0; i++) {
        w->section_bytes = 0;
        error = begin_section(w, sections[i]);
        if (error == 0)
            error = w->source->read_points(w->source->context, sections[i], w->pool, append_points,
                                           w, w->reason);
        if (error == 0 && w->section_bytes != w->header.sections[sections[i]].bytes)
            error = reason_set(w->reason, -EBADMSG,
                               "the key has another number of points than its circuit wants");
    }
    return error;
}

static int write_matrices(struct writing *w)
{
    const struct prepared_source *source = w->source;
    const struct prepared_circuit *circuit = source->circuit;
    const struct {
        enum prepared_section section;
        const void *bytes;
    } arrays[] = {
        {PREPARED_A_ROWS, circuit->a.row_begin},
        {PREPARED_A_COLUMNS, circuit->a.column},
        {PREPARED_A_COEFFICIENTS, circuit->a.coefficient},
        {PREPARED_B_ROWS, circuit->b.row_begin},
        {PREPARED_B_COLUMNS, circuit->b.column},
        {PREPARED_B_COEFFICIENTS, circuit->b.coefficient},
        {PREPARED_C_ROWS, circuit->c.row_begin},
        {PREPARED_C_COLUMNS, circuit->c.column},
        {PREPARED_C_COEFFICIENTS, circuit->c.coefficient},
        {PREPARED_DICTIONARY, circuit->a.dictionary},
        {PREPARED_A_DENSITY, source->a_density.words},
        {PREPARED_A_RANKS, source->a_density.ranks},
        {PREPARED_B_DENSITY, source->b_density.words},
        {PREPARED_B_RANKS, source->b_density.ranks},
    };
    int error = 0;

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && error == 0; i++)
        error = write_array(w, arrays[i].section, arrays[i].bytes);
    return error ? error : image_writer_pad(&w->writer, w->header.image_bytes);
}

static int write_image(struct writing *w, int out_fd, uint8_t *ret_digest)
{
    int error = fill_header(w);

    if (error == 0)
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

int prepared_write_source(const struct prepared_source *source, int out_fd, struct pool *pool,
                          const struct prepared_progress *progress,
                          uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason)
{
    struct writing w = {
        .source = source,
        .pool = pool,
        .progress = {.progress = progress,
                     .done_bytes = source->done_bytes,
                     .reported_bytes = source->done_bytes,
                     .total_bytes = source->total_bytes},
        .reason = reason,
    };
    uint8_t digest[PREPARED_DIGEST_BYTES];
    int error = write_image(&w, out_fd, digest);

    if (error == -ECANCELED)
        reason_set(reason, error, "cancelled while the key was prepared");
    if (error == 0)
        memcpy(ret_digest, digest, sizeof digest);
    image_writer_destroy(&w.writer);
    return error;
}

/* ---- a .zkey ---- */

struct zkey_reading {
    const struct zkey *zkey;
    struct pool *pool;
    struct matrix_builder builder;
    struct matrix_progress progress;
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
    struct zkey_reading *reading = context;

    memcpy(reading->ic + reading->ic_bytes, points, bytes);
    reading->ic_bytes += bytes;
    return 0;
}

/* IC is at most PUBLIC_INPUTS_MAX + 1 points: kept whole. */
static int read_ic(struct zkey_reading *reading)
{
    reading->ic = malloc(reading->zkey->sections[ZKEY_IC].bytes);
    if (!reading->ic)
        return reason_set(reading->reason, -ENOMEM, "no memory for the IC points");
    return zkey_read_points(reading->zkey, ZKEY_IC, reading->pool, keep_ic, reading,
                            reading->reason);
}

static int read_zkey_points(void *context, enum prepared_section section, struct pool *pool,
                            prepared_sink *sink, void *sink_context, struct reason *reason)
{
    static const enum zkey_section from[] = {
        [PREPARED_A] = ZKEY_A, [PREPARED_B1] = ZKEY_B1, [PREPARED_B2] = ZKEY_B2,
        [PREPARED_L] = ZKEY_L, [PREPARED_H] = ZKEY_H,
    };

    return zkey_read_points(context, from[section], pool, sink, sink_context, reason);
}

static struct matrix matrix_of(const struct matrix_builder *builder, const struct matrix_rows *rows,
                               size_t row_count)
{
    return (struct matrix){
        .row_count = row_count,
        .entry_count = rows->entry_count,
        .row_begin = rows->row_begin,
        .column = rows->column,
        .coefficient = rows->coefficient,
        .dictionary = builder->dictionary.values,
        .dictionary_count = builder->dictionary.count,
    };
}

static int write_zkey(struct zkey_reading *reading, const struct r1cs *r1cs, int out_fd,
                      uint8_t *ret_digest)
{
    const struct zkey *zkey = reading->zkey;
    const struct matrix_builder *builder = &reading->builder;
    struct prepared_circuit circuit = {
        .curve = zkey->curve,
        .variable_count = zkey->variable_count,
        .public_count = zkey->public_count,
        .domain_log2 = zkey->domain_log2,
        .has_c = r1cs != NULL,
    };
    struct prepared_source source = {
        .layout = PREPARED_LAYOUT_SNARKJS,
        .circuit = &circuit,
        .alpha_g1 = zkey->alpha_g1,
        .beta_g1 = zkey->beta_g1,
        .delta_g1 = zkey->delta_g1,
        .beta_g2 = zkey->beta_g2,
        .gamma_g2 = zkey->gamma_g2,
        .delta_g2 = zkey->delta_g2,
        .read_points = read_zkey_points,
        .context = (void *)zkey,
        .total_bytes = reading->progress.total_bytes,
    };
    int error = matrix_builder_read(&reading->builder, zkey, &reading->progress, reading->reason);

    if (error == 0 && r1cs)
        error = r1cs_match(r1cs, zkey, &reading->builder, &reading->progress, reading->reason);
    if (error == 0)
        error = read_ic(reading);
    if (error)
        return error;
    circuit.constraint_count = builder->constraint_count;
    circuit.a = matrix_of(builder, &builder->a, builder->row_count);
    circuit.b = matrix_of(builder, &builder->b, builder->row_count);
    circuit.c = matrix_of(builder, &builder->c, builder->constraint_count);
    source.ic = reading->ic;
    source.done_bytes = reading->progress.done_bytes;
    return prepared_write_source(&source, out_fd, reading->pool, reading->progress.progress,
                                 ret_digest, reading->reason);
}

int prepared_write(const struct zkey *zkey, const struct r1cs *r1cs, int out_fd, struct pool *pool,
                   const struct prepared_progress *progress,
                   uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason)
{
    struct zkey_reading reading = {
        .zkey = zkey,
        .pool = pool,
        .progress = {.progress = progress, .total_bytes = input_bytes(zkey, r1cs)},
        .reason = reason,
    };
    int error = write_zkey(&reading, r1cs, out_fd, ret_digest);

    if (error == -ECANCELED)
        reason_set(reason, error, "cancelled while the key was prepared");
    matrix_builder_destroy(&reading.builder);
    free(reading.ic);
    return error;
}
