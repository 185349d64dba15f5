/* One suite for every backend: what backend.h promises, checked through its calls alone.
 * conformance.c is the test program; a backend adds one file that defines the two below
 * (tests/gpu-worker/test_cpu.c). Circuits are random (circuit.h). */
#pragma once

#include "gpu-worker/backend.h"

extern const struct backend_ops *const conformance_ops;
extern const struct backend_options conformance_options;
