/* Circuits made on the spot, of any size, and witnesses that satisfy them: what measurements need
 * where no circuit compiler and no large file is at hand.
 *
 * Each constraint defines one wire: constraint i defines wire 2 + i; wire 1 is the one public
 * input. chain  wires are full-size: x (x + public) = the next; a free one at the start of 4,096
 *   sha    of 64 wires, 32 are free bits, 31 the exclusive or of two of them, and one the bits'
 *          32-bit sum, as the words of a hash function have them */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/constraints.h"

struct pool;

enum synthetic_kind {
    SYNTHETIC_CHAIN,
    SYNTHETIC_SHA,
    SYNTHETIC_KIND_COUNT,
};

enum {
    SYNTHETIC_LOG2_MIN = 8,
    SYNTHETIC_LOG2_MAX = 31,
};

struct synthetic {
    enum synthetic_kind kind;
    unsigned log2; /* 2^log2 rows, with those of the public wires: the domain is full */
    const struct curve *curve;
};

/* "chain" or "sha", or -1. */
int synthetic_kind_from_string(const char *text);

/* As constraints_read. Spread over the pool. */
int synthetic_constraints(const struct synthetic *synthetic, struct pool *pool,
                          struct constraints *ret, struct reason *reason);
/* Witness file `number` (they all differ) for that circuit, to fd. */
int synthetic_write_witness(const struct synthetic *synthetic, uint64_t number, struct pool *pool,
                            int fd, struct reason *reason);
