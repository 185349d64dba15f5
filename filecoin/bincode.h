/* A strict reader of bincode 1 (little-endian, u64 lengths, u32 tags) for vanilla proofs. Every
 * length is known from the circuit's shape, so a file of another size is refused before anything is
 * read, and nothing is allocated by what a file says. Input may be hostile. */
#pragma once

#include <stddef.h>

#include "filecoin/merkle.h"
#include "groth16/key/reason.h"

struct bincode {
    const uint8_t *data;
    size_t size, at;
    int error; /* -EBADMSG after the first refusal; then all reads give 0 */
    struct reason *reason;
    char place[128]; /* "challenge 17, new TreeR" */
};

/* Refuses at once when size is not what the shape needs. */
void bincode_init(struct bincode *in, const uint8_t *data, size_t size, uint64_t size_wanted,
                  const char *what, struct reason *reason);
void bincode_place(struct bincode *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Keeps the first refusal, with place and offset. */
void bincode_refuse(struct bincode *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

uint32_t bincode_u32(struct bincode *in);
uint64_t bincode_u64(struct bincode *in);
void bincode_fr(struct bincode *in, const char *what, fr *ret);
/* A u64 that has to be `wanted`; `what` counts: "siblings". */
void bincode_count(struct bincode *in, const char *what, uint64_t wanted);
/* Exactly this shape, indices below their arity. Siblings are written from *siblings on, which
 * moves. */
void bincode_merkle_proof(struct bincode *in, const struct merkle_shape *shape,
                          struct merkle_proof *ret, fr **siblings);
/* -EBADMSG, also for bytes left over; else 0. */
int bincode_finish(struct bincode *in);

/* Bytes and siblings of one proof. */
uint64_t bincode_merkle_bytes(const struct merkle_shape *shape);
unsigned merkle_sibling_count(const struct merkle_shape *shape);
