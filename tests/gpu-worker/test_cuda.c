/* The conformance suite on the CUDA backend and the card that is here. VRAM_LIMIT: so little device
 * memory that most of its keys are streamed. */
#include "tests/gpu-worker/conformance.h"

#ifndef VRAM_LIMIT
#define VRAM_LIMIT 0
#endif

const struct backend_ops *const conformance_ops = &cuzk_backend_plugin;
const struct backend_options conformance_options = {
    .threads = 2, .requires_pinned = true, .vram_limit = VRAM_LIMIT};
