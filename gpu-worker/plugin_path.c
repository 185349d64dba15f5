/* The plug-in's place in builds for use: nothing but the installation decides. */
#include "gpu-worker/plugin.h"

int plugin_path(const char *name, char ret_path[PLUGIN_PATH_BYTES], char *ret_text)
{
    return plugin_path_installed(name, ret_path, ret_text);
}

const char *plugin_writable_folder(void)
{
    return NULL;
}
