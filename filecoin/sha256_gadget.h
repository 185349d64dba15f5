/* SHA-256 as rows, as bellperson writes it: words of 32 booleans, sums of up to eight words by one
 * equation each, and equations packed into field-sized ones (MultiEq). Called by the Merkle gadgets
 * and StackedDrg. */
#pragma once

#include "filecoin/boolean.h"

enum {
    SHA256_BITS = 256,
    SHA256_MESSAGE_BITS_MAX = 40 * 256,
};

/* Bits in message order, the highest of each byte first, both ways. */
void sha256_gadget(struct cs *cs, const struct boolean *message, unsigned bit_count,
                   struct boolean ret[SHA256_BITS]);

/* Reverses the bits of each byte in place: message order to little-endian and back. */
void sha256_flip(struct boolean *bits, unsigned count);

/* The hash of two values of 32 bytes, its two top bits dropped: a node of TreeD. 45,379 rows. */
cs_var sha256_hash2(struct cs *cs, cs_var left, cs_var right);
