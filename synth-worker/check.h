/* What must hold for a witness before anything is computed from it. Both checks work on the copy in
 * the slab, in pieces, so that the caller can look at the time and at cancels between two. Reasons
 * name places, never values: a witness is secret. Blocking for the piece; spread over the pool. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "groth16/key/prepared.h"
#include "groth16/key/reason.h"
#include "groth16/key/wtns.h"
#include "groth16/pool.h"

/* Values [begin, end): each < r, and the first of all is 1. 0 or -EBADMSG. */
int check_values(struct pool *pool, const struct wtns *wtns, const uint64_t *witness, size_t begin,
                 size_t end, struct reason *reason);

/* Constraints [begin, end): A w * B w = C w. Needs key->has_c. With has_evaluations A w and B w are
 * taken from the slab, otherwise evaluated on the way and not kept. 0 or -EBADMSG with the first
 * one that does not hold. */
int check_constraints(struct pool *pool, const struct prepared *key, const uint8_t *slab,
                      bool has_evaluations, size_t begin, size_t end, struct reason *reason);
