/* The conformance suite on the CUDA backend's host code, over a device in host memory that runs its
 * streams in a random order. */
#include <stdio.h>

#include "tests/gpu-worker/conformance.h"
#include "tests/gpu-worker/stub/stub.h"
#include "tests/test.h"

const struct backend_ops *const conformance_ops = &cuzk_backend_plugin;
const struct backend_options conformance_options = {
    .threads = 2, .requires_pinned = true, .vram_limit = VRAM_LIMIT};

__attribute__((constructor)) static void set_up(void)
{
    char words[64];
    snprintf(words, sizeof words, "order=%llu", (unsigned long long)test_seed());
    stub_configure(words);
}
