/* Reads and checks a snarkjs proving key. Below: container, curve; above: prepared_write. The
 * order is: header, sizes, header points (zkey_open), then the long sections
 * as streams. */
#include "groth16/key/zkey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "config/limits.h"
#include "groth16/pool.h"

enum {
    ZKEY_VERSION_MAX = 2,
    PROTOCOL_GROTH16 = 1,
    HEADER_FIXED_BYTES = 4 + 4 + CURVE_FR_BYTES + 3 * 4, /* n8q, n8r, r, three counts */
    HEADER_BYTES_MAX = HEADER_FIXED_BYTES + 19 * 8 * CURVE_FP_LIMBS_MAX,
    PIECE_BYTES = 4 << 20,
    COEFFICIENTS_PER_PIECE = 16384,
    CHECK_GRAIN = 512, /* points a task: about 0.1 ms */
};

static_assert(CURVE_G1_BYTES_MAX == 12 * 8 && CURVE_G2_BYTES_MAX == 24 * 8,
              "header points of struct zkey hold the larger curve");

static int read_zkey(struct zkey *zkey, struct reason *reason);

int zkey_open(int fd, struct zkey *ret, struct reason *reason)
{
    struct zkey zkey = {0};
    int error = container_open(fd, "zkey", ZKEY_VERSION_MAX, &zkey.file, reason);

    if (error == 0)
        error = read_zkey(&zkey, reason);
    if (error == 0)
        *ret = zkey;
    return error;
}

int zkey_open_memory(const void *bytes, size_t count, struct zkey *ret, struct reason *reason)
{
    struct zkey zkey = {0};
    int error =
        container_open_memory(bytes, count, count, "zkey", ZKEY_VERSION_MAX, &zkey.file, reason);

    if (error == 0)
        error = read_zkey(&zkey, reason);
    if (error == 0)
        *ret = zkey;
    return error;
}

const char *zkey_section_to_string(enum zkey_section section)
{
    static const char *const names[ZKEY_SECTION_END] = {
        [ZKEY_PROTOCOL] = "protocol", [ZKEY_HEADER] = "header",
        [ZKEY_IC] = "IC points",      [ZKEY_COEFFICIENTS] = "coefficients",
        [ZKEY_A] = "A points",        [ZKEY_B1] = "B1 points",
        [ZKEY_B2] = "B2 points",      [ZKEY_L] = "C points",
        [ZKEY_H] = "H points",        [ZKEY_CONTRIBUTIONS] = "contributions",
    };

    return section < ZKEY_SECTION_END && names[section] ? names[section] : "unknown";
}

static int read_protocol(const struct zkey *zkey, struct reason *reason)
{
    const struct section *section = &zkey->sections[ZKEY_PROTOCOL];
    uint8_t bytes[4];
    uint32_t protocol;
    int error;

    if (section->bytes != sizeof bytes)
        return reason_set(reason, -EBADMSG,
                          "section 1 (protocol) at byte %" PRIu64 " has %" PRIu64
                          " bytes instead of 4",
                          section->off, section->bytes);
    error = container_read(&zkey->file, section->off, bytes, sizeof bytes, reason);
    if (error)
        return error;
    protocol = container_u32(bytes);
    if (protocol == PROTOCOL_GROTH16)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "section 1 (protocol) at byte %" PRIu64 ": protocol %" PRIu32
                      "%s, only Groth16 (1) is supported: run `snarkjs groth16 setup` for a key",
                      section->off, protocol,
                      protocol == 2    ? " (PLONK)"
                      : protocol == 10 ? " (FFLONK)"
                                       : "");
}

/* Both primes, the counts and the raw header points; sizes of other sections come later. */
static int read_header(struct zkey *zkey, struct reason *reason)
{
    const struct section *section = &zkey->sections[ZKEY_HEADER];
    uint8_t bytes[HEADER_BYTES_MAX], *p = bytes;
    uint64_t q[CURVE_FP_LIMBS_MAX], r[4];
    uint32_t n8q, domain;
    size_t header_bytes;
    int error;

    if (section->bytes < 4)
        return reason_set(reason, -EBADMSG, "section 2 (header) at byte %" PRIu64 " is too short",
                          section->off);
    error = container_read(&zkey->file, section->off, bytes, 4, reason);
    if (error)
        return error;
    n8q = container_u32(bytes);
    if (n8q != 32 && n8q != 48)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header) at byte %" PRIu64 ": n8q, the bytes of a coordinate, "
                          "is %" PRIu32 " instead of 32 (bn254) or 48 (bls12-381)",
                          section->off, n8q);
    header_bytes = HEADER_FIXED_BYTES + 19 * (size_t)n8q;
    if (section->bytes != header_bytes)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header) at byte %" PRIu64 " has %" PRIu64
                          " bytes instead of %zu: the key file is damaged",
                          section->off, section->bytes, header_bytes);
    error = container_read(&zkey->file, section->off, bytes, header_bytes, reason);
    if (error)
        return error;
    p += 4;
    for (unsigned i = 0; i < n8q / 8; i++, p += 8)
        q[i] = container_u64(p);
    if (container_u32(p) != CURVE_FR_BYTES)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header): n8r, the bytes of a scalar, is %" PRIu32
                          " instead of 32",
                          container_u32(p));
    p += 4;
    for (int i = 0; i < 4; i++, p += 8)
        r[i] = container_u64(p);
    zkey->curve = curve_by_fr_modulus(r);
    if (!zkey->curve)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header): the scalar prime r is neither that of bn254 (bn128) "
                          "nor of bls12-381");
    if (zkey->curve->fp_bytes != n8q || memcmp(q, zkey->curve->fp_modulus, n8q) != 0)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header): r is the scalar prime of %s, but q is not its "
                          "coordinate prime: the primes are of different curves",
                          zkey->curve->name);
    zkey->variable_count = container_u32(p);
    zkey->public_count = container_u32(p + 4);
    domain = container_u32(p + 8);
    p += 12;
    if (domain < 2 || (domain & (domain - 1)) != 0 ||
        (unsigned)__builtin_ctz(domain) > zkey->curve->two_adicity)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header): the domain size is %" PRIu32
                          ", not a power of two between 2 and 2^%u",
                          domain, zkey->curve->two_adicity);
    zkey->domain_log2 = (unsigned)__builtin_ctz(domain);
    const size_t g1 = zkey->curve->g1_bytes, g2 = zkey->curve->g2_bytes;
    memcpy(zkey->alpha_g1, p, g1);
    memcpy(zkey->beta_g1, p + g1, g1);
    memcpy(zkey->beta_g2, p + 2 * g1, g2);
    memcpy(zkey->gamma_g2, p + 2 * g1 + g2, g2);
    memcpy(zkey->delta_g1, p + 2 * g1 + 2 * g2, g1);
    memcpy(zkey->delta_g2, p + 3 * g1 + 2 * g2, g2);
    return 0;
}

static int check_size(const struct zkey *zkey, enum zkey_section id, uint64_t count,
                      size_t item_bytes, struct reason *reason)
{
    const struct section *section = &zkey->sections[id];

    if (section->bytes == count * item_bytes)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "section %d (%s) at byte %" PRIu64 " has %" PRIu64
                      " bytes, but the header (%" PRIu32 " variables, %" PRIu32
                      " public, domain 2^%u, %s) wants %" PRIu64 " of %zu bytes: the key file is "
                      "damaged",
                      id, zkey_section_to_string(id), section->off, section->bytes,
                      zkey->variable_count, zkey->public_count, zkey->domain_log2,
                      zkey->curve->name, count, item_bytes);
}

static int check_counts(struct zkey *zkey, struct reason *reason)
{
    const struct section *coefficients = &zkey->sections[ZKEY_COEFFICIENTS];
    const uint64_t variables = zkey->variable_count, publics = zkey->public_count;
    const size_t g1 = zkey->curve->g1_bytes, g2 = zkey->curve->g2_bytes;
    uint8_t bytes[4];
    int error;

    if (publics >= variables)
        return reason_set(reason, -EBADMSG,
                          "section 2 (header): %" PRIu64 " public signals do not fit in %" PRIu64
                          " variables",
                          publics, variables);
    if (publics > PUBLIC_INPUTS_MAX)
        return reason_set(reason, -EBADMSG,
                          "the circuit has %" PRIu64
                          " public signals, more than the %d that this service supports: make the "
                          "circuit hash them into a few",
                          publics, PUBLIC_INPUTS_MAX);
    if (publics + 1 > UINT64_C(1) << zkey->domain_log2)
        return reason_set(
            reason, -EBADMSG,
            "section 2 (header): a domain of 2^%u has no room for the rows of %" PRIu64
            " public signals",
            zkey->domain_log2, publics);
    if ((error = check_size(zkey, ZKEY_IC, publics + 1, g1, reason)) != 0 ||
        (error = check_size(zkey, ZKEY_A, variables, g1, reason)) != 0 ||
        (error = check_size(zkey, ZKEY_B1, variables, g1, reason)) != 0 ||
        (error = check_size(zkey, ZKEY_B2, variables, g2, reason)) != 0 ||
        (error = check_size(zkey, ZKEY_L, variables - publics - 1, g1, reason)) != 0 ||
        (error = check_size(zkey, ZKEY_H, UINT64_C(1) << zkey->domain_log2, g1, reason)) != 0)
        return error;

    if (coefficients->bytes < sizeof bytes)
        return reason_set(reason, -EBADMSG,
                          "section 4 (coefficients) at byte %" PRIu64 " is too short",
                          coefficients->off);
    error = container_read(&zkey->file, coefficients->off, bytes, sizeof bytes, reason);
    if (error)
        return error;
    zkey->coefficient_count = container_u32(bytes);
    if ((uint64_t)zkey->coefficient_count * ZKEY_COEFFICIENT_BYTES !=
        coefficients->bytes - sizeof bytes)
        return reason_set(reason, -EBADMSG,
                          "section 4 (coefficients) at byte %" PRIu64 " counts %" PRIu32
                          " entries of %d bytes but has %" PRIu64
                          " bytes for them: the key file is damaged",
                          coefficients->off, zkey->coefficient_count, ZKEY_COEFFICIENT_BYTES,
                          coefficients->bytes - sizeof bytes);
    return 0;
}

static int check_header_points(const struct zkey *zkey, struct reason *reason)
{
    const struct {
        const char *name;
        const uint64_t *point;
        bool is_g2;
    } points[] = {
        {"alpha1", zkey->alpha_g1, false}, {"beta1", zkey->beta_g1, false},
        {"delta1", zkey->delta_g1, false}, {"beta2", zkey->beta_g2, true},
        {"gamma2", zkey->gamma_g2, true},  {"delta2", zkey->delta_g2, true},
    };
    const struct curve *curve = zkey->curve;

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        const uint64_t *point = points[i].point;
        enum curve_point_fault fault =
            points[i].is_g2 ? curve->g2_check(point, true) : curve->g1_check(point, true);

        if (fault)
            return reason_set(reason, -EBADMSG,
                              "section 2 (header) at byte %" PRIu64
                              ": %s: %s: the key file is damaged",
                              zkey->sections[ZKEY_HEADER].off, points[i].name,
                              curve_point_fault_to_string(fault));
        if (curve_point_is_infinity(point, points[i].is_g2 ? curve->g2_bytes : curve->g1_bytes))
            return reason_set(reason, -EBADMSG,
                              "section 2 (header) at byte %" PRIu64
                              ": %s is the point at infinity: the key is degenerate, make the "
                              "setup again",
                              zkey->sections[ZKEY_HEADER].off, points[i].name);
    }
    return 0;
}

static int read_zkey(struct zkey *zkey, struct reason *reason)
{
    int error = container_section(&zkey->file, ZKEY_PROTOCOL, "protocol",
                                  &zkey->sections[ZKEY_PROTOCOL], reason);

    /* The protocol first: a PLONK key has other sections and deserves the better message. */
    if (error == 0)
        error = read_protocol(zkey, reason);
    for (enum zkey_section id = ZKEY_HEADER; id <= ZKEY_H && error == 0; id++)
        error = container_section(&zkey->file, id, zkey_section_to_string(id), &zkey->sections[id],
                                  reason);
    if (error == 0)
        error = read_header(zkey, reason);
    if (error == 0)
        error = check_counts(zkey, reason);
    if (error == 0)
        error = check_header_points(zkey, reason);
    return error;
}

static int check_coefficient(const struct zkey *zkey, uint32_t index,
                             const struct zkey_coefficient *entry, struct reason *reason)
{
    const char *fault;

    if (entry->matrix > 1)
        fault = "the matrix is neither 0 (A) nor 1 (B)";
    else if (entry->constraint >> zkey->domain_log2 != 0)
        fault = "the constraint lies outside the domain";
    else if (entry->signal >= zkey->variable_count)
        fault = "the signal is not below the number of variables";
    else if (!zkey->curve->scalar_is_reduced(entry->value))
        fault = "the value is not below the prime";
    else
        return 0;
    return reason_set(
        reason, -EBADMSG,
        "section 4 (coefficients): entry %" PRIu32 " at byte %" PRIu64 " (matrix %" PRIu32
        ", constraint %" PRIu32 ", signal %" PRIu32 "): %s: the key file is damaged",
        index, zkey->sections[ZKEY_COEFFICIENTS].off + 4 + (uint64_t)index * ZKEY_COEFFICIENT_BYTES,
        entry->matrix, entry->constraint, entry->signal, fault);
}

int zkey_read_coefficients(const struct zkey *zkey,
                           int (*sink)(void *context, const struct zkey_coefficient *coefficient),
                           void *context, struct reason *reason)
{
    uint64_t off = zkey->sections[ZKEY_COEFFICIENTS].off + 4;
    uint8_t *piece = malloc(COEFFICIENTS_PER_PIECE * ZKEY_COEFFICIENT_BYTES);
    int error = 0;

    if (!piece)
        return reason_set(reason, -ENOMEM, "no memory to read the coefficients");
    for (uint32_t done = 0; done < zkey->coefficient_count && error >= 0;) {
        uint32_t count = zkey->coefficient_count - done;

        if (count > COEFFICIENTS_PER_PIECE)
            count = COEFFICIENTS_PER_PIECE;
        error =
            container_read(&zkey->file, off, piece, (size_t)count * ZKEY_COEFFICIENT_BYTES, reason);
        for (uint32_t i = 0; i < count && error >= 0; i++) {
            const uint8_t *p = piece + (size_t)i * ZKEY_COEFFICIENT_BYTES;
            struct zkey_coefficient entry = {
                .matrix = container_u32(p),
                .constraint = container_u32(p + 4),
                .signal = container_u32(p + 8),
            };

            for (int j = 0; j < 4; j++)
                entry.value[j] = container_u64(p + 12 + 8 * j);
            error = check_coefficient(zkey, done + i, &entry, reason);
            if (error == 0 && sink)
                error = sink(context, &entry);
        }
        done += count;
        off += (uint64_t)count * ZKEY_COEFFICIENT_BYTES;
    }
    free(piece);
    return error < 0 ? error : 0;
}

/* Checks one piece of points on all threads. */
struct point_check {
    const struct curve *curve;
    const uint8_t *points;
    size_t point_bytes;
    bool is_g2, subgroup;
    _Atomic size_t bad_index; /* the first bad point, SIZE_MAX when none */
};

static enum curve_point_fault check_point(const struct point_check *check, size_t index)
{
    const uint8_t *point = check->points + index * check->point_bytes;

    return check->is_g2 ? check->curve->g2_check(point, check->subgroup)
                        : check->curve->g1_check(point, check->subgroup);
}

static void check_point_range(void *context, size_t begin, size_t end)
{
    struct point_check *check = context;

    for (size_t i = begin; i < end; i++) {
        size_t bad;

        if (check_point(check, i) == CURVE_POINT_OK)
            continue;
        bad = atomic_load_explicit(&check->bad_index, memory_order_relaxed);
        while (i < bad &&
               !atomic_compare_exchange_weak_explicit(&check->bad_index, &bad, i,
                                                      memory_order_relaxed, memory_order_relaxed))
            continue;
        return;
    }
}

static int check_piece(const struct zkey *zkey, enum zkey_section id, struct pool *pool,
                       const uint8_t *points, size_t count, uint64_t first, struct reason *reason)
{
    struct point_check check = {
        .curve = zkey->curve,
        .points = points,
        .is_g2 = id == ZKEY_B2,
        .subgroup = id == ZKEY_IC,
        .bad_index = SIZE_MAX,
    };
    size_t bad;

    check.point_bytes = check.is_g2 ? zkey->curve->g2_bytes : zkey->curve->g1_bytes;
    if (pool)
        pool_run_range(pool, count, CHECK_GRAIN, check_point_range, &check);
    else
        check_point_range(&check, 0, count);
    bad = atomic_load_explicit(&check.bad_index, memory_order_relaxed);
    if (bad == SIZE_MAX)
        return 0;
    return reason_set(reason, -EBADMSG,
                      "section %d (%s): point %" PRIu64 " at byte %" PRIu64
                      ": %s: the key file is damaged",
                      id, zkey_section_to_string(id), first + bad,
                      zkey->sections[id].off + (first + bad) * check.point_bytes,
                      curve_point_fault_to_string(check_point(&check, bad)));
}

int zkey_read_points(const struct zkey *zkey, enum zkey_section id, struct pool *pool,
                     int (*sink)(void *context, const void *points, size_t bytes), void *context,
                     struct reason *reason)
{
    const struct section *section = &zkey->sections[id];
    const size_t point_bytes = id == ZKEY_B2 ? zkey->curve->g2_bytes : zkey->curve->g1_bytes;
    const size_t piece_bytes = PIECE_BYTES / point_bytes * point_bytes;
    uint8_t *piece = malloc(section->bytes < piece_bytes ? section->bytes + 1 : piece_bytes);
    int error = 0;

    if (!piece)
        return reason_set(reason, -ENOMEM, "no memory to read the %s", zkey_section_to_string(id));
    for (uint64_t done = 0; done < section->bytes && error >= 0;) {
        uint64_t left = section->bytes - done;
        size_t bytes = left < piece_bytes ? (size_t)left : piece_bytes;

        error = container_read(&zkey->file, section->off + done, piece, bytes, reason);
        if (error == 0)
            error =
                check_piece(zkey, id, pool, piece, bytes / point_bytes, done / point_bytes, reason);
        if (error == 0 && sink)
            error = sink(context, piece, bytes);
        done += bytes;
    }
    free(piece);
    return error < 0 ? error : 0;
}

int zkey_check(const struct zkey *zkey, struct pool *pool, struct reason *reason)
{
    static const enum zkey_section point_sections[] = {ZKEY_IC, ZKEY_A, ZKEY_B1,
                                                       ZKEY_B2, ZKEY_L, ZKEY_H};
    int error = zkey_read_coefficients(zkey, NULL, NULL, reason);

    for (size_t i = 0; i < sizeof point_sections / sizeof point_sections[0] && error == 0; i++)
        error = zkey_read_points(zkey, point_sections[i], pool, NULL, NULL, reason);
    return error;
}
