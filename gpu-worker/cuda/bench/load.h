/* Inputs of the device bench and of the device tests: points whose multiples are known to the CPU
 * library, and scalars as witnesses have them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"

struct pool;

enum {
    LOAD_DISTINCT_POINTS = 1 << 14, /* bases repeat after so many */
};

enum load_mix {
    LOAD_UNIFORM, /* below r */
    LOAD_D1,      /* 40 % zero, 35 % one, 15 % 32-bit, 10 % uniform */
    LOAD_D2,      /* 60 % zero, 35 % one, 5 % uniform */
    LOAD_D3,      /* 50 % 64-bit, 50 % uniform */
    LOAD_EDGES,   /* 0, 1, r - 1, r / 2, powers of two and uniform ones */
    LOAD_MIX_COUNT,
};

const char *load_mix_to_string(enum load_mix mix);

static inline size_t load_point_bytes(const struct curve *curve, bool is_g2)
{
    return is_g2 ? curve->g2_bytes : curve->g1_bytes;
}

/* splitmix64. */
static inline uint64_t load_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* LOAD_DISTINCT_POINTS random multiples of the generator. -ENOMEM. */
int load_points(const struct curve *curve, bool is_g2, uint64_t seed, struct pool *pool,
                void *ret_points);

/* Plain scalars. */
void load_scalars(const struct curve *curve, enum load_mix mix, uint64_t seed, size_t count,
                  uint64_t *ret_scalars);

/* ret_sums[j] = the sum of scalars[i], i = j mod LOAD_DISTINCT_POINTS, mod r: with repeating bases
 * the CPU's sum over these is the sum over all. */
void load_fold_scalars(const struct curve *curve, const uint64_t *scalars, size_t count,
                       uint64_t *ret_sums);
