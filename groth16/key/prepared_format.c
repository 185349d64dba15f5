/* Header checks, section table and digest of a prepared key. */
#include "groth16/key/prepared_format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <openssl/evp.h>

#include "config/limits.h"

static uint64_t align_up(uint64_t bytes)
{
    return (bytes + PREPARED_ALIGN - 1) & ~(uint64_t)(PREPARED_ALIGN - 1);
}

void prepared_format_place(struct prepared_header *header, const struct curve *curve)
{
    const struct prepared_shape *shape = &header->shape;
    const uint64_t g1 = curve->g1_bytes, g2 = curve->g2_bytes;
    const uint64_t rows = (shape->row_count + UINT64_C(1)) * sizeof(uint64_t);
    const uint64_t c_rows =
        header->has_c ? (shape->constraint_count + UINT64_C(1)) * sizeof(uint64_t) : 0;
    const bool is_bellman = header->layout == PREPARED_LAYOUT_BELLMAN;
    const uint64_t a_points = is_bellman ? header->a_point_count : shape->variable_count;
    const uint64_t b_points = is_bellman ? header->b_point_count : shape->variable_count;
    const uint64_t words = density_word_count(shape->variable_count);
    const uint64_t bytes[PREPARED_SECTION_COUNT] = {
        [PREPARED_VK] = 3 * g1 + 3 * g2,
        [PREPARED_IC] = (shape->public_count + UINT64_C(1)) * g1,
        [PREPARED_A] = a_points * g1,
        [PREPARED_B1] = b_points * g1,
        [PREPARED_B2] = b_points * g2,
        [PREPARED_L] = (shape->variable_count - shape->public_count - UINT64_C(1)) * g1,
        [PREPARED_H] = (g1 << shape->domain_log2) - (is_bellman ? g1 : 0),
        [PREPARED_A_ROWS] = rows,
        [PREPARED_A_COLUMNS] = shape->a_entry_count * sizeof(uint32_t),
        [PREPARED_A_COEFFICIENTS] = shape->a_entry_count * sizeof(uint32_t),
        [PREPARED_B_ROWS] = rows,
        [PREPARED_B_COLUMNS] = shape->b_entry_count * sizeof(uint32_t),
        [PREPARED_B_COEFFICIENTS] = shape->b_entry_count * sizeof(uint32_t),
        [PREPARED_C_ROWS] = c_rows,
        [PREPARED_C_COLUMNS] = shape->c_entry_count * sizeof(uint32_t),
        [PREPARED_C_COEFFICIENTS] = shape->c_entry_count * sizeof(uint32_t),
        [PREPARED_DICTIONARY] = (uint64_t)shape->dictionary_count * CURVE_FR_BYTES,
        [PREPARED_A_DENSITY] = words * sizeof(uint64_t),
        [PREPARED_A_RANKS] = words * sizeof(uint32_t),
        [PREPARED_B_DENSITY] = words * sizeof(uint64_t),
        [PREPARED_B_RANKS] = words * sizeof(uint32_t),
    };
    const int count = is_bellman ? PREPARED_SECTION_COUNT : PREPARED_SNARKJS_SECTION_COUNT;
    uint64_t off = PREPARED_HEADER_BYTES;

    memset(header->sections, 0, sizeof header->sections);
    for (int i = 0; i < count; i++) {
        header->sections[i].off = off;
        header->sections[i].bytes = bytes[i];
        off += align_up(bytes[i]);
    }
    header->image_bytes = off;
}

static int check_shape(const struct prepared_header *header, const struct curve *curve,
                       struct reason *reason)
{
    const struct prepared_shape *shape = &header->shape;
    const uint64_t entries_max = header->image_bytes / sizeof(uint32_t);

    if (shape->domain_log2 < 1 || shape->domain_log2 > curve->two_adicity ||
        shape->domain_log2 > SLAB_LAYOUT_DOMAIN_LOG2_MAX ||
        shape->public_count > PUBLIC_INPUTS_MAX || shape->public_count >= shape->variable_count ||
        shape->row_count > UINT64_C(1) << shape->domain_log2 ||
        shape->constraint_count > shape->row_count || shape->dictionary_count < 2 ||
        shape->a_entry_count > entries_max || shape->b_entry_count > entries_max ||
        shape->c_entry_count > entries_max || (!header->has_c && shape->c_entry_count != 0))
        return reason_set(reason, -EBADMSG,
                          "prepared key: the counts in its header contradict each other: the file "
                          "is damaged, prepare the key again");
    if (shape->slab_bytes != slab_layout_make(shape->variable_count, shape->domain_log2).bytes)
        return reason_set(reason, -EBADMSG,
                          "prepared key: %" PRIu64
                          " slab bytes a partition do not fit its circuit: prepare the key again",
                          shape->slab_bytes);
    return 0;
}

/* What a layout adds to check_shape. */
static int check_layout(const struct prepared_header *header, const struct curve *curve,
                        struct reason *reason)
{
    const struct prepared_shape *shape = &header->shape;
    bool fits = header->a_point_count == 0 && header->b_point_count == 0;

    if (header->layout == PREPARED_LAYOUT_BELLMAN)
        fits = shape->domain_log2 < curve->two_adicity &&
               header->a_point_count <= shape->variable_count &&
               header->a_point_count > shape->public_count &&
               header->b_point_count <= shape->variable_count;
    if (fits)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "prepared key: %" PRIu32 " and %" PRIu32 " points of A and B contradict the "
                      "other counts in its header: the file is damaged, prepare the key again",
                      header->a_point_count, header->b_point_count);
}

int prepared_format_check(const struct prepared_header *header, uint64_t bytes,
                          const struct curve **ret_curve, struct reason *reason)
{
    struct prepared_header placed;
    const struct curve *curve;
    int error;

    if (memcmp(header->magic, PREPARED_MAGIC, sizeof header->magic) != 0)
        return reason_set(reason, -EBADMSG, "not a prepared key: its magic is missing");
    if (header->version != PREPARED_VERSION)
        return reason_set(reason, -EBADMSG,
                          "prepared key: version %" PRIu32
                          ", this build reads version %d: prepare the key again",
                          header->version, PREPARED_VERSION);
    curve = curve_by_id(header->curve_id);
    if (!curve || header->has_c > 1 ||
        (header->layout != PREPARED_LAYOUT_SNARKJS && header->layout != PREPARED_LAYOUT_BELLMAN))
        return reason_set(reason, -EBADMSG,
                          "prepared key: unknown curve %" PRIu32 " or layout %" PRIu32
                          ": prepare the key again",
                          header->curve_id, header->layout);
    if (header->image_bytes > bytes || header->image_bytes > UINT64_C(1) << 50)
        return reason_set(reason, -EBADMSG,
                          "prepared key: truncated: %" PRIu64 " bytes are there, its header says "
                          "%" PRIu64,
                          bytes, header->image_bytes);
    error = check_shape(header, curve, reason);
    if (error == 0)
        error = check_layout(header, curve, reason);
    if (error)
        return error;
    placed = *header;
    prepared_format_place(&placed, curve);
    if (placed.image_bytes != header->image_bytes ||
        memcmp(placed.sections, header->sections, sizeof placed.sections) != 0)
        return reason_set(reason, -EBADMSG,
                          "prepared key: its section table does not fit its counts: the file is "
                          "damaged, prepare the key again");
    *ret_curve = curve;
    return 0;
}

bool prepared_format_hash_piece(const void *piece, size_t bytes, uint64_t index,
                                uint8_t ret[PREPARED_DIGEST_BYTES])
{
    static const uint8_t zero[PREPARED_DIGEST_BYTES];
    const size_t field = offsetof(struct prepared_header, digest);
    const uint8_t *p = piece;
    EVP_MD_CTX *context;
    bool done;

    if (index != 0)
        return EVP_Digest(piece, bytes, ret, NULL, EVP_sha256(), NULL);
    context = EVP_MD_CTX_new();
    done = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) &&
           EVP_DigestUpdate(context, p, field) && EVP_DigestUpdate(context, zero, sizeof zero) &&
           EVP_DigestUpdate(context, p + field + sizeof zero, bytes - field - sizeof zero) &&
           EVP_DigestFinal_ex(context, ret, NULL);
    EVP_MD_CTX_free(context);
    return done;
}

bool prepared_format_hash_root(uint64_t image_bytes, const uint8_t *piece_digests,
                               size_t piece_count, uint8_t ret[PREPARED_DIGEST_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) &&
                EVP_DigestUpdate(context, PREPARED_MAGIC, 8) &&
                EVP_DigestUpdate(context, &image_bytes, sizeof image_bytes) &&
                EVP_DigestUpdate(context, piece_digests, piece_count * PREPARED_DIGEST_BYTES) &&
                EVP_DigestFinal_ex(context, ret, NULL);

    EVP_MD_CTX_free(context);
    return done;
}
