/* Points and scalars of BLS12-381 as Filecoin's files have them, which is zcash's encoding, from
 * and to the encoding of groth16/curve/curve.h. Used by the readers of .vk and .params and by the
 * codec of proofs. Pure functions, any thread.
 *
 *   scalar           32 bytes, little-endian, below r
 *   G1 uncompressed  x | y, 48 bytes each, big-endian
 *   G2 uncompressed  x.c1 | x.c0 | y.c1 | y.c0
 *   compressed       x alone, with the sign of y
 * Bits of the first byte: 0x80 compressed, 0x40 infinity (all other bits 0), 0x20 y is the larger
 * of the two roots (compressed only). Every point has one encoding, and no other is accepted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    POINT_SCALAR_BYTES = 32,
    POINT_G1_BYTES = 96, /* as many as in the encoding of curve.h */
    POINT_G2_BYTES = 192,
    POINT_G1_COMPRESSED_BYTES = 48,
    POINT_G2_COMPRESSED_BYTES = 96,
};

enum point_fault {
    POINT_OK = 0,
    POINT_IS_INFINITY, /* well encoded: every file here refuses it */
    POINT_BAD_FLAGS,   /* of the other form, a sign where none may be, or bits beside infinity */
    POINT_NOT_REDUCED,
    POINT_NOT_ON_CURVE,
    POINT_NOT_IN_SUBGROUP,
};

/* "the point is not on the curve" and so on. */
const char *point_fault_to_string(enum point_fault fault);

/* Any bytes are input. *ret_point (8-byte aligned) is written in any case and is meant only when
 * POINT_OK is returned. The subgroup test costs some 20 times what the rest does. */
enum point_fault point_g1_read(const uint8_t *bytes, bool subgroup, void *ret_point);
enum point_fault point_g2_read(const uint8_t *bytes, bool subgroup, void *ret_point);
/* The same of compressed points; always in the subgroup. */
enum point_fault point_g1_read_compressed(const uint8_t *bytes, void *ret_point);
enum point_fault point_g2_read_compressed(const uint8_t *bytes, void *ret_point);

/* The point is reduced and on the curve; infinity is written as such. */
void point_g1_write(const void *point, uint8_t ret_bytes[POINT_G1_BYTES]);
void point_g2_write(const void *point, uint8_t ret_bytes[POINT_G2_BYTES]);
void point_g1_write_compressed(const void *point, uint8_t ret_bytes[POINT_G1_COMPRESSED_BYTES]);
void point_g2_write_compressed(const void *point, uint8_t ret_bytes[POINT_G2_COMPRESSED_BYTES]);

/* False when the scalar is not below r; then *ret is not meant. */
bool point_scalar_read(const uint8_t bytes[POINT_SCALAR_BYTES], uint64_t ret[4]);
