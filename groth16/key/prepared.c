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

enum {
    CHECK_ROWS = 128, /* rows of A, B and C evaluated at once, on the stack */
};

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
    if (error == 0)
        *ret = prepared;
    return error;
}

/* The first i < count with a_i b_i != c_i (fr), or count. */
static size_t first_broken_bn254(const uint64_t *a, const uint64_t *b, const uint64_t *c,
                                 size_t count)
{
    const bn254_fr *fa = (const bn254_fr *)a, *fb = (const bn254_fr *)b, *fc = (const bn254_fr *)c;

    for (size_t i = 0; i < count; i++) {
        bn254_fr product;

        bn254_fr_mul(&product, &fa[i], &fb[i]);
        if (!bn254_fr_is_equal(&product, &fc[i]))
            return i;
    }
    return count;
}

static size_t first_broken_bls12_381(const uint64_t *a, const uint64_t *b, const uint64_t *c,
                                     size_t count)
{
    const bls12_381_fr *fa = (const bls12_381_fr *)a, *fb = (const bls12_381_fr *)b,
                       *fc = (const bls12_381_fr *)c;

    for (size_t i = 0; i < count; i++) {
        bls12_381_fr product;

        bls12_381_fr_mul(&product, &fa[i], &fb[i]);
        if (!bls12_381_fr_is_equal(&product, &fc[i]))
            return i;
    }
    return count;
}

/* Rows [row, row + count) of a matrix times the witness. */
static void evaluate_part(const struct curve *curve, const struct matrix *matrix, size_t row,
                          size_t count, const uint64_t *witness, uint64_t *ret_rows)
{
    struct matrix part = *matrix;

    part.row_begin += row;
    part.row_count = count;
    curve->evaluate(&part, witness, ret_rows, 0, count);
}

size_t prepared_check_constraints(const struct prepared *prepared, const uint64_t *witness,
                                  const uint64_t *a, const uint64_t *b, size_t begin, size_t end)
{
    const struct curve *curve = prepared->curve;
    uint64_t part_a[CHECK_ROWS * 4], part_b[CHECK_ROWS * 4], part_c[CHECK_ROWS * 4];
    const size_t rows = prepared->matrix_c.row_count, limit = end < rows ? end : rows;

    for (size_t row = begin; row < limit;) {
        size_t count = limit - row < CHECK_ROWS ? limit - row : CHECK_ROWS, broken;
        const uint64_t *rows_a = a ? a + 4 * row : part_a, *rows_b = b ? b + 4 * row : part_b;

        if (!a)
            evaluate_part(curve, &prepared->matrix_a, row, count, witness, part_a);
        if (!b)
            evaluate_part(curve, &prepared->matrix_b, row, count, witness, part_b);
        evaluate_part(curve, &prepared->matrix_c, row, count, witness, part_c);
        broken = curve->id == CURVE_BN254 ? first_broken_bn254(rows_a, rows_b, part_c, count)
                                          : first_broken_bls12_381(rows_a, rows_b, part_c, count);
        if (broken < count)
            return row + broken;
        row += count;
    }
    return end;
}
