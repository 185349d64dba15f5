/* The parts of cuzk-bench-gpu. Each prints a table and returns 0, or 1 when a result is wrong. */
#pragma once

#include <stdbool.h>

#include "groth16/curve/curve.h"

struct pool;

struct bench_options {
    unsigned log2_min, log2_max, log2_step;
    unsigned window_bits; /* 0: as msm_shape_init chooses */
    int batch_slots;      /* -1: as msm_shape_init chooses */
    bool is_single;       /* uniform scalars only */
    bool no_tables, no_plain;
};

int bench_msm(const struct bench_options *options, const struct curve *curve, bool is_g2,
              struct pool *pool);
int bench_ntt(const struct bench_options *options, const struct curve *curve);
int bench_evaluate(const struct bench_options *options, const struct curve *curve);
