/* Members of the Lagrange basis of a power-of-two domain, at one point outside it. For make_key. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bench/scalar.h"

struct pool;

struct lagrange_points {
    uint64_t order; /* of the domain */
    size_t count;   /* how many of its points: first, first step, first step^2, ... */
    struct scalar first, step;
    struct scalar scale; /* every value is multiplied by it */
};

/* ret[i] = scale x_i (tau^order - 1) / (order (tau - x_i)), x_i = first step^i. */
void lagrange_evaluate(const struct curve *curve, struct pool *pool, struct scalar tau,
                       struct lagrange_points points, struct scalar *ret);
