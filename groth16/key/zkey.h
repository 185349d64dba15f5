/* A Groth16 proving key as snarkjs writes it (.zkey): header, section ranges and every check.
 * Used by `cuzk-synth --prepare` when a circuit is registered: prepared_write reads through it. All
 * reading is pread on the caller's descriptor; no size or count in the file is trusted and none
 * decides an allocation before it agrees with the bytes that are there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/container.h"
#include "groth16/key/reason.h"

struct pool;

enum zkey_section {
    ZKEY_PROTOCOL = 1,
    ZKEY_HEADER = 2,
    ZKEY_IC = 3,
    ZKEY_COEFFICIENTS = 4,
    ZKEY_A = 5,
    ZKEY_B1 = 6,
    ZKEY_B2 = 7,
    ZKEY_L = 8, /* snarkjs: "C" */
    ZKEY_H = 9,
    ZKEY_CONTRIBUTIONS = 10, /* not read */
    ZKEY_SECTION_END,
};

enum {
    ZKEY_COEFFICIENT_BYTES = 44,
};

struct zkey {
    struct container file;
    const struct curve *curve;
    uint32_t variable_count; /* with the constant 1 */
    uint32_t public_count;   /* outputs and public inputs, without the constant 1 */
    unsigned domain_log2;
    uint32_t coefficient_count;
    /* Header points, checked: reduced, on the curve, in the subgroup, not at infinity. */
    uint64_t alpha_g1[12], beta_g1[12], delta_g1[12];
    uint64_t beta_g2[24], gamma_g2[24], delta_g2[24];
    struct section sections[ZKEY_SECTION_END]; /* by id; sizes agree with the counts */
};

/* Header, sizes and header points. Blocking, bounded time. fd stays the caller's and must stay
 * open while the zkey is used. -EBADMSG with a reason for anything malformed. */
int zkey_open(int fd, struct zkey *ret, struct reason *reason);
int zkey_open_memory(const void *bytes, size_t count, struct zkey *ret, struct reason *reason);

struct zkey_coefficient {
    uint32_t matrix; /* 0 = A, 1 = B */
    uint32_t constraint, signal;
    uint64_t value[4]; /* coefficient * R^2 mod r, < r */
};

/* Streams section 4, every entry checked: matrix 0 or 1, constraint < domain, signal <
 * variable_count, value < r. A negative return of `sink` ends it and is passed on. */
int zkey_read_coefficients(const struct zkey *zkey,
                           int (*sink)(void *context, const struct zkey_coefficient *coefficient),
                           void *context, struct reason *reason);

/* Streams a point section (IC, A, B1, B2, L, H) in pieces of at most a few MiB, each point checked
 * (reduced, on the curve; infinity allowed; IC also in the subgroup), spread over the pool (NULL:
 * the calling thread alone, here and below). */
int zkey_read_points(const struct zkey *zkey, enum zkey_section section, struct pool *pool,
                     int (*sink)(void *context, const void *points, size_t bytes), void *context,
                     struct reason *reason);

/* Everything: all coefficients and all points. */
int zkey_check(const struct zkey *zkey, struct pool *pool, struct reason *reason);

/* "A points" and so on. */
const char *zkey_section_to_string(enum zkey_section section);
