/* The conformance suite on the CPU backend. */
#include "tests/gpu-worker/conformance.h"

const struct backend_ops *const conformance_ops = &backend_cpu;
const struct backend_options conformance_options = {.threads = 2};
