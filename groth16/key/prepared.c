/* Typed pointers into a prepared key whose bytes are input, and the check of a witness against its
 * three matrices. Called by every worker that uses a key. */
#include "groth16/key/prepared.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "groth16/field/bls12_381.h"
#include "groth16/field/bn254.h"
#include "groth16/key/matrix_builder.h"
#include "groth16/key/prepared_format.h"
#include "groth16/key/vkey_json.h"

struct image {
    const uint8_t *base;
    const struct prepared_header *header;
};

static const void *section(const struct image *image, enum prepared_section id)
{
    return image->base + image->header->sections[id].off;
}

/* Offsets rise to the entry count; indices are in range. */
static int check_matrix(const struct matrix *matrix, uint32_t variable_count, char name,
                        struct reason *reason)
{
    const uint64_t *begin = matrix->row_begin;
    uint32_t column_max = 0, coefficient_max = 0;
    bool rises = begin[0] == 0 && begin[matrix->row_count] == matrix->entry_count;

    for (size_t i = 0; i < matrix->row_count; i++)
        rises &= begin[i] <= begin[i + 1];
    for (size_t i = 0; i < matrix->entry_count; i++) {
        column_max = matrix->column[i] > column_max ? matrix->column[i] : column_max;
        coefficient_max =
            matrix->coefficient[i] > coefficient_max ? matrix->coefficient[i] : coefficient_max;
    }
    if (!rises || column_max >= variable_count || coefficient_max >= matrix->dictionary_count)
        return reason_set(reason, -EBADMSG,
                          "prepared key: matrix %c has an index out of range: the image is "
                          "damaged, prepare the key again",
                          name);
    return 0;
}

static int check_dictionary(const struct curve *curve, const uint64_t *dictionary, uint32_t count,
                            struct reason *reason)
{
    static const uint64_t zero[4];
    uint64_t one[4], minus_one[4];

    matrix_builder_one_scaled(curve, one);
    limbs_mod_sub(minus_one, zero, one, curve->fr_modulus, 4);
    if (memcmp(dictionary, one, sizeof one) != 0 ||
        memcmp(dictionary + 4, minus_one, sizeof minus_one) != 0 ||
        curve->scalars_check(dictionary, count) != count)
        return reason_set(reason, -EBADMSG,
                          "prepared key: its dictionary of coefficients is damaged: prepare the "
                          "key again");
    return 0;
}

static struct density density_at(const struct image *image, enum prepared_section words,
                                 size_t one_count)
{
    return (struct density){
        .bit_count = image->header->shape.variable_count,
        .one_count = one_count,
        .words = section(image, words),
        .ranks = section(image, words + 1),
    };
}

static void fill_points(struct prepared *prepared, const struct image *image)
{
    const size_t g1 = prepared->curve->g1_bytes, g2 = prepared->curve->g2_bytes;
    const uint8_t *vk = section(image, PREPARED_VK);

    prepared->alpha_g1 = vk;
    prepared->beta_g1 = vk + g1;
    prepared->delta_g1 = vk + 2 * g1;
    prepared->beta_g2 = vk + 3 * g1;
    prepared->gamma_g2 = vk + 3 * g1 + g2;
    prepared->delta_g2 = vk + 3 * g1 + 2 * g2;
    prepared->ic = section(image, PREPARED_IC);
    prepared->a = section(image, PREPARED_A);
    prepared->b1 = section(image, PREPARED_B1);
    prepared->b2 = section(image, PREPARED_B2);
    prepared->l = section(image, PREPARED_L);
    prepared->h = section(image, PREPARED_H);
    prepared->ic_count = (size_t)prepared->shape.public_count + 1;
    prepared->l_count = (size_t)prepared->shape.variable_count - prepared->shape.public_count - 1;
    prepared->h_count = (size_t)1 << prepared->shape.domain_log2;
    prepared->a_count = prepared->b_count = prepared->shape.variable_count;
    if (prepared->layout == PREPARED_LAYOUT_BELLMAN) {
        prepared->h_count--;
        prepared->a_count = image->header->a_point_count;
        prepared->b_count = image->header->b_point_count;
        prepared->a_density = density_at(image, PREPARED_A_DENSITY, prepared->a_count);
        prepared->b_density = density_at(image, PREPARED_B_DENSITY, prepared->b_count);
    }
    prepared->verify_key = (struct verify_key){
        .alpha_g1 = prepared->alpha_g1,
        .beta_g2 = prepared->beta_g2,
        .gamma_g2 = prepared->gamma_g2,
        .delta_g2 = prepared->delta_g2,
        .ic = prepared->ic,
        .ic_count = prepared->ic_count,
    };
}

static struct matrix matrix_at(const struct image *image, enum prepared_section rows,
                               size_t row_count, size_t entry_count)
{
    return (struct matrix){
        .row_count = row_count,
        .entry_count = entry_count,
        .row_begin = section(image, rows),
        .column = section(image, rows + 1),
        .coefficient = section(image, rows + 2),
        .dictionary = section(image, PREPARED_DICTIONARY),
        .dictionary_count = image->header->shape.dictionary_count,
    };
}

/* c, plain, from c R^2. */
static void plain_coefficient(enum curve_id id, const uint64_t *scaled, uint64_t ret[4])
{
    memcpy(ret, scaled, 32);
    for (int i = 0; i < 2; i++) {
        if (id == CURVE_BN254)
            bn254_fr_to_plain((bn254_fr *)ret, (const bn254_fr *)ret);
        else
            bls12_381_fr_to_plain((bls12_381_fr *)ret, (const bls12_381_fr *)ret);
    }
}

static int64_t small_coefficient(const struct curve *curve, const uint64_t *scaled)
{
    uint64_t plain[4], opposite[4], borrow = 0;

    plain_coefficient(curve->id, scaled, plain);
    for (int i = 0; i < 4; i++)
        opposite[i] = limbs_sub_borrow(curve->fr_modulus[i], plain[i], &borrow);
    if ((plain[0] >> 63 | plain[1] | plain[2] | plain[3]) == 0)
        return (int64_t)plain[0];
    if ((opposite[0] >> 63 | opposite[1] | opposite[2] | opposite[3]) == 0)
        return -(int64_t)opposite[0];
    return 0;
}

void prepared_find_small(struct prepared *prepared)
{
    const struct matrix *matrix = &prepared->matrix_a;

    prepared->small_count = matrix->dictionary_count < PREPARED_SMALL_MAX ? matrix->dictionary_count
                                                                          : PREPARED_SMALL_MAX;
    for (size_t i = 0; i < prepared->small_count; i++)
        prepared->small[i] = small_coefficient(prepared->curve, matrix->dictionary + 4 * i);
}

static int check_contents(const struct prepared *prepared, struct reason *reason)
{
    const struct prepared_shape *shape = &prepared->shape;
    uint8_t digest[VKEY_DIGEST_BYTES];
    int error = check_dictionary(prepared->curve, prepared->matrix_a.dictionary,
                                 shape->dictionary_count, reason);

    if (error == 0)
        error = check_matrix(&prepared->matrix_a, shape->variable_count, 'A', reason);
    if (error == 0)
        error = check_matrix(&prepared->matrix_b, shape->variable_count, 'B', reason);
    if (error == 0 && prepared->has_c)
        error = check_matrix(&prepared->matrix_c, shape->variable_count, 'C', reason);
    if (error == 0 && prepared->layout == PREPARED_LAYOUT_BELLMAN &&
        (!density_is_sound(&prepared->a_density) || !density_is_sound(&prepared->b_density)))
        error = reason_set(reason, -EBADMSG,
                           "prepared key: its densities contradict the number of points: the "
                           "image is damaged, prepare the key again");
    if (error)
        return error;
    error = vkey_json_digest(prepared->curve, &prepared->verify_key, digest);
    if (error)
        return reason_set(reason, error, "no memory to hash the verifying key");
    if (memcmp(digest, prepared->verify_key_digest, sizeof digest) != 0)
        return reason_set(reason, -EBADMSG,
                          "prepared key: its verifying key does not have the digest in its "
                          "header: the image is damaged");
    return 0;
}

int prepared_attach(const void *memory, size_t bytes, struct prepared *ret, struct reason *reason)
{
    struct prepared prepared = {0};
    struct prepared_header header;
    struct image image = {.base = memory, .header = &header};
    int error;

    if (bytes < PREPARED_HEADER_BYTES || (uintptr_t)memory % 8 != 0)
        return reason_set(reason, -EBADMSG, "prepared key: truncated or not aligned");
    /* One copy: what was checked is what is used, even if the memory changes. */
    memcpy(&header, memory, sizeof header);
    error = prepared_format_check(&header, bytes, &prepared.curve, reason);
    if (error)
        return error;
    prepared.layout = (enum prepared_layout)header.layout;
    prepared.image_bytes = header.image_bytes;
    memcpy(prepared.digest, header.digest, sizeof prepared.digest);
    memcpy(prepared.verify_key_digest, header.verify_key_digest, sizeof prepared.verify_key_digest);
    prepared.shape = header.shape;
    prepared.has_c = header.has_c;
    fill_points(&prepared, &image);
    prepared.matrix_a =
        matrix_at(&image, PREPARED_A_ROWS, header.shape.row_count, header.shape.a_entry_count);
    prepared.matrix_b =
        matrix_at(&image, PREPARED_B_ROWS, header.shape.row_count, header.shape.b_entry_count);
    if (header.has_c)
        prepared.matrix_c = matrix_at(&image, PREPARED_C_ROWS, header.shape.constraint_count,
                                      header.shape.c_entry_count);
    error = check_contents(&prepared, reason);
    if (error)
        return error;
    prepared_find_small(&prepared);
    *ret = prepared;
    return 0;
}

size_t prepared_check_constraints(const struct prepared *prepared, const uint64_t *witness,
                                  const uint64_t *a, const uint64_t *b, size_t begin, size_t end)
{
    const struct matrix_check check = {
        .a = &prepared->matrix_a,
        .b = &prepared->matrix_b,
        .c = &prepared->matrix_c,
        .small = prepared->small,
        .small_count = prepared->small_count,
        .witness = witness,
        .a_rows = a && b ? a : NULL,
        .b_rows = a && b ? b : NULL,
    };
    const size_t rows = prepared->matrix_c.row_count, limit = end < rows ? end : rows;
    const size_t broken = begin < limit ? prepared->curve->first_broken(&check, begin, limit) : end;

    return broken < limit ? broken : end;
}

static uint64_t work_before(const struct prepared *prepared, size_t row)
{
    return prepared->matrix_a.row_begin[row] + prepared->matrix_b.row_begin[row] +
           prepared->matrix_c.row_begin[row] + row;
}

uint64_t prepared_check_work(const struct prepared *prepared, size_t begin, size_t end)
{
    return work_before(prepared, end) - work_before(prepared, begin);
}

size_t prepared_check_row(const struct prepared *prepared, size_t begin, uint64_t work)
{
    size_t low = begin, high = prepared->matrix_c.row_count;
    const uint64_t target = work_before(prepared, begin) + work;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (work_before(prepared, middle) < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
