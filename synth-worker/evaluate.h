/* The constraint evaluations a = A w and b = B w, from the witness in the slab into the same slab,
 * and zeros wherever the slab holds nothing of this partition. Called by worker.c. In pieces, like
 * check.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/pool.h"

/* Rows [begin, end) of both, end <= 2^domain_log2; rows beyond the matrices become zero. */
void evaluate_rows(struct pool *pool, const struct prepared *key, uint8_t *slab, size_t begin,
                   size_t end);
/* Zeroes what lies between the regions, so that nothing of an earlier partition is left there.
 * Without evaluations the witness is the only region. */
void evaluate_pad(const struct prepared *key, uint8_t *slab, bool has_evaluations);
/* Zeroes the bytes [begin, end) of the slab, behind the regions: an earlier, larger partition's. */
void evaluate_wipe(struct pool *pool, uint8_t *slab, uint64_t begin, uint64_t end);
