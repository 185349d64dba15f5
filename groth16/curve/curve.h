/* The two curves as one table of coarse operations. Callers in any process (synth evaluates rows,
 * the CPU backend proves, the finalizer assembles and verifies) hold a `const struct curve *` and
 * plain memory; nothing here knows of processes or shared memory.
 *
 * Encodings, used for every pointer below unless it says otherwise:
 *   scalar   4 little-endian 64-bit limbs, value < r, plain (not Montgomery) form: 32 bytes
 *   fr       4 limbs, Montgomery form with R = 2^256
 *   G1 point affine x, y, each fp_limbs little-endian limbs in Montgomery form, R = 2^(64 limbs),
 *            infinity all zero: g1_bytes; this is the .zkey encoding
 *   G2 point affine x.c0, x.c1, y.c0, y.c1, same rules: g2_bytes
 * Pointers are 8-byte aligned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct matrix;
struct matrix_check;
struct assemble_input;
struct verify_key;

enum curve_id {
    CURVE_BN254 = 1,
    CURVE_BLS12_381 = 2,
};

enum {
    CURVE_FR_BYTES = 32,
    CURVE_FP_LIMBS_MAX = 6,
    CURVE_G1_BYTES_MAX = 96,
    CURVE_G2_BYTES_MAX = 192,
    CURVE_PROOF_BYTES_MAX = 2 * CURVE_G1_BYTES_MAX + CURVE_G2_BYTES_MAX,
};

/* Why a point is not acceptable; 0 is acceptable. */
enum curve_point_fault {
    CURVE_POINT_OK = 0,
    CURVE_POINT_NOT_REDUCED,
    CURVE_POINT_NOT_ON_CURVE,
    CURVE_POINT_NOT_IN_SUBGROUP,
};

struct curve {
    enum curve_id id;
    const char *name;      /* "bn254", "bls12-381": ours, in messages */
    const char *json_name; /* "bn128", "bls12381": snarkjs's, in its JSON files */
    unsigned fp_limbs;
    unsigned two_adicity; /* of r - 1: the largest domain is 2^two_adicity */
    size_t fp_bytes, g1_bytes, g2_bytes, proof_bytes; /* a proof is A (G1), B (G2), C (G1) */
    const uint64_t *fp_modulus;                       /* fp_limbs limbs */
    const uint64_t *fr_modulus;                       /* 4 limbs */

    bool (*scalar_is_reduced)(const uint64_t *scalar);
    /* Index of the first scalar that is not < r, or count when all are. */
    size_t (*scalars_check)(const uint64_t *scalars, size_t count);
    /* r = a b mod r on plain scalars (test tools, blinding products). */
    void (*scalar_mul)(uint64_t *ret, const uint64_t *a, const uint64_t *b);

    /* Coordinates < p and on the curve (infinity is accepted); with `subgroup`, also order r. */
    enum curve_point_fault (*g1_check)(const void *point, bool subgroup);
    enum curve_point_fault (*g2_check)(const void *point, bool subgroup);
    /* Plain (non-Montgomery) coordinates, fp_limbs limbs each, for printing; and back. */
    void (*fp_to_plain)(uint64_t *ret_plain, const uint64_t *mont);
    void (*fp_from_plain)(uint64_t *ret_mont, const uint64_t *plain);

    /* Sum of scalars[i] points[i], i < count, into one affine point. Both are only read. Work is
     * spread over the pool; memory for buckets is allocated inside: 0, or -ENOMEM when that
     * fails. Witness-like scalars (many 0 and 1) never cost more than uniform ones. */
    int (*msm_g1)(struct pool *pool, const void *points, const uint64_t *scalars, size_t count,
                  void *ret_point);
    int (*msm_g2)(struct pool *pool, const void *points, const uint64_t *scalars, size_t count,
                  void *ret_point);

    /* The H scalars of a snarkjs key. a and b hold the 2^log2 constraint evaluations (fr) and are
     * only read; ret_scalars (2^log2 scalars) and scratch (2 * 2^log2 fr) are caller's memory.
     * p_i = a_i b_i - c_i on the odd coset of the domain of twice the size, c = a b on the domain;
     * result in plain form, ready for the MSM with H. FORMATS: snarkjs 0.7 groth16_prove. */
    void (*quotient)(struct pool *pool, const uint64_t *a, const uint64_t *b, unsigned log2,
                     uint64_t *ret_scalars, uint64_t *scratch);
    /* The H scalars of a bellman key, whose H is the monomial basis: the 2^log2 coefficients of
     * (a b - c) / (X^(2^log2) - 1), plain; the last of them is 0 and has no point in the key. Rows
     * belong to the domain of the root 7^((r - 1) / 2^log2), not to the one of the other entries.
     * log2 is below the two-adicity; otherwise as quotient. */
    void (*quotient_monomial)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                              unsigned log2, uint64_t *ret_scalars, uint64_t *scratch);
    /* In-place radix-2 NTT of 2^log2 fr, natural order in and out; inverse includes 1/n. */
    void (*ntt)(struct pool *pool, uint64_t *values, unsigned log2, bool inverse);

    /* ret_rows[i] (fr) = row i of the matrix times the witness (scalars), for begin <= i < end;
     * rows at or beyond matrix->row_count are zero. One thread; callers split the range. */
    void (*evaluate)(const struct matrix *matrix, const uint64_t *witness, uint64_t *ret_rows,
                     size_t begin, size_t end);
    /* The first row of [begin, end) in which A w * B w is not C w, or end. All three matrices have
     * at least `end` rows. One thread; callers split the range. */
    size_t (*first_broken)(const struct matrix_check *check, size_t begin, size_t end);

    /* groth16/verify/assemble.h and verify.h give the types and the mathematics. */
    void (*assemble)(const struct assemble_input *input, void *ret_proof);
    int (*verify)(const struct verify_key *key, const uint64_t *public_scalars, size_t public_count,
                  const void *proof);
    /* ret = scalar * point, affine. */
    void (*g1_mul)(const void *point, const uint64_t *scalar, void *ret_point);
    void (*g2_mul)(const void *point, const uint64_t *scalar, void *ret_point);
    const void *g1_generator, *g2_generator;
};

extern const struct curve curve_bn254;
extern const struct curve curve_bls12_381;

/* NULL when unknown. */
const struct curve *curve_by_id(uint32_t id);
const struct curve *curve_by_json_name(const char *name);
/* Whether a point of `bytes` bytes (g1_bytes, g2_bytes) is the one at infinity: all zero. */
bool curve_point_is_infinity(const void *point, size_t bytes);
/* By the scalar field's modulus r (4 limbs), as found in .wtns and .r1cs headers. */
const struct curve *curve_by_fr_modulus(const uint64_t *modulus);
/* "a coordinate is not below the field's modulus" and so on. */
const char *curve_point_fault_to_string(enum curve_point_fault fault);
