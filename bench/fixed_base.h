/* Many multiples of one generator: tables of its multiples by windows of the scalar, one addition a
 * window, one inversion a batch. For make_key, which needs millions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"

struct pool;
struct fixed_base;

/* Tables for about expected_count multiplications of the curve's generator of G1 or G2 (at most
 * 200 MB, for millions). -ENOMEM. */
int fixed_base_create(const struct curve *curve, bool is_g2, size_t expected_count,
                      struct pool *pool, struct fixed_base **ret);
/* Accepts NULL. */
void fixed_base_free(struct fixed_base *base);

/* ret_points[i] = scalars[i] * generator for plain scalars < r, in the encoding of curve.h; spread
 * over the pool. */
void fixed_base_mul(const struct fixed_base *base, struct pool *pool, const uint64_t *scalars,
                    size_t count, void *ret_points);
