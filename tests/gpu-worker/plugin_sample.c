/* A plug-in that can do nothing, for test_plugin.c. Built with another PLUGIN_SAMPLE_NAME or
 * PLUGIN_SAMPLE_ABI it is one that must be refused; without PLUGIN_SAMPLE_ABI it has no table. */
#include "gpu-worker/backend.h"

#ifdef PLUGIN_SAMPLE_ABI
const struct backend_ops cuzk_backend_plugin = {
    .name = PLUGIN_SAMPLE_NAME,
    .abi = PLUGIN_SAMPLE_ABI,
};
#else
extern const int plugin_sample_is_empty;
const int plugin_sample_is_empty = 1;
#endif
