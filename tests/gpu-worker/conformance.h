/* One suite for every backend: what backend.h promises, checked through its calls alone.
 * conformance.c is the test program; a backend adds one file that defines the two below
 * (tests/gpu-worker/test_cpu.c). Circuits are random; every point is a known multiple of the
 * generator, so the expected sums are computed with plain scalars and one multiplication each, and
 * the quotient term by term. */
#pragma once

#include "gpu-worker/backend.h"

extern const struct backend_ops *const conformance_ops;
extern const struct backend_options conformance_options;
