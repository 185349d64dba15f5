/* The part of cuzk-bench math that times synthesis. Called by bench_math.c. */
#pragma once

#include "bench/synthetic.h"

struct pool;

/* Prints a line a step for a made circuit of 2^log2 rows. Memory: about 200 bytes a row. Negative
 * errno after saying on stderr what failed. */
int bench_check(const struct curve *curve, struct pool *pool, enum synthetic_kind kind,
                unsigned log2);
