/* The conformance suite on the CUDA backend and the card that is here. */
#include "tests/gpu-worker/conformance.h"

const struct backend_ops *const conformance_ops = &cuzk_backend_plugin;
const struct backend_options conformance_options = {
    .threads = 2, .requires_pinned = true, .vram_limit = VRAM_LIMIT};
