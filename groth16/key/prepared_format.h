/* The bytes of a prepared key: header, order and sizes of sections, digest. Shared by
 * prepared_write, prepared_load and prepared_attach; nobody else needs it. Native byte order: the
 * image is made and used on one kind of machine (x86-64, little-endian). */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/key/prepared.h"

#define PREPARED_MAGIC "cuzkprep"

struct prepared_range {
    uint64_t off, bytes;
};

struct prepared_header {
    char magic[8];
    uint32_t version;
    uint32_t layout; /* enum prepared_layout */
    uint32_t curve_id;
    uint32_t has_c;
    uint64_t image_bytes;
    uint8_t digest[PREPARED_DIGEST_BYTES]; /* of the image with this field zero */
    uint8_t verify_key_digest[PREPARED_DIGEST_BYTES];
    struct prepared_shape shape;
    struct prepared_range sections[PREPARED_SECTION_COUNT_MAX];
    /* Points of A, and of B1 and B2 each, in the bellman layout; 0 in the other. */
    uint32_t a_point_count, b_point_count;
};

static_assert(sizeof(struct prepared_header) <= PREPARED_HEADER_BYTES, "the header fits its page");
static_assert(offsetof(struct prepared_header, digest) == 32, "stable layout");
static_assert(offsetof(struct prepared_header, shape) == 96, "stable layout");
static_assert(offsetof(struct prepared_header, sections) == 152, "stable layout");
static_assert(offsetof(struct prepared_header, a_point_count) == 664, "stable layout");
static_assert((int)PREPARED_SECTION_COUNT <= (int)PREPARED_SECTION_COUNT_MAX, "sections fit");

/* Computes sections[] and image_bytes from curve, layout, shape, point counts and has_c. Every
 * count must be at most 2^40 (else sums could overflow). */
void prepared_format_place(struct prepared_header *header, const struct curve *curve);

/* Magic, version, curve, shape and section table against one another and against the `bytes` that
 * are there. After success every section lies inside the image. -EBADMSG. */
int prepared_format_check(const struct prepared_header *header, uint64_t bytes,
                          const struct curve **ret_curve, struct reason *reason);

/* SHA-256 of piece `index` of an image, PREPARED_DIGEST_PIECE_BYTES long but for the last; the
 * digest field of piece 0 counts as zero. False when memory is short. Any thread. */
bool prepared_format_hash_piece(const void *piece, size_t bytes, uint64_t index,
                                uint8_t ret[PREPARED_DIGEST_BYTES]);
/* The digest of an image from those of its pieces. */
bool prepared_format_hash_root(uint64_t image_bytes, const uint8_t *piece_digests,
                               size_t piece_count, uint8_t ret[PREPARED_DIGEST_BYTES]);
